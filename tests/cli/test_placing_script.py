"""What scripts of placements do where the cluster cannot be read for a moment."""

import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tests.cli.script_clock import put_clock

#: kubectl, as far as it is needed here: every call is noted, and the first one with some words fails.
_KUBECTL = """#!/bin/sh
printf '%s\\n' "$*" >>"$FOLDER/calls"
case " $* " in
*" $FAILING "*) mkdir "$FOLDER/failed" 2>/dev/null && echo "connection refused" >&2 && exit 1 ;;
esac
done_before() { grep -q "$1" "$FOLDER/calls"; }
case "$*" in
*' jsonpath={.metadata.generation}|'*) cat "$FOLDER/seen" 2>/dev/null || echo '3|3' ;;
*' --field-selector=metadata.name='*) printf '%s|7||||\\n' n1 n2 ;;
*' get pods '*) done_before 'patch ReplicaSet/web' && echo 'P|shop|u2|web-2|n1|||ReplicaSet/web' ;;
*' get pod '*PodScheduled*) echo "0/2 nodes are available" ;;
*' get pod '*) { [ -e "$FOLDER/runs" ] || done_before /binding; } && echo 'P|u1|n1||||' || echo 'P|u1|||||' ;;
*' get ReplicaSet/web '*ReplicaFailure*) echo forbidden ;;
*' get ReplicaSet/web '*spec.replicas*) cat "$FOLDER/replicas" 2>/dev/null ;;
*' get ReplicaSet/web '*planner/resume*) echo '|web|{}' ;;
*' get ReplicaSet/web '*) echo 'web||7|1|{}' ;;
*' get deployment '*) echo '|3|3|1' ;;
esac
exit 0
"""


def run_part(folder: Path, ends: str, failing: str) -> tuple[int, str, list[str]]:
    """Run some lines with all that a script of placements has; the exit code, both streams and the calls."""
    parts = ("frame", "holders", "ending", "pins", "placing")
    texts = (files("cli.output.views.scripts").joinpath(f"{part}.sh").read_text() for part in parts)
    kubectl, script = folder / "kubectl", folder / "script.sh"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    put_clock(folder)
    begins = "AGAIN='planner again' PLAN='' NAMESPACES=shop TROUBLE='' DONE=0 STEPS=1"
    script.write_text("\n".join(("set -u", *texts, begins, ends)))
    words = {"CONTEXT": "c", "FOLDER": str(folder), "KUBECTL": str(kubectl), "FAILING": failing}
    words["PATH"] = f"{folder}:{os.environ['PATH']}"
    ended = subprocess.run(["sh", str(script)], env=words, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr, (folder / "calls").read_text().splitlines()


def place_of(calls: list[str], words: str) -> int:
    """The first call with these words."""
    return next(place for place, call in enumerate(calls) if words in call)


@pytest.mark.parametrize("failing", ["get pods", "get ReplicaSet/web", "get deployment web"])
def test_a_replacement_is_waited_for_although_a_look_fails(tmp_path: Path, failing: str) -> None:
    """A failed look was taken for a pod that has come; and where it was the Deployment's, it rolled out."""
    ends = "do_replace shop ReplicaSet/web n1 1 '[]'; echo come"
    code, words, calls = run_part(tmp_path, ends, failing)
    assert (code, "come" in words.splitlines()) == (0, True)
    assert place_of(calls, "patch deployment web") < place_of(
        calls, "patch ReplicaSet/web -n shop --type=json"
    )


def test_no_pod_goes_before_its_controller_is_pinned(tmp_path: Path) -> None:
    """The look at the controller failed, the pod was evicted, and its replacement could take the room."""
    ends = "TIMEOUT=2; do_evict shop web-1 u1 ReplicaSet/web '[]'"
    (tmp_path / "runs").touch()
    code, _, calls = run_part(tmp_path, ends, "get ReplicaSet/web")
    assert code == 1
    pinned = place_of(calls, "patch ReplicaSet/web -n shop --type=json")
    assert sum("/eviction" in call for call in calls[:pinned]) == 2  # in which the API server is only asked


def test_a_pod_is_bound_although_a_look_fails(tmp_path: Path) -> None:
    """What had been read of the pod before was taken for this one: it is on its node, so nothing was done."""
    ends = "look_at shop before; NOW_ON=n9; do_bind shop web-1 u1 n1; echo bound"
    code, words, calls = run_part(tmp_path, ends, "get pod web-1")
    assert (code, words) == (0, "bound\n")
    assert place_of(calls, "/pods/web-1/binding")


def test_nothing_is_bound_to_a_node_that_is_gone(tmp_path: Path) -> None:
    """What went wrong: the API server takes such a binding, so the script said that it was done."""
    code, words, calls = run_part(tmp_path, "do_bind shop web-1 u1 n3; echo bound", "nothing")
    assert code == 1
    assert "shop/web-1 is not bound: no pod may come to n3 any more" in words
    assert not [call for call in calls if "/binding" in call]


def test_nothing_is_bound_to_a_node_that_cannot_be_read(tmp_path: Path) -> None:
    """No scheduler is asked whether there is room, and a failed look was taken for an empty node."""
    ends = "rows() { echo 'n1|shop/old'; }; check_room; echo ok"
    code, words, _ = run_part(tmp_path, ends, "get pods")
    assert (code, words) == (
        2,
        "refused, nothing was changed: the pods of n1 cannot be read: connection refused\n",
    )


def test_a_pin_comes_off_although_a_change_fails(tmp_path: Path) -> None:
    """The API server was away for a moment, and a Deployment stayed paused with its ReplicaSet pinned."""
    ends = "PINNED='shop|ReplicaSet/web\n'; release_pins; echo \"$PINNED\"".replace("\\n", "\n")
    code, words, calls = run_part(tmp_path, ends, "patch ReplicaSet/web")
    assert (code, words.strip()) == (0, "")
    assert [call for call in calls if "planner/pinned-for" in call]


@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ("await_pod shop web-1 n2", "shop/web-1 has to come to n2: 0/2 nodes are available"),
        (
            "do_replace shop ReplicaSet/web n2 1 '[]'",
            "a new pod of ReplicaSet/web in shop has to come to n2; no pod is made: forbidden",
        ),
    ],
)
def test_what_is_waited_for_is_said(tmp_path: Path, ends: str, told: str) -> None:
    """Nothing was said for ten minutes."""
    code, words, _ = run_part(tmp_path, f"TIMEOUT=50; export PACE=5; {ends}", "nothing")
    assert code == 1
    lines = [line for line in words.splitlines() if line.startswith("waiting for ")]
    assert lines == [f"waiting for {seconds} s, at most 50 s: {told}" for seconds in (10, 40)]


def test_no_new_pod_comes(tmp_path: Path) -> None:
    """What went wrong: the controller had been scaled down, and the script waited until the time was over."""
    (tmp_path / "replicas").write_text("1")
    code, words, _ = run_part(tmp_path, "do_replace shop ReplicaSet/web n2 1 '[]'", "nothing")
    line = "stopped: ReplicaSet/web in shop has as many pods as it asks for, 1: no new one comes to n2"
    assert code == 1
    assert line in words


def test_a_pin_says_for_which_pod_it_is(tmp_path: Path) -> None:
    """What went wrong: one of a replacement said nothing, and was not found after a KILL."""
    evict = "rows() { echo 'evict|shop|web-1|u1|n1|ReplicaSet/web|[]'; }"
    code, words, calls = run_part(tmp_path, f"{evict}; do_replace shop ReplicaSet/web n1 1 '[]'", "nothing")
    assert (code, "until the replacement of web-1 has landed" in words) == (0, True)
    assert any('"planner/pinned-for":"web-1"' in call for call in calls)


def test_no_template_is_pinned_before_the_pause_is_seen(tmp_path: Path) -> None:
    """What went wrong: a controller that was late saw the pin first, and rolled the Deployment out."""
    (tmp_path / "seen").write_text("4|3")
    code, words, calls = run_part(tmp_path, "do_replace shop ReplicaSet/web n1 1 '[]'", "nothing")
    assert code == 1
    assert "stopped: the controller of deployment web in shop does not see that it is paused; plan" in words
    assert not any("patch ReplicaSet/web" in call and "--type=json" in call for call in calls)


def test_one_step_is_no_steps(tmp_path: Path) -> None:
    """What went wrong: `done: 1 steps`."""
    unchecked = "; ".join(f"check_{what}() {{ :; }}" for what in ("rights_to_place", "pods", "room"))
    ends = f"plan() {{ bind shop web-1 u1 n1; }}; CLUSTER=''; {unchecked}; main"
    code, words, _ = run_part(tmp_path, ends, "nothing")
    assert (code, words.splitlines()[-1]) == (0, "done: 1 step")


@pytest.mark.parametrize(("pod", "code"), [("web-1", 0), ("web-2", 1)])
def test_a_warning_of_kubectl_is_no_pod(tmp_path: Path, pod: str, code: int) -> None:
    """Words on standard error were taken for pods that the node did not hold when the plan was made."""
    lists = f"""k() {{ "$KUBECTL" "$@"; echo 'Warning: old plugin' >&2; echo 'P|shop/{pod}'; }}"""
    given = "PLAN='R|n1|shop/web-1'"
    assert run_part(tmp_path, f"{lists}; {given}; check_room", "nothing")[0] == code
