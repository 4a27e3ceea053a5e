"""The first look at an object: what it is and what it is called, however broken the rest."""

from typing import NamedTuple

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from models.objects.kinds import is_known


class ObjectHead(NamedTuple):
    """As much of an object as it takes to know what it is and to name it."""

    api_version: str
    kind: str
    name: str
    namespace: str

    @property
    def known(self) -> bool:
        """Whether the planner reads objects of this kind."""
        return is_known(self.api_version, self.kind)

    @property
    def is_list(self) -> bool:
        """Whether it is a List, or a list of one kind such as a PodList."""
        return self.kind.endswith("List")

    def __str__(self) -> str:
        namespace = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind or 'object'} {namespace}{self.name}".rstrip()


def read_head(text: bytes, item_kind: str = "") -> ObjectHead:
    """The head of a JSON object; a pydantic ValidationError when the text is none."""
    found = _HEAD.validate_json(text)
    metadata = found.get("metadata") or {}
    return ObjectHead(
        found.get("apiVersion") or "",
        found.get("kind") or item_kind,
        metadata.get("name") or metadata.get("generateName") or "",
        metadata.get("namespace") or "",
    )


def _lenient(schemas: dict[str, CoreSchema]) -> CoreSchema:
    """A map with these fields; what has another type reads as absent."""
    fields = {
        name: core_schema.typed_dict_field(
            core_schema.with_default_schema(schema, default=None, on_error="default"),
            required=False,
        )
        for name, schema in schemas.items()
    }
    return core_schema.typed_dict_schema(fields)


_TEXT = core_schema.str_schema()
_METADATA = _lenient({"name": _TEXT, "generateName": _TEXT, "namespace": _TEXT})
_HEAD = SchemaValidator(_lenient({"apiVersion": _TEXT, "kind": _TEXT, "metadata": _METADATA}))
