"""What `planner consolidate` found, in the text format that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.metrics import gauge, publish_metrics
from planner.documents.consolidation import ConsolidationPlan


def write_consolidation_metrics(target: str, document: ConsolidationPlan, now: float) -> None:
    """Put the figures into a file, all at once."""
    publish_metrics(target, _lines(document, now))


def _lines(document: ConsolidationPlan, now: float) -> Iterator[str]:
    cost = document.cost
    costs = {"now": cost.before, "after": cost.after, "bound": cost.bound}
    states = (({"state": state}, value) for state, value in costs.items())
    yield from gauge("nodes_cost", "What nodes cost now, after the plan, and at least in any plan.", states)
    numbers = {"removed": len(document.removed), "added": len(document.added), "kept": len(document.kept)}
    nodes = (({"state": state}, value) for state, value in numbers.items())
    yield from gauge("consolidate_nodes", "Nodes that can go, that have to come, and that are kept.", nodes)
    yield from gauge("consolidate_moves", "Pods that move.", iter([({}, len(document.steps))]))
    is_proved = int(document.status == "Optimal")
    says = "1 when no plan is cheaper, nor as cheap with fewer moves."
    yield from gauge("consolidate_proved", says, iter([({}, is_proved)]))
    yield from gauge("consolidate_timestamp_seconds", "When this was found.", iter([({}, round(now))]))
