"""The cluster in which workloads ask for one replica more: what their controllers would make next."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from models import Cluster
from models.controllers.apply import FIELD_OF_KIND
from models.controllers.owners import ByController, is_live
from models.controllers.reconcile import reconcile, workloads_of
from models.controllers.stateful import ordinal_of, set_key, wanted_ordinals
from models.controllers.templates import usable
from models.objects.pod import Pod
from models.objects.workload import Deployment, ReplicaSet, StatefulSet, Workload
from planner.problem.volume_claims import claims_of
from planner.whatif.scaling import makers_of, resized
from planner.whatif.unforeseen import why_unforeseen

#: A number in a name.
_NUMBER = re.compile(r"-(\d+)(?=-|$)")


@dataclass(frozen=True, slots=True)
class Asked:
    """A workload, and for how many replicas it asks now: at least for those that it has."""

    workload: Workload
    replicas: int
    makers: Sequence[Workload]
    """What owns its pods: itself, or the ReplicaSets of a Deployment."""
    named: Sequence[Pod] = ()
    """Of a StatefulSet: all pods with the names of its replicas, ending and others' ones, too."""

    @property
    def name(self) -> str:
        """As commands take it."""
        return self.workload.full_name


def scalable(cluster: Cluster) -> Iterator[Asked]:
    """The workloads that have a number of replicas of their own and a template to make more from.

    None of which it is not known what it makes when it is scaled.
    """
    owners = workloads_of(cluster)
    live, sets = ByController(tuple(filter(is_live, cluster.pods))), ByController(cluster.replica_sets)
    named = _by_name(cluster.pods) if cluster.stateful_sets else {}
    for field in ("deployments", "replica_sets", "replication_controllers", "stateful_sets"):
        for workload in getattr(cluster, field):
            makers = makers_of(workload, sets)
            made = any(usable(item.spec.template) for item in (workload, *makers))
            if made and owners.controller_of(workload) is None and not why_unforeseen(workload, sets):
                there = sum(len(live.of(maker)) for maker in makers)
                pods = named.get(workload.key, ()) if isinstance(workload, StatefulSet) else ()
                yield Asked(workload, max(workload.spec.replicas, there), makers, pods)


def _by_name(pods: Iterable[Pod]) -> dict[str, list[Pod]]:
    """The pods with ordinals, by the key that a StatefulSet with such names has."""
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        if ordinal_of(pod) is not None:
            found[pod.key.rpartition("-")[0]].append(pod)
    return found


class KnownClaims:
    """The claims that there are, that pods mount, or for which volumes are kept, by name."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    @cached_property
    def _numbered(self) -> Mapping[tuple[str, str], Collection[str]]:
        """The numbers within the keys of claims, by what is before and behind them."""
        keys = {claim.key for claim in self._cluster.persistent_volume_claims}
        keys.update(use.key for pod in self._cluster.pods for use in claims_of(pod))
        kept = (volume.spec.claim_ref for volume in self._cluster.persistent_volumes)
        keys.update(f"{claim.namespace}/{claim.name}" for claim in kept if claim is not None)
        found = defaultdict[tuple[str, str], set[str]](set)
        for key in keys:
            for number in _NUMBER.finditer(key):
                found[key[: number.start()], key[number.end() :]].add(number[1])
        return found

    @cached_property
    def _pods(self) -> Collection[str]:
        return {pod.key for pod in self._cluster.pods}

    def are_some_of(self, asked: Asked) -> bool:
        """Whether some replica to come has a claim that is known already."""
        return any(
            f"{maker.key}-{number}" not in self._pods
            for maker in {item.key: item for item in (asked.workload, *asked.makers)}.values()
            for place in _claims_made(maker)
            for number in self._numbered.get(place, ())
        )


def _claims_made(maker: Workload) -> Iterator[tuple[str, str]]:
    """What the keys of the claims of its pods are before and behind their number."""
    for template in getattr(maker.spec, "volume_claim_templates", ()):
        yield f"{maker.namespace}/{template.name}-{maker.name}", ""
    template = usable(maker.spec.template)
    for volume in template.spec.volumes if template is not None and template.spec is not None else ():
        if volume.ephemeral is not None:
            yield maker.key, f"-{volume.name}"


def is_plain(asked: Asked, known: KnownClaims) -> bool:
    """Whether all replicas to come are alike in everything; their claims are, but for their names."""
    if is_shared_out(asked) or any(names_taken(asked)) or known.are_some_of(asked):
        return False
    templates = [usable(item.spec.template) for item in (asked.workload, *asked.makers)]
    specs = (template.spec for template in templates if template is not None)
    return not any(spec is not None and spec.resource_claims for spec in specs)


def is_shared_out(asked: Asked) -> bool:
    """Whether several ReplicaSets make the replicas to come, each its part: those of a paused Deployment."""
    if not isinstance(asked.workload, Deployment) or not asked.workload.spec.paused:
        return False
    return sum(isinstance(item, ReplicaSet) and item.spec.replicas > 0 for item in asked.makers) > 1


def names_taken(asked: Asked) -> Iterator[Pod]:
    """The pods, be they ending, that have the name of a replica of a StatefulSet that it does not ask for.

    Scaled up to their number it makes no other pod of that name; scaled up to less it deletes its own ones.
    """
    if not isinstance(asked.workload, StatefulSet):
        return
    wanted = {name_of(asked.workload, ordinal) for ordinal in ordinals_of(asked, asked.replicas)}
    for pod in asked.named:
        if pod.name not in wanted and pod.name == name_of(asked.workload, ordinal_of(pod)):
            yield pod


def ordinals_of(asked: Asked, replicas: int) -> Sequence[int]:
    """The ordinals that so many replicas of a StatefulSet have, in the order in which they come."""
    if not isinstance(asked.workload, StatefulSet):
        return ()
    key = (asked.workload.namespace, asked.workload.name)
    own = (pod for pod in asked.named if set_key(pod) == key)
    return wanted_ordinals(asked.workload.changed("spec", replicas=replicas), own)


def name_of(workload: StatefulSet, ordinal: int | None) -> str:
    return f"{workload.name}-{ordinal}"


def grown(cluster: Cluster, several: Sequence[Asked]) -> tuple[Cluster, dict[str, Pod]]:
    """The cluster with one replica more of each, and which pod that is, by the workload's name."""
    wanted = {id(asked.workload): asked for asked in several}
    changes: dict[str, Any] = {
        field: tuple(
            resized(item, wanted[id(item)].replicas + 1) if id(item) in wanted else item
            for item in getattr(cluster, field)
        )
        for field in {FIELD_OF_KIND[asked.workload.kind] for asked in several}
    }
    more = reconcile(replace(cluster, **changes))
    return more, dict(_new(more, cluster.pods))


def _new(more: Cluster, before: Iterable[Pod]) -> Iterator[tuple[str, Pod]]:
    owners, known = workloads_of(more), {pod.key for pod in before}
    for pod in more.pods:
        if pod.key not in known and (workload := owners.above(pod)) is not None:
            yield workload.full_name, pod
