"""Objects with every field that their models read, and with much that no model reads."""

import typing
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from models.objects.annotations import READ
from models.objects.base import KubeModel
from models.objects.kinds import MODELS
from models.objects.pod import READ_CONDITIONS, PodCondition
from models.objects.policy import LimitRangeSpec

#: Stands for every text that must not get out.
SECRET = "hunter2"
#: Values that another field or the field's own rules ask for, by model and field.
_WORDS: Mapping[tuple[str, str], Any] = {
    ("LabelSelectorRequirement", "key"): "app",
    ("LabelSelectorRequirement", "operator"): "In",
    ("LabelSelectorRequirement", "values"): ["web"],
    ("NodeSelectorRequirement", "operator"): "In",
    ("NodeSelectorTerm", "match_fields"): [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
    ("Toleration", "operator"): "Equal",
    ("PodDisruptionBudgetSpec", "max_unavailable"): None,
    ("TopologySpreadConstraint", "when_unsatisfiable"): "DoNotSchedule",
    ("KubeSchedulerConfiguration", "profiles"): [
        {
            "schedulerName": "mine",
            "percentageOfNodesToScore": 7,
            "pluginConfig": [{"name": "NodeResourcesFit", "args": {"ignoredResources": ["a/b"]}}],
        }
    ],
    ("DeschedulerProfile", "plugin_config"): [{"name": "DefaultEvictor", "args": {"nodeFit": True}}],
}
_TIME = "2026-01-02T03:04:05Z"
_LABELS = {"app": "web"}


def full(kind: str) -> dict[str, Any]:
    """An object of this kind in which nothing that is read has its default."""
    found = _of(MODELS[kind])
    found |= {"kind": kind, "apiVersion": found.get("apiVersion", "")}
    return found


def with_secrets(value: Any) -> Any:
    """The same with a field that is not read in every map, and with what containers and pods keep secret."""
    if isinstance(value, list):
        return [with_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    inside = {name: with_secrets(part) for name, part in value.items()}
    if all(isinstance(part, str) for part in value.values()) and not value.keys() & {"key", "kind", "name"}:
        return inside
    env = [{"name": f"{SECRET}_NAME", "value": SECRET, "valueFrom": {"secretKeyRef": {"key": SECRET}}}]
    probe = {"exec": {"command": [SECRET]}, "httpGet": {"path": SECRET}}
    return {
        "env": env,
        "envFrom": [{"secretRef": {"name": SECRET}}],
        "args": [SECRET],
        "command": [SECRET],
        "livenessProbe": probe,
        "lifecycle": {"preStop": probe},
        "imagePullSecrets": [{"name": SECRET}],
        "managedFields": [{"manager": SECRET}],
        "data": {SECRET: SECRET},
        **inside,
    }


def _of(model: type[KubeModel]) -> dict[str, Any]:
    return {
        field.alias or name: value
        for name, field in model.model_fields.items()
        if (value := _value(model, name, field.annotation)) is not None
    }


def _value(model: type[KubeModel], name: str, annotation: Any) -> Any:
    if (model.__name__, name) in _WORDS:
        return _WORDS[model.__name__, name]
    if name == "annotations":
        return {**dict.fromkeys(READ, "7"), "example.com/note": SECRET}
    if model is PodCondition and name == "type":
        return min(READ_CONDITIONS)
    if name == "api_version":
        return ""
    if name == "limits" and model is not LimitRangeSpec:
        return None
    return _of_type(annotation)


def _of_type(annotation: Any) -> Any:
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, KubeModel):
        return _of(annotation)
    if origin is typing.Literal:
        return parts[-1]
    if origin is tuple:
        return [_of_type(parts[0])]
    if origin is dict:
        return dict(_LABELS) if parts[1] is str else {"cpu": "7"}
    if origin is not None:
        return _of_type(parts[0])
    return {str: "7", int: 7, bool: True, datetime: _TIME}[annotation]
