"""Templates that change: in what is not read, by `kubectl rollout restart`, or as a later file has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from models import Cluster
from models.controllers.apply import FIELD_OF_KIND, ROLLED_OUT, built_in, with_workload
from models.objects.custom_workload import is_custom
from models.objects.share import Share
from models.objects.workload import DaemonSet, Deployment, RollingUpdate, StatefulSet
from models.snapshot import Snapshot
from planner.simulation.rollout.slots import restarted, same_template

_HAVE_REVISIONS = (Deployment, StatefulSet, DaemonSet)
#: The maxSurge and maxUnavailable that the API server sets.
_DEFAULT_SHARES: Mapping[type, tuple[Share, Share]] = {
    Deployment: ("25%", "25%"),
    StatefulSet: (0, 1),
    DaemonSet: (0, 1),
}


def all_restarted(manifests: Snapshot) -> Snapshot:
    """The manifests with every template taken for another one than what runs."""
    changes: dict[str, Any] = {field: tuple(map(_marked, getattr(manifests, field))) for field in ROLLED_OUT}
    return replace(manifests, **changes)


def _marked(item: Any) -> Any:
    if not isinstance(item, _HAVE_REVISIONS) or is_custom(item) or item.spec.template is None:
        return item
    return item.changed("spec", template=restarted(item.spec.template))


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
    return [
        f"{item.kind} {item.key}"
        for item, old in built_in(cluster, manifests)
        if isinstance(item, _HAVE_REVISIONS)
        and old is not None
        and same_template(old.spec.template, item.spec.template)
        and _acted_on(old) == _acted_on(item)
    ]


def _acted_on(item: Any) -> Sequence[object]:
    """What a controller goes by besides the template; shares left out are those that the API server sets."""
    spec = item.spec
    strategy = spec.strategy if isinstance(item, Deployment) else spec.update_strategy
    rolling = strategy.rolling_update if strategy.type == "RollingUpdate" else RollingUpdate()
    surge, unavailable = _DEFAULT_SHARES[type(item)]
    return (
        strategy.type,
        surge if rolling.max_surge is None else rolling.max_surge,
        unavailable if rolling.max_unavailable is None else rolling.max_unavailable,
        rolling.partition,
        spec.min_ready_seconds,
        getattr(spec, "replicas", None),
        getattr(spec, "paused", None),
        getattr(spec, "ordinals", None),
    )


def taken_apart(cluster: Cluster) -> tuple[Cluster, Snapshot] | None:
    """The cluster before templates changed, and the workloads that change them; None without any."""
    before, after = cluster, Snapshot()
    for item in cluster.replaced:
        if isinstance(item, Deployment | StatefulSet | DaemonSet) and not is_custom(item):
            field = FIELD_OF_KIND[item.kind]
            new = next(o for o in getattr(cluster, field) if (o.kind, o.key) == (item.kind, item.key))
            if item.metadata.uid and not same_template(item.spec.template, new.spec.template):
                before = with_workload(before, item)
                more: Any = (*getattr(after, field), new)
                after = replace(after, **{field: more})
    if after == Snapshot():
        return None
    return _without_pods_to_come(before, after), after


def _without_pods_to_come(before: Cluster, after: Snapshot) -> Cluster:
    """Pods that were made for the changed workloads are the rollout's to make."""
    rolled = (*after.deployments, *after.stateful_sets, *after.daemon_sets)
    changed = {(item.kind, item.key) for item in rolled}
    sets = {item.key: item.metadata.controller for item in before.replica_sets}

    def is_made(pod: Any) -> bool:
        owner = pod.metadata.controller
        if owner is None or pod.metadata.creation_timestamp is not None or pod.node_name:
            return False
        above = sets.get(f"{pod.namespace}/{owner.name}") if owner.kind == "ReplicaSet" else None
        owner = above or owner
        return (owner.kind, f"{pod.namespace}/{owner.name}") in changed

    return replace(before, pods=tuple(pod for pod in before.pods if not is_made(pod)))
