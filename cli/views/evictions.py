"""A MovePlan as policy/v1 Eviction objects, in the order of the waves."""

from __future__ import annotations

from collections.abc import Iterator

from planner.documents.move_plan import MovePlan


def lines(document: MovePlan) -> Iterator[str]:
    """A YAML document for every eviction, with its wave and destination beside it."""
    for step in document.steps:
        namespace, name = step.pod.split("/", 1)
        yield "---"
        yield f"# wave {step.wave}: {step.source} -> {step.node}, {step.landing}"
        yield "apiVersion: policy/v1"
        yield "kind: Eviction"
        yield "metadata:"
        yield f"  name: {name}"
        yield f"  namespace: {namespace}"
