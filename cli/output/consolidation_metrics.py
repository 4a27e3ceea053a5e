"""What `planner consolidate` found, in the text format that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterator

from cli.output.metrics import gauge, publish_metrics
from planner.documents.consolidation import ConsolidationPlan


def write_consolidation_metrics(target: str, plan: ConsolidationPlan, now: float) -> None:
    """Put them into a file, all at once."""
    publish_metrics(target, _lines(plan, now))


def _lines(plan: ConsolidationPlan, now: float) -> Iterator[str]:
    cost = plan.cost
    states = {"now": cost.before, "after": cost.after, "least": cost.bound}
    costs = [({"state": name}, value) for name, value in states.items() if value is not None]
    yield from gauge("consolidate_cost", "What all nodes cost; least: no plan costs less.", iter(costs))
    figures = {
        "nodes_removable": ("Nodes that can go.", len(plan.removed)),
        "machines_added": ("Machines of the catalogue that come instead.", len(plan.added)),
        "moves": ("Pods that move for that.", len(plan.steps)),
        "timestamp_seconds": ("When this was found.", round(now)),
    }
    for name, (text, value) in figures.items():
        yield from gauge(f"consolidate_{name}", text, iter([({}, value)]))
