"""The documents of a YAML file, and what is wrong with them."""

from collections.abc import Iterator

import yaml

from models.reading.documents import ManifestDocument, read_value
from models.reading.yaml_text import yaml_values


def read_yaml(text: str, name: str) -> Iterator[ManifestDocument]:
    """Each document of the text; where the YAML breaks off, one that says so."""
    values = []
    broken = None
    try:
        for value in yaml_values(text):
            values.append(value)
    except yaml.YAMLError as error:
        broken = ManifestDocument(name, problems=[yaml_problem(error, name, text)])
    for number, value in enumerate(values, start=1):
        if value is not None:
            yield read_value(value, f"{name}, document {number}" if len(values) > 1 else name)
    if broken:
        yield broken
    elif all(value is None for value in values):
        yield ManifestDocument(name, problems=[f"{name}: is empty"])


def yaml_problem(error: yaml.YAMLError, name: str, text: str) -> str:
    """What is broken, and in which line where that is known."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        line = error.problem_mark.line
        hint = " (lines begin with spaces, not with tabs)" if _begins_with_tab(text, line) else ""
        return f"{name}, line {line + 1}: broken YAML: {error.problem}{hint}"
    return f"{name}: broken YAML: {str(error).splitlines()[0]}"


def _begins_with_tab(text: str, number: int) -> bool:
    lines = text.split("\n", number + 1)
    return number < len(lines) and lines[number].lstrip(" ").startswith("\t")
