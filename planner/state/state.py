"""Where the pods are: the only thing that changes while pods are placed, with an undo.

Every array is updated in place.  Caches elsewhere follow `log`, the list of nodes whose load
changed; `epoch` grows when the log is cut, and a cache that missed a cut starts afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from models.collector import collector_paused
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Codes, Column, Ints, Mask
from planner.problem.problem import Problem
from planner.problem.selection import Members
from planner.problem.volume_claims import Claims
from planner.state.pod_counts import CountedNodes, CountsWhere, DomainCounts, PodCounts


class JournalEntry(NamedTuple):
    """One journal entry: a pod came to a node, binding so many claims, or left its place there."""

    pod: int
    node: int
    came: bool
    detail: int
    #: The versions before, of the state and of the tallies that count the pod.
    versions: list[int]


class JournalOfMany(NamedTuple):
    """One journal entry: pods of one template, without claims, came to nodes or left them, each the next."""

    pods: list[int]
    nodes: Codes
    places: list[int] | None
    """The places that pods left there; None where they came."""
    versions: list[int]


#: All that formulas over loads read of a node; see `State.load_key`.
LoadKey = tuple[bytes, bytes, bytes]


class State:
    """The load of every node, the node of every pod, and the tallies, all current."""

    @collector_paused()
    def __init__(self, problem: Problem, node_of: Codes | None = None, before: State | None = None) -> None:
        """The snapshot's own placement, or the given one: a node for every pod, -1 for pending.

        Quicker with a fresh state of the problem that this one was varied from, its pods in the same places.
        """
        self.problem = problem
        self.node_of = np.full(len(problem.pods), -1, np.intp)
        self.pods_on: list[list[int]] = []
        self.claims = Claims(problem.cluster, problem.nodes, problem.pods, problem.own_claims)
        self.log: list[int] = []
        self.epoch = 0
        #: Equal versions mean equal states: what is undone has the version from before.
        self.version = 0
        self._versions = 0
        self._key_of = (-1, -1)
        self._key: LoadKey = (b"", b"", b"")
        self._log_limit = max(256, problem.nodes.size)
        self._journal: list[JournalEntry | JournalOfMany] = []
        self._tallies: dict[Hashable, PodCounts] = {}
        self._domain_counts: ArrayCache[DomainCounts] = ArrayCache(problem.nodes.size)
        self._counted: ArrayCache[CountedNodes] = ArrayCache(problem.nodes.size)
        self._tallies_of: list[list[tuple[PodCounts | CountsWhere, int]]] = [[] for _ in problem.templates]
        self._counted_by: list[list[PodCounts]] = [[] for _ in problem.templates]
        self._template_of: list[int] = problem.template_of.tolist()
        self._requests = [template.requests for template in problem.templates]
        self._scored = [template.scored for template in problem.templates]
        if before is None:
            self._load(problem.node_of if node_of is None else node_of)
        else:
            self._take_over(before)

    def _load(self, node_of: Codes) -> None:
        problem = self.problem
        size = problem.nodes.size
        bound = np.flatnonzero(node_of >= 0)
        nodes, templates = node_of[bound], problem.template_of[bound]
        self.node_of[bound] = nodes
        pods = bound[np.argsort(nodes, kind="stable")].tolist()
        edges = [0, *np.cumsum(np.bincount(nodes, minlength=size)).tolist()]
        self.pods_on = [pods[start:end] for start, end in pairwise(edges)]
        self._table = _columns(self._requests, len(problem.resources))
        self.used: Ints = _summed(self._table[:, templates], nodes, size)
        self.scored: Ints = _summed(_columns(self._scored, 2)[:, templates], nodes, size)

    def _take_over(self, before: State) -> None:
        """The loads of a state with the same pods in the same places, and those of further pods."""
        problem, known = self.problem, len(before.node_of)
        self.node_of[:] = problem.node_of
        places = problem.nodes.positions_of(before.problem.nodes)
        size = problem.nodes.size
        self.used, self.scored = np.zeros((len(before.used), size), np.int64), np.zeros((2, size), np.int64)
        self.used[:, places], self.scored[:, places] = before.used, before.scored
        pods_on = before.pods_on
        if len(pods_on) < size:
            pods_on = [[]] * size
            for place, pods in zip(places.tolist(), before.pods_on, strict=True):
                pods_on[place] = pods
        self.pods_on = [pods.copy() for pods in pods_on]
        more = self._requests[before._table.shape[1] :]
        self._table = np.concatenate((before._table, _columns(more, len(before._table))), axis=1)
        for pod, node in enumerate(self.node_of[known:].tolist(), start=known):
            if node >= 0:
                template = self._template_of[pod]
                self.pods_on[node].append(pod)
                self.used[:, node] += self._requests[template]
                self.scored[:, node] += self._scored[template]

    def load_of(self, pods: Codes) -> Ints:
        """What some of the placed pods use together: a row for every resource, a column for every node."""
        templates, nodes = self.problem.template_of[pods], self.node_of[pods]
        return _summed(self._table[:, templates], nodes, self.problem.nodes.size)

    def placed(self, templates: Iterable[int]) -> list[int]:
        """The pods of some templates that have a node, in order."""
        wanted = np.zeros(len(self.problem.templates), np.bool_)
        wanted[[*templates]] = True
        found: list[int] = np.flatnonzero(wanted[self.problem.template_of] & (self.node_of >= 0)).tolist()
        return found

    def nodes_of(self, template: int) -> Codes:
        """The nodes of the placed pods of a template, one for each pod."""
        nodes: Codes = self.node_of[self.problem.pods_of(template)]
        return nodes[nodes >= 0]

    def load_key(self, node: int) -> LoadKey:
        """What a node has and how it is loaded: nodes with equal keys are alike to formulas over loads."""
        if self._key_of != (self.version, node):
            self._key_of = (self.version, node)
            self._key = (
                self.problem.allocatable[:, node].tobytes(),
                self.used[:, node].tobytes(),
                self.scored[:, node].tobytes(),
            )
        return self._key

    def tally(self, key: Hashable, members: Callable[[], Mapping[int, int]]) -> PodCounts:
        """The tally under a key; made on first use from the templates that belong to it."""
        found = self._tallies.get(key)
        if found is None:
            found = self._tallies[key] = self._make_tally(members())
        return found

    def _make_tally(self, members: Mapping[int, int]) -> PodCounts:
        counts = np.zeros(self.problem.nodes.size, np.int64)
        where = members.where if isinstance(members, Members) else {}
        for template, amount in members.items():
            nodes = self.nodes_of(template)
            np.add.at(counts, nodes[where[template][nodes]] if template in where else nodes, amount)
        tally = PodCounts(members, counts)
        for template, amount in members.items():
            counted = CountsWhere(tally, where[template]) if template in where else tally
            self._tallies_of[template].append((counted, amount))
            self._counted_by[template].append(tally)
        return tally

    def domain_counts(
        self, tally: PodCounts, column: Column, eligible: Mask | None = None, part: Hashable = None
    ) -> DomainCounts:
        """A tally summed per domain over the eligible nodes; `part` says what made them eligible."""
        return self._domain_counts.get(
            (id(tally), column.key, part),
            lambda: DomainCounts(
                tally, self._counted.get((column.key, part), lambda: CountedNodes(column, eligible))
            ),
        )

    def bind(self, pod: int, node: int) -> None:
        """Put a pod on a node, whether it fits or not; its claims are bound with it."""
        claims, versions = self.claims.assume(pod, node), self._versions_before(pod)
        self._come(pod, node, len(self.pods_on[node]))
        self._journal.append(JournalEntry(pod, node, True, claims, versions))

    def bind_all(self, pods: list[int], nodes: Codes) -> None:
        """Put pods of one template on nodes, each on the next."""
        if any(self.problem.pods[pod].spec.volumes for pod in pods):
            for pod, node in zip(pods, nodes.tolist(), strict=True):
                self.bind(pod, node)
            return
        versions = self._versions_before(pods[0])
        self.node_of[pods] = nodes
        for pod, node in zip(pods, nodes.tolist(), strict=True):
            self.pods_on[node].append(pod)
        self._count_all(pods[0], nodes, 1)
        self._journal.append(JournalOfMany(pods, nodes, None, versions))

    def unbind(self, pod: int) -> None:
        """Take a pod off its node; what its claims are bound to stays bound, as in a cluster."""
        node, versions = int(self.node_of[pod]), self._versions_before(pod)
        self._journal.append(JournalEntry(pod, node, False, self._leave(pod, node), versions))

    def unbind_all(self, pods: list[int]) -> None:
        """Take pods of one template off their nodes."""
        if not pods:
            return
        nodes, places, versions = self.node_of[pods], [], self._versions_before(pods[0])
        for pod, node in zip(pods, nodes.tolist(), strict=True):
            on = self.pods_on[node]
            places.append(on.index(pod))
            del on[places[-1]]
        self.node_of[pods] = -1
        self._count_all(pods[0], nodes, -1)
        self._journal.append(JournalOfMany(pods, nodes, places, versions))

    def load(self, template: int, pods: Ints) -> None:
        """Count so many pods more of a template on every node, or fewer, without saying which pods they are.

        For questions about loads and counts alone; it has to be taken back before anything else is undone.
        """
        self.used += np.outer(self._requests[template], pods)
        self.scored += np.outer(self._scored[template], pods)
        for tally, weight in self._tallies_of[template]:
            tally.add_many(pods * weight)
        self._new_version()
        self.log.clear()
        self.epoch += 1

    def mark(self) -> int:
        """A point to return to with `rollback`."""
        return len(self._journal)

    def moves_since(self, mark: int) -> Iterator[tuple[int, int, bool]]:
        """Which pods came to which nodes since the mark, or left them."""
        for step in self._journal[mark:]:
            if isinstance(step, JournalOfMany):
                for pod, node in zip(step.pods, step.nodes.tolist(), strict=True):
                    yield pod, node, step.places is None
            else:
                yield step.pod, step.node, step.came

    def redo(self, moves: Iterable[tuple[int, int, bool]]) -> None:
        """Have pods come to nodes and leave them as they did before."""
        for pod, node, came in moves:
            if came:
                self.bind(pod, node)
            else:
                self.unbind(pod)

    def rollback(self, mark: int) -> None:
        """Undo everything since the mark."""
        while len(self._journal) > mark:
            step = self._journal.pop()
            if isinstance(step, JournalOfMany):
                self._undo_all(step)
            elif step.came:
                self._leave(step.pod, step.node)
                self.claims.forget(step.detail)
            else:
                self._come(step.pod, step.node, step.detail)
            self._restore_versions(step)

    def _versions_before(self, pod: int) -> list[int]:
        return [self.version, *(tally.version for tally in self._counted_by[self._template_of[pod]])]

    def _restore_versions(self, step: JournalEntry | JournalOfMany) -> None:
        """Give back the versions from before a step; tallies that were made after it keep theirs."""
        pod = step.pod if isinstance(step, JournalEntry) else step.pods[0]
        self.version, *versions = step.versions
        for tally, version in zip(self._counted_by[self._template_of[pod]], versions, strict=False):
            tally.version = version

    def forget_history(self) -> None:
        """Drop the journal: nothing before this point can be undone any more."""
        self._journal.clear()

    def _come(self, pod: int, node: int, place: int) -> None:
        self.node_of[pod] = node
        self.pods_on[node].insert(place, pod)
        self._count(pod, node, 1)

    def _leave(self, pod: int, node: int) -> int:
        place = self.pods_on[node].index(pod)
        self.node_of[pod] = -1
        del self.pods_on[node][place]
        self._count(pod, node, -1)
        return place

    def _undo_all(self, step: JournalOfMany) -> None:
        """Take off the last pods that came, or put back to their places those that left, the last first."""
        pods, nodes = step.pods, step.nodes.tolist()
        if step.places is None:
            self.node_of[pods] = -1
            for node in nodes:
                self.pods_on[node].pop()
        else:
            self.node_of[pods] = step.nodes
            for pod, node, place in reversed([*zip(pods, nodes, step.places, strict=True)]):
                self.pods_on[node].insert(place, pod)
        self._count_all(pods[0], step.nodes, -1 if step.places is None else 1)

    def _count_all(self, pod: int, nodes: Codes, amount: int) -> None:
        """Count pods like this one on nodes, one on each."""
        template = self._template_of[pod]
        for table, amounts in ((self.used, self._requests[template]), (self.scored, self._scored[template])):
            for row in np.flatnonzero(amounts).tolist():
                np.add.at(table[row], nodes, amount * amounts[row])
        for tally, weight in self._tallies_of[template]:
            tally.add_each(nodes, amount * weight)
        self._changed(nodes.tolist())

    def _new_version(self) -> None:
        self._versions += 1
        self.version = self._versions

    def _changed(self, nodes: list[int]) -> None:
        self._new_version()
        self.log += nodes
        if len(self.log) > self._log_limit:
            self.log.clear()
            self.epoch += 1

    def _count(self, pod: int, node: int, amount: int) -> None:
        """Count a pod on a node (1), or no longer (-1)."""
        template = self._template_of[pod]
        # In place: `+= amount * requests` makes three arrays, and takes three times as long.
        used, scored = self.used[:, node], self.scored[:, node]
        if amount > 0:
            used += self._requests[template]
            scored += self._scored[template]
        else:
            used -= self._requests[template]
            scored -= self._scored[template]
        for tally, weight in self._tallies_of[template]:
            tally.add(node, amount * weight)
        self._changed([node])


def _columns(amounts: list[Ints], height: int) -> Ints:
    """The amounts of every template as a column of a table."""
    return np.stack(amounts, axis=1) if amounts else np.zeros((height, 0), np.int64)


def _summed(amounts: Ints, nodes: Codes, size: int) -> Ints:
    """A column of amounts for each pod, added up for each node."""
    total = np.zeros((len(amounts), size), np.int64)
    for row, amount in zip(total, amounts, strict=True):
        np.add.at(row, nodes, amount)
    return total
