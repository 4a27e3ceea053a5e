"""The fast way to parse a pod gives what the plain way gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.parsing import parse
from models.pod import Pod
from tests.models.objects import pod, workload

STYLES: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 4}]


def plainly(text: str) -> Pod:
    """The pod as pydantic parses it from the whole text."""
    return Pod.model_validate_json(text, strict=True, by_alias=True, by_name=False)


@given(
    st.dictionaries(st.sampled_from(["spec", "status", "nodeName", "managedFields"]), st.text()),
    st.sampled_from([None, "n1", "?", "nodeName", "a-é"]),
    st.dictionaries(st.sampled_from(["nodeName", "spec", "status"]), st.text()),
    st.sampled_from(STYLES),
    st.booleans(),
)
def test_both_ways_agree(
    labels: dict[str, str],
    node: str | None,
    selector: dict[str, str],
    style: dict[str, Any],
    managed: bool,
) -> None:
    """Also when labels and selectors use the very words that the fast way searches for."""
    item = pod("a", workload("ReplicaSet", "web"), nodeName=node, nodeSelector=selector)
    item["metadata"] = {"annotations": selector, "labels": labels, **item["metadata"]}
    if managed:
        item["metadata"]["managedFields"] = [{"fieldsV1": {"f:x": {'k:{"a":[{}]}': {}}}}, {"a": []}]
    text = json.dumps(item, **style)
    assert parse(text.encode()) == plainly(text)


def test_pods_of_a_template_share_their_spec() -> None:
    """What does not differ between two pods is one object in memory."""
    volumes = [{"name": "kube-api-access-ab2de", "projected": {}}]
    other = [{"name": "kube-api-access-xyz98", "projected": {}}]
    first = parse(json.dumps(pod("a", nodeName="n1", volumes=volumes)).encode())
    second = parse(json.dumps(pod("b", nodeName="n2", volumes=other)).encode())
    assert isinstance(first, Pod)
    assert isinstance(second, Pod)
    assert first.spec.containers is second.spec.containers
    assert (first.node_name, second.node_name) == ("n1", "n2")
    assert first.spec.volumes[0].name == "kube-api-access"


@pytest.mark.parametrize("node", ["n1", None])
def test_a_broken_pod_is_refused_either_way(node: str | None) -> None:
    """The fast way never lets a pod through that the plain way refuses."""
    text = json.dumps(pod("a", nodeName=node, tolerations=[{"operator": "Foo"}]))
    with pytest.raises(ValueError, match="Equal"):
        parse(text.encode())
