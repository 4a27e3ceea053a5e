"""Consolidations that are struck, started again and planned again, and clusters that change meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.consolidations import (
    Plan,
    agent,
    assert_emptied,
    at_home,
    budgets_held,
    by_wave,
    consolidation,
    delete_nodes,
    finish,
    half_empty,
    marked,
)
from tests.e2e.control_plane import ControlPlane
from tests.e2e.manifests import budget, node, workload
from tests.e2e.stories import carried_out, carried_out_until, left_behind, strike, struck

#: At which calls of kubectl it is struck; those before are checks.
_FIRST, _STEP = 12, 9
_MOST_STRIKES = 40


def four_nodes(live: ControlPlane, ready_after: int = 0) -> int:
    """Four pods on as many nodes, and room for all of them on one; a fifth node takes none.

    Pods are ready so many seconds after they were bound.
    """
    live.create(*(node(f"n{n}") for n in range(4)))
    web = workload("web", 4, cpu="700m")
    if ready_after:
        web["spec"]["template"]["metadata"]["annotations"] = {"stand-in/ready-after": str(ready_after)}
    live.create(web, budget("web", maxUnavailable=1), agent())
    closed = [{"key": "example.com/closed", "effect": "NoSchedule"}]
    live.create(node("closed", taints=closed))
    live.at_rest(4 + 5)
    return 4


@pytest.mark.parametrize(("name", "words"), [("TERM", ()), ("TERM", ("--pin",)), ("KILL", ("--pin",))])
def test_struck_at_many_moments(
    live: ControlPlane, tmp_path: Path, name: str, words: tuple[str, ...]
) -> None:
    """Started again, or planned again where it says so, it comes to the same end; budgets hold all the time.

    After TERM the nodes are open and nothing is left changed.
    """
    struck_to_the_end(live, tmp_path, half_empty(live, 4), name, words)


@pytest.mark.parametrize("name", ["TERM", "KILL"])
def test_struck_while_several_replicas_are_away(live: ControlPlane, tmp_path: Path, name: str) -> None:
    """Waves evict three replicas of a workload side by side, as many as its budget allows."""
    live.create(*(node(f"n{n}") for n in range(4)))
    live.create(workload("web", 12, cpu="200m"), budget("web", maxUnavailable=3))
    live.at_rest(12)
    words = ("--max-unavailable", "3")
    assert max(map(len, by_wave(consolidation(live, tmp_path, *words)))) == 3
    struck_to_the_end(live, tmp_path, 12, name, words)


def struck_to_the_end(live: ControlPlane, folder: Path, pods: int, name: str, words: tuple[str, ...]) -> None:
    """A consolidation, struck by a signal again and again, from its plan to the last node that is deleted."""
    first = plan = consolidation(live, folder, *words)
    with budgets_held(live):
        for number in range(_MOST_STRIKES):
            when = ("before", "after")[number % 2]
            ended = strike(live, plan.script, name, _FIRST + _STEP * number, when)
            code = ended.returncode
            if code == 0:
                break
            assert code in (1, -9, -15, 128 + 15), ended
            if code != -9:
                assert (marked(live), left_behind(live)) == (set(), []), (number, ended)
            if code == 1:  # a replacement has landed while nothing held it
                at_home(live, pods)
                plan = consolidation(live, folder, *words)
        ended = carried_out(live, plan.script)
    assert number > 2
    assert plan.document["cost"]["after"] == first.document["cost"]["after"]
    assert_emptied(live, plan, ended)
    delete_nodes(live, plan, pods, ended)


def test_struck_when_all_is_done(live: ControlPlane, tmp_path: Path) -> None:
    """The nodes are empty and stay cordoned: it ended without a word, as if that were not so."""
    pods = four_nodes(live)
    plan = consolidation(live, tmp_path)
    assert_emptied(live, plan, carried_out(live, plan.script))
    strike(live, plan.script, "TERM", 0, "before")
    last = int(plan.script.with_name("counter").read_text())
    for when in ("before", "after"):
        ended = strike(live, plan.script, "TERM", last, when)
        assert_emptied(live, plan, ended)
    delete_nodes(live, plan, pods, ended)


def scaled_up(live: ControlPlane) -> None:
    """Two replicas of `web` more."""
    live.kubectl("scale", "deployment/web", "--replicas=6", "-n", "default")


def test_scaled_up_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """It stops, opens the nodes and says why; planned again it comes to the end."""
    pods = four_nodes(live)
    plan = consolidation(live, tmp_path)
    with budgets_held(live):
        ended = carried_out_until(live, plan.script, "evicted", lambda: scaled_up(live))
    assert ended.returncode == 1
    assert "the nodes that were to go are open again" in ended.stdout
    assert (marked(live), left_behind(live)) == (set(), [])
    at_home(live, pods + 2)
    finish(live, consolidation(live, tmp_path), pods + 2)


def test_another_workload_comes_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """Its pods run on nodes that are kept, and the script goes on to its end."""
    pods = four_nodes(live)
    plan = consolidation(live, tmp_path)
    with budgets_held(live):
        late = workload("late", 2)
        ended = carried_out_until(live, plan.script, "evicted", lambda: live.create(late))
    assert_emptied(live, plan, ended)
    delete_nodes(live, plan, pods + 2, ended)


def test_a_second_budget_has_come(live: ControlPlane, tmp_path: Path) -> None:
    """No eviction gets past two: it gives up at once and opens the nodes; without the second it goes on."""
    pods = four_nodes(live)
    plan = consolidation(live, tmp_path)
    other = {**budget("web", maxUnavailable=0), "metadata": {"name": "other", "namespace": "default"}}
    live.create(other)
    ended = carried_out(live, plan.script)
    assert ended.returncode == 1
    assert "This pod has more than one PodDisruptionBudget" in ended.stderr
    assert (marked(live), left_behind(live)) == (set(), [])
    live.kubectl("delete", "poddisruptionbudget", "other", "-n", "default")
    finish(live, plan, pods)


def test_a_node_that_is_opened_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """What another user has opened is not called cordoned: it stops, and says which node."""
    pods = four_nodes(live)
    plan = consolidation(live, tmp_path)
    assert "closed" in plan.going  # it has been empty from the beginning, and takes no pod
    ended = carried_out_until(live, plan.script, "evicted", lambda: live.kubectl("uncordon", "closed"))
    assert ended.returncode == 1
    assert "stopped: node closed is not cordoned any more" in ended.stdout
    assert (marked(live), left_behind(live)) == (set(), [])
    finish(live, plan, pods)


def test_planned_again_before_the_nodes_are_deleted(live: ControlPlane, tmp_path: Path) -> None:
    """Nodes that wait to be deleted are in the next plan, and its script comes to its end."""
    pods = four_nodes(live)
    first = consolidation(live, tmp_path)
    assert_emptied(live, first, carried_out(live, first.script))
    plan = consolidation(live, tmp_path)
    assert (plan.going, plan.document["steps"]) == (first.going, [])
    ended = carried_out(live, plan.script)
    assert_emptied(live, plan, ended)
    delete_nodes(live, plan, pods, ended)


def test_killed_and_planned_again(live: ControlPlane, tmp_path: Path) -> None:
    """The next plan keeps a node that the killed script has cordoned: in the end it is open."""
    pods = four_nodes(live)
    first = killed_at_first_wave(live, tmp_path)
    kept = first.document["steps"][-1]["from"]
    plan = consolidation(live, tmp_path, "--keep", kept)
    assert plan.reasons[kept] == (None, "named by --keep")
    ended = carried_out(live, plan.script)
    assert_emptied(live, plan, ended)
    delete_nodes(live, plan, pods, ended)


def test_killed_and_scaled_up(live: ControlPlane, tmp_path: Path) -> None:
    """The next start cannot go on: it opens what the killed one has cordoned, and says to plan again."""
    pods = four_nodes(live)
    plan = killed_at_first_wave(live, tmp_path)
    scaled_up(live)
    at_home(live, pods + 2)
    ended = carried_out(live, plan.script)
    assert ended.returncode == 1
    assert "the nodes that were to go are open again" in ended.stderr
    assert (marked(live), left_behind(live)) == (set(), [])
    finish(live, consolidation(live, tmp_path), pods + 2)


def killed_at_first_wave(live: ControlPlane, folder: Path) -> Plan:
    """A consolidation whose script has cordoned its nodes, and is killed before it evicts a pod."""
    plan = consolidation(live, folder)
    assert struck(live, plan.script, "KILL", "cordoned:").returncode == -9
    assert marked(live) == plan.going
    return plan


def test_the_target_is_cordoned_meanwhile(live: ControlPlane, tmp_path: Path) -> None:
    """What went wrong: all other nodes were cordoned, a pod was evicted, and ten minutes nothing was said.

    It stops before that eviction, opens the nodes and says why; once the node is open it goes on.
    """
    pods = four_nodes(live, ready_after=3)
    plan = consolidation(live, tmp_path)
    target = plan.document["steps"][-1]["node"]
    with budgets_held(live):
        ended = carried_out_until(live, plan.script, "has landed", lambda: live.kubectl("cordon", target))
    assert ended.returncode == 1
    why = f"no pod may land on {target} any more, cordoned, tainted, not ready or gone since the plan was"
    assert f"stays where it is: {why}" in ended.stdout
    assert (marked(live), left_behind(live)) == (set(), [f"Node/{target}"])
    at_home(live, pods)
    live.kubectl("uncordon", target)
    finish(live, plan, pods)
