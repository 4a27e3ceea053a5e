"""Pods are of one template whether they share the objects that they were read with or not."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.objects.pod import Pod
from models.reading.documents import read_list
from models.reading.window import Window
from planner.problem.templates import Grouping
from tests.builders import pod
from tests.strategies import relaxed

REASONS = st.sampled_from(["Infeasible", "Deferred"])


@st.composite
def replicas(draw: st.DrawFn, kind: str) -> list[dict[str, Any]]:
    """Pods of one workload: elsewhere, leaving, with labels or disks of their own, in a resize."""
    items = []
    own_label = draw(st.integers(0, 3)) == 0
    for number in range(draw(st.integers(4, 14))):
        item = pod(f"web-{number}", on=draw(st.sampled_from(["n1", "n1", "n2"])), app="web")
        item["metadata"] |= {"uid": f"uid-{number}"}
        if own_label:
            item["metadata"]["labels"] = {"app": "web", "pod": f"web-{number}"}
        if draw(st.integers(0, 5)) == 0:
            item["metadata"]["deletionTimestamp"] = f"2025-01-01T00:00:{number:02}Z"
        if kind == "ephemeral":
            item["spec"]["volumes"] = [{"name": "own", "ephemeral": {}}]
        if kind == "claim":
            claim = {"claimName": f"c{draw(st.integers(0, 2))}"}
            item["spec"]["volumes"] = [{"name": "a", "persistentVolumeClaim": claim}]
        if kind == "resize":
            name = item["spec"]["containers"][0]["name"]
            pending = {"type": "PodResizePending", "reason": draw(REASONS), "message": f"m{number}"}
            status = {
                "phase": "Running",
                "conditions": [pending],
                "containerStatuses": [{"name": name, "resources": {"requests": {"cpu": "7"}}}],
            }
            item["status"] = status
        items.append(item)
    return items


@pytest.mark.parametrize("kind", ["", "ephemeral", "claim", "resize"])
@relaxed
@given(data=st.data(), selected=st.sampled_from([frozenset[str](), frozenset({"app"}), frozenset({"pod"})]))
def test_templates_do_not_depend_on_how_pods_were_read(
    kind: str, data: st.DataObject, selected: frozenset[str]
) -> None:
    """By patterns, with parts in common; and each by itself, with none."""
    items = data.draw(replicas(kind))
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()
    document = read_list(Window(text), text, "list", 1 << 30)
    assert document is not None
    together = [item for item in document.objects if isinstance(item, Pod)]
    apart = [item.model_copy(deep=True) for item in together]
    assert len(together) == len(items)
    assert Grouping(together, selected).template_of == Grouping(apart, selected).template_of
