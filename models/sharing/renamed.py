"""An object under other names: every text in it that is a name goes through the same renaming."""

import json
import re
from collections.abc import Mapping
from typing import Any, Protocol

from models.admission.namespaces import toleration_list
from models.objects.affinity import Toleration
from models.objects.annotations import DEFAULT_TOLERATIONS, MIRROR, NODE_SELECTOR, SELECTED_NODE
from models.objects.base import KubeModel, NamespacedObject
from models.objects.kinds import MODELS
from models.objects.origin import SnapshotOrigin
from models.sharing.fields import Meaning, fields_of

Manifest = dict[str, Any]
#: Labels whose values are well-known words, or identities.
_FIXED_VALUES = {
    "batch.kubernetes.io/controller-uid",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "controller-uid",
    "kubernetes.io/arch",
    "kubernetes.io/os",
}
#: The volume with the token of the service account: by this name pods of a template are known as alike.
_TOKEN_VOLUME = re.compile("kube-api-access-[a-z0-9]{5}")
#: The pool of a Ceph device where none is named.
_RBD_POOL = "rbd"
#: A StorageClass or DeviceClass in the name of a resource.
_CLASS = re.compile(
    r".+(?=\.(?:storageclass\.storage|deviceclass\.resource)\.k8s\.io/)|"
    r"(?<=deviceclass\.resource\.kubernetes\.io/).+"
)
_SELECTED = re.compile(r"(?<==)\s*[\w.-]+|\([^()]*\)")


class Names(Protocol):
    """A renaming of names and of images."""

    def name(self, text: str) -> str:
        """Another name."""

    def image(self, text: str) -> str:
        """Another image."""

    def address(self, text: str) -> str:
        """Another address."""


def renamed(item: Manifest, names: Names) -> Manifest:
    """The object, which has nothing in it but what is read, under its new names."""
    model = MODELS.get(str(item.get("kind")))
    if model is None:
        return item
    if model is SnapshotOrigin:
        # Context and kubeconfig are the sender's; the uid says which cluster it is to those that know it.
        return {name: text for name, text in item.items() if name not in {"context", "kubeconfig"}}
    if issubclass(model, NamespacedObject):
        # A namespace that is not said is one of that name, which gets another.
        item = {**item, "metadata": {"namespace": "default", **item.get("metadata", {})}}
    found = _renamed(item, model, names)
    return found if isinstance(found, dict) else item


def _renamed(value: Any, model: type[KubeModel], names: Names) -> Any:
    if isinstance(value, list):
        return [_renamed(part, model, names) for part in value]
    if not isinstance(value, dict):
        return value
    known = fields_of(model)
    found: Manifest = {}
    for name, part in value.items():
        field = known.get(name)
        inner = None if field is None else field.model_in(value)
        if inner is not None:
            found[name] = _renamed(part, inner, names)
        else:
            found[name] = part if field is None else _text(part, field.meaning, value, names)
    return found


def _text(part: Any, meaning: Meaning, beside: Mapping[str, Any], names: Names) -> Any:
    """A field's text, texts, or map under new names."""
    if meaning is Meaning.FIXED or (meaning is Meaning.VALUES and beside.get("key") in _FIXED_VALUES):
        return part
    if isinstance(part, list):
        return [_text(each, meaning, beside, names) for each in part]
    if isinstance(part, dict):
        return _map(part, meaning, names)
    return _word(part, meaning, names) if isinstance(part, str) else part


def _word(text: str, meaning: Meaning, names: Names) -> str:
    if meaning is Meaning.ADDRESS:
        return names.address(text)
    if meaning is Meaning.IMAGE:
        return names.image(text)
    if meaning is Meaning.SELECTOR:
        return _SELECTED.sub(lambda values: names.name(values[0]), text)
    if meaning is Meaning.MESSAGE:
        return ""
    return text if text == _RBD_POOL or _TOKEN_VOLUME.fullmatch(text) else names.name(text)


def _map(part: Manifest, meaning: Meaning, names: Names) -> Manifest:
    match meaning:
        case Meaning.LABELS:
            return {key: _value(key, text, names) for key, text in part.items()}
        case Meaning.NAMES_AS_KEYS:
            return {names.name(key): text for key, text in part.items()}
        case Meaning.AMOUNTS:
            return {_CLASS.sub(lambda found: names.name(found[0]), key): text for key, text in part.items()}
        case Meaning.ANNOTATIONS:
            return {key: _annotation(key, text, names) for key, text in part.items()}
        case _:
            return part


def _value(key: str, text: Any, names: Names) -> Any:
    return text if key in _FIXED_VALUES or not isinstance(text, str) else names.name(text)


def _annotation(key: str, text: Any, names: Names) -> Any:
    if key == SELECTED_NODE and isinstance(text, str):
        return names.name(text)
    if key == NODE_SELECTOR and isinstance(text, str):
        return _word(text, Meaning.SELECTOR, names)
    if key == DEFAULT_TOLERATIONS and isinstance(text, str):
        return json.dumps([_renamed(item, Toleration, names) for item in toleration_list(text)])
    return "" if key == MIRROR else text
