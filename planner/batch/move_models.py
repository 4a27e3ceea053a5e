"""The models of a batch whose running pods may move: exact, and relaxed over cells of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.batch.pending import Pending
from planner.problem.node_groups import NodeGroups
from planner.proof.meter import Meter

if TYPE_CHECKING:
    from planner.cpsat.model import BatchModel, FoundCounts


def exact_model(pending: Pending) -> BatchModel:
    """A number for every template and node, with every budget."""
    model = _model(pending, None)
    for pods, allowed in pending.budgets:
        model.evict_at_most({int(pending.problem.template_of[pod]) for pod in pods}, allowed)
    return model


def relaxation(pending: Pending, known: Mapping[int, int], meter: Meter) -> FoundCounts | None:
    """The most pods over cells of nodes, given how many the first priorities have at most."""
    most = max(1, meter.effort.evictions.relaxed_pairs // max(1, len(pending.pods)))
    least = meter.effort.cells.least_alike
    cells = NodeGroups.alike(pending.problem.nodes.size, pending.traits(), most, least)
    model = _model(pending, cells)
    model.at_most(known)
    return model.solve(model.pods_placed(meter.effort.evictions.relaxation_work), None, meter)


def _model(pending: Pending, cells: NodeGroups | None) -> BatchModel:
    from planner.cpsat.model import BatchModel
    from planner.cpsat.variables import Batch

    room, running = pending.room(pending.wanted), pending.running_counts()
    batch = Batch(pending.problem, pending.wanted, room, cells=cells, running=running)
    return BatchModel(batch, pending.profiles())
