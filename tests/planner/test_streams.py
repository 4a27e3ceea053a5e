"""Documents in parts: the same text as the whole, and one line for every object in a list."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from models import Cluster
from planner import capacity, check, compare, consolidate, explain, rebalance, simulate, solve, survive
from planner.documents.plan import Document, Objective, PlacementPlan, PlanStep, Verdicts
from planner.documents.streams import json_lines, json_pieces
from tests.builders import ZONE, cluster, node, pod, spread


def lopsided() -> Cluster:
    """Something for every command to say."""
    constraint = [spread(ZONE, app="web")]
    return cluster(
        *(node(f"n{number}", zone="ab"[number % 2]) for number in range(4)),
        *(pod(f"r{number}", on="n0", spread=constraint, app="web") for number in range(3)),
        *(pod(f"w{number}", spread=constraint, app="web", cpu="1") for number in range(3)),
        pod("big", cpu="9"),
    )


#: Each kind of document, of which all say something about these pods.
ASKED: dict[str, Callable[[Cluster], Document]] = {
    "check": check,
    "simulate": simulate,
    "simulate -v": lambda found: simulate(found, verbose=True),
    "solve": solve,
    "compare": compare,
    "rebalance": rebalance,
    "capacity": capacity,
    "consolidate": consolidate,
    "survive": lambda found: survive(found, ZONE),
    "explain": lambda found: explain(found).items[0],
}


def long_plan(steps: int) -> PlacementPlan:
    """A plan of so many binds."""
    return PlacementPlan(
        status="Optimal",
        objective=(Objective(name="podsPlaced/0", value=steps, bound=steps, proved=True),),
        steps=tuple(PlanStep(pod=f"default/p{number}", node=f"n{number}") for number in range(steps)),
        verdicts=Verdicts(sequence=True, final_state=True),
        notes=("a note",),
    )


def joined(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The document that the lines are the parts of."""
    head, *items = lines
    found = dict(head)
    for item in items:
        found.setdefault(item.pop("list"), []).append(item)
    return found


@pytest.mark.parametrize("name", ASKED)
def test_a_document_in_parts(name: str) -> None:
    """Pieces make the very text, and lines the very document, but for lists with nothing in them."""
    document = ASKED[name](lopsided())
    assert "\n".join(json_pieces(document)) == document.to_json()
    whole = {name: value for name, value in document.to_dict().items() if value != []}
    lines = [json.loads(line) for line in json_lines(document)]
    assert {name: value for name, value in joined(lines).items() if value != []} == whole
    assert not any(
        isinstance(part, list) and part and isinstance(part[0], dict) for part in lines[0].values()
    )


@pytest.mark.parametrize("steps", [0, 1, 999, 1_000, 1_001, 2_000, 2_500])
def test_a_long_list_is_cut(steps: int) -> None:
    """Whatever its length, the text is that of the whole, and no piece has more than a thousand steps."""
    plan = long_plan(steps)
    pieces = list(json_pieces(plan))
    assert "\n".join(pieces) == plan.to_json()
    assert max(piece.count('"pod"') for piece in pieces) <= 1_000
    assert len(list(json_lines(plan))) == 1 + 1 + steps
