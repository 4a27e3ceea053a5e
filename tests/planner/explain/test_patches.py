"""What a fix changes: only what a manifest may say, and what stays when the API server has seen it."""

from typing import Any

import pytest

from tests.builders import HOST, LONG_AGO, SOFT, ZONE, Object, labelled, node, pod, scaled, spread, term
from tests.planner.explain.asking import only

_HASH = "pod-template-hash"
#: What the API server adds to the selector of a pod for `matchLabelKeys`.
_MERGED = {"key": _HASH, "operator": "In", "values": ["h1"]}


def as_stored(part: Object) -> Object:
    """A term or constraint with `matchLabelKeys`, as the pod has it once the API server has seen it."""
    selector = part["labelSelector"]
    return {**part, "labelSelector": {**selector, "matchExpressions": [_MERGED]}, "matchLabelKeys": [_HASH]}


def patched(words: dict[str, Any], field: str) -> list[Any]:
    """That field of a pod's spec in every fix of a ReplicaSet's pending pod."""
    owner = scaled("ReplicaSet", "web", 1)
    owner["metadata"]["uid"] = "web"
    new = pod("new", app="web", labels={_HASH: "h1"}, owner="ReplicaSet/web", created=LONG_AGO, **words)
    found = only(node("a", zone="a"), node("b", zone="b"), owner, new)
    patches = [change.patch for fix in (*found.fixes, *found.risky) for change in fix.changes]
    templates = [
        patch["spec"]["template"] for patch in patches if patch and "template" in patch.get("spec", ())
    ]
    return [template["spec"][field] for template in templates if field in template["spec"]]


def test_an_affinity_is_written_without_what_was_merged_into_it() -> None:
    """The next pod has another hash: with the old one beside it in the selector it would match nothing."""
    found = patched({"near": [term(ZONE, "nothing"), as_stored(term(ZONE, "web"))]}, "affinity")
    assert {
        "podAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {
                    "topologyKey": ZONE,
                    "labelSelector": {"matchLabels": {"app": "web"}},
                    "matchLabelKeys": [_HASH],
                }
            ]
        }
    } in found


def test_constraints_are_written_without_what_was_merged_into_them() -> None:
    """Where the whole list is written: the API server takes no key in a selector and in matchLabelKeys."""
    constraints = [
        spread(key="absent"),
        as_stored(spread(key=HOST)),
        as_stored(spread(key=HOST, when=SOFT)),
    ]
    found = patched({"spread": constraints}, "topologySpreadConstraints")
    whole = [item for patch in found if {"$patch": "replace"} in patch for item in patch[1:]]
    assert [item["labelSelector"] for item in whole if "matchLabelKeys" in item]
    assert all("matchExpressions" not in item["labelSelector"] for item in whole)


def test_what_a_runtime_class_gives_is_not_dropped_from_the_manifest() -> None:
    """The API server gives it to the next pod again; the node's label is what helps, or another node."""
    rules = {"nodeSelector": {"runtime": "gvisor"}}
    kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    sandbox = {**kind, "metadata": {"name": "sandbox"}, "handler": "runsc", "scheduling": rules}
    words: dict[str, Any] = {
        "runtimeClassName": "sandbox",
        "node_selector": {"runtime": "gvisor"},
        "created": LONG_AGO,
    }
    nodes = node("a"), node("b", labels={"runtime": "gvisr"}, cpu="1")
    found = only(*nodes, sandbox, pod("new", cpu="2", **words))
    said = [change.action for fix in (*found.fixes, *found.risky) for change in fix.changes]
    assert "LabelNode" in said
    assert not {"DropNodeRequirement", "CorrectValue"} & set(said)
    without = only(*nodes, pod("new", cpu="2", **words))
    assert "DropNodeRequirement" in [change.action for change in without.fixes[0].changes]


@pytest.mark.parametrize(
    ("operator", "bound", "value"), [("Lt", "0", None), ("Lt", "1", "0"), ("Gt", "0", "1")]
)
def test_no_node_is_labelled_with_a_negative_number(operator: str, bound: str, value: str | None) -> None:
    """A label does not begin with a minus sign."""
    found = only(node("a"), pod("new", only_on=[labelled("generation", operator, bound)]))
    fixes = [fix.changes[0] for fix in (*found.fixes, *found.risky)]
    patches = [change.patch for change in fixes if change.action == "LabelNode"]
    assert patches == ([] if value is None else [{"metadata": {"labels": {"generation": value}}}])
