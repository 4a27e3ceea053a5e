"""The text of one object -> the object, validated without becoming Python dictionaries first.

Pods of one template are many and alike, so their common spec is parsed once: it is cut out of
the text, freed of what differs from pod to pod (the node, the name of the volume with the service
account's token) and looked up. Whatever does not fit this pattern is parsed as a whole.
"""

import re
from functools import cache, lru_cache
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, core_schema

from models.objects.base import KubeObject
from models.objects.kinds import MODELS
from models.objects.pod import Pod, PodSpec

#: What stands first: further on it may be the kind of an owner.
_IS_POD = re.compile(rb'\s*\{\s*(?:"apiVersion"\s*:\s*"v1"\s*,\s*)?"kind"\s*:\s*"Pod"')
_OPEN_MAP = re.compile(rb"\s*:\s*(?=\{)")
_OPEN_LIST = re.compile(rb"\s*:\s*\[")
_TEXT_VALUE = re.compile(rb'\s*:\s*"([^"\\]+)"')
_TOKEN_VOLUME = b'"kube-api-access-'
_TOKEN_VOLUME_NAME = re.compile(rb'"kube-api-access-[a-z0-9]{5}"')
_ANY_NODE = b"?"


def parse(text: bytes, kind: str = "") -> KubeObject:
    """The object in a JSON text, which says its kind itself unless one is given."""
    if kind == "Pod" or _IS_POD.match(text):
        pod = _pod_of_a_template(text)
        if pod is not None:
            return pod
    found: KubeObject = _adapter(kind).validate_json(text, strict=True, by_alias=True, by_name=False)
    return found


def _pod_of_a_template(text: bytes) -> Pod | None:
    """The pod, with a spec that it shares with its like; None when it takes a closer look."""
    spec = _after_key(text, b'"spec"', _OPEN_MAP)
    if spec is None:
        return None
    begin = spec.end()
    status = text.find(b'"status"', begin)
    end = text.rfind(b"}", begin, status if status >= 0 else text.rfind(b"}")) + 1
    try:
        shared = _shared_spec(text[begin:end])
        pod: Pod = Pod.__pydantic_validator__.validate_json(
            _without_managed_fields(text[:begin]) + b"0" + text[end:],
            strict=True,
            by_alias=True,
            by_name=False,
            context=shared,
        )
    except ValidationError:
        return None
    return pod


def _shared_spec(text: bytes) -> PodSpec:
    begin = text.find(_TOKEN_VOLUME)
    token = _TOKEN_VOLUME_NAME.match(text, begin) if begin >= 0 else None
    if token:
        text = text.replace(token[0], b'"kube-api-access"')
    node = _after_key(text, b'"nodeName"', _TEXT_VALUE)
    if node is None:
        return _parse_spec(text)
    spec = _parse_spec(text[: node.start(1)] + _ANY_NODE + text[node.end(1) :])
    if spec.node_name != _ANY_NODE.decode():
        return _parse_spec(text)
    return spec.model_copy(update={"node_name": node[1].decode()})


def _without_managed_fields(text: bytes) -> bytes:
    """The text with an empty list for the long one; a wrong cut leaves no valid JSON behind."""
    opening = _after_key(text, b'"managedFields"', _OPEN_LIST)
    closing = text.find(b"]", opening.end()) if opening else -1
    return text[: opening.end()] + text[closing:] if opening and closing >= 0 else text


def _after_key(text: bytes, key: bytes, value: re.Pattern[bytes]) -> re.Match[bytes] | None:
    """The value of the first such key; a plain search is several times as fast as a pattern."""
    found = text.find(key)
    return value.match(text, found + len(key)) if found >= 0 else None


@lru_cache(maxsize=4096)
def _parse_spec(text: bytes) -> PodSpec:
    spec: PodSpec = PodSpec.__pydantic_validator__.validate_json(
        text, strict=True, by_alias=True, by_name=False
    )
    return spec


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(MODELS[kind] if kind in MODELS else Annotated[Any, _AnyKind()])


class _AnyKind:
    """An annotation from which pydantic learns to choose the model by an object's kind."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        choices: dict[Any, CoreSchema] = {
            kind: handler.generate_schema(model) for kind, model in MODELS.items()
        }
        return core_schema.tagged_union_schema(choices, discriminator="kind")
