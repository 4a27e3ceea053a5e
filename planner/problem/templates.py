"""Pods alike in all that decides on their place, found among tens of thousands."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import is_, itemgetter

from models import Cluster
from models.objects.affinity import TopologySpreadConstraint
from models.objects.base import OwnerReference
from models.objects.pod import Pod, PodSpec
from models.objects.selectors import LabelSelector
from planner.problem.device_claims import device_keys
from planner.problem.nodes import Ints
from planner.problem.requests import resize_key
from planner.problem.selection import PLACE_LABELS
from planner.problem.volume_claims import volume_keys

#: Fields of a pod's spec on which its placement does not depend, or which are keyed separately.
_NOT_IN_KEY = {
    "node_name": True,
    "host_ipc": True,
    "host_pid": True,
    "security_context": True,
    "volumes": True,
    "priority_class_name": True,
    "termination_grace_period_seconds": True,
}
_NOT_OF_CONTAINERS = {name: {"__all__": {"security_context"}} for name in ("containers", "init_containers")}
_PARTS_IN_KEY = itemgetter(*(name for name in PodSpec.model_fields if name not in _NOT_IN_KEY))


@dataclass(frozen=True, slots=True, eq=False)
class Template:
    """An equivalence class of pods: alike in namespace, labels, scheduling spec and owner.

    `labels` holds only those that some selector in the snapshot names, so the pods of a
    StatefulSet, which differ in their name label, are still one template.
    """

    index: int
    pod: Pod
    namespace: str
    labels: Mapping[str, str]
    owner: OwnerReference | None
    terminating: bool
    priority: int
    requests: Ints
    scored: Ints
    """cpu and memory as a running pod counts for scores: with defaults where containers ask nothing."""
    asked: tuple[int, ...]
    """All resources as an incoming pod counts for NodeResourcesFit's score: the same, but 1.34 looks
    only at its containers there, not at pod-level requests."""
    amounts: tuple[int, ...]
    """The requests as plain numbers."""
    requests_key: bytes
    asked_key: bytes
    eligibility: int
    """Equal for templates whose nodeSelector and required node affinity are equal."""
    tolerations: int
    """Equal for templates whose tolerations are equal."""
    plain: bool = False
    """Whether it has no volumes, no claims, no host ports, and no affinity for pods or against them."""


class Grouping:
    """Pods by template: the labels that matter, an example of each template, the template of each pod."""

    def __init__(
        self,
        pods: Sequence[Pod],
        selected_keys: frozenset[str],
        known: Grouping | None = None,
        *,
        by_health: bool = False,
    ) -> None:
        """Of the pods; of those that `known` grouped by the same rules nothing is looked at again.

        With `by_health` placed pods that budgets count otherwise, as they are not ready, are not alike.
        """
        self._pods = pods
        self._selected_keys: frozenset[str] = selected_keys
        self._by_health = by_health
        rules = selected_keys, by_health
        alike = known if known is not None and (known._selected_keys, known._by_health) == rules else None
        begun = alike if alike is not None and alike._begins(pods) else None
        self.examples: list[tuple[Pod, Mapping[str, str]]] = [*begun.examples] if begun else []
        self.template_of: list[int] = [*begun.template_of] if begun else []
        self._numbers: dict[Hashable, int] = {**begun._numbers} if begun else {}
        self._by_place = not selected_keys.isdisjoint(PLACE_LABELS)
        self._spec_keys: dict[Hashable, str] = {}
        seen = alike._seen if alike is not None and begun is None else {}
        keys = [*alike._numbers] if alike is not None else []
        # Pods that were read by a pattern share the very objects of which their key is made, labels first.
        numbers: dict[Hashable, int] = {}
        labels_before: set[int] = set()
        for pod in pods[len(self.template_of) :]:
            before = seen.get(id(pod)) if seen else None
            labels = id(pod.metadata.labels)
            if before is None and labels not in labels_before:
                labels_before.add(labels)
                self.template_of.append(self._number(pod))
                continue
            parts = (_shared_parts(pod), self._health(pod)) if before is None else before
            number = numbers.get(parts)
            if number is None:
                number = self._number(pod, None if before is None else keys[before])
                if before is not None or _says_all(pod):
                    numbers[parts] = number
            self.template_of.append(number)

    def _begins(self, pods: Sequence[Pod]) -> bool:
        """Whether the first of some pods are these very ones."""
        return len(self._pods) <= len(pods) and all(map(is_, self._pods, pods))

    @cached_property
    def _seen(self) -> dict[int, int]:
        """The template of every pod by the pod's id, which nothing else has while the pod is kept here."""
        return dict(zip(map(id, self._pods), self.template_of, strict=True))

    def _number(self, pod: Pod, key: Hashable | None = None) -> int:
        labels = {key: value for key, value in pod.metadata.labels.items() if key in self._selected_keys}
        number = self._numbers.setdefault(key or self._key(pod, labels), len(self._numbers))
        if number == len(self.examples):
            self.examples.append((pod, labels))
        return number

    def _key(self, pod: Pod, labels: Mapping[str, str]) -> Hashable:
        spec, metadata = pod.spec, pod.metadata
        owner, placed = metadata.controller, bool(spec.node_name)
        return (
            metadata.namespace,
            tuple(sorted(labels.items())) if len(labels) > 1 else (*labels.items(),),
            self._spec_key(spec),
            tuple(volume_keys(pod)) if spec.volumes else (),
            tuple(device_keys(pod)) if spec.resource_claims else (),
            resize_key(pod) if placed else (),
            self._by_place and placed,
            None if owner is None else (owner.kind, owner.name, owner.uid),
            pod.is_terminating,
            self._health(pod),
            metadata.creation_timestamp is None,
        )

    def _health(self, pod: Pod) -> tuple[bool, ...]:
        """What budgets see of a placed pod beyond its labels; nothing of one that runs and is ready.

        Nor of one without a controller, which is never evicted.
        """
        if not self._by_health or not pod.spec.node_name or pod.metadata.controller is None:
            return ()
        health = pod.is_starting, pod.is_unready
        return health if any(health) else ()

    def _spec_key(self, spec: PodSpec) -> str:
        """The parts of a spec that matter, as text; pods that share the very same parts share the text."""
        parts = tuple(map(id, _PARTS_IN_KEY(spec.__dict__)))
        found = self._spec_keys.get(parts)
        if found is None:
            found = self._spec_keys[parts] = spec.model_dump_json(
                exclude={**_NOT_IN_KEY, **_NOT_OF_CONTAINERS}
            )
        return found


def _shared_parts(pod: Pod) -> Hashable:
    """What pods have in common that share the objects of which their template's key is made."""
    metadata, spec, status = pod.metadata, pod.spec, pod.status
    return (
        metadata.namespace,
        bool(spec.node_name),
        metadata.deletion_timestamp is None,
        metadata.creation_timestamp is None,
        id(metadata.labels),
        id(metadata.owner_references),
        id(spec.volumes),
        id(status.container_statuses),
        id(status.init_container_statuses),
        id(status.resources),
        *map(id, _PARTS_IN_KEY(spec.__dict__)),
    )


def _says_all(pod: Pod) -> bool:
    """Whether the key of a pod's template depends on nothing else: no name, no claim's state, no resize."""
    if pod.spec.resource_claims or any(volume.ephemeral is not None for volume in pod.spec.volumes):
        return False
    return resize_key(pod) == ()


def is_plain(spec: PodSpec) -> bool:
    """Whether a spec has no volumes, no claims, no host ports, and no affinity for pods or against them."""
    if spec.volumes or spec.resource_claims or next(iter(spec.host_ports()), None) is not None:
        return False
    affinity = spec.affinity
    return affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None)


def ruled_keys(cluster: Cluster) -> set[str]:
    """Every label key that a spread constraint or an affinity term of some pod looks at."""
    keys: set[str] = set()
    for constraint in _distinct(pod.spec.topology_spread_constraints for pod in cluster.pods):
        keys.update(constraint.match_label_keys, _keys_of(constraint.label_selector))
    for affinity in {id(pod.spec.affinity): pod.spec.affinity for pod in cluster.pods}.values():
        for term in affinity.pod_terms() if affinity else ():
            keys.update(term.match_label_keys, term.mismatch_label_keys)
            keys.update(_keys_of(term.label_selector))
    return keys


def selected_keys(cluster: Cluster) -> frozenset[str]:
    """Every label key that some selector in the snapshot looks at."""
    keys = ruled_keys(cluster)
    selectors = [found.spec.selector for found in cluster.replica_sets]
    selectors += [found.spec.selector for found in cluster.stateful_sets]
    selectors += [found.spec.selector for found in cluster.pod_disruption_budgets]
    for selector in selectors:
        keys.update(_keys_of(selector))
    for plain in [found.spec.selector for found in cluster.services]:
        keys.update(plain)
    for plain in [found.spec.selector for found in cluster.replication_controllers]:
        keys.update(plain)
    return frozenset(keys)


def _distinct(
    groups: Iterable[tuple[TopologySpreadConstraint, ...]],
) -> Iterable[TopologySpreadConstraint]:
    """Every member of the groups, those of a group that many pods share only once."""
    for group in {id(group): group for group in groups}.values():
        yield from group


def _keys_of(selector: LabelSelector | None) -> Iterable[str]:
    return () if selector is None else (key for key, _, _ in selector.requirements)
