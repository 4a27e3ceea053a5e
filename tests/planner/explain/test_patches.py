"""What a fix writes into the manifest of a workload: only what a manifest may say."""

from typing import Any

from tests.builders import HOST, LONG_AGO, SOFT, ZONE, Object, node, pod, scaled, spread, term
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
