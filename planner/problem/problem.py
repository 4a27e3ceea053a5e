"""A cluster compiled for the engines: a node axis, interned templates, integer resource arrays.

50,000 pods are about 500 templates.  Whatever depends on what a pod *is* is worked out once a
template; whatever depends on where pods *are* lives in `state.py`.
"""

from __future__ import annotations

import copy
from collections import ChainMap
from collections.abc import Collection, Hashable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property

import numpy as np

from models import Cluster
from models.collector import collector_paused
from models.objects.base import FAR_AHEAD
from models.objects.custom_workload import is_custom
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.selectors import LabelSelector
from models.objects.workload import ReplicaSet, StatefulSet
from planner.problem.derived import forget
from planner.problem.device_claims import DeviceClaims
from planner.problem.eligibility import Eligibility, affinity_part
from planner.problem.endings import Endings
from planner.problem.input_notes import nothing_read, pending_notes
from planner.problem.kubernetes_version import copied_for
from planner.problem.nodes import Codes, Column, Ints, NodeAxis
from planner.problem.quotas import Quotas, refusals
from planner.problem.requests import CPU, MEMORY, PODS, SCORING_DEFAULTS, Resize, pod_requests
from planner.problem.resource_rows import Amounts, ResourceRows, refuse_what_is_too_large
from planner.problem.selection import PLACE_LABELS, LabelIndex, Members, PlacedLabels, Selection
from planner.problem.templates import Grouping, Template, is_plain, selected_keys

#: Why a plan is not proved.
_FOLLOWING = (
    "selectors look at zone or region labels, which a pod gets from its node: plans are played through "
    "with them, but no bound knows of them"
)
#: What is said of a pod whose gates keep the scheduler from looking at it.
GATED = "scheduling gated"


class Problem:
    """Everything about a snapshot that does not change while pods are placed."""

    @collector_paused()
    def __init__(self, cluster: Cluster, before: Problem | None = None, own: Collection[str] = ()) -> None:
        """The cluster compiled; quicker when `before` is that of a cluster that had fewer pods at the end.

        Of `own` claims every pod that mounts one has another, alike but for its name.
        """
        self.own_claims = own
        self.cluster = cluster
        self.kubernetes = copied_for(cluster)
        self.behaviour = self.kubernetes.behaviour
        self._resize = Resize(self.behaviour.resizes_pods, self.behaviour.resize_takes_sums)
        self.devices = DeviceClaims(cluster)
        self.nodes = NodeAxis(cluster.nodes)
        # Finished pods, and pods on nodes that are not in the snapshot, take no part.
        there = {None, "", *self.nodes.index}
        pods = [pod for pod in cluster.pods if not pod.is_finished and pod.spec.node_name in there]
        self.pods: tuple[Pod, ...] = tuple(pods)
        self.pod_index: MutableMapping[str, int] = {pod.key: place for place, pod in enumerate(pods)}
        self.node_of: Codes = np.array(
            [self.nodes.index[pod.spec.node_name] if pod.spec.node_name else -1 for pod in pods],
            np.int32,
        )
        self._selected_keys = selected_keys(cluster)
        known = None if before is None else before._grouping
        by_health = bool(cluster.pod_disruption_budgets)
        self._grouping: Grouping = Grouping(pods, self._selected_keys, known, by_health=by_health)
        grouping = self._grouping
        self.template_of = np.array(grouping.template_of, np.int64)
        requests = [self.requests_of(pod) for pod, _ in grouping.examples]
        self._rows = ResourceRows(cluster.nodes, requests)
        self.resources, self.resource_index = self._rows.names, self._rows.index
        self.allocatable = self._rows.allocatable(self.nodes.nodes)
        self._numbers: dict[Hashable, int] = {}
        self.templates = tuple(
            self._template(index, pod, labels, wanted)
            for index, ((pod, labels), wanted) in enumerate(zip(grouping.examples, requests, strict=True))
        )
        self._refuse_what_is_too_large()
        pending = [pod for pod in pods if not pod.spec.node_name]
        from_devices = [row for row in self.extended_rows if not self.allocatable[row].all()]
        self.notes = (
            *self.kubernetes.notes(),
            *self.devices.notes(pending),
            *(self.devices.without_timestamp(pending) if self.behaviour.stamps_allocations else ()),
            *pending_notes(cluster, self.nodes, pending, map(self.resources.__getitem__, from_devices)),
            *self.endings.notes(),
            *nothing_read(cluster),
        )
        self.priorities = np.array([t.priority for t in self.templates], np.int64)[self.template_of]

    @cached_property
    def endings(self) -> Endings:
        going = np.array([template.terminating for template in self.templates], np.bool_)
        ending = np.flatnonzero(going[self.template_of]) if going.any() else np.zeros(0, np.intp)
        ending = ending[self.node_of[ending] >= 0]
        return Endings(self.nodes.nodes, self.pods, self.node_of, ending)

    def _refuse_what_is_too_large(self) -> None:
        if self.templates:
            requests = np.stack([template.requests for template in self.templates], axis=1)
            pods = Amounts(requests, self.pods_per_template, self.template_of, self.node_of)
            refuse_what_is_too_large(self.resources, self.nodes, self.allocatable, pods)

    def varied(
        self, node_of: Codes, nodes: Iterable[Node] | None = None, more: Sequence[Pod] = (), alike: int = 1
    ) -> Problem:
        """The same pods in other places, perhaps among other nodes, and a few pods more, the first `alike`.

        The nodes of before are all among the new ones. Nothing is grouped again: every other further pod is
        a template of its own, so this takes milliseconds where compiling takes seconds.
        """
        labels = self.labels if more else None
        varied = copy.copy(self)
        forget(varied, Problem.eligibility, Problem.endings)
        if nodes is not None:
            varied.cluster = replace(self.cluster, nodes=tuple(nodes))
            varied.nodes = NodeAxis(nodes, self.nodes)
            varied.allocatable = varied._allocatable_after(self)
            positions: Codes = np.append(varied.nodes.positions_of(self.nodes), -1)
            varied.node_of = positions[node_of]
        else:
            varied.node_of = node_of
        if more:
            varied._add(more, alike - 1)
            varied._forget_templates()
            varied.labels = LabelIndex(varied.templates, labels)
        return varied

    def _forget_templates(self) -> None:
        """Let what depends on the templates, and on how many pods each has, be worked out again."""
        forget(
            self, Problem.labels, Problem.namespace_labels, Problem.pods_per_template, Problem._by_template
        )

    def _add(self, more: Sequence[Pod], same: int) -> None:
        """Append pods, all but the first few with templates of their own; those with a node are there."""
        first, known = len(self.templates), len(self.pods)
        self.templates += tuple(
            self._template(number, pod, self._seen_labels(pod), self.requests_of(pod))
            for number, pod in enumerate(more[same:], start=first)
        )
        self.pods += tuple(more)
        self.pod_index = ChainMap({pod.key: known + i for i, pod in enumerate(more)}, self.pod_index)
        places = [self.nodes.index[pod.spec.node_name] if pod.spec.node_name else -1 for pod in more]
        self.node_of = np.append(self.node_of, np.array(places, np.int32))
        self.template_of = np.append(self.template_of, np.arange(len(more)).clip(same) + first - same)
        self.priorities = np.append(self.priorities, np.array([pod.priority for pod in more], np.int64))

    def _seen_labels(self, pod: Pod) -> dict[str, str]:
        return {key: value for key, value in pod.metadata.labels.items() if key in self._selected_keys}

    def with_leaving(self, pods: Sequence[int]) -> Problem:
        """The same with a double of each of these pods that is on its way out, and nowhere so far.

        A double stands for its pod between the eviction and the end: it holds room, ports and claims,
        and does not count for spread.
        """
        now = datetime.now(UTC)
        doubles: dict[int, Template] = {}
        for number in dict.fromkeys(self.template_of[list(pods)].tolist()):
            template = self.templates[number]
            index = len(self.templates) + len(doubles)
            gone = self._leaving(template.pod, now)
            doubles[number] = replace(template, index=index, pod=gone, terminating=True)
        numbers = [doubles[int(self.template_of[pod])].index for pod in pods]
        return self._and([self._leaving(self.pods[pod], now) for pod in pods], numbers, doubles.values())

    def with_replacements(self, made: Mapping[int, Pod]) -> Problem:
        """The same with the pods that replace some of these, behind all others and nowhere so far.

        The replacements of pods of one template are of one template.  No quota is asked about them.
        """
        alike = {int(self.template_of[pod]): new for pod, new in made.items()}
        numbers = {old: number for number, old in enumerate(alike, start=len(self.templates))}
        templates = [
            self._template(numbers[old], pod, self._seen_labels(pod), self.requests_of(pod))
            for old, pod in alike.items()
        ]
        return self._and([*made.values()], [numbers[int(self.template_of[pod])] for pod in made], templates)

    def with_copies(self, copies: Mapping[int, int], refused: Mapping[int, str]) -> Problem:
        """The same with so many more pods like each of these, pending, behind all others.

        No quota is asked about any pod: it is known which are `refused`.
        """
        like = np.repeat(np.array([*copies], np.int64), [*copies.values()])
        found = copy.copy(self)
        found.refused = refused
        return found._and([self.pods[pod] for pod in like.tolist()], self.template_of[like].tolist())

    def _and(
        self, pods: Sequence[Pod], template_of: Sequence[int], templates: Iterable[Template] = ()
    ) -> Problem:
        """The same with more pods, nowhere so far; `templates` are those of theirs that are new."""
        found = copy.copy(self)
        found.refused = self.refused
        found._forget_templates()
        found.templates = (*self.templates, *templates)
        found.pods = (*self.pods, *pods)
        priority_of = {number: found.templates[number].priority for number in {*template_of}}
        priorities = np.array([priority_of[number] for number in template_of], np.int64)
        found.node_of = np.append(self.node_of, np.full(len(pods), -1, np.int32))
        found.template_of = np.append(self.template_of, np.array(template_of, np.int64))
        found.priorities = np.append(self.priorities, priorities)
        return found

    @staticmethod
    def _leaving(pod: Pod, now: datetime) -> Pod:
        metadata = pod.metadata.model_copy(update={"deletion_timestamp": now})
        return pod.model_copy(update={"metadata": metadata})

    def requests_of(self, pod: Pod, defaults: Mapping[str, int] | None = None) -> dict[str, int]:
        """What a pod counts by resource; `defaults` stand in where a container asks for nothing."""
        return pod_requests(pod, defaults, resize=self._resize)

    def _template(
        self, index: int, pod: Pod, labels: Mapping[str, str], wanted: Mapping[str, int]
    ) -> Template:
        scored = self.requests_of(pod, SCORING_DEFAULTS)
        requests, by_containers = self._rows.amounts({**wanted, PODS: 1}), scored
        if pod.spec.resources is not None:
            by_containers = pod_requests(pod, SCORING_DEFAULTS, pod_level=False, resize=self._resize)
        asked = self._rows.amounts(by_containers)
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
            plain=is_plain(pod.spec),
        )

    def _number(self, kind: str, part: Hashable) -> int:
        """A small number for a part of a pod, the same for equal parts."""
        return self._numbers.setdefault((kind, part), len(self._numbers))

    def _allocatable_after(self, before: Problem) -> Ints:
        """What every node has; nodes that were there before, just as they are, are not read again."""
        table = np.empty((len(self.resources), self.nodes.size), np.int64)
        known = self.nodes.known
        table[:, known >= 0] = before.allocatable[:, known[known >= 0]]
        fresh = np.flatnonzero(known < 0)
        table[:, fresh] = self._rows.allocatable([self.nodes.nodes[node] for node in fresh.tolist()])
        return table

    @cached_property
    def extended_rows(self) -> list[int]:
        """The extended resources that a DeviceClass may stand behind; none before releases that do so."""
        if not self.behaviour.device_classes_extend:
            return []
        return [row for row, name in enumerate(self.resources) if name in self.devices.extended]

    @cached_property
    def pods_per_template(self) -> Ints:
        """How many pods, placed or pending, each template has."""
        return np.bincount(self.template_of, minlength=len(self.templates))

    @cached_property
    def _by_template(self) -> tuple[Codes, Codes]:
        """All pods, those of a template together, and where each template's begin."""
        order = np.argsort(self.template_of, kind="stable")
        return order, np.searchsorted(self.template_of[order], np.arange(len(self.templates) + 1))

    def pods_of(self, template: int) -> Codes:
        order, edges = self._by_template
        return order[edges[template] : edges[template + 1]]

    @property
    def labels_follow_nodes(self) -> bool:
        """Whether selectors look at labels that a pod gets from its node when it is bound."""
        return self.behaviour.copies_zone_labels and not self._selected_keys.isdisjoint(PLACE_LABELS)

    @property
    def unproved(self) -> tuple[str, ...]:
        """Why no plan can be proved to be the best; a note, or none."""
        return (_FOLLOWING,) if self.labels_follow_nodes else ()

    @cached_property
    def eligibility(self) -> Eligibility:
        """Which nodes each template's own affinity and tolerations leave it."""
        return Eligibility(self.nodes)

    @cached_property
    def labels(self) -> LabelIndex:
        """The templates by label."""
        return LabelIndex(self.templates)

    @cached_property
    def workload_selectors(self) -> dict[tuple[str, str], LabelSelector | None]:
        """The selectors of the ReplicaSets and StatefulSets that kube-scheduler knows, by kind and key."""
        workloads: tuple[ReplicaSet | StatefulSet, ...] = (
            *self.cluster.replica_sets,
            *self.cluster.stateful_sets,
        )
        return {(found.kind, found.key): found.spec.selector for found in workloads if not is_custom(found)}

    @cached_property
    def namespace_labels(self) -> dict[str, Mapping[str, str]]:
        """The labels of every namespace; one that is only mentioned by pods has just its name label."""
        seen: dict[str, Mapping[str, str]] = {
            template.namespace: {"kubernetes.io/metadata.name": template.namespace}
            for template in self.templates
        }
        seen.update((namespace.name, namespace.metadata.labels) for namespace in self.cluster.namespaces)
        return seen

    def members(self, selection: Selection, *, terminating: bool) -> Members:
        """The templates that a selection matches, as tally members; without terminating pods on request."""
        if self.behaviour.copies_zone_labels and selection.names(PLACE_LABELS):
            found = self._members_by_place(selection)
        else:
            found = Members(dict.fromkeys(self.labels.matched(selection), 1))
        for number in [n for n in found if self.templates[n].terminating and not terminating]:
            del found[number]
        return found

    def _members_by_place(self, selection: Selection) -> Members:
        """The same where the selector looks at labels that a pod gets from its node.

        A pod that runs in the snapshot without them came before there was such a thing, and has none.
        """
        found = Members()
        columns = [self.nodes.column(key) for key in PLACE_LABELS]
        codes_of = np.stack([column.codes for column in columns])
        places, place_of = np.unique(codes_of, axis=1, return_inverse=True)
        added = [_labels(columns, codes) for codes in places.T.tolist()]
        for number, template in enumerate(self.templates):
            gets_them = template.labels.keys() & set(PLACE_LABELS) or not template.pod.spec.node_name
            placed = (
                PlacedLabels(template.namespace, {**template.labels, **(more if gets_them else {})})
                for more in added
            )
            matched = [selection.matches(labels) for labels in placed]
            if any(matched):
                found[number] = 1
                found.where[number] = np.array(matched, np.bool_)[place_of.reshape(-1)]
        return found

    def template(self, pod: int) -> Template:
        return self.templates[int(self.template_of[pod])]

    def by_template(self, pods: Iterable[int]) -> dict[int, list[int]]:
        """Some pods by the number of their template, in their order."""
        found: dict[int, list[int]] = {}
        for pod in pods:
            found.setdefault(int(self.template_of[pod]), []).append(pod)
        return found

    @cached_property
    def refused(self) -> Mapping[int, str]:
        """The pods that the API server would not create, in the order in which they are asked for."""
        return refusals(self, Quotas(self))

    def held_back(self, pod: int) -> str:
        """Why the scheduler does not come to see a pending pod: it has gates, or it is not created at all."""
        if pod in self.refused:
            return f"not created: {self.refused[pod]}"
        return GATED if self.pods[pod].spec.scheduling_gates else ""

    def queue(self) -> list[int]:
        """The pending pods in the order the scheduler takes them: priority, age, appearance."""
        pending = [p for p in np.flatnonzero(self.node_of < 0).tolist() if not self.pods[p].is_terminating]
        # A pod without a creation time is yet to be created, after all that exist.
        created = {p: self.pods[p].metadata.creation_timestamp or FAR_AHEAD for p in pending}
        by_age = np.array(sorted(pending, key=created.__getitem__), np.intp)
        queue: list[int] = by_age[np.argsort(-self.priorities[by_age], kind="stable")].tolist()
        return queue


def _labels(columns: Iterable[Column], codes: Iterable[int]) -> dict[str, str]:
    """The labels that these codes stand for; -1 is none."""
    pairs = zip(columns, codes, strict=True)
    return {column.key: column.values[code] for column, code in pairs if code >= 0}
