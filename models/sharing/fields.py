"""What each model reads, told by the models themselves: there is no other list of what a snapshot keeps.

A field that a model gains is kept from then on. What its text means, and so whether it may be renamed,
is said here; a text about which nothing is said counts as a name.
"""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from models.objects.base import KubeModel
from models.objects.descheduler import POLICY_ARGS, PolicyPluginConfig
from models.objects.pod import READ_CONDITIONS, PodStatus
from models.objects.quantity import ResourceList
from models.objects.scheduler_config import PLUGIN_ARGS, Plugin, PluginConfig, ResourceWeight
from models.objects.storage import CSINodeDriver


class Meaning(Enum):
    """What the text in a field stands for."""

    FIXED = auto()
    """A word of Kubernetes, a number, a time or a key: never renamed."""
    NAME = auto()
    """A name that a user chose."""
    NAMES_AS_KEYS = auto()
    LABELS = auto()
    VALUES = auto()
    """Values of the label that stands beside them under `key`."""
    ANNOTATIONS = auto()
    SELECTOR = auto()
    """A choice of nodes in kubectl's notation."""
    IMAGE = auto()
    ADDRESS = auto()
    MESSAGE = auto()
    """A sentence in which names may stand."""
    AMOUNTS = auto()
    """Amounts by resource, in whose name a class may stand."""


@dataclass(frozen=True, slots=True)
class ReadField:
    """A field that a model reads; `absent` is what it reads where the field is not there."""

    inner: type[KubeModel] | None
    meaning: Meaning
    absent: object
    variants: Mapping[str, type[KubeModel]] | None = None
    types: Set[str] | None = None
    """Of items that say their `type` only these are read."""

    def model_in(self, beside: Mapping[str, Any]) -> type[KubeModel] | None:
        """The model of what is inside, which for a plugin's arguments depends on the plugin."""
        return self.inner if self.variants is None else self.variants.get(str(beside.get("name")), KubeModel)


#: Whether these are set, or left to their defaults, makes a difference to some plugin.
_SAID = {"namespace", "parallelism", "phase", "preemption_policy", "replicas", "status"}
#: Fields whose texts are words of Kubernetes, of a vendor, keys or identities.
_FIXED = {
    "action",
    "api_groups",
    "api_version",
    "attacher",
    "cluster",
    "completed_indexes",
    "declared_features",
    "driver",
    "extended_resource_name",
    "failed",
    "failed_indexes",
    "ignored_resource_groups",
    "ignored_resources",
    "key",
    "kind",
    "kinds",
    "kubelet_version",
    "managed_by",
    "match_label_keys",
    "medium",
    "min_pod_age",
    "mismatch_label_keys",
    "operations",
    "phase",
    "provisioner",
    "reason",
    "resource",
    "resources",
    "scope_name",
    "scopes",
    "restart_policy",
    "server_version",
    "status",
    "topology_key",
    "topology_keys",
    "type",
    "uid",
    "validation_actions",
}
_FIXED_NAMES = (CSINodeDriver, Plugin, PluginConfig, PolicyPluginConfig, ResourceWeight)
_MEANINGS = {
    "annotations": Meaning.ANNOTATIONS,
    "disrupted_pods": Meaning.NAMES_AS_KEYS,
    "host_ip": Meaning.ADDRESS,
    "image": Meaning.IMAGE,
    "names": Meaning.IMAGE,
    "node_selector": Meaning.SELECTOR,
    "reference": Meaning.IMAGE,
    "message": Meaning.MESSAGE,
    "values": Meaning.VALUES,
}
#: In place of what a field reads when it is absent: that it is there matters.
MATTERS = object()


@cache
def fields_of(model: type[KubeModel]) -> Mapping[str, ReadField]:
    """What a model reads, by the field's name in a manifest."""
    return {field.alias or name: _field(model, name, field) for name, field in model.model_fields.items()}


def _field(model: type[KubeModel], name: str, field: FieldInfo) -> ReadField:
    inner = next(_models_in(field.annotation), None)
    if inner is KubeModel:
        variants = PLUGIN_ARGS if model is PluginConfig else POLICY_ARGS
        return ReadField(None, Meaning.FIXED, MATTERS, variants)
    types = READ_CONDITIONS if model is PodStatus and name == "conditions" else None
    return ReadField(inner, _meaning(model, name, field.annotation), _absent(name, field), types=types)


def _models_in(annotation: object) -> Iterator[type[KubeModel]]:
    if isinstance(annotation, type) and issubclass(annotation, KubeModel):
        yield annotation
    elif get_origin(annotation) is not Literal:
        for part in get_args(annotation):
            yield from _models_in(part)


def _meaning(model: type[KubeModel], name: str, annotation: object) -> Meaning:
    if name == "name" and model in _FIXED_NAMES:
        return Meaning.FIXED
    if annotation == ResourceList:
        return Meaning.AMOUNTS
    if annotation == dict[str, str] and name not in _MEANINGS.keys() - {"node_selector"}:
        return Meaning.LABELS
    if name in _FIXED or not _is_text(annotation):
        return Meaning.FIXED
    return _MEANINGS.get(name, Meaning.NAME)


def _is_text(annotation: object) -> bool:
    """Whether a plain text is allowed, and not only a number, one of certain words, or a time."""
    if get_origin(annotation) is Literal:
        return False
    if get_origin(annotation) is dict:
        return get_args(annotation)[1] is str
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0] is str
    return annotation is str or any(_is_text(part) for part in get_args(annotation))


def _absent(name: str, field: FieldInfo) -> object:
    if name in _SAID or field.is_required():
        return MATTERS
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, KubeModel):
        return {}
    return list(value) if isinstance(value, tuple) else value
