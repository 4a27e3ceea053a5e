"""Small Kubernetes objects for the tests, as dictionaries, the way that a manifest has them."""

from typing import Any

Object = dict[str, Any]


def node(name: str, taints: list[Object] | None = None, **labels: str) -> Object:
    """A node with these labels."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints or []},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def pod(name: str, owner: Object | None = None, phase: str = "Running", **spec: Any) -> Object:
    """A pod of one container, controlled by the owner."""
    metadata: Object = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    if owner:
        metadata["ownerReferences"] = [reference(owner)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main"}], **spec},
        "status": {"phase": phase},
    }


def workload(kind: str, name: str, *, template: bool = True, **spec: Any) -> Object:
    """A workload whose template has one container, unless it has no template."""
    group = "batch/v1" if kind == "Job" else "v1" if kind == "ReplicationController" else "apps/v1"
    pod_template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "main"}]},
    }
    selector: Object = {"app": name}
    if kind != "ReplicationController":
        selector = {"matchLabels": selector}
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {
            **({} if kind == "Job" else {"selector": selector}),
            **({"template": pod_template} if template else {}),
            **spec,
        },
    }


def reference(owner: Object) -> Object:
    """The owner reference of what this object controls."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
