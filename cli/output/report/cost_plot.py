"""What a consolidation saves: cost against moves, as a plot, and which nodes are there before and after."""

from __future__ import annotations

from typing import Any

from cli.output.page import counted
from cli.output.views.consolidation import within_limit
from models.words import priced
from planner.documents.consolidation import ConsolidationPlan, FrontierPoint
from planner.documents.picture import Picture

_LEFT, _RIGHT, _TOP, _FLOOR = 80.0, 620.0, 16.0, 208.0
_TICKS = 4


def cost_plot(document: ConsolidationPlan) -> dict[str, Any]:
    """The frontier, or only now and after; dashed what no plan costs less than."""
    points, cost = _points(document), document.cost
    most_moves = max(point.moves for point in points) or 1
    most = max(cost.before, *(point.cost for point in points)) or 1.0

    def x(moves: int) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * moves / most_moves, 1)

    def y(price: float) -> float:
        return round(_FLOOR - (_FLOOR - _TOP) * price / most, 1)

    path = []
    for before, point in zip([points[0], *points], points, strict=False):
        path += [f"{x(point.moves)},{y(before.cost)}", f"{x(point.moves)},{y(point.cost)}"]
    return {
        "kind": "plot",
        "text": _text(document),
        "ticks": [{"y": y(most * n / _TICKS), "text": f"{most * n / _TICKS:.4g}"} for n in range(_TICKS + 1)],
        "path": " ".join(path),
        "points": [
            {
                "x": x(p.moves),
                "y": y(p.cost),
                "moves": p.moves,
                "text": f"{counted(p.moves, 'move')}: cost {priced(p.cost)}",
            }
            for p in points
        ],
        "bound": {"y": y(cost.bound), "text": f"at least {priced(cost.bound)}"},
    }


def _points(document: ConsolidationPlan) -> list[FrontierPoint]:
    now = FrontierPoint(nodes=0, moves=0, cost=document.cost.before)
    moves, nodes = len(document.steps), len(document.removed)
    after = FrontierPoint(nodes=nodes, moves=moves, cost=document.cost.after)
    return list(dict.fromkeys((now, *(document.frontier or (after,)))))


def _text(document: ConsolidationPlan) -> str:
    cost = document.cost
    least = f"no plan{within_limit(document.max_moves)} leaves nodes that cost less than {priced(cost.bound)}"
    return f"Cost by moves: now {priced(cost.before)}, after the plan {priced(cost.after)}, and {least}."


def nodes_there(drawn: Picture, document: ConsolidationPlan) -> Picture:
    """The picture, in which machines that are added are not there now, and nodes that go not after."""
    gone, new = {row.node for row in document.removed}, {row.name for row in document.added}
    nodes = tuple(
        node.model_copy(update={"there": (node.name not in new, node.name not in gone)})
        for node in drawn.nodes
    )
    return drawn.model_copy(update={"nodes": nodes})
