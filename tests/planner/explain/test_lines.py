"""The line of kube-scheduler about a pending pod, and the table of nodes below it, are of the same state."""

from collections import Counter
from random import Random

import pytest

from models import Cluster
from planner import explain, simulate
from planner.audit.contradicted import contradictions
from planner.documents.explanation import Explanation
from planner.explain.at_rest import AtRest
from planner.problem.problem import Problem
from planner.scheduler.framework import unavailable
from tests import seeds
from tests.builders import HOST, Object, cluster, node, pod, term
from tests.planner.explain.asking import only, read
from tests.planner.scheduler.test_devices import claim, device_class
from tests.tiny import tiny
from tests.truth import contested

#: Lines about pods that no node was asked about.
_OTHER_LINES = ("scheduling gated", "not looked at", "running PreBind")


def test_a_node_promised_to_another_pod_is_in_the_table() -> None:
    """What went wrong: the line counted the node, where another pod is to come, and the table did not."""
    there = pod("old", on="a", cpu="1", gone=True)
    promised = pod("first", cpu="2", nominated="a", priority=5)
    _, found = explain(cluster(node("a", cpu="2"), there, promised, pod("new", cpu="1"))).items
    assert found.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert [(row.reasons, row.nodes) for row in found.nodes] == [(("Insufficient cpu",), ("a",))]


def test_a_claim_that_takes_no_pod_more_is_in_no_table_where_nothing_is_bound() -> None:
    """What went wrong: the line named the missing peer, and the table the claim, which only a bind asks.

    With the peer that is promised the node all filters but the claim's accept it; without it one does not.
    """
    promised = pod("first", app="web", cpu="8", nominated="n1", priority=5)
    entry = [{"name": "c", "resourceClaimName": "one"}]
    new = pod("new", near=[term(HOST, "web")], resourceClaims=entry)
    shared = claim("one", "n1", reserved=[f"there-{number}" for number in range(256)])
    _, found = explain(cluster(node("n1"), device_class(), shared, promised, new), preemption=False).items
    assert found.message.startswith("0/1 nodes are available: 1 node(s) didn't match pod affinity rules.")
    assert [row.reasons for row in found.nodes] == [("node(s) didn't match pod affinity rules",)]


def test_a_pod_with_a_nomination_of_its_own_is_told_what_there_is_now() -> None:
    """What went wrong: it had the line from before others were placed, for one like it came after them."""
    big: Object = {"app": "big", "cpu": "2", "apart": [term(HOST, "web")]}
    objects = [
        node("a"),
        node("b", cordoned=True),
        pod("web", on="a", app="web"),
        pod("big-1", nominated="b", **big),
        pod("small", cpu="3"),
        pod("big-2", **big),
    ]
    assert "1 Insufficient cpu" in only(*objects).message


def test_a_pod_that_evicts_and_then_waits_has_the_line_of_what_is_left() -> None:
    """What went wrong: it had the line from before its victims went, as they counted for nothing."""
    objects = [
        node("a", cpu="2", room={"pods": "2"}),
        pod("low", on="a", cpu="500m", priority=-1),
        pod("leaving", on="a", cpu="1500m", priority=-1, gone=True),
        pod("big", cpu="2", priority=5),
    ]
    static = AtRest(Problem(cluster(*objects)), True)
    names = [item.name for item in static.problem.pods]
    assert [names[pod] for pod in static.evicted] == ["low"]
    assert static.messages[names.index("big")] == "0/1 nodes are available: 1 Insufficient cpu."


def test_lines_are_of_the_state_at_rest_where_pods_leave() -> None:
    """The same of clusters whose pods preempt some and wait for others."""
    for seed in seeds.seeds(80):
        chance, objects = Random(seed), tiny(seed, nodes=4, pods=12)
        for item in objects:
            if item["kind"] == "Pod":
                bound = bool(item["spec"].get("nodeName"))
                item["spec"]["priority"] = chance.choice((-5, -1, 0) if bound else (0, 1, 9))
                if bound and chance.random() < 0.4:
                    item["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        if (found := read(objects)) is not None:
            static = AtRest(Problem(found), True)
            for left in static.left:
                line, now = static.messages[left], static.scheduler.diagnose(left).message()
                assert line.startswith((now.rstrip("."), *_OTHER_LINES)), f"seed {seed}: {line} | {now}"


def drawn(seed: int) -> list[Object]:
    """A cluster whose pending pods have priorities, and nodes that are promised to them."""
    chance = Random(seed)
    objects = contested.draw(seed) if seed % 3 == 0 else tiny(seed, nodes=4, pods=12)
    names = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"]
    for item in objects:
        if item["kind"] == "Pod" and not item["spec"].get("nodeName"):
            if chance.random() < 0.3:
                item["status"]["nominatedNodeName"] = chance.choice(names)
            if chance.random() < 0.2:
                item["spec"]["priority"] = chance.choice((0, 5))
    return objects


@pytest.mark.parametrize("preemption", [True, False])
def test_lines_are_of_the_state_at_rest(preemption: bool) -> None:
    """Each pod that is left, alike to others or not, has the line that a try in the end would give it."""
    for seed in seeds.seeds(18):
        objects = drawn(seed)
        if (found := read(objects)) is None:
            continue
        static = AtRest(Problem(found), preemption)
        for left in static.left:
            line, now = static.messages[left], static.scheduler.diagnose(left).message()
            assert line.startswith((now.rstrip("."), *_OTHER_LINES)), f"seed {seed}: {line} | {now}"
        # What claims got in the end stands in no manifest.
        if preemption or any(item["kind"] == "PersistentVolumeClaim" for item in objects):
            continue
        rested = _at_rest(objects, static)
        afresh = {one.pod: one for one in simulate(rested, preemption=False).decisions}
        for left in static.left:
            one = afresh[static.problem.pods[left].key]
            assert (one.node, one.message) == (None, static.messages[left]), f"seed {seed}: {one.pod}"
        assert not contradictions(Problem(rested)), f"seed {seed}"


def _at_rest(objects: list[Object], static: AtRest) -> Cluster:
    """The cluster with pods on their nodes, and what kube-scheduler would say of the others by now."""
    problem, node_of = static.problem, static.scheduler.state.node_of
    for item in objects:
        if item["kind"] != "Pod" or item["spec"].get("nodeName"):
            continue
        number = problem.pod_index[f"{item['metadata']['namespace']}/{item['metadata']['name']}"]
        if node_of[number] >= 0:
            item["spec"]["nodeName"] = problem.nodes.names[node_of[number]]
        else:
            told = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            item["status"]["conditions"] = [told | {"message": static.messages.get(number, "")}]
    return Cluster.from_objects(objects)


def test_tables_add_up_to_lines() -> None:
    """Of each reason as many nodes are in the table as the line counts, nodes promised to others included."""
    for seed in seeds.seeds(8):
        if (found := read(drawn(seed))) is not None:
            for one in explain(found, preemption=False).items:
                assert one.message.startswith((_line_of(one, len(found.nodes)), *_OTHER_LINES)), (
                    f"seed {seed}: {one}"
                )


def _line_of(found: Explanation, nodes: int) -> str:
    reasons = Counter[str]()
    for row in found.nodes:
        for reason in row.reasons:
            reasons[reason] += row.count
    return unavailable(nodes, reasons).rstrip(".")
