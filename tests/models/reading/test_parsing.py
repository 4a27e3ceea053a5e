"""The fast way to parse a pod gives what the plain way gives."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.objects.pod import Pod
from models.objects.storage import PersistentVolumeClaim
from models.reading.parsing import parse
from tests.builders import claim
from tests.models.manifests import pod, workload
from tests.strategies import relaxed

STYLES: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 4}]
WORDS = ["spec", "status", "nodeName", "managedFields"]
MANAGED = [{"fieldsV1": {"f:x": {'k:{"a":[{}]}': {}}}}, {"a": []}]


def plainly(text: str) -> Pod:
    """The pod as pydantic parses it from the whole text."""
    return Pod.model_validate_json(text, strict=True, by_alias=True, by_name=False)


@st.composite
def pods(draw: st.DrawFn) -> dict[str, Any]:
    """Pods whose labels and selectors use the very words that the fast way searches for, in any order."""
    texts = st.dictionaries(st.sampled_from(WORDS), st.text())
    node, selector = draw(st.sampled_from([None, "n1", "?", "nodeName", "a-é"])), draw(texts)
    item = pod("a", workload("ReplicaSet", "web"), nodeName=node, nodeSelector=selector)
    item["metadata"] = {"annotations": selector, "labels": draw(texts), **item["metadata"]}
    if draw(st.booleans()):
        item["metadata"]["managedFields"] = MANAGED
    keys = draw(st.sampled_from([[], ["status"], ["status", "kind"], ["metadata"]]))
    later = {key: item.pop(key) for key in ["status", *keys] if key in item}
    return item | {key: later[key] for key in keys}


@relaxed
@given(pods(), st.sampled_from(STYLES))
def test_both_ways_agree(item: dict[str, Any], style: dict[str, Any]) -> None:
    """However the text is laid out, and whether the pod has a status or not."""
    text = json.dumps(item, **style)
    assert parse(text.encode()) == plainly(text)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("kind", ["", "PersistentVolumeClaim"])
def test_what_a_pod_owns_is_no_pod(style: dict[str, Any], kind: str) -> None:
    """What went wrong: the claim of an ephemeral volume was read as a pod, for the kind of its owner."""
    item = claim("a-data")
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1", "controller": True}
    item["metadata"]["ownerReferences"] = [owner]
    found = parse(json.dumps(item, **style).encode(), kind)
    assert isinstance(found, PersistentVolumeClaim)
    assert found.key == "default/a-data"


@pytest.mark.parametrize("status", [{}, {"status": {"phase": "Running"}}])
def test_pods_of_a_template_share_their_spec(status: dict[str, Any]) -> None:
    """What does not differ between two pods is one object in memory, whether they have run or not."""
    volumes = [{"name": "kube-api-access-ab2de", "projected": {}}]
    other = [{"name": "kube-api-access-xyz98", "projected": {}}]
    items = [pod("a", nodeName="n1", volumes=volumes), pod("b", nodeName="n2", volumes=other)]
    for item in items:
        del item["status"]
    first, second = (parse(json.dumps(item | status).encode()) for item in items)
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
