"""A cluster compiled for the engines: a node axis, interned templates, integer resource arrays.

50,000 pods are about 500 templates.  Whatever depends on what a pod *is* is worked out once a
template; whatever depends on where pods *are* lives in `state.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from models import Cluster
from models.affinity import Affinity, PodAffinityTerm
from models.base import OwnerReference
from models.pod import Pod
from models.selectors import LabelSelector
from planner.claims import volume_keys
from planner.eligibility import Eligibility, affinity_part
from planner.nodes import Codes, Ints, NodeAxis
from planner.requests import (
    CPU,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    SCORING_DEFAULTS,
    in_units,
    pod_requests,
)
from planner.selection import LabelIndex, Selection

#: Fields of a pod's spec on which its placement does not depend, or which are keyed separately.
_NOT_IN_KEY = {
    "node_name": True,
    "volumes": True,
    "priority_class_name": True,
    "termination_grace_period_seconds": True,
}
_EPOCH = datetime.min.replace(tzinfo=UTC)


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


class Problem:
    """Everything about a snapshot that does not change while pods are placed."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.nodes = NodeAxis(cluster.nodes)
        pods = [pod for pod in cluster.pods if self._concerns(pod)]
        self.pods: tuple[Pod, ...] = tuple(pods)
        self.pod_index = {pod.key: position for position, pod in enumerate(pods)}
        self.node_of: Codes = np.array(
            [self.nodes.index[pod.spec.node_name] if pod.spec.node_name else -1 for pod in pods],
            np.int32,
        )
        groups, self.template_of = _group(pods, _selected_keys(cluster))
        examples = [(pods[members[0]], labels) for labels, members in groups]
        requests = [pod_requests(pod) for pod, _ in examples]
        self.resources = _resource_names(cluster, requests)
        self.resource_index = {name: position for position, name in enumerate(self.resources)}
        self.allocatable = self._read_allocatable()
        self._numbers: dict[Hashable, int] = {}
        self.templates = tuple(
            self._template(index, pod, labels, wanted)
            for index, ((pod, labels), wanted) in enumerate(zip(examples, requests, strict=True))
        )
        self.notes = tuple(_notes(cluster))
        self.priorities = np.array([t.priority for t in self.templates], np.int64)[self.template_of]

    def _concerns(self, pod: Pod) -> bool:
        """Finished pods, and pods on nodes that are not in the snapshot, take no part."""
        return not pod.is_finished and (not pod.spec.node_name or pod.spec.node_name in self.nodes.index)

    def _template(
        self, index: int, pod: Pod, labels: Mapping[str, str], wanted: Mapping[str, int]
    ) -> Template:
        scored = pod_requests(pod, SCORING_DEFAULTS)
        requests = self._vector({**wanted, PODS: 1})
        asked = self._vector(pod_requests(pod, SCORING_DEFAULTS, pod_level=False))
        return Template(
            index=index,
            pod=pod,
            namespace=pod.namespace,
            labels=labels,
            owner=pod.metadata.controller,
            terminating=pod.is_terminating,
            priority=pod.priority,
            requests=requests,
            scored=np.array([scored.get(CPU, 0), scored.get(MEMORY, 0)], np.int64),
            asked=tuple(asked.tolist()),
            amounts=tuple(requests.tolist()),
            requests_key=requests.tobytes(),
            asked_key=asked.tobytes(),
            eligibility=self._number("eligibility", affinity_part(pod)),
            tolerations=self._number("tolerations", pod.spec.tolerations),
        )

    def _number(self, kind: str, part: Hashable) -> int:
        """A small number for a part of a pod, the same for equal parts."""
        return self._numbers.setdefault((kind, part), len(self._numbers))

    def _vector(self, amounts: Mapping[str, int]) -> Ints:
        vector = np.zeros(len(self.resources), np.int64)
        for name, amount in amounts.items():
            vector[self.resource_index[name]] = amount
        return vector

    def _read_allocatable(self) -> Ints:
        table = np.zeros((len(self.resources), self.nodes.size), np.int64)
        for position, node in enumerate(self.nodes.nodes):
            for name, amount in node.status.allocatable.items():
                row = self.resource_index.get(name)
                if row is not None:
                    table[row, position] = in_units(name, amount)
        return table

    @cached_property
    def pods_per_template(self) -> Ints:
        """How many pods, placed or pending, each template has."""
        return np.bincount(self.template_of, minlength=len(self.templates))

    @cached_property
    def eligibility(self) -> Eligibility:
        """Which nodes each template's own affinity and tolerations leave it."""
        return Eligibility(self.nodes)

    @cached_property
    def labels(self) -> LabelIndex:
        """The templates by label."""
        return LabelIndex(self.templates)

    @cached_property
    def namespace_labels(self) -> dict[str, Mapping[str, str]]:
        """The labels of every namespace; one that is only mentioned by pods has just its name label."""
        seen: dict[str, Mapping[str, str]] = {
            template.namespace: {"kubernetes.io/metadata.name": template.namespace}
            for template in self.templates
        }
        seen.update((namespace.name, namespace.metadata.labels) for namespace in self.cluster.namespaces)
        return seen

    def members(self, selection: Selection, *, terminating: bool) -> dict[int, int]:
        """The templates that a selection matches, as tally members; without terminating pods on request."""
        return {
            number: 1
            for number in self.labels.matched(selection)
            if terminating or not self.templates[number].terminating
        }

    def template(self, pod: int) -> Template:
        """The template of a pod."""
        return self.templates[int(self.template_of[pod])]

    def queue(self) -> list[int]:
        """The pending pods in the order the scheduler takes them: priority, age, appearance."""
        pending = [p for p in np.flatnonzero(self.node_of < 0).tolist() if not self.pods[p].is_terminating]
        return sorted(
            pending,
            key=lambda p: (
                -self.pods[p].priority,
                self.pods[p].metadata.creation_timestamp or _EPOCH,
                p,
            ),
        )


def _notes(cluster: Cluster) -> Iterator[str]:
    """What is left out of the calculation, a sentence each."""
    claiming = [pod.key for pod in cluster.pods if pod.spec.resource_claims and not pod.spec.node_name]
    if claiming:
        yield f"resourceClaims are not modelled, and {len(claiming)} pending pods have some ({claiming[0]})"


def _group(
    pods: Iterable[Pod], selected_keys: frozenset[str]
) -> tuple[list[tuple[dict[str, str], list[int]]], Ints]:
    """The pods by template, and the template of every pod."""
    numbers: dict[object, int] = {}
    groups: list[tuple[dict[str, str], list[int]]] = []
    template_of = []
    for position, pod in enumerate(pods):
        labels = {key: value for key, value in pod.metadata.labels.items() if key in selected_keys}
        number = numbers.setdefault(_template_key(pod, labels), len(numbers))
        if number == len(groups):
            groups.append((labels, []))
        groups[number][1].append(position)
        template_of.append(number)
    return groups, np.array(template_of, np.int64)


def _template_key(pod: Pod, labels: Mapping[str, str]) -> object:
    owner = pod.metadata.controller
    return (
        pod.namespace,
        tuple(sorted(labels.items())),
        pod.spec.model_dump_json(exclude=_NOT_IN_KEY),
        tuple(volume_keys(pod)),
        None if owner is None else (owner.kind, owner.name, owner.uid),
        pod.is_terminating,
    )


def _resource_names(cluster: Cluster, requests: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """cpu, memory and ephemeral-storage first, then extended resources by name, pods last."""
    seen = {name for node in cluster.nodes for name in node.status.allocatable}
    for wanted in requests:
        seen.update(wanted)
    first = (CPU, MEMORY, EPHEMERAL_STORAGE)
    return (*first, *sorted(seen - {*first, PODS}), PODS)


def _selected_keys(cluster: Cluster) -> frozenset[str]:
    """Every label key that some selector in the snapshot looks at."""
    keys: set[str] = set()
    for pod in cluster.pods:
        for constraint in pod.spec.topology_spread_constraints:
            keys.update(constraint.match_label_keys)
            keys.update(_keys_of(constraint.label_selector))
        if (affinity := pod.spec.affinity) is not None:
            for term in _pod_terms(affinity):
                keys.update(term.match_label_keys, term.mismatch_label_keys)
                keys.update(_keys_of(term.label_selector))
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


def _pod_terms(affinity: Affinity) -> Iterable[PodAffinityTerm]:
    for kind in (affinity.pod_affinity, affinity.pod_anti_affinity):
        if kind is not None:
            yield from kind.required
            yield from (weighted.pod_affinity_term for weighted in kind.preferred)


def _keys_of(selector: LabelSelector | None) -> Iterable[str]:
    return () if selector is None else (key for key, _, _ in selector.requirements)
