"""Evicted pods of controllers that the planner does not read."""

from planner import consolidate, drain, rebalance, solve
from planner.simulation.survive import survive
from tests.builders import ZONE, Object, cluster, node, pod, spread

OWNER = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "name": "build", "uid": "u", "controller": True}
NOTE = "controlled by TaskRun, which is not read: that they are made again is taken for granted"


def of_task(name: str, on: str, **words: object) -> Object:
    """A running pod of a TaskRun."""
    found = pod(name, on, **words)
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [OWNER]}}


def test_a_drain_names_controllers_that_are_not_read() -> None:
    """Their pods were said to come again, unseen, with no note; only those that go count."""
    found = cluster(node("n1"), node("n2"), of_task("a", "n1"), of_task("b", "n1"), of_task("c", "n2"))
    assert [note for note in drain(found, ["n1"]).notes if "TaskRun" in note] == [f"2 pods are {NOTE}"]
    one = "1 pod is controlled by TaskRun, which is not read: that it is made again is taken for granted"
    assert one in drain(found, ["n2"]).notes


def test_known_controllers_are_not_named() -> None:
    """Snapshots of nodes and pods alone say nothing about controllers of kinds that are read."""
    found = cluster(node("n1"), node("n2"), pod("a", "n1", owner="ReplicaSet/a"), of_task("b", "n2"))
    assert not any("taken for granted" in note for note in drain(found, ["n1"]).notes)


def test_a_consolidation_names_them() -> None:
    """The nodes go because such pods are made again elsewhere."""
    found = consolidate(cluster(node("n1"), node("n2"), *(of_task(f"p{n}", "n1") for n in (1, 2))))
    assert not any("TaskRun" in note for note in found.notes), "nothing moves"
    found = consolidate(cluster(node("n1"), node("n2"), of_task("a", "n1"), of_task("b", "n2")))
    assert len(found.steps) == 1
    assert any("TaskRun" in note for note in found.notes)


def test_a_rebalance_names_them() -> None:
    """A move is an eviction after which the controller has to make a pod."""
    rule = spread(app="w", key=ZONE)
    pods = [of_task(f"w{n}", "n1", app="w", spread=[rule]) for n in range(4)]
    found = rebalance(cluster(node("n1", zone="a"), node("n2", zone="b"), *pods))
    assert found.steps
    assert any("TaskRun" in note for note in found.notes)
    level = rebalance(cluster(node("n1", zone="a"), *pods))
    assert not any("TaskRun" in note for note in level.notes)


def test_a_batch_with_moves_names_them() -> None:
    """The pod that makes room is bound elsewhere, so its controller has to make another one."""
    found = solve(
        cluster(
            node("n1", cpu="4"),
            node("n2", cpu="2"),
            of_task("a", "n1", cpu="1"),
            pod("large", cpu="4"),
        ),
        allow_moves=True,
    )
    assert any("TaskRun" in note for note in found.notes)


def test_the_loss_of_a_domain_names_them() -> None:
    """Their pods counted as replaced, unseen; those on nodes without the key are lost with no domain."""
    nodes = (node("n1", zone="a"), node("n2", zone="b"), node("n3"))
    pods = (of_task("a", "n1"), of_task("b", "n2"), of_task("c", "n3"))
    assert [note for note in survive(cluster(*nodes, *pods), ZONE).notes if "TaskRun" in note] == [
        f"2 pods are {NOTE}"
    ]
    known = pod("a", "n1", owner="ReplicaSet/a")
    assert not any("TaskRun" in note for note in survive(cluster(*nodes, known, pods[2]), ZONE).notes)


def test_a_consolidation_that_survives_a_loss_names_them() -> None:
    """What is kept was said to hold them all when a zone is lost; each is counted once, moved or not."""
    nodes = [node(f"{zone}{n}", zone=zone, cpu="4") for zone in "ab" for n in (1, 2)]
    pods = (of_task("a", "a1", cpu="3"), of_task("b", "b1", cpu="3"))
    found = consolidate(cluster(*nodes, *pods), survive=ZONE)
    assert [note for note in found.notes if "TaskRun" in note] == [f"2 pods are {NOTE}"]
