"""What the script of a drain asks for, waits for, and says in the end."""

import os
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tests.builders import Object, node, pod
from tests.cli.conftest import Planner
from tests.cli.manifests import write
from tests.cli.script_clock import put_clock

#: kubectl, as far as it is needed here: every call is noted; nodes, pods and controllers are those in files.
_KUBECTL = """#!/bin/sh
printf '%s\\n' "$*" >>"$FOLDER/calls"
case " $* " in
*" $FAILING "*) mkdir "$FOLDER/failed" 2>/dev/null && echo "connection refused" >&2 && exit 1 ;;
esac
case "$*" in
*' patch node '*)
    grep -q "^N|$5|" "$FOLDER/nodes" && exit
    echo "Error from server (NotFound): nodes" >&2
    exit 1
    ;;
*' create --raw '*) cat "$FOLDER/answer" >&2 && exit 1 ;;
*' get nodes '*'name}|{.spec.taints'*) cat "$FOLDER/taints" ;;
*' get nodes '*) cat "$FOLDER/nodes" ;;
*' get pods -n '*'status.phase!=Succeeded,status.phase!=Failed'*) grep '^P|shop' "$FOLDER/counted" ;;
*' get pods -n '*) cat "$FOLDER/counted" "$FOLDER/ended" ;;
*' get pods '*) ;;
*' get statefulsets.apps '*) echo '3|2' ;;
*' get events '*involvedObject.name=db*) echo '2026-01-02T03:04:06Z|exceeded quota' ;;
*' get replicasets.apps '*) cat "$FOLDER/controllers" ;;
esac
exit 0
"""
#: What happens while the script sleeps: the replacement becomes ready at the third time.
_MEANWHILE = """
echo >>"$FOLDER/slept"
[ ! -e "$FOLDER/taints" ] || exit 0
[ "$(grep -c '' "$FOLDER/slept")" -lt 3 ] || echo 'P|shop|ReplicaSet/web||True' >"$FOLDER/counted"
"""
_PLAN = """
node old u open
wave 1
drains old
goes old shop web-1 u1
owner shop ReplicaSet/web 1 replicasets.apps
"""
_CORDONED = "N|old|u|true|was:open|"


def run_part(
    folder: Path, ends: str, nodes: str = _CORDONED, controllers: str = "", failing: str = "nothing"
) -> tuple[int, str, list[str]]:
    """Run some lines with all that a script of a drain has; the exit code, both streams and the calls."""
    parts = ("frame", "holders", "ending", "drain")
    texts = (files("cli.output.views.scripts").joinpath(f"{part}.sh").read_text() for part in parts)
    kubectl, script = folder / "kubectl", folder / "script.sh"
    kubectl.write_text(_KUBECTL)
    kubectl.chmod(0o755)
    put_clock(folder, _MEANWHILE)
    found = {
        "nodes": nodes,
        "controllers": controllers,
        "counted": "P|shop|ReplicaSet/web||False",
        "ended": "P|shop|ReplicaSet/web||False|web-0|lost",
    }
    for name, text in found.items():
        (folder / name).write_text(f"{text}\n")
    begins = f"plan() {{ {_PLAN}\n}}; PLAN=$(plan); TROUBLE='' DONE='' WAVES=1 TIMEOUT=5"
    script.write_text("\n".join(("set -u", "AGAIN='planner again'", *texts, begins, ends)))
    words = {"CONTEXT": "c", "FOLDER": str(folder), "KUBECTL": str(kubectl), "FAILING": failing}
    words["PATH"] = f"{folder}:{os.environ['PATH']}"
    ended = subprocess.run(["sh", str(script)], env=words, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr, (folder / "calls").read_text().splitlines()


@pytest.mark.parametrize(
    ("says", "failing"),
    [("1", "nothing"), ("0", "nothing"), ("1", "replicasets.apps"), ("1", "shop")],
)
def test_a_wave_is_over_when_the_pods_themselves_are_ready(tmp_path: Path, says: str, failing: str) -> None:
    """What went wrong: a controller manager that was away left all ready in the status, and nothing remained.

    Nor is a wave over when the controllers, or their pods, cannot be read just now.
    """
    row = f"C|shop|ReplicaSet/web|1|{says}|"
    code, words, calls = run_part(tmp_path, "drain_wave 1; echo over", controllers=row, failing=failing)
    if says == "0":
        assert (code, "over" in words) == (1, False)
        assert "stopped: nothing has happened for 5 seconds: shop ReplicaSet/web 0 of 1 ready" in words
    else:
        assert (code, words) == (0, "over\n")
        assert (tmp_path / "slept").read_text().count("\n") == 3
    assert any("get pods -n shop" in call and "=='Ready'" in call for call in calls) == (says == "1")


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ("N|old|u|||\nN|n2|v|true||", "well\n"),
        ("N|old|u|true||\nN|n2|v|true||", "well\n"),
        ("N|n2|v|true||", "well\n"),
        ("N|old|u|||\nN|n2|v|||", "node n2 is not cordoned"),
        ("N|old|u|||\nN|n2|v|true||\nN|n3|w|||", "node n3 is still there"),
    ],
)
def test_what_is_supposed_of_other_nodes_is_looked_for(tmp_path: Path, nodes: str, says: str) -> None:
    """What went wrong: a drain looked at the nodes to drain alone; what these are is looked at elsewhere."""
    plan = "PLAN=$(plan; node n2 v cordoned; absent n3)"
    code, words, _ = run_part(tmp_path, f"{plan}; check_other_nodes; echo well", nodes)
    assert says in words
    assert ("nothing was changed; plan again: planner again" in words) is (code == 1) is (says != "well\n")


_AWAY = "node.kubernetes.io/unreachable"


_LANDED = "ReplicaSet/web||False|web-2|b1"
_BOTH = f"{_LANDED}\nP|shop|ReplicaSet/web||False|web-3|a1"


@pytest.mark.parametrize(
    ("wanted", "pods", "taints", "ends"),
    [
        (2, _LANDED, f"b1|x {_AWAY}", True),
        (2, _LANDED, "a1|", True),
        (2, _LANDED, f"b1|\na1|{_AWAY}", False),
        (2, "ReplicaSet/web|now|False|web-2|b1", f"b1|{_AWAY}", False),
        (2, "ReplicaSet/web||False|web-2|", f"b1|{_AWAY}", False),
        (2, "ReplicaSet/api||False|web-2|b1", f"b1|{_AWAY}", False),
        (3, _BOTH, f"a1|\nb1|{_AWAY}", False),
        (3, _BOTH, f"a1|{_AWAY}\nb1|{_AWAY}", True),
    ],
)
def test_the_node_of_a_replacement_is_lost(
    tmp_path: Path, wanted: int, pods: str, taints: str, ends: bool
) -> None:
    """It was waited for until the time was over, with no word about its node.

    A pod that need not be ready, as it was not when the plan was made, does not end the script.  Nor does one
    that has failed on a lost node: its controller has made another one.
    """
    (tmp_path / "taints").write_text(f"{taints}\n")
    two = "PLAN=$(plan | sed 's/web|1|/web|2|/'); TIMEOUT=12; export PACE=5"
    lines = f"{two}\necho 'P|shop|{pods}' >$FOLDER/counted; drain_wave 1"
    code, words, _ = run_part(tmp_path, lines, controllers=f"C|shop|ReplicaSet/web|{wanted}|0|")
    assert code == 1
    assert ("stopped: shop/web-2 does not become ready: its node b1 is not " in words) == ends
    assert ("stopped: nothing has happened for 12 seconds: shop ReplicaSet/web 0 of 2" in words) == (not ends)


def test_a_pod_of_a_stateful_set_that_never_ends_on_a_lost_node(tmp_path: Path) -> None:
    """None is made in its place, so it is as lost as one that is not told to go."""
    (tmp_path / "taints").write_text(f"b1|{_AWAY}\n")
    ends = (
        "PLAN=$(plan | sed s/ReplicaSet/StatefulSet/); TIMEOUT=12; export PACE=5\n"
        "echo 'P|shop|StatefulSet/web|now|False|web-1|b1' >$FOLDER/counted; drain_wave 1"
    )
    code, words, _ = run_part(tmp_path, ends, controllers="C|shop|StatefulSet/web|1|0|")
    assert code == 1
    assert "stopped: shop/web-1 does not become ready: its node b1 is not ready; plan again" in words


def test_a_node_that_is_gone_before_its_cordon(tmp_path: Path) -> None:
    """It ended with `could not be cordoned; plan again`; a node that is gone is empty."""
    code, words, _ = run_part(tmp_path, "cordon old; finish", nodes="N|other|v|||")
    assert code == 0
    assert words.splitlines() == [
        "old is not there any more",
        "done: 0 nodes are empty, and cordoned; node old is not there any more",
    ]


def test_a_node_that_cannot_be_cordoned(tmp_path: Path) -> None:
    """Why was on a line of its own, before the one that said to plan again."""
    code, words, _ = run_part(tmp_path, "cordon old", failing="patch node")
    assert (code, words) == (
        1,
        "stopped: old could not be cordoned: connection refused; plan again: planner again\n",
    )


def test_a_node_that_was_opened_meanwhile(tmp_path: Path) -> None:
    """It was said to be cordoned."""
    code, words, _ = run_part(tmp_path, "read_nodes; finish", nodes="N|old|u||was:open|")
    assert (code, words) == (1, "stopped: node old is not cordoned any more; plan again: planner again\n")
    code, words, _ = run_part(tmp_path, "finish", failing="get nodes")
    assert (code, words) == (0, "done: 1 node is empty, and cordoned\n")


def test_marks_come_off_although_the_api_server_is_away_for_a_moment(tmp_path: Path) -> None:
    """They stayed on the node, and one of them was not told."""
    code, words, calls = run_part(tmp_path, "finish", failing="patch node")
    assert (code, words) == (0, "done: 1 node is empty, and cordoned\n")
    assert sum("patch node old" in call for call in calls) == 2


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        (
            """The pods "web-1" is invalid: : ValidatingAdmissionPolicy 'deny' denied request: not today""",
            1,
            "stopped: shop/web-1 was not evicted: The pods",
        ),
        ('Error from server (Forbidden): pods "web-1" is forbidden: by us', 1, "stopped: shop/web-1"),
        (
            'Error from server (Forbidden): pods "web-1" is forbidden: unable to create new content in '
            "namespace shop because it is being terminated",
            0,
            "",
        ),
        (
            "Error from server: This pod has more than one PodDisruptionBudget, which the eviction "
            "subresource does not support.",
            1,
            "stopped: shop/web-1 was not evicted: Error from server: This pod has more than one",
        ),
        ("Error from server (TooManyRequests): budget", 0, "shop/web-1 cannot go yet: Error from server"),
    ],
)
def test_an_eviction_that_is_refused(tmp_path: Path, answer: str, code: int, told: str) -> None:
    """A policy's denial was asked for again for ten minutes, and a dry run said that the pod would go.

    In a namespace that is deleted no pod is evicted: each goes by itself, which ended the script.
    """
    (tmp_path / "answer").write_text(answer)
    ended, words, _ = run_part(tmp_path, "evict shop web-1 u1 || :")
    assert ended == code
    assert words.startswith(told)
    assert bool(words) == bool(told)


def _of_kind(name: str, kind: str, version: str) -> Object:
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": "u", "controller": True}
    found = pod(f"{name}-0", "a1", uid=name)
    return {**found, "metadata": {**found["metadata"], "ownerReferences": [owner]}}


def test_rights_are_those_over_the_controllers_that_there_are(planner: Planner, tmp_path: Path) -> None:
    """A user who may list ReplicaSets, and has no others, was refused for three kinds."""
    pods = [
        _of_kind("web", "ReplicaSet", "apps/v1"),
        _of_kind("old", "ReplicationController", "v1"),
        _of_kind("db", "StatefulSet", "apps/v1"),
        _of_kind("clones", "StatefulSet", "apps.kruise.io/v1beta1"),
        _of_kind("other", "ReplicaSet", "example.com/v1"),
    ]
    script = tmp_path / "script.sh"
    asked = []
    for item in pods:
        item["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    for chosen in (pods[:1], pods[4:], pods):
        path = write(tmp_path / "c.json", node("a1"), node("b1"), *chosen)
        text = planner("drain", "a1", "-f", path, "-o", "script").out
        script.write_text(text.replace('\nmain "$@"', "\nPLAN=$(plan); check_draining"))
        (tmp_path / "kubectl").write_text('#!/bin/sh\necho "$@" >>"$FOLDER/asked"\n')
        (tmp_path / "kubectl").chmod(0o755)
        (tmp_path / "asked").unlink(missing_ok=True)
        words = {"FOLDER": str(tmp_path), "KUBECTL": str(tmp_path / "kubectl"), "PATH": os.environ["PATH"]}
        subprocess.run(["sh", str(script)], env=words, check=True)
        lines = (tmp_path / "asked").read_text().splitlines()
        asked.append([line.split()[-2] for line in lines if " can-i list " in line][2:])
    assert asked[0] == ["replicasets.apps"]
    assert asked[1] == []
    assert sorted(asked[2]) == [
        "replicasets.apps",
        "replicationcontrollers",
        "statefulsets.apps",
        "statefulsets.apps.kruise.io",
    ]


def test_a_new_node_has_another_hostname(planner: Planner, tmp_path: Path) -> None:
    """Where it is not the name of the node, a second node with the same hostname was asked for."""
    labels = {"kubernetes.io/hostname": "a1", "pool": "old", "example.com/node": "a1.example.com"}
    path = write(tmp_path / "c.json", node("a1.example.com", zone="a", labels=labels))
    text = planner("drain", "a1.example.com", "--surge", "1", "-f", path, "-o", "script").out
    assert "    fresh 2 pool=old,topology.kubernetes.io/zone=a\n" in text


@pytest.mark.parametrize("holder", ["", "7@elsewhere 2026-01-02T03:04:05Z a.sh"])
def test_a_node_that_another_script_has_taken_over_is_left_to_it(tmp_path: Path, holder: str) -> None:
    """It was opened, or said to be this one's, when this one ended."""
    _, words, calls = run_part(tmp_path, "put_back", nodes=f"{_CORDONED}{holder}")
    assert ("uncordon old" in words) == (not holder)
    assert any("annotate node old planner/by-" in call for call in calls) == (not holder)


def test_why_a_stateful_set_makes_no_pod(tmp_path: Path) -> None:
    """What went wrong: it had 2 of 3 ready, and nothing said that a new quota refuses the third."""
    ends = 'missing="shop StatefulSet/db 2 of 3 ready\nshop StatefulSet/web 2 of 3 ready"; tell_without_node'
    _, words, _ = run_part(tmp_path, ends)
    assert words == "no pod of StatefulSet/db in shop is made: exceeded quota\n"


def test_a_warning_of_kubectl_is_no_node(tmp_path: Path) -> None:
    """Lines on standard error were counted among the nodes that have to be there before."""
    given = "\"$KUBECTL\" one; k() { echo 'Warning: old plugin' >&2; echo node/n2; }; PLAN='F|2|pool=old'"
    code, words, _ = run_part(tmp_path, f"{given}; check_fresh")
    assert (code, words.startswith("stopped: 1 of the 2 nodes with the labels pool=old")) == (1, True)
