"""Quotas of kinds of nodes carried out: which nodes of every kind are kept, and which pod goes to which.

Kept are the nodes that hold most of what their kind is to hold; those pods stay.  All others come to the node
of their kind that fills most evenly, the largest first, whatever spread says: the quotas have it right in the
end.  What has no place in its own kind comes into the tightest gap anywhere, or a node opens for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.consolidate.greedy import NodeRemoval
from planner.consolidate.layout import SiteCounts
from planner.constraints.pod_topology_spread import PodTopologySpread
from planner.cpsat.kept import Site
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes
from planner.proof import consolidation_effort as effort


@dataclass(frozen=True, slots=True)
class KindQuotas:
    """How many pods of every template each kind of nodes holds, and how many of its nodes are kept."""

    kinds: NodeGroups
    pods: Mapping[Site, int]
    nodes: Mapping[int, int]


class Distribution(NodeRemoval):
    """Takes nodes away on a trial cluster, whose state follows, as quotas say."""

    def follow(self, quotas: KindQuotas, part_that_stays: float) -> None:
        """Distribute all pods anew, then go on as `run`; where a pod has no place nothing has changed.

        Pods stay on a node up to a part of what its share of the quotas comes to.
        """
        state, mark, before = self._trial.state, self._trial.state.mark(), self.removed.copy()
        members = quotas.kinds.members()
        self._close(quotas, members)
        wanted, loose = self._loosened(quotas, self._room_to_stay(quotas, members, part_that_stays))
        largest_first = sorted(wanted, key=lambda site: (-float(self._size[site[0]]), site))
        left = [pod for site in largest_first for pod in self._spread(site, wanted, loose, members)]
        left += [pod for pods in loose.values() for pod in pods]
        if self._find_places(self._largest_first(left)):
            self._empty_others()
        else:
            state.rollback(mark)
            self.removed = before

    def _close(self, quotas: KindQuotas, members: Sequence[Codes]) -> None:
        """Of every kind the nodes go that hold least of what the kind is to hold."""
        counts = self._before.counts
        kinds = quotas.kinds.of[counts.nodes]
        for kind, kept in quotas.nodes.items():
            here = SiteCounts(counts.size, counts.keys[kinds == kind], counts.numbers[kinds == kind])
            quota = np.array([quotas.pods.get((template, kind), 0) for template in range(len(self._size))])
            running = np.bincount(here.templates, here.numbers, minlength=len(self._size))
            part = np.minimum(1.0, quota / np.maximum(running, 1)) * self._size
            order = np.argsort(here.per_node(part)[members[kind]], kind="stable")
            self.removed[members[kind][order[: len(order) - kept]]] = True

    def _loosened(
        self, quotas: KindQuotas, room: NDArray[np.float64]
    ) -> tuple[dict[Site, int], dict[int, list[int]]]:
        """Unbind all pods but those of the quotas that may stay in some room: what is lacking, and they."""
        state, wanted = self._trial.state, dict(quotas.pods)
        loose: dict[int, list[int]] = {}
        for template in self._movable.templates:
            asked = self._trial.taken[template][self._rows]
            for pod in self._movable.of(template).tolist():
                node = int(state.node_of[pod])
                site = template, int(quotas.kinds.of[node])
                if wanted.get(site, 0) and (asked <= room[:, node]).all():
                    wanted[site] -= 1
                    room[:, node] -= asked
                else:
                    state.unbind(pod)
                    loose.setdefault(template, []).append(pod)
        return wanted, loose

    def _room_to_stay(self, quotas: KindQuotas, members: Sequence[Codes], part: float) -> NDArray[np.float64]:
        """What the pods that stay on each node may take: a part of an average node's share of the quotas.

        A node on which more stays is full of one resource before the other is used.
        """
        problem = self._trial.problem
        room = np.zeros((len(self._rows), problem.nodes.size))
        asked = np.zeros((len(self._rows), len(members)))
        for (template, kind), number in quotas.pods.items():
            asked[:, kind] += number * self._trial.taken[template][self._rows]
        for kind, nodes in enumerate(members):
            kept = nodes[~self.removed[nodes]]
            room[:, kept] = part * asked[:, kind, np.newaxis] / max(1, len(kept))
        return room

    def _spread(
        self,
        site: Site,
        wanted: Mapping[Site, int],
        loose: Mapping[int, list[int]],
        members: Sequence[Codes],
    ) -> Iterator[int]:
        """Bind the pods that a kind lacks; those that have no place there are left."""
        template, kind = site
        nodes = members[kind][~self.removed[members[kind]]]
        for _ in range(wanted[site]):
            pod = loose[template].pop()
            node = self._evenly(template, nodes)
            if node is None:
                yield pod
            else:
                self._trial.state.bind(pod, node)

    def _evenly(self, template: int, nodes: Codes) -> int | None:
        """Of some nodes the one that fills most evenly with a pod more; None where no one accepts it."""
        plan, problem = self._trial.plan(template), self._trial.problem
        nodes = nodes[plan.static[nodes]]
        for plugin in plan.changing:
            # Quotas keep domains of several nodes level; of single ones they know nothing.
            if isinstance(plugin, PodTopologySpread):
                for rule in plugin.hard(plan.template):
                    nodes = nodes[rule.rejects(nodes) == 0] if rule.column.one_each else nodes
            elif nodes.size:
                nodes = nodes[plugin.reject(plan.template, nodes) == 0]
        if not nodes.size:
            return None
        most = np.maximum(problem.allocatable[self._rows][:, nodes], 1)
        used = self._trial.state.used[self._rows][:, nodes] / most
        asked = self._trial.taken[template][self._rows][:, None] / most
        rises = np.exp(effort.EVENNESS * used) * np.expm1(effort.EVENNESS * asked)
        return int(nodes[np.argmin(rises.sum(axis=0))])
