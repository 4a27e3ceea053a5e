"""What scripts of moves look at before they evict, and what they say while they wait."""

import os
import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cli.script_clock import put_clock
from tests.seeds import at_first

#: kubectl, as far as it is needed here: every call is noted, nodes and pods are those in files.
_KUBECTL = """#!/bin/sh
printf '%s\\n' "$*" >>"$FOLDER/calls"
[ ! -e "$FOLDER/slow" ] || sleep 3
case " $* " in *" ${FAILING:-nothing} "*)
    cat "$FOLDER/answer" >&2 2>/dev/null
    exit 1
    ;;
esac
case "$*" in
*' get nodes '*'name}|{.spec.taints'*) awk -F'|' '{ print $1 "|" $5 }' "$FOLDER/nodes" ;;
*' get nodes -l '*) head -n 1 "$FOLDER/labelled"; sed -i 1d "$FOLDER/labelled" ;;
*' get nodes '*) cat "$FOLDER/nodes" ;;
*' get events '*kind=StatefulSet,involvedObject.name=db*) cat "$FOLDER/events" 2>/dev/null ;;
*' get ReplicaSet/web '*) cat "$FOLDER/refusal" 2>/dev/null ;;
*' get pod '*) echo "0/2 nodes are available" ;;
*' get pods '*'phase!=Pending'*) cat "$FOLDER/ended" 2>/dev/null ;;
*' get pods '*deletionTimestamp*) cat "$FOLDER/pods" ;;
esac
exit 0
"""
_PLAN = """
node n1 1 open dedicated=web:NoSchedule
node n2 2 open
nodes_of @1 'n1 n2'
owner shop ReplicaSet/web u web-1@old
wave 1
"""
_NODES = {"n1": "1||", "n2": "2||", "old": "3|true|"}


def run_part(
    folder: Path, move: str, ends: str, pods: str = "", failing: str = "", **nodes: str
) -> tuple[int, str, str]:
    """Run some lines with all that a script of moves has; the exit code, both streams and the calls.

    A node is `RESOURCE VERSION|CORDONED|FOR WHICH POD`, with `gone` not there. Calls with words that are
    `failing` fail.
    """
    parts = ("frame", "holders", "ending", "pins", "cordons", "moves")
    texts = (files("cli.output.views.scripts").joinpath(f"{part}.sh").read_text() for part in parts)
    kubectl, script = folder / "kubectl", folder / "script.sh"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    put_clock(folder)
    found = {name: row for name, row in {**_NODES, **nodes}.items() if row != "gone"}
    (folder / "nodes").write_text("".join(f"{name}|{row}\n" for name, row in found.items()))
    (folder / "pods").write_text(pods)
    begins = f"plan() {{ {_PLAN}\n{move}\n}}; PLAN=$(plan); NAMESPACES=shop TOLD_WAVE=0 SETS=''"
    script.write_text("\n".join(("set -u", "AGAIN='planner again'", *texts, begins, ends)))
    words = {"CONTEXT": "c", "FOLDER": str(folder), "KUBECTL": str(kubectl), "FAILING": failing}
    words["PATH"] = f"{folder}:{os.environ['PATH']}"
    ended = subprocess.run(["sh", str(script)], env=words, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr, (folder / "calls").read_text()


def row(name: str, node: str, uid: str, ready: str = "True") -> str:
    """A pod of the workload as it is read."""
    return f"P|shop|{uid}|{name}|{node}||{ready}|ReplicaSet/web|u|||\n"


@pytest.mark.parametrize(
    ("waited", "new", "told"),
    [
        ("n1", "", "T|1|1|0|1"),
        ("", "n1", "T|1|1|0|1"),
        ("n2", "n1", "T|1|1|0|1"),
        ("n2", "", "away|shop|api-1|a1|old|ReplicaSet/api|n1|api-3||"),
        ("", "", "away|shop|api-1|a1|old|ReplicaSet/api|n1|api-3||"),
        ("n1", "n2", "?|shop/api-3 is new, and not by this plan"),
    ],
)
def test_a_pod_that_waited_may_take_the_place_of_a_replacement(
    tmp_path: Path, waited: str, new: str, told: str
) -> None:
    """What went wrong: the script waited ten minutes for the replacement, which waited in its stead."""
    plan = "owner shop ReplicaSet/api v 'api-1@old api-2@'\nmove shop api-1 a1 old ReplicaSet/api n1"
    pods = "".join(
        f"P|shop|{name}|{name}|{node}||{node != ''}|ReplicaSet/api|v|||\n"
        for name, node in (("api-2", waited), ("api-3", new))
    )
    look = "look; printf '%s\\n' \"$STATE\""
    code, words, _ = run_part(tmp_path, plan, look, row("web-1", "old", "u1") + pods)
    assert code == 0
    assert told in words.splitlines()
    assert ("?|" in words) is told.startswith("?")


_LOOK_AND_ACT = "look && act"


@pytest.mark.parametrize("held", at_first(1, ["cordon:n2", ""]))
@pytest.mark.parametrize(
    ("to", "nodes", "told"),
    [
        ("n1", {}, ""),
        ("n1", {"n1": "1|true|"}, "n1"),
        ("n1", {"n1": "gone"}, "n1"),
        ("n1", {"n1": "1|true|shop/other"}, ""),
        ("n1", {"n1": "1|||node.kubernetes.io/not-ready=:NoExecute"}, "n1"),
        ("n1", {"n1": "1|||other=:PreferNoSchedule node.kubernetes.io/unreachable=:NoExecute"}, "n1"),
        ("n1", {"n1": "1|||dedicated=web:NoSchedule example.com/not-ready=:PreferNoSchedule"}, ""),
        ("n1", {"n1": "1|||dedicated=db:NoSchedule"}, "n1"),
        ("n1", {"n1": "1|true|shop/other|node.kubernetes.io/unschedulable=:NoSchedule"}, ""),
        ("@1", {"n1": "1|||ToBeDeletedByClusterAutoscaler=1796:NoSchedule"}, ""),
        ("@1", {"n1": "1|true|"}, ""),
        ("@1", {"n1": "1|true|", "n2": "2|true|"}, "n1 and 1 more"),
        ("n1,n2", {"n1": "1|true|", "n2": "2|true|"}, "n1 and 1 more"),
    ],
)
def test_no_pod_goes_whose_replacement_has_no_node_any_more(
    tmp_path: Path, to: str, nodes: dict[str, str], told: str, held: str
) -> None:
    """What went wrong: nodes were cordoned, tainted or lost, the pod was evicted, and could land nowhere.

    A node that the script itself has cordoned for another move opens again; of several nodes one is enough.
    """
    move = f"move shop web-1 u1 old ReplicaSet/web {to} {held}"
    code, words, calls = run_part(tmp_path, move, _LOOK_AND_ACT, row("web-1", "old", "u1"), **nodes)
    if told:
        assert code == 1
        assert (
            f"stopped: shop/web-1 stays where it is: no pod may land on {told} any more, cordoned, tainted, "
            "not ready or gone since the plan was made; plan again: planner again" in words
        )
    assert ("/eviction" in calls) == (not told)
    assert ("patch" in calls) == (not told and bool(held))
    assert calls.count("get nodes") == (1 if told or not held else 2)


@pytest.mark.parametrize(
    ("first", "second", "evicted"),
    [
        ("@1", "@1", 2),
        ("n1,n2", "n1,n2", 2),
        # Of one controller, which replacement is whose is not known where they may land on different nodes.
        ("n1,n2", "n1", 1),
        ("n1 cordon:n2", "n1 cordon:n2", 1),
        ("n1", "n1 cordon:n2", 1),
    ],
)
def test_replicas_that_may_land_alike_go_side_by_side(
    tmp_path: Path, first: str, second: str, evicted: int
) -> None:
    """Another controller's pod goes in any case."""
    moves = [
        f"move shop web-{number} u{number} old ReplicaSet/web {to}"
        for number, to in ((1, first), (2, second))
    ]
    pods = row("web-1", "old", "u1") + row("web-2", "old", "u2")
    other = "move shop db-1 u3 old ReplicaSet/db n1"
    pods += row("db-1", "old", "u3").replace("ReplicaSet/web", "ReplicaSet/db")
    owners = "owner shop ReplicaSet/web u web-1@old web-2@old\nowner shop ReplicaSet/db u db-1@old"
    _, _, calls = run_part(tmp_path, "\n".join([owners, *moves, other]), _LOOK_AND_ACT, pods)
    assert len({*re.findall(r"/(web-\d|db-\d)/eviction", calls)}) == evicted + 1


@pytest.mark.long
def test_what_is_waited_for_is_said(tmp_path: Path) -> None:
    """What went wrong: nothing was said for ten minutes; now it is after ten seconds, and every thirty."""
    move = "move shop web-1 u1 old ReplicaSet/web n1"
    code, words, _ = run_part(tmp_path, move, "TIMEOUT=75; carry_out", row("web-2", "", "u2", ""))
    line = "the replacement of shop/web-1 has to land on n1"
    assert code == 1
    assert words.splitlines()[1:7] == [
        f"waiting for 10 s, at most 75 s: {line}",
        "waiting: shop/web-2 has no node: 0/2 nodes are available",
        f"waiting for 40 s, at most 75 s: {line}",
        "waiting: shop/web-2 has no node: 0/2 nodes are available",
        f"waiting for 70 s, at most 75 s: {line}",
        "waiting: shop/web-2 has no node: 0/2 nodes are available",
    ]
    assert f"stopped: nothing has happened for 75 seconds: {line}; plan again" in words


def test_what_kubectl_takes_counts(tmp_path: Path) -> None:
    """What went wrong: looks were counted as seconds, and with a slow kubectl ten minutes became an hour."""
    (tmp_path / "slow").touch()
    move = "move shop web-1 u1 old ReplicaSet/web n1"
    code, words, _ = run_part(tmp_path, move, "TIMEOUT=41; carry_out", row("web-2", "", "u2", ""))
    assert code == 1
    assert "stopped: nothing has happened for 41 seconds" in words
    told = [int(seconds) for seconds in re.findall(r"waiting for (\d+) s, at most 41 s", words)]
    assert told
    assert all(10 <= seconds < 41 for seconds in told)
    assert int((tmp_path / "now").read_text()) < 1000 + 80


def test_what_is_waited_for_is_said_once_after_a_slow_answer(tmp_path: Path) -> None:
    """What went wrong: after one of more than a minute the same line came at each of the next looks."""
    ends = "k get nodes >/dev/null; begin_waiting; for waited in 9 10 39 75 76 77 104 105 106; do"
    _, words, _ = run_part(tmp_path, "", f"{ends} is_told_again && echo $waited; done")
    assert words.splitlines() == ["10", "75", "105"]


@pytest.mark.parametrize(
    ("node", "told"),
    [
        ("1|||node.kubernetes.io/not-ready=:NoExecute", "is not ready"),
        ("1|||example.com/other=:NoSchedule node.kubernetes.io/unreachable=:NoExecute", "is not ready"),
        ("gone", "is not there any more"),
        ("1|true||node.kubernetes.io/unschedulable", ""),
    ],
)
def test_a_replacement_on_a_node_that_is_lost(tmp_path: Path, node: str, told: str) -> None:
    """It was waited for until the time was over, with no word about its node."""
    move = "move shop web-1 u1 old ReplicaSet/web n1"
    pods = row("web-2", "n1", "u2", "False")
    code, words, _ = run_part(tmp_path, move, "TIMEOUT=20; export PACE=5; carry_out", pods, n1=node)
    line = f"stopped: shop/web-2 does not become ready: its node n1 {told}; plan again: planner again"
    nothing = "stopped: nothing has happened for 20 seconds: shop/web-2 has to be ready on n1; plan again"
    assert code == 1
    assert (line if told else nothing) in words
    assert ("waiting for 10 s" in words) == (not told)


@pytest.mark.parametrize(
    ("ended", "told"), [("|u1", True), ("2026-01-02T03:04:05Z|u1", False), ("|u9", False)]
)
def test_a_pod_of_a_job_that_has_run_to_its_end(tmp_path: Path, ended: str, told: bool) -> None:
    """It was taken for one that the script has evicted, and its replacement waited for.

    One that is terminating was evicted, and another one of its name is no business of this plan.
    """
    (tmp_path / "ended").write_text(ended)
    move = "move shop web-1 u1 old Job/web n1"
    code, words, _ = run_part(tmp_path, move, "TIMEOUT=1; carry_out")
    assert code == 1
    line = "stopped: shop/web-1 has run to its end, and not by this plan; plan again: planner again"
    assert (line in words) == told
    assert ("nothing has happened" in words) == (not told)


def test_a_look_that_failed_once_is_not_why_nothing_happens(tmp_path: Path) -> None:
    """It was told ten minutes later, as if the API server still did not answer."""
    move = "move shop web-1 u1 old ReplicaSet/web n1"
    ends = "TIMEOUT=3; TROUBLE='connection refused'; carry_out"
    code, words, _ = run_part(tmp_path, move, ends, row("web-2", "", "u2", ""))
    assert (code, "connection refused" in words) == (1, False)


def test_a_replacement_that_is_not_even_made_is_told_in_the_words_of_the_api_server(tmp_path: Path) -> None:
    """What went wrong: a policy refused it, and the script only said that it has to land."""
    (tmp_path / "refusal").write_text('pods "web-2" is forbidden: by us')
    move = "move shop web-1 u1 old ReplicaSet/web n1"
    code, words, _ = run_part(tmp_path, move, "TIMEOUT=15; export PACE=5; carry_out", "")
    line = 'no pod is made in place of shop/web-1: pods "web-2" is forbidden: by us'
    assert (code, words.count(f"waiting: {line}"), words.count(f"  {line}")) == (1, 1, 1)


@pytest.mark.parametrize(("when", "told"), [("2026-01-03T00:00:00Z", True), ("2026-01-01T00:00:00Z", False)])
def test_events_tell_why_a_stateful_set_makes_no_pod(tmp_path: Path, when: str, told: bool) -> None:
    """It has no condition for that, and the script only said that the pod has to land; old events are old."""
    (tmp_path / "events").write_text(f"{when}|pod db-0 failed: exceeded | quota\n")
    move = "move shop db-0 u1 old StatefulSet/db n1"
    code, words, _ = run_part(tmp_path, move, "TIMEOUT=15; export PACE=5; carry_out", "")
    line = "no pod is made in place of shop/db-0: pod db-0 failed: exceeded | quota"
    assert (code, line in words) == (1, told)


def test_a_replacement_that_lands_elsewhere_is_not_said_to_have_no_node(tmp_path: Path) -> None:
    """What went wrong: `shop/web-2 has no node: `, and in the next line that it has landed on old."""
    move = "move shop web-1 u1 old ReplicaSet/web n1"
    code, words, _ = run_part(tmp_path, move, "carry_out", row("web-2", "old", "u2"))
    assert code == 1
    assert "shop/web-2 has landed on old, planned was n1" in words
    assert "has no node" not in words


def test_no_wave_is_due_once_all_moves_are_done(tmp_path: Path) -> None:
    """What went wrong: `wave 0 of 1 is due`, and nothing was said of the pod that was still ending."""
    move = "move shop web-1 u1 old ReplicaSet/web n1"
    pods = row("web-2", "n1", "u2") + row("web-9", "n2", "u9")
    ends = f"read_pods() {{ PODS='{pods}'; }}; carry_out"
    code, words, _ = run_part(tmp_path, move, ends, "shop|web-1|u1|old|30|30|\n")
    assert code == 1
    lines = words.splitlines()
    assert "done: 1 of 1 move" in lines
    assert "  shop/web-1 is still terminating on old" in lines


@pytest.mark.parametrize("failing", ["get ReplicaSet/web", "get deployment web"])
def test_nothing_is_pinned_while_it_is_not_known_whether_a_deployment_is_above(
    tmp_path: Path, failing: str
) -> None:
    """One failed look was taken for no Deployment: it was not paused, and rolled all of its pods out."""
    (tmp_path / "refusal").write_text('web||7|1|{"nodeAffinity":{}}')
    move = "move shop web-1 u1 old ReplicaSet/web n1 '[]'"
    _, _, calls = run_part(tmp_path, move, _LOOK_AND_ACT, row("web-1", "old", "u1"), failing)
    assert f" {failing} " in calls
    assert "patch" not in calls
    assert calls.count("/eviction") == 1  # in which the API server is only asked


@pytest.mark.parametrize(("answer", "off"), [("(NotFound): web", True), ("connection refused", False)])
def test_a_pin_comes_off_although_the_deployment_is_deleted(tmp_path: Path, answer: str, off: bool) -> None:
    """With --cascade=orphan: the annotations stayed, and all other scripts were refused for ever."""
    (tmp_path / "refusal").write_text('|web|{"nodeAffinity":{}}')
    (tmp_path / "answer").write_text(f"Error from server {answer}")
    ends = "unpin shop ReplicaSet/web && echo off"
    _, words, calls = run_part(tmp_path, "", ends, failing="patch deployment web")
    assert (words == "off\n", '"planner/pinned-for":null' in calls) == (off, off)


_LOG = 'E1125 13:51:23.614852    7447 memcache.go:265] "Unhandled Error" err="connection refused"'


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([_LOG, _LOG, "The connection was refused"], "The connection was refused"),
        ([_LOG, _LOG], _LOG),
        (["error: one", "error: two"], "error: one error: two"),
        ([""], ""),
    ],
)
def test_the_log_of_kubectl_is_left_out(tmp_path: Path, lines: list[str], told: str) -> None:
    """What went wrong: five log lines that say the same stood before the one that is meant for its user."""
    (tmp_path / "told").write_text("\n".join(lines))
    ends = 'printf "%s\\n" "$(one_line "$(cat "$FOLDER/told")")"; k get nodes'
    _, words, _ = run_part(tmp_path, "", ends)
    assert words.splitlines()[0] == told


def test_how_many_more_of_what_is_said(tmp_path: Path) -> None:
    """What went wrong: `is gone, and not by this plan, and 6 more`, of which it was not clear what."""
    lines = "'shop/web-1 is gone\nshop/web-2 is gone\nshop/web-3 is gone'"
    _, words, _ = run_part(tmp_path, "", f"NOT_AS_PLANNED={lines}; not_as_planned; k get nodes")
    assert words.splitlines()[0] == "shop/web-1 is gone, and 2 more pods"
    anew = "'shop/web-1 is gone\nReplicaSet/web in shop has been made anew'"
    _, words, _ = run_part(tmp_path, "", f"NOT_AS_PLANNED={anew}; not_as_planned; k get nodes")
    assert words.splitlines()[0] == "ReplicaSet/web in shop has been made anew"


@pytest.mark.parametrize(("before", "done"), [("", 0), ("not_ready shop web-1", 1)])
def test_what_was_not_ready_is_done_when_it_has_a_node(tmp_path: Path, before: str, done: int) -> None:
    """What went wrong: a pod that never becomes ready, as it was before, held all other moves up."""
    move = f"{before}\nmove shop web-1 u1 old ReplicaSet/web n1"
    ended = run_part(tmp_path, move, "look; echo done $DONE", row("web-2", "n1", "u2", ready="False"))
    assert ended[:2] == (0, f"done {done}\n")


@pytest.mark.parametrize(
    ("process", "host", "words", "is_at_work"),
    [
        ("$$", "$HERE", "", True),
        ("1", "$HERE", "", True),
        ("$(sh -c 'echo $$')", "$HERE", "", False),
        ("$(sh -c 'echo $$')", "elsewhere", "", True),
        ("$(sh -c 'echo $$')", "$(uname -n):1", "", True),
        ("$(sh -c 'echo $$')", "$(uname -n)", "", True),
        ("$$", "elsewhere", "--take-over", False),
    ],
)
def test_whether_another_script_is_at_work(
    tmp_path: Path, process: str, host: str, words: str, is_at_work: bool
) -> None:
    """On this host a process that is gone is not; of others only the user knows."""
    holder = f'"{process}@{host} 2026-01-02T03:04:05Z a.sh"'
    ends = (
        f"k get nodes >/dev/null; options {words}; is_at_work {holder} && echo yes && named_holder {holder}"
    )
    _, told, _ = run_part(tmp_path, "", ends)
    assert told.startswith("yes\n") == is_at_work
    assert re.search(r"\na\.sh, process \d+ on \S+ since 2026-01-02T03:04:05Z$", told) or not is_at_work


def test_what_it_has_changed_itself_is_its_own(tmp_path: Path) -> None:
    """Whatever its file is called: no quote of it gets into a change."""
    _, told, _ = run_part(
        tmp_path, "", 'is_at_work "$HOLDER" || k get nodes; is_at_work "" || echo "$HOLDER"'
    )
    assert re.search(r"^\d+@\S+ 20\S+Z script\.sh$", told, re.MULTILINE)
