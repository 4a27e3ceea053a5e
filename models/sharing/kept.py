"""An object as kubectl printed it -> the same object with nothing in it but what the planner reads."""

from collections.abc import Mapping
from typing import Any

from models.objects.annotations import read_ones
from models.objects.base import KubeModel
from models.objects.kinds import MODELS, is_known
from models.sharing.fields import MATTERS, Meaning, ReadField, fields_of

Manifest = dict[str, Any]


def kept(item: Mapping[str, Any]) -> Manifest:
    """What decides on placement; of a kind that is not read nothing but that there is one."""
    kind, version = item.get("kind"), item.get("apiVersion", "")
    head = {"kind": kind, "apiVersion": version} if version else {"kind": kind}
    if not (isinstance(kind, str) and isinstance(version, str) and is_known(version, kind)):
        return {**head, "metadata": {}}
    found = _kept(item, MODELS[kind])
    # The spec of a pod is looked for after its metadata, and the status after its spec.
    first = {name: found[name] for name in ("metadata", "spec", "status") if name in found}
    return {**head, **first, **found}


def _kept(value: Any, model: type[KubeModel]) -> Any:
    if isinstance(value, list):
        return [_kept(part, model) for part in value]
    if not isinstance(value, dict):
        return value
    found: Manifest = {}
    known = fields_of(model)
    for name, part in value.items():
        field = known.get(name)
        if field is not None:
            inside = _inside(part, field, value)
            if not _says_nothing(inside, field.absent):
                found[name] = inside
    return found


def _inside(part: Any, field: ReadField, beside: Mapping[str, Any]) -> Any:
    inner = field.model_in(beside)
    if field.types is not None and isinstance(part, list):
        part = [item for item in part if not isinstance(item, dict) or str(item.get("type")) in field.types]
    if inner is not None:
        return _kept(part, inner)
    if field.meaning is Meaning.ANNOTATIONS and isinstance(part, dict):
        return read_ones(part)
    return part


def _says_nothing(part: object, absent: object) -> bool:
    """Whether it is what is read where nothing is said; null is nothing, and `0` is not `False`."""
    if absent is MATTERS:
        return False
    return part is None or (type(part) is type(absent) and part == absent)
