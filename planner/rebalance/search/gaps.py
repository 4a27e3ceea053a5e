"""Where there is room, and where bystanders can make some.

`AlternativeNodes`: the nodes that accept a pod but for room, and what is free on them.  The filters run once
for all pods of a template that leave the same domains, and again when the counts that they depend on have
changed.  `Openings`: full nodes on which bystanders can make room, and the bystanders that leave first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

import numpy as np

from planner.moves.trial_cluster import Interference, TrialCluster
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Codes, Ints, Mask


class AlternativeNodes:
    """The nodes open to a pod, by filters and by room."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self._reads = Interference(trial).reads
        self._open: ArrayCache[Mask] = ArrayCache(trial.problem.nodes.size)
        self._roomy: dict[bytes, Mask] = {}
        self._version = -1
        problem = trial.problem
        #: For every template what has to be free for it, and what it leaves free when it goes.
        self.wants: Ints = np.array([self._wanted(t) for t in range(len(problem.templates))], np.int64)
        self.leaves: Ints = np.array([template.requests for template in problem.templates], np.int64)
        scale = 1.0 / np.maximum(problem.allocatable.max(axis=1), 1)
        #: How large the pods of every template are, by what they need most of.
        self.size = (self.wants * scale).max(axis=1)

    def _wanted(self, template: int) -> Ints:
        wanted = np.zeros(len(self._trial.problem.resources), np.int64)
        for row, amount in self._trial.wants(template):
            wanted[row] = amount
        return wanted

    def open_to(self, pod: int) -> Mask:
        """The nodes that all filters but the one for room accept once the pod has left its own node."""
        state, template = self._trial.state, self._trial.template(pod)
        source = int(state.node_of[pod])
        stamp = tuple([tally.version for tally in self._reads(template)])
        key: Hashable = template, int(self._trial.domains(template)[source]), stamp
        return self._open.get(key, lambda: self._asked(pod, template))

    def _asked(self, pod: int, template: int) -> Mask:
        state, plan = self._trial.state, self._trial.plan(template)
        mark, mask = state.mark(), plan.static.copy()
        state.unbind(pod)
        for plugin in plan.changing:
            if plugin.wants(plan.template) is None:
                mask &= plugin.reject(plan.template) == 0
        state.rollback(mark)
        return mask

    def free(self) -> Ints:
        """What is free on every node; a row for every resource."""
        return self._trial.problem.allocatable - self._trial.state.used

    def roomy(self, template: int) -> Mask:
        """The nodes with room for a pod of a template now."""
        if self._version != self._trial.state.version:
            self._roomy.clear()
            self._version = self._trial.state.version
        key = self.wants[template].tobytes()
        found = self._roomy.get(key)
        if found is None:
            self._roomy[key] = found = np.all(self.spare(template, self.free()) >= 0, axis=0)
        return found

    def gaps(self) -> tuple[Codes, Mask]:
        """The nodes that may have room for a pod of some template, and per template which of them have."""
        free = np.maximum(self.free(), 0)
        nodes = np.flatnonzero((free >= self.wants.min(axis=0)[:, np.newaxis]).all(axis=0))
        fits: Mask = np.ones((len(self.wants), len(nodes)), np.bool_)
        for row, amounts in enumerate(self.wants.T):
            if amounts.any():
                fits &= amounts[:, np.newaxis] <= free[row, nodes]
        return nodes, fits

    def spare(self, template: int, free: Ints) -> Ints:
        """What would be left of free amounts, for the resources that a template requests."""
        asked = np.flatnonzero(self.wants[template])
        spare: Ints = free[asked] - self.wants[template][asked, np.newaxis]
        return spare


class Openings:
    """Finds nodes on which bystanders can make room.

    `may_go` says which pods may still be moved, `steps` in which parallel step each node had its last move.
    """

    def __init__(self, trial: TrialCluster, elsewhere: AlternativeNodes, may_go: Mask, steps: Ints) -> None:
        self._trial = trial
        self._elsewhere = elsewhere
        self._may_go = may_go
        self._steps = steps
        self._goes: Mask | None = None
        pods = np.flatnonzero(may_go)
        kinds, groups = trial.problem.template_of[pods], np.zeros(len(pods), np.int64)
        for kind in np.unique(kinds).tolist():
            mine = kinds == kind
            groups[mine] = trial.domains(kind)[trial.state.node_of[pods[mine]]]
        #: For every pod an index of its template and source domains; -1 if it may not go.
        self._pair = np.full(len(may_go), -1, np.int64)
        self._pair[pods] = np.unique(kinds * (groups.max(initial=0) + 1) + groups, return_inverse=True)[1]

    def renew(self) -> None:
        """Forget where pods might go; it is worked out again when needed."""
        self._goes = None

    @property
    def hopeful(self) -> bool:
        """Whether any bystander has a node to go to; otherwise no pod can make room for another."""
        return bool((self._can_go() & self._may_go).any())

    def of(self, template: int, good: Mask, wanted: int, *, straight: bool, most: int) -> Iterator[int]:
        """Good nodes that at most `most` bystanders can open; the fewest for each pod served come first.

        With `straight` every bystander has a node with room to go to; otherwise none is larger than the pod.
        """
        state, kinds = self._trial.state, self._trial.problem.template_of
        pods = np.flatnonzero(self._may_go)
        pods = pods[good[state.node_of[pods]] & (kinds[pods] != template)]
        size = self._elsewhere.size
        pods = pods[self._can_go()[pods] if straight else size[kinds[pods]] <= size[template]]
        nodes = state.node_of[pods]
        order = np.lexsort((-size[kinds[pods]], nodes))
        pods, nodes = pods[order], nodes[order]
        free = self._elsewhere.free()[:, nodes] + self._together(pods, nodes)
        served = np.clip(self._served(template, free), 0, wanted)
        rank = np.arange(len(nodes)) - np.searchsorted(nodes, nodes) + 1
        fits = np.flatnonzero((served > 0) & (rank <= most))
        best = np.lexsort((self._steps[nodes[fits]], rank[fits] / served[fits]))
        yield from dict.fromkeys(nodes[fits][best].tolist())

    def _together(self, pods: Codes, nodes: Codes) -> Ints:
        """For every pod what it and the pods before it on its node leave free."""
        total = self._elsewhere.leaves[self._trial.problem.template_of[pods]].T.cumsum(axis=1)
        before = np.concatenate([np.zeros((len(total), 1), np.int64), total], axis=1)
        found: Ints = total - before[:, np.searchsorted(nodes, nodes)]
        return found

    def _can_go(self) -> Mask:
        """For every pod whether there was a node with room for it when last looked for."""
        if self._goes is None:
            gaps, fits = self._elsewhere.gaps()
            answers = np.zeros(int(self._pair.max(initial=-1)) + 2, np.bool_)
            pods = np.flatnonzero(self._may_go)
            pairs, first = np.unique(self._pair[pods], return_index=True)
            for pair, pod in zip(pairs.tolist(), pods[first].tolist(), strict=True):
                room = fits[self._trial.template(pod)]
                answers[pair] = room.any() and (self._elsewhere.open_to(pod)[gaps] & room).any()
            self._goes = answers[self._pair]
        return self._goes

    def bystander(
        self, template: int, node: int, wanted: int, *, straight: bool, tried: set[int]
    ) -> int | None:
        """The next pod to leave a node: the one that makes room for most wanted pods, else the largest."""
        kinds, size = self._trial.problem.template_of, self._elsewhere.size
        known: dict[int, int] = {}
        for pod in self._trial.state.pods_on[node]:
            kind = int(kinds[pod])
            if kind != template and kind not in known and self._may_go[pod] and pod not in tried:
                if straight:
                    fine = bool((self._elsewhere.roomy(kind) & self._elsewhere.open_to(pod)).any())
                else:
                    fine = bool(size[kind] <= size[template])
                if fine:
                    known[kind] = pod
        if not known:
            return None
        of = np.array(list(known), np.intp)
        free = self._elsewhere.free()[:, [node]] + self._elsewhere.leaves[of].T
        served = np.clip(self._served(template, free), 0, wanted)
        best = int(np.lexsort((of, np.where(served > 0, size[of], -size[of]), -served))[0])
        return known[int(of[best])]

    def _served(self, template: int, free: Ints) -> Ints:
        """How many pods of a template fit into free amounts."""
        wants = self._elsewhere.wants[template]
        asked = wants > 0
        served: Ints = (np.maximum(free[asked], 0) // wants[asked, np.newaxis]).min(axis=0)
        return served
