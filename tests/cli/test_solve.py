"""`planner solve` as it is typed: exit codes, every form of the plan, the options."""

import gzip
import json
from pathlib import Path

import pytest

from cli.input import options
from planner.batch.goals import PlanShape
from planner.documents.plan import PlacementPlan
from tests.cli.conftest import Ended, Planner
from tests.cli.manifests import node, pod, write

DATA = Path(__file__).parents[1] / "data" / "batch"


@pytest.fixture
def unreachable(tmp_path: Path) -> str:
    """Seven pods that can stand together, and five that an order of binds leads to."""
    with gzip.open(DATA / "stuck.jsonl.gz", "rt") as lines:
        case = json.loads(next(iter(lines)))
    return write(tmp_path / "unreachable.json", *case["cluster"]["items"])


def document(ended: Ended) -> PlacementPlan:
    """What `-o json` printed, validated."""
    return PlacementPlan.model_validate_json(ended.out)


def test_all_placed_is_0(planner: Planner, fragmented: str) -> None:
    """The batch fits as a whole, though kube-scheduler leaves a pod over."""
    assert planner("simulate", "-f", fragmented).code == 1
    ended = planner("solve", "-f", fragmented)
    assert (ended.code, ended.err) == (0, "")
    assert ended.verdict == "3 pods placed: all of them."


def test_a_pod_left_over_is_1(planner: Planner, stuck: str) -> None:
    """A finding, no error, with kube's line about the pod."""
    ended = planner("solve", "-f", stuck)
    assert (ended.code, ended.err) == (1, "")
    assert "shop/huge stays pending:\n  0/1 nodes are available:\n    1  Insufficient cpu\n" in ended.out
    assert ended.verdict.startswith("1 pod placed, 1 left over")


def test_nothing_pending_is_0(planner: Planner, tmp_path: Path) -> None:
    """No batch, no plan, and nothing wrong."""
    ended = planner("solve", "-f", write(tmp_path / "quiet.json", node("a1"), pod("web", on="a1")))
    assert (ended.code, ended.out) == (0, "There are no pods to place.\n")


@pytest.mark.parametrize("output", ["json", "wide", "yaml", "name"])
def test_the_form_does_not_change_the_exit_code(planner: Planner, stuck: str, output: str) -> None:
    """A script may pick the form it likes and still rely on the code."""
    assert planner("solve", "-f", stuck, "-o", output).code == 1


def test_json_has_the_fields_that_scripts_depend_on(planner: Planner, stuck: str) -> None:
    """The names are a contract; every one of them is there, and the document validates."""
    ended = planner("solve", "-f", stuck, "-o", "json")
    plan = json.loads(ended.out)
    assert (plan["apiVersion"], plan["kind"]) == ("planner/v1alpha1", "PlacementPlan")
    assert plan["status"] == "Optimal"
    assert plan["objective"] == [
        {"name": "podsPlaced/0", "goal": "max", "value": 1, "bound": 1, "proved": True, "assumes": []},
        {"name": "fullestNodePercent", "goal": "min", "value": 3, "bound": 3, "proved": True, "assumes": []},
    ]
    assert plan["steps"] == [{"action": "bind", "pod": "shop/small", "node": "a1", "from": None}]
    assert plan["unplaced"] == [
        {"pod": "shop/huge", "message": "0/1 nodes are available: 1 Insufficient cpu."}
    ]
    assert plan["verdicts"] == {"sequence": True, "finalState": True}
    assert document(ended).to_dict() == plan


def test_names_are_the_pods_left_over(planner: Planner, stuck: str, fragmented: str) -> None:
    """`-o name` lists what the exit code is about, and nothing when all is well."""
    assert planner("solve", "-f", stuck, "-o", "name").out == "pod/huge -n shop\n"
    assert planner("solve", "-f", fragmented, "-o", "name").out == ""


def test_the_table_on_a_terminal(planner: Planner, unreachable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proved, why pods are left, binds in their order; nothing is wider than 80."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = planner("solve", "-f", unreachable).out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "5 pods placed, 2 left over: proved that no plan is better."
    assert lines[2] == "2 pods stay pending, default/web-6 for one:"
    assert lines[-6] == "NAMESPACE   NAME    NODE"
    assert [line.split()[:2] for line in lines[-5:]] == [["default", f"web-{n}"] for n in range(1, 6)]


def test_the_stages_of_the_objective(planner: Planner, fragmented: str) -> None:
    """With -v each stage with its bound; without, in words what is not proved."""
    rows = [line.split() for line in planner("solve", "-f", fragmented, "-v").out.splitlines()]
    assert ["STAGE", "VALUE", "BOUND", "PROVED"] in rows
    assert ["podsPlaced/0", "3", "3", "yes"] in rows
    unsolved = planner("solve", "-f", fragmented, "--time-limit", "0").out.splitlines()
    assert (
        "Not proved: 2 pods placed of priority 0 is the best that was found; no plan has more than 3."
        in unsolved
    )


def test_what_no_order_reaches_is_noted(planner: Planner, unreachable: str) -> None:
    """Standard error says what else could stand, and which option prints it."""
    ended = planner("solve", "-f", unreachable)
    assert ended.code == 1
    assert ended.err.startswith("note: 7 pods could stand")
    assert "--final-state" in ended.err


def test_a_final_state_may_need_node_names(planner: Planner, unreachable: str) -> None:
    """Where the filters would refuse a bind on the way, the plan says how such pods are bound."""
    ended = planner("solve", "-f", unreachable, "--final-state")
    assert ended.code == 0
    assert "spec.nodeName" in ended.verdict
    plan = document(planner("solve", "-f", unreachable, "--final-state", "-o", "json"))
    assert (len(plan.steps), plan.verdicts.sequence, plan.verdicts.final_state) == (7, False, True)


def test_a_final_state_that_binds_lead_to_needs_none(planner: Planner, fragmented: str) -> None:
    """The same option, and a placement that a cluster accepts bind by bind."""
    ended = planner("solve", "-f", fragmented, "--final-state")
    assert ended.code == 0
    assert "spec.nodeName" not in ended.out


def test_without_time_there_is_a_plan_all_the_same(planner: Planner, fragmented: str) -> None:
    """kube-scheduler's own, with nothing proved."""
    ended = planner("solve", "-f", fragmented, "--time-limit", "0", "-o", "json")
    plan = document(ended)
    assert (ended.code, plan.status, plan.verdicts.sequence) == (1, "Feasible", True)
    assert [step.pod for step in plan.steps] == ["shop/small-0", "shop/small-1"]
    first = plan.objective[0]
    assert (first.value, first.bound, first.proved) == (2, 3, False)
    assert ended.err == "".join(f"note: {note}\n" for note in plan.notes)


def test_without_time_there_is_no_final_state(planner: Planner, fragmented: str) -> None:
    """No answer is exit code 3, and one line says how to get one."""
    ended = planner("solve", "-f", fragmented, "--final-state", "--time-limit", "0")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("no answer: the limit ended before a final state")
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize("limit", ["soon", "-1", "nan", ""])
def test_a_bad_time_limit_is_a_usage_error(planner: Planner, fragmented: str, limit: str) -> None:
    """One line that names the option, and nothing on standard output."""
    ended = planner("solve", "-f", fragmented, "--time-limit", limit)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("error: Invalid value for '--time-limit'")


def test_a_long_plan_is_summed_up(planner: Planner, tmp_path: Path) -> None:
    """Up to 50 binds are listed; of more only how many pods each node gets, and all in -o wide."""
    nodes = [node(name, cpu="3") for name in ("a1", "b1")]
    fifty = write(tmp_path / "fifty.json", *nodes, *(pod(f"web-{number}") for number in range(50)))
    more = write(tmp_path / "more.json", *nodes, *(pod(f"web-{number}") for number in range(60)))
    assert planner("solve", "-f", fifty).out.splitlines()[2].startswith("NAMESPACE")
    lines = planner("solve", "-f", more).out.splitlines()
    assert [line.split() for line in lines[2:]] == [["NODE", "PODS"], ["a1", "30"], ["b1", "30"]]
    for wanted in (("-o", "wide"), ("-v",)):
        rows = planner("solve", "-f", more, *wanted).out.splitlines()
        assert rows[2].split() == ["NAMESPACE", "NAME", "NODE"]
        assert sum(row.startswith("shop ") for row in rows) == 60


def test_the_shapes_are_the_engines() -> None:
    """The list in the options is spelled out there so that help stays quick; it is the same."""
    assert [shape.value for shape in options.Shape] == [shape.value for shape in PlanShape]


def test_packing_uses_fewer_nodes(planner: Planner, tmp_path: Path) -> None:
    """Two pods share a node under `--prefer pack`, and have one each by default."""
    path = write(tmp_path / "two.json", node("a1"), node("b1"), pod("web-0", cpu="1"), pod("web-1", cpu="1"))
    nodes = {
        shape: {step.node for step in document(planner("solve", "-f", path, *asked, "-o", "json")).steps}
        for shape, asked in {"spread": (), "pack": ("--prefer", "pack")}.items()
    }
    assert (len(nodes["spread"]), len(nodes["pack"])) == (2, 1)


@pytest.fixture
def in_pieces(tmp_path: Path) -> str:
    """Room for a pod of three cores, on two nodes with two cores each."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    running = [pod(f"web-{name}", on=name, cpu="2") for name in ("a1", "b1")]
    for item in running:
        item["metadata"]["ownerReferences"] = [owner]
    nodes = [node(name, cpu="4") for name in ("a1", "b1")]
    return write(tmp_path / "pieces.json", *nodes, *running, pod("report", cpu="3"))


def test_moves_have_a_source(planner: Planner, in_pieces: str) -> None:
    """With --allow-moves evictions stand between the binds, each with the node that the pod leaves."""
    ended = planner("solve", "-f", in_pieces, "--allow-moves", "-o", "json")
    assert ended.code == 0
    assert json.loads(ended.out)["steps"] == [
        {"action": "evict", "pod": "shop/web-a1", "node": None, "from": "a1"},
        {"action": "bind", "pod": "shop/web-a1", "node": "b1", "from": "a1"},
        {"action": "bind", "pod": "shop/report", "node": "a1", "from": None},
    ]
    assert document(ended).objective[-1].name == "moves"


def test_moves_as_a_table(planner: Planner, in_pieces: str) -> None:
    """How many moves there are, and what is done to which pod, from where and to where."""
    lines = planner("solve", "-f", in_pieces, "--allow-moves").out.splitlines()
    assert lines[0] == "1 pod placed, 1 moved: all of them."
    assert lines[2].split() == ["ACTION", "NAMESPACE", "NAME", "FROM", "NODE"]
    assert lines[3].split() == ["evict", "shop", "web-a1", "a1"]
    assert lines[4].split() == ["bind", "shop", "web-a1", "a1", "b1"]


def test_many_moves_are_summed_up(planner: Planner, tmp_path: Path) -> None:
    """Of a long plan, how many pods come to each node and leave it."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    running = [pod(f"web-{number:02}", on="a1", cpu="100m") for number in range(40)]
    for item in running:
        item["metadata"]["ownerReferences"] = [owner]
    wanted = pod("big", cpu="4")
    wanted["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "a1"}
    nodes = [node(name, cpu="4") for name in ("a1", "b1")]
    found = write(tmp_path / "many.json", *nodes, *running, wanted)
    lines = planner("solve", "-f", found, "--allow-moves").out.splitlines()
    assert [line.split() for line in lines[2:5]] == [
        ["NODE", "COME", "LEAVE"],
        ["b1", "40", "0"],
        ["a1", "1", "40"],
    ]
    assert lines[0] == "1 pod placed, 40 moved: all of them."


def test_evicted_for_good_is_1(planner: Planner, tmp_path: Path) -> None:
    """A pod of lower priority that finds no other place is left over."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r", "controller": True}
    low = pod("low", on="a1", cpu="3", priority=1)
    low["metadata"]["ownerReferences"] = [owner]
    found = write(tmp_path / "low.json", node("a1", cpu="4"), low, pod("high", cpu="3", priority=9))
    ended = planner("solve", "-f", found, "--allow-moves")
    assert ended.code == 1
    assert ended.verdict.startswith("1 pod placed, 1 evicted for good, 1 left over")


def test_moves_and_a_final_state_exclude_each_other(planner: Planner, in_pieces: str) -> None:
    """A usage error, in one line."""
    ended = planner("solve", "-f", in_pieces, "--allow-moves", "--final-state")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: --allow-moves and --final-state exclude each other: moves are a sequence\n"
