"""Some nodes solved together: which of them are kept, and where the pods that are on them now go.

Everything else stays as it is on the trial cluster.  One region of all nodes is the exact model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.consolidate.layout import Layout, Reserve, SearchTask, SiteCounts, in_64_bits, shares
from planner.consolidate.removable import Removable
from planner.cpsat.kept import Keepable, KeptRequirements, KeptSolution, Site
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.trial_cluster import TrialCluster
from planner.problem.node_groups import NodeGroups, numbered
from planner.problem.nodes import HOSTNAME, Mask
from planner.proof.meter import Meter
from planner.scheduler.framework import filters_by_profile

if TYPE_CHECKING:
    from planner.cpsat.variables import Batch


@dataclass(frozen=True, slots=True)
class NodeRegion:
    """The nodes of a region, and the work on every stage; what is known of its least cost.

    With the stage LOAD the node `emptied` is to hold as little as possible.
    """

    nodes: Mask
    work: Mapping[str, float]
    least_cost: int = 0
    emptied: int | None = None


class NodeRegions:
    """Solves regions of a trial cluster, one after the other; its state follows."""

    def __init__(self, task: SearchTask) -> None:
        self._task = task
        self._trial = task.trial
        self._removable = task.removable
        self._before = task.before
        self._limits = task.limits
        sizes = shares(task.trial.problem).tolist()
        self._sizes = {template: max(1, int(1000 * size)) for template, size in enumerate(sizes)}
        self._hard = [(found, found.excess()) for found in task.trial.ledger.hard]

    def solve(self, layout: Layout, region: NodeRegion, meter: Meter) -> tuple[Layout, KeptSolution | None]:
        """The layout after some nodes were solved together, and what the solver found."""
        from planner.cpsat.keeping import KeepModel

        nodes = region.nodes
        pods = self._take_off(nodes)
        batch = self._batch(pods, nodes)
        model = KeepModel(
            batch,
            filters_by_profile(self._trial.frameworks, batch.templates),
            self._keepable(nodes),
            self._touched(batch),
            self._requirements(layout, region, batch),
        )
        model.hint(self._current(layout, nodes))
        found = model.solve(region.work, meter)
        counts, removed = layout.counts, layout.removed
        if found is not None:
            counts, removed = counts.where(~nodes), removed.copy()
            for sites in (found.coming, found.staying):
                counts = counts.plus(SiteCounts.at_sites(counts.size, sites))
            for node, kept in found.nodes.items():
                removed[node] = not kept
        self._put(pods, counts, nodes)
        return Layout(counts, removed), found

    def _take_off(self, nodes: Mask) -> list[int]:
        pods = [pod for node in np.flatnonzero(nodes).tolist() for pod in self._task.movable_on(node)]
        for pod in pods:
            self._trial.state.unbind(pod)
        return pods

    def _put(self, pods: Sequence[int], counts: SiteCounts, nodes: Mask) -> None:
        """Bind the pods of a region as a layout has them."""
        for template, several in self._trial.problem.by_template(pods).items():
            row = counts.row(template)
            for node in np.flatnonzero(nodes & (row > 0)).tolist():
                for _ in range(int(row[node])):
                    self._trial.state.bind(several.pop(), node)
        self._trial.state.forget_history()

    def _batch(self, pods: Sequence[int], nodes: Mask) -> Batch:
        from planner.cpsat.variables import Batch

        problem = self._trial.problem
        numbers = np.bincount(problem.template_of[pods], minlength=len(problem.templates))
        wanted = {int(t): int(numbers[t]) for t in np.flatnonzero(numbers)}
        room = {t: np.where(nodes, self._trial.plan(t).room(wanted), 0) for t in wanted}
        running = {t: np.where(nodes, self._before.counts.row(t), 0) for t in wanted}
        return Batch(problem, wanted, room, running=running)

    def _keepable(self, nodes: Mask) -> dict[int, Keepable]:
        free = self._trial.free()
        return {
            node: Keepable(1, int(self._removable.prices[node]), free[:, node])
            for node in np.flatnonzero(nodes & self._removable.mask).tolist()
        }

    def _touched(self, batch: Batch) -> list[tuple[TrackedConstraint, int]]:
        """The hard constraints whose counts the pods of the batch change."""
        return [
            (found, most)
            for found, most in self._hard
            if not found.members.isdisjoint(batch.wanted) or not set(found.carriers).isdisjoint(batch.wanted)
        ]

    def _requirements(self, layout: Layout, region: NodeRegion, batch: Batch) -> KeptRequirements:
        reserve = [*self._reserve(layout, region.nodes)]
        most = self._limits.most_moves
        if most is not None:
            left = self._before.counts.more_than(layout.counts)
            # The model counts those that leave its nodes, of templates that have pods there now.
            counted = region.nodes[left.nodes] & np.isin(left.templates, [*batch.wanted])
            most -= int(left.numbers[~counted].sum())
        return KeptRequirements(reserve, most, region.least_cost, region.emptied, self._sizes)

    def _reserve(self, layout: Layout, nodes: Mask) -> Iterator[tuple[int, Mapping[int, int]]]:
        """For each resource what may still go, and what the nodes of the region bring of it."""
        reserve = self._limits.reserve
        if reserve is None:
            return
        inside = np.flatnonzero(nodes & self._removable.mask).tolist()
        lost = reserve.brings[:, layout.removed & ~nodes].sum(axis=1)
        for row, spare in zip(reserve.brings, (reserve.spare - lost).tolist(), strict=True):
            yield in_64_bits(spare, {node: int(row[node]) for node in inside})

    def _current(self, layout: Layout, nodes: Mask) -> KeptSolution:
        coming: dict[Site, int] = {}
        staying: dict[Site, int] = {}
        for template, node, number in layout.counts.where(nodes).sites():
            stays = min(number, self._before.counts.at(template, node))
            staying[template, node], coming[template, node] = stays, number - stays
        kept = {node: int(not layout.removed[node]) for node in np.flatnonzero(nodes).tolist()}
        return KeptSolution(coming, staying, kept)


def cells(
    trial: TrialCluster,
    batch_templates: Sequence[int],
    removable: Removable,
    reserve: Reserve | None = None,
    *,
    exactly: bool = False,
) -> NodeGroups:
    """Nodes together that are alike to every pod, and in price, free room and reserve where they may go.

    What tells most nodes apart is passed over, as in a relaxation it may be; `exactly` only the hostname,
    which a machine that may be added has to itself.  So is a reserve for more cases than there are nodes, as
    one for the loss of any single node.
    """
    problem = trial.problem
    free = np.where(removable.mask, trial.free(), -1)
    traits = [removable.mask.astype(np.int64), np.where(removable.mask, removable.prices, -1), *free]
    if reserve is not None and len(reserve.brings) <= problem.nodes.size:
        rows = np.where(removable.mask, reserve.brings, 0)
        told = [np.unique(row, return_inverse=True)[1] for row in rows]
        traits += [found for found in told if int(found.max()) * 2 < problem.nodes.size]
    hostname = problem.nodes.column(HOSTNAME).codes
    for template in batch_templates:
        plan = trial.plan(template)
        traits.append(plan.static.astype(np.int64))
        for plugin in plan.changing:
            told = [np.asarray(found) for found in plugin.tells_apart(plan.template)]
            if exactly:
                traits += [found for found in told if not np.array_equal(found, hostname)]
            else:
                traits += [found for found in told if len(np.unique(found)) * 2 <= problem.nodes.size]
    distinct = {np.asarray(trait).tobytes(): np.asarray(trait) for trait in traits}
    codes = (np.unique(trait, return_inverse=True)[1] for trait in distinct.values())
    of = numbered(problem.nodes.size, codes)
    # Groups of one node each have the numbers of their nodes.
    every_alone = len(np.unique(of)) == problem.nodes.size
    return NodeGroups.single_nodes(problem.nodes.size) if every_alone else NodeGroups(of)
