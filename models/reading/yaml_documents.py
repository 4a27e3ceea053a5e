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
        broken = ManifestDocument(name, problems=[yaml_problem(error, name)])
    for number, value in enumerate(values, start=1):
        if value is not None:
            yield read_value(value, f"{name}, document {number}" if len(values) > 1 else name)
    if broken:
        yield broken
    elif all(value is None for value in values):
        yield ManifestDocument(name, problems=[f"{name}: is empty"])


def yaml_problem(error: yaml.YAMLError, name: str) -> str:
    """What is broken, and in which line where that is known."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"{name}, line {error.problem_mark.line + 1}: broken YAML: {error.problem}"
    return f"{name}: broken YAML: {str(error).splitlines()[0]}"
