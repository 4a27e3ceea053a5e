"""Templates that change in what is not read: an image, a variable, `kubectl rollout restart`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from models.controllers.apply import ROLLED_OUT
from models.objects.custom_workload import is_custom
from models.objects.workload import DaemonSet, Deployment, StatefulSet
from models.snapshot import Snapshot
from planner.simulation.rollout.slots import restarted, same_template

_HAVE_REVISIONS = (Deployment, StatefulSet, DaemonSet)


def all_restarted(manifests: Snapshot) -> Snapshot:
    """The manifests with every template taken for another one than what runs."""
    changes: dict[str, Any] = {field: tuple(map(_marked, getattr(manifests, field))) for field in ROLLED_OUT}
    return replace(manifests, **changes)


def _marked(item: Any) -> Any:
    if not isinstance(item, _HAVE_REVISIONS) or is_custom(item) or item.spec.template is None:
        return item
    spec = item.spec.model_copy(update={"template": restarted(item.spec.template)})
    return item.model_copy(update={"spec": spec})


def unchanged(cluster: Snapshot, manifests: Snapshot) -> Iterator[str]:
    """A note where workloads are to be applied as they run: what is not read may differ all the same."""
    found = as_they_run(cluster, manifests)
    if found:
        more = f" and {len(found) - 1} more" if len(found) > 1 else ""
        yield (
            f"{found[0]}{more}: the template is the one that runs, as far as it is read; where a variable "
            "or an argument differs, --restart plays the rollout that this leads to"
        )


def as_they_run(cluster: Snapshot, manifests: Snapshot) -> list[str]:
    """`Kind namespace/name` of the workloads that are to be applied as they run, as far as they are read."""
    found = []
    for field in ROLLED_OUT:
        before = {item.key: item for item in getattr(cluster, field) if not is_custom(item)}
        for item in getattr(manifests, field):
            old = None if is_custom(item) else before.get(item.key)
            if isinstance(item, _HAVE_REVISIONS) and old is not None and old.spec == item.spec:
                found.append(f"{item.kind} {item.key}")
            elif isinstance(item, _HAVE_REVISIONS) and old is not None:
                same = same_template(old.spec.template, item.spec.template)
                scaled = getattr(old.spec, "replicas", None) != getattr(item.spec, "replicas", None)
                if same and not scaled:
                    found.append(f"{item.kind} {item.key}")
    return found
