"""What nodes cost by the moves that are made: now, the plans of a frontier, the plan, and the bound below."""

from __future__ import annotations

from typing import Any

from cli.output.page import counted
from planner.documents.consolidation import ConsolidationPlan

_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 620.0, 30.0, 160.0


def cost_plot(document: ConsolidationPlan) -> dict[str, Any]:
    """What the page draws."""
    cost, moves = document.cost, len(document.steps)
    points = {0: cost.before, **{point.moves: point.cost for point in document.frontier}, moves: cost.after}
    bound, highest = cost.bound, max(*points.values(), 1e-9)

    def across(number: int) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * number / max(*points, 1), 1)

    def down(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * value / highest, 1)

    drawn = [
        {
            "x": across(number),
            "y": down(value),
            "label": f"cost {value:g} with {counted(number, 'move')}",
            "text": f"{value:g}",
        }
        for number, value in sorted(points.items())
    ]
    low = "" if bound is None else f"; no plan costs less than {bound:g}"
    label = f"Cost by moves. {'; '.join(str(point['label']) for point in drawn)}{low}"
    return {
        "kind": "plot",
        "label": label,
        "points": drawn,
        "line": " ".join(f"{point['x']},{point['y']}" for point in drawn),
        "bound": None if bound is None else {"y": down(bound), "text": f"no plan costs less than {bound:g}"},
        "moves": [(across(number), number) for number in sorted({0, moves})],
        "left": _LEFT,
        "right": _RIGHT,
        "bottom": _BOTTOM,
    }
