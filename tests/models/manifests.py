"""The builders' objects with no more labels and settings than the tests of reading ask for."""

from typing import Any

from tests import builders
from tests.builders import Object, reference

__all__ = ["Object", "node", "pod", "reference", "workload"]


def node(name: str, taints: list[Object] | None = None, **labels: str) -> Object:
    """A node with these labels."""
    made = builders.node(name, labels={builders.HOST: None, **labels})
    made["spec"] = {"taints": taints or []}
    return made


def pod(name: str, owner: Object | None = None, phase: str = "Running", **spec: Any) -> Object:
    """A pod of one container, controlled by the owner; its fields are those of the API."""
    made = builders.pod(name, owner=owner, uid=f"uid-{name}", phase=phase)
    made["spec"] |= spec
    return made


def workload(kind: str, name: str, *, template: bool = True, **spec: Any) -> Object:
    """A workload whose template has one container, unless it has no template."""
    made = builders.workload(kind, name)
    labelled = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main"}]}}
    selected = {} if kind == "Job" else {"selector": made["spec"]["selector"]}
    return {**made, "spec": selected | ({"template": labelled} if template else {}) | spec}
