"""Packing a few nodes of a cell anew, so that pods that found no place get one.

Slower than changing places, and more thorough: a few nodes at a time are solved exactly.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping

import numpy as np

from planner.batch.packing.assignment import Quotas, left_over
from planner.batch.pending import Pending
from planner.constraints import Filter
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes, Ints
from planner.proof.meter import Meter
from planner.scheduler.order import Step


class Repack:
    """Finds places for what changing places left over."""

    def __init__(self, pending: Pending, cells: NodeGroups, room: Mapping[int, Ints], meter: Meter) -> None:
        self._pending = pending
        self._room = room
        self._meter = meter
        self._cells = cells
        self._profiles = [
            (tuple(plugin for plugin in filters if self._is_local(plugin, carriers)), carriers)
            for filters, carriers in pending.profiles()
        ]

    def _is_local(self, plugin: Filter, carriers: Collection[int]) -> bool:
        """Whether a rule looks at nothing but the node itself, and so decides within a cell."""
        watched = [plugin.watches(self._pending.template(number)) for number in carriers]
        return all(templates is not None and not templates for templates in watched)

    def improve(self, placement: Counter[Step], quotas: Quotas) -> Counter[Step]:
        """The placement with as many more of the quotas in it as were found a place for."""
        found = Counter(placement)
        members = self._cells.members()
        for cell, wanted in left_over(placement, quotas, self._cells).items():
            for nodes in self._neighbourhoods(members[cell], wanted, found):
                if self._meter.over():
                    return found
                self._pack(nodes, wanted, found)
        return found

    def _neighbourhoods(
        self, members: Codes, wanted: Counter[int], placement: Counter[Step]
    ) -> Iterator[Codes]:
        """A few nodes at a time: those with the most room, together with any others."""
        dice = random.Random(len(members))
        for _ in range(self._meter.effort.cells.repack_tries):
            free = self._free(members, placement)
            if not wanted:
                return
            may_come = np.max([self._room[template][members] for template in wanted], axis=0) > 0
            order = np.argsort(-free * may_come, kind="stable")
            roomiest = members[order[: self._meter.effort.cells.repack_nodes // 2]].tolist()
            others = [node for node in members.tolist() if node not in set(roomiest)]
            yield np.array(
                roomiest
                + dice.sample(
                    others, min(len(others), self._meter.effort.cells.repack_nodes - len(roomiest))
                ),
                np.intp,
            )

    def _free(self, members: Codes, placement: Counter[Step]) -> Ints:
        """The share of every node that is free, of the resource that it has least of."""
        problem, state = self._pending.problem, self._pending.state
        used = state.used[:, members].copy()
        position = {node: number for number, node in enumerate(members.tolist())}
        for (template, node), pods in placement.items():
            if node in position:
                used[:, position[node]] += pods * problem.templates[template].requests
        room = problem.allocatable[:, members]
        share: Ints = np.where(room > 0, 1000 * (room - used) // np.maximum(room, 1), 1000).min(axis=0)
        return share

    def _pack(self, nodes: Codes, wanted: Counter[int], placement: Counter[Step]) -> None:
        """Pack some nodes anew with as many of the wanted pods as possible beside all that they have."""
        from planner.cpsat.model import BatchModel
        from planner.cpsat.variables import Batch

        inside = set(nodes.tolist())
        here = Counter({step: pods for step, pods in placement.items() if step[1] in inside and pods})
        pods = Counter(wanted)
        for (template, _), number in here.items():
            pods[template] += number
        only = np.zeros(self._pending.problem.nodes.size, np.int64)
        only[nodes] = 1
        batch = Batch(self._pending.problem, pods, {number: self._room[number] * only for number in pods})
        model = BatchModel(batch, self._profiles)
        found = model.solve(
            model.pods_placed(self._meter.effort.cells.repack_once_work, open=True), here, self._meter
        )
        if found is None or sum(found.phases[0].values()) <= sum(here.values()):
            return
        placement.subtract(here)
        placement.update(found.phases[0])
        placed: Counter[int] = Counter()
        for (template, _), number in found.phases[0].items():
            placed[template] += number
        wanted.clear()
        wanted.update(pods - placed)
