"""What-if changes are pure, and mixed flags are the same as one change after the other."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.input.changes import changed
from cli.main import run
from models import Cluster, InputError
from models.controllers.reconcile import reconcile, workloads_of
from planner import check, simulate, whatif
from tests.builders import HARD, ZONE, Object, node, pod, replica, revision, scaled, spread
from tests.seeds import tries
from tests.strategies import one_of, relaxed

#: Each flag with values that mostly make sense in the clusters below.
FLAGS = {
    "drain": ("n0", "n1", "n2"),
    "cordon": ("n0", "n2"),
    "remove_node": ("n1", "n3", f"{ZONE}=a", f"{ZONE}=z"),
    "add_nodes": ("1=n0", f"2=n1,{ZONE}=z", "1=n9"),
    "scale": ("deploy/web=1", "deploy/web=5", "sts/db=0", "sts/db=3", "rs/web-r1=2"),
    "delete_pod": ("web-0", "db-1", "default/agent-n1", "bare"),
}
CHANGES: dict[str, Callable[[Cluster, str], Cluster]] = {
    "drain": whatif.drain,
    "cordon": whatif.cordon,
    "remove_node": whatif.remove_nodes,
    "delete_pod": whatif.delete_pod,
}


@st.composite
def snapshots(draw: st.DrawFn) -> list[Object]:
    """Four nodes in two zones, a Deployment, a StatefulSet, a DaemonSet and a bare pod."""
    nodes = [node(f"n{number}", "ab"[number % 2], cpu=draw(one_of("2", "8"))) for number in range(4)]
    place = one_of("n0", "n1", "n2", "n3")
    words: dict[str, Any] = {"spread": [spread(when=HARD)], "cpu": "500m"}
    running = draw(st.integers(0, 4))
    web = scaled("Deployment", "web", running + draw(st.integers(0, 1)), **words)
    db, agent = scaled("StatefulSet", "db", 2, cpu="1"), scaled("DaemonSet", "agent", 0, cpu="100m")
    found = [*nodes, web, db, agent, pod("bare", draw(place))]
    found.append(revision(web))
    found += [replica(found[-1], f"web-{number}", draw(place)) for number in range(running)]
    found += [replica(db, f"db-{number}", draw(place)) for number in range(draw(st.integers(0, 2)))]
    return [*found, *(replica(agent, f"agent-n{number}", f"n{number}") for number in range(4))]


changes = st.lists(
    one_of(*FLAGS).flatmap(lambda name: st.tuples(st.just(name), one_of(*FLAGS[name]))), max_size=5
)


def one_by_one(cluster: Cluster, wanted: list[tuple[str, str]]) -> Cluster:
    """The changes as Python calls."""
    for name, value in wanted:
        if name == "scale":
            workload, _, replicas = value.partition("=")
            cluster = whatif.scale(cluster, workload, int(replicas))
        elif name == "add_nodes":
            pattern, _, label = value.partition(",")
            number, _, like = pattern.partition("=")
            labels = dict([label.split("=")]) if label else {}
            cluster = whatif.add_nodes(cluster, int(number), like, labels)
        else:
            cluster = CHANGES[name](cluster, value)
    return cluster


def spelled(wanted: list[tuple[str, str]]) -> list[str]:
    """The changes as arguments."""
    return [word for name, value in wanted for word in (f"--{name.replace('_', '-')}", value)]


def dumped(cluster: Cluster) -> str:
    """Every field of every object of a cluster."""
    return repr(cluster)


class Printed:
    """A command line that is run against a file with a snapshot."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "cluster.json"

    def of(self, objects: list[Object], *arguments: str) -> int:
        """Write the snapshot, run the command, get the exit code."""
        self.file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
        return run([*arguments, "-f", str(self.file)])


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """Somewhere to put snapshots."""
    return Printed(tmp_path_factory.mktemp("snapshots"))


@relaxed
@given(snapshots(), changes)
def test_flags_are_applied_one_after_the_other_and_touch_nothing(
    objects: list[Object], wanted: list[tuple[str, str]]
) -> None:
    """All at once is the same as each on what the one before left; the snapshot given stays as it was."""
    snapshot = Cluster.from_objects(objects)
    before = dumped(snapshot)
    try:
        expected = one_by_one(snapshot, wanted)
    except InputError:
        with pytest.raises(InputError):
            changed(snapshot, wanted)
    else:
        expected = replace(expected, supposed=bool(wanted))
        assert changed(snapshot, wanted) == expected
        steps = snapshot
        for change in wanted:
            steps = changed(steps, [change])
        assert steps == expected
    assert dumped(snapshot) == before


@settings(
    relaxed,
    max_examples=tries(6),
    suppress_health_check=[*relaxed.suppress_health_check, HealthCheck.function_scoped_fixture],
)
@given(snapshots(), changes)
def test_the_command_line_keeps_the_order_of_mixed_flags(
    printed: Printed, capsys: pytest.CaptureFixture[str], objects: list[Object], wanted: list[tuple[str, str]]
) -> None:
    """What is printed is what the changes in this order lead to, in check and in simulate alike."""
    try:
        expected = one_by_one(Cluster.from_objects(objects), wanted)
        documents = {"check": check(expected), "simulate": simulate(expected)}
    except InputError:
        assert printed.of(objects, "check", *spelled(wanted)) == 2
        return
    for command, document in documents.items():
        capsys.readouterr()
        assert printed.of(objects, command, *spelled(wanted), "-o", "json") in (0, 1)
        assert capsys.readouterr().out == document.to_json() + "\n"


@relaxed
@given(snapshots(), changes)
def test_controllers_have_nothing_left_to_do(objects: list[Object], wanted: list[tuple[str, str]]) -> None:
    """Every workload has what it wants after every change, so reconciling once more adds nothing."""
    try:
        found = one_by_one(Cluster.from_objects(objects), wanted)
    except InputError:
        return
    assert reconcile(found) == found
    keys = [item.key for item in found.pods]
    assert len(set(keys)) == len(keys)


@relaxed
@given(snapshots(), one_of("n0", "n1", "n2", "n3"))
def test_draining_first_changes_nothing_about_the_end(objects: list[Object], name: str) -> None:
    """Drained and then removed is removed: the same nodes and running pods, as many of each workload."""
    snapshot = Cluster.from_objects(objects)
    phases = whatif.remove_nodes(whatif.drain(snapshot, name), name)
    at_once = whatif.remove_nodes(snapshot, name)
    assert phases.nodes == at_once.nodes
    assert {item.key: item for item in phases.pods if item.node_name} == {
        item.key: item for item in at_once.pods if item.node_name
    }
    assert sizes(phases) == sizes(at_once)


def sizes(cluster: Cluster) -> Counter[str]:
    """How many pods each workload has."""
    workloads = workloads_of(cluster)
    owners = [workloads.above(item) for item in cluster.pods]
    return Counter(owner.key for owner in owners if owner is not None)


@relaxed
@given(snapshots(), one_of("n0", "n1", "n2", "n3"))
def test_a_drain_loses_bare_pods_and_no_others(objects: list[Object], name: str) -> None:
    """Every workload has as many pods as before; on the node only what a drain leaves alone is left."""
    snapshot = Cluster.from_objects(objects)
    found = whatif.drain(snapshot, name)
    assert sizes(found) == sizes(snapshot)
    assert {item.name for item in found.pods if item.node_name == name} == {f"agent-{name}"}
