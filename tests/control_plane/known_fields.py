"""What fields the API has and what is in them, asked of a control plane; to be run anew for a new release.

`python -m tests.control_plane.known_fields > models/reading/known_fields.json`
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from models.objects.kinds import GROUPS
from tests.e2e.control_plane import running

_VERSION = "x-kubernetes-group-version-kind"
#: Free-form, whatever is in it.
_ANY = -1


def main() -> None:
    """Print the table: types as maps from field to type, and the type of every kind."""
    wanted = {(group, model.__name__) for group, models in GROUPS.items() for model in models}
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as plane:
        index = json.loads(plane.kubectl("get", "--raw", "/openapi/v3"))["paths"]
        schemas: dict[str, Any] = {}
        for path in index:
            if path == "api/v1" or any(path.startswith(f"apis/{group}/") for group in GROUPS if group):
                found = json.loads(plane.kubectl("get", "--raw", f"/openapi/v3/{path}"))
                schemas |= found["components"]["schemas"]
    table = _Table(schemas)
    kinds = {
        f"{item['group']}/{item['version']}".lstrip("/") + f" {item['kind']}": table.number(name)
        for name, schema in sorted(schemas.items())
        for item in schema.get(_VERSION, ())
        if (item["group"], item["kind"]) in wanted and "metadata" in schema.get("properties", {})
    }
    json.dump({"kinds": kinds, "types": table.types}, sys.stdout, separators=(",", ":"))


class _Table:
    """Types by number."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas
        self._numbers: dict[str, int] = {}
        self.types: list[dict[str, Any]] = []

    def number(self, name: str) -> int:
        """The number of a schema with fields."""
        if name not in self._numbers:
            self._numbers[name] = len(self.types)
            self.types.append({})
            fields = sorted(self._schemas[name]["properties"].items())
            self.types[self._numbers[name]] = {field: self._inside(part) for field, part in fields}
        return self._numbers[name]

    def _inside(self, schema: dict[str, Any]) -> Any:
        """What may be in a field: a type by its number, a scalar by its name, or a list or a map of them."""
        for part in ({}, *schema.get("allOf", ())):
            if reference := {**schema, **part}.get("$ref"):
                name = reference.rpartition("/")[2]
                found = self._schemas[name]
                return self.number(name) if "properties" in found else self._inside(found)
        match schema.get("type"):
            case "array":
                return [self._inside(schema["items"])]
            case "object" if "additionalProperties" in schema:
                return {"*": self._inside(schema["additionalProperties"])}
            case "string" | "boolean" | "integer" as name:
                return name
            case _:
                return _ANY


if __name__ == "__main__":
    main()
