"""docs/formats.md: every document field by field, from the JSON Schemas."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_HEAD = """# Formats

What the commands print with `-o json` and `-o yaml`, field by field. [output.md](output.md) has the
other forms of output and the exit codes. Field names are a contract: scripts may depend on them. This
page and the schemas are written by `tools/make_schema.py` from the classes in `planner/documents/`; the
functions of the package `planner` return them in Python.

Every field is always there; what does not apply is `null`, `""`, `[]` or `{}`. The exceptions are the
three fields of a [Decision](#decision) that only `-v` fills, and `repair` of a
[Comparison](#comparison). Pods are written `namespace/name`, nodes by name, workloads `Kind/name`. The
workload of a pod is the Deployment behind its ReplicaSet, the CronJob behind its Job, else its
controller, else `Pod/name`; bare pods that are alike in everything share the name of the first.

With `-o jsonl` the first line is the document without its lists of objects, such as `steps`, `decisions`,
`unplaced` or `spread`. Each object in these lists follows as a line of its own, list after list and in order,
with the name of its list as a first field `list`; a list with nothing in it has no line.

`-n` and `-l` choose what is shown, after the whole snapshot was looked at: decisions, constraints and
findings of other pods are left out, and the sums follow. `planner solve` and `planner compare` have
neither: a plan is a whole. The what-if flags (`--drain` and the like) change the snapshot before any
command looks at it. What is unusual about a change, such as pods that no controller makes again, is
among the `notes`.

"""
#: The fields that every document has.
_COMMON = ("apiVersion", "kind", "kubernetes", "notes")


def formats_page(documents: Sequence[tuple[str, dict[str, Any], str]]) -> str:
    """The page; `documents` are the file of the schema, the schema, and the command that prints it."""
    return _HEAD + "\n".join([*_contents(documents), "", *_common(documents[0][1]), *_sections(documents)])


def _contents(documents: Iterable[tuple[str, dict[str, Any], str]]) -> Iterator[str]:
    yield from ("| document | from | JSON Schema |", "|---|---|---|")
    for file, schema, command in documents:
        name = schema["title"]
        yield f"| [{name}](#{name.lower()}) | {_command(command)} | [{file}](schema/{file}) |"


def _command(told: str) -> str:
    command, comma, rest = told.partition(",")
    return f"`{command}`{comma}{rest}"


def _common(schema: dict[str, Any]) -> Iterator[str]:
    yield from ("## All documents", "")
    yield from _table({name: schema["properties"][name] for name in _COMMON})


def _sections(documents: Iterable[tuple[str, dict[str, Any], str]]) -> Iterator[str]:
    """Every document, followed by those of its parts that no document before it has."""
    parts: dict[str, dict[str, Any]] = {}
    for _, schema, _ in documents:
        own = {name: field for name, field in schema["properties"].items() if name not in _COMMON}
        yield from _section("##", schema, own)
        for name, part in schema.get("$defs", {}).items():
            if name not in parts:
                parts[name] = part
                yield from _section("###", part, part["properties"])


def _section(level: str, part: dict[str, Any], fields: dict[str, Any]) -> Iterator[str]:
    yield from (f"{level} {part['title']}", "", part["description"], "")
    yield from _table(fields)


def _table(fields: dict[str, Any]) -> Iterator[str]:
    yield from ("| field | type | meaning |", "|---|---|---|")
    for name, field in fields.items():
        yield f"| `{name}` | {_type(field)} | {field.get('description', '')} |"
    yield ""


def _type(field: dict[str, Any]) -> str:
    """The type of a value in words, with a link where it is a part of its own."""
    match field:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": choices}:
            return " or ".join(_type(choice) for choice in choices)
        case {"enum": values}:
            return ", ".join(f"`{value}`" for value in values)
        case {"type": "array", "items": item}:
            return f"list of {_type(item)}"
        case {"type": "object", "additionalProperties": dict(value)}:
            return f"map to {_type(value)}"
        case {"type": kind}:
            return str(kind)
    raise ValueError(f"a type that this page has no words for: {field}")
