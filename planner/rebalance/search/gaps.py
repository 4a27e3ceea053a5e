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
from planner.proof import effort


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
    """Finds nodes on which bystanders that have a gap to go to can make room, and who leaves them first.

    `may_go` says which pods may still be moved.
    """

    def __init__(self, trial: TrialCluster, elsewhere: AlternativeNodes, may_go: Mask) -> None:
        self._trial = trial
        self._elsewhere = elsewhere
        self._may_go = may_go
        self.is_bystander = may_go.copy()
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

    def of(self, template: int, good: Mask, source: int) -> Iterator[int]:
        """Good nodes but the source that bystanders can open; where the fewest have to go comes first."""
        state, kinds = self._trial.state, self._trial.problem.template_of
        pods = np.flatnonzero(self._may_go & self._can_go())
        pods = pods[good[state.node_of[pods]] & (kinds[pods] != template) & (state.node_of[pods] != source)]
        nodes = state.node_of[pods]
        order = np.lexsort((-self._elsewhere.size[kinds[pods]], nodes))
        pods, nodes = pods[order], nodes[order]
        fits = (self._elsewhere.spare(template, self._free_without(pods, nodes)) >= 0).all(axis=0)
        rank = np.arange(len(nodes)) - np.searchsorted(nodes, nodes) + 1
        opened = np.flatnonzero(fits & (rank <= effort.CHAIN_TOGETHER))
        yield from dict.fromkeys(nodes[opened][np.argsort(rank[opened], kind="stable")].tolist())

    def _free_without(self, pods: Codes, nodes: Codes) -> Ints:
        """What is free on each pod's node without it and the pods before it on the same node."""
        total = self._elsewhere.leaves[self._trial.problem.template_of[pods]].T.cumsum(axis=1)
        before = np.concatenate([np.zeros((len(total), 1), np.int64), total], axis=1)
        found: Ints = self._elsewhere.free()[:, nodes] + total - before[:, np.searchsorted(nodes, nodes)]
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

    def bystander(self, template: int, node: int, tried: set[int]) -> int | None:
        """The next pod to leave a node: the smallest that alone makes enough room, else the largest."""
        kinds, known = self._trial.problem.template_of, dict[int, int]()
        for pod in self._trial.state.pods_on[node]:
            kind = int(kinds[pod])
            if kind == template or kind in known or pod in tried or not self._may_go[pod]:
                continue
            if (self._elsewhere.roomy(kind) & self._elsewhere.open_to(pod)).any():
                known[kind] = pod
        if not known:
            return None
        of, size = np.array(list(known), np.intp), self._elsewhere.size
        free = self._elsewhere.free()[:, [node]] + self._elsewhere.leaves[of].T
        alone = (self._elsewhere.spare(template, free) >= 0).all(axis=0)
        return known[int(of[np.lexsort((of, np.where(alone, size[of], -size[of]), ~alone))[0]])]
