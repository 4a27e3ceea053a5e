"""What `-o script` prints: no finding of shellcheck, nothing private, and the cluster that it is for."""

import json
import os
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from cli.output.views.scripts.preflight import nodes
from tests.builders import Object, cluster, node, pod, scaled, spread
from tests.cli.conftest import Planner
from tests.cli.test_rebalance import full_zone

SECRET = "do-not-tell"
ORIGIN = {
    "apiVersion": "planner/v1alpha1",
    "kind": "SnapshotOrigin",
    "cluster": "0815-4711",
    "context": "prod eu",
    "kubeconfig": "/etc/it's/config",
}


def lopsided(path: Path, *more: Object) -> str:
    """Three replicas on one of three nodes in as many zones, and things in them that are private."""
    owner: Object = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": pod("w", app="web", spread=[spread()])["spec"],
    }
    owner["spec"] = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    pods = [
        pod(f"w{n}", "n0", app="web", owner="ReplicaSet/web", cpu="1", spread=[spread()], uid=f"u{n}")
        for n in range(3)
    ]
    for item in pods:
        item["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": SECRET}]
        item["metadata"].setdefault("annotations", {})["note"] = SECRET
        item["metadata"]["labels"]["team"] = SECRET
    nodes = [node(f"n{number}", zone=zone) for number, zone in enumerate("abc")]
    for item in nodes:
        item["metadata"]["annotations"] = {"note": SECRET}
    held = pod("held", app="held", created="2026-01-01T00:00:00Z", uid="h")
    held["spec"]["schedulingGates"] = [{"name": "example.com/batch"}]
    held["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": SECRET}]
    items = [*more, *nodes, owner, *pods, held]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


COMMANDS = [
    ("rebalance",),
    ("rebalance", "--waves", "1"),
    ("consolidate", "--pin", "--keep", "n1", "--delete-nodes"),
    ("scale-down", "replicaset/web=1"),
    ("drain", "n0"),
    ("drain", "n0", "n1", "--surge", "1"),
    ("solve", "--gated"),
    ("solve",),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_scripts_are_sound(planner: Planner, tmp_path: Path, command: tuple[str, ...]) -> None:
    """A shell reads them, shellcheck finds nothing, and nothing private is in them."""
    ended = planner(*command, "-f", lopsided(tmp_path / "c.json", ORIGIN), "-o", "script")
    script = tmp_path / "script.sh"
    script.write_text(ended.out)
    assert ended.code in (0, 1)
    assert SECRET not in ended.out
    for shell in ("sh", "bash", "dash"):
        if shutil.which(shell):
            assert subprocess.run([shell, "-n", str(script)], check=False).returncode == 0
    if shutil.which("shellcheck"):
        found = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
        assert found.stdout == ""


def test_a_script_with_cordons_is_sound(tmp_path: Path, planner: Planner) -> None:
    """The same of one that closes nodes."""
    script = tmp_path / "script.sh"
    file = full_zone(tmp_path, "StatefulSet/x")
    script.write_text(planner("rebalance", "-f", file, "--may-cordon", "-o", "script").out)
    assert "cordon:n1" in script.read_text()
    if shutil.which("shellcheck"):
        found = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
        assert found.stdout == ""


def test_many_nodes_that_are_cordoned_are_written_down_once(tmp_path: Path, planner: Planner) -> None:
    """Moves of a wave name a list of nodes; a shell finds it again, and shellcheck nothing to say."""
    nodes = [node(f"n{number:02}", cpu="4") for number in range(10)]
    pods = [
        pod(f"{app}{number}", f"n{number:02}", app=app, cpu="1", owner=f"ReplicaSet/{app}")
        for number in range(10)
        for app in "abc"
    ]
    path, script = tmp_path / "c.json", tmp_path / "script.sh"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}))
    text = planner("consolidate", "-f", str(path), "--time-limit", "5", "-o", "script").out
    script.write_text(text)
    assert " cordon:@c1\n" in text
    assert text.count("cordon_of @c1 ") == 1
    lines = [line for line in text.splitlines() if line.strip().startswith("cordon_of @c1 ")]
    body = "\n".join(
        [
            text[text.index("cordon_of() {") :].splitlines()[0],
            f"PLAN=$({lines[0].strip()})",
            text[text.index("named_nodes() {") : text.index("\n}\n", text.index("named_nodes() {")) + 2],
            "named_nodes cordon:@c1; named_nodes cordon:n1,n2",
        ]
    )
    told = subprocess.run(["sh", "-c", body], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(told[0].split(",")) > 6
    assert told[1] == "n1,n2"
    if shutil.which("shellcheck"):
        found = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True, check=False)
        assert found.stdout == ""


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_error(closed: str) -> None:
    """Without standard error it ended between two waves, without standard output with 1 when all was done."""
    frame = files("cli.output.views.scripts").joinpath("frame.sh").read_text()
    command = ["sh", "-c", f'sh -c "$0" {closed}', f"set -u\n{frame}\nsay one && complain another"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_what_kubectl_warns_of_in_the_end_is_no_part_of_the_answer(tmp_path: Path) -> None:
    """The last line of an answer had no end: the cluster was another one, as its uid had words behind it."""
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("""#!/bin/sh
        for last; do :; done
        last=${last#jsonpath=}
        printf '%s' "$last" | sed 's/{"\\\\n"}/\\n/g; s/{.metadata.uid}/0815/'
        echo 'Warning: old plugin' >&2
    """)
    kubectl.chmod(0o755)
    frame = files("cli.output.views.scripts").joinpath("frame.sh").read_text()
    body = f"set -u\nCONTEXT='' CLUSTER=0815\n{frame}\ncheck_cluster"
    environment = {"PATH": os.environ["PATH"], "KUBECTL": str(kubectl)}
    ended = subprocess.run(["sh"], input=body, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_nodes_by_the_thousand(tmp_path: Path) -> None:
    """Their names were an argument of awk, which took none of them: no pod might land anywhere any more."""
    names = [f"node-with-a-rather-long-name-{number:05}.example.com" for number in range(4_000)]
    (tmp_path / "names").write_text(",".join(names))
    (tmp_path / "rows").write_text("".join(f"{name}|1||||\n" for name in names))
    parts = (
        files("cli.output.views.scripts").joinpath(f"{part}.sh").read_text() for part in ("frame", "cordons")
    )
    begins = f"""PLAN='' CORDONED='{names[3]}'; names=$(cat names)"""
    ends = """open_among "$(cat rows)" "$names" | wc -l; not_closed_yet "$names" | wc -l"""
    body = "\n".join(("set -u", *parts, begins, ends))
    told = subprocess.run(["sh"], input=body, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (told.stdout.split(), told.stderr) == (["4000", "3999"], "")


def test_scripts_know_their_cluster(planner: Planner, tmp_path: Path) -> None:
    """Context, kubeconfig and uid of the snapshot, and the command that plans again without its files."""
    file = lopsided(tmp_path / "c.json", ORIGIN)
    out = planner("rebalance", "-f", file, "--evict-only", "-oscript").out.splitlines()
    assert "CONTEXT=${CONTEXT-'prod eu'}" in out
    assert "KUBECONFIG=${KUBECONFIG-'/etc/it'\"'\"'s/config'}" in out
    assert "CLUSTER=0815-4711 # the uid of kube-system" in out
    assert "AGAIN=$ELSEWHERE'planner rebalance --evict-only -o script --context '\"'\"'prod eu'\"'\"''" in out


@pytest.mark.parametrize(
    ("words", "begins"), [({}, "KUBECONFIG='/etc/it'\"'\"'s/config' "), ({"KUBECONFIG": "mine"}, "")]
)
def test_commands_to_type_name_the_cluster(
    planner: Planner, tmp_path: Path, words: dict[str, str], begins: str
) -> None:
    """Without the kubeconfig they were about another cluster whose context has the same name."""
    text = planner("rebalance", "-f", lopsided(tmp_path / "c.json", ORIGIN), "-o", "script").out
    script = tmp_path / "script.sh"
    script.write_text(text.removesuffix('main "$@"\n') + 'in_context kubectl; printf "\\n%s\\n" "$AGAIN"\n')
    environment = {"PATH": os.environ["PATH"], **words}
    told = subprocess.run(["sh", str(script)], env=environment, capture_output=True, text=True, check=True)
    where = "--context='prod eu'"
    again = f"planner rebalance -o script {where.replace('=', ' ')}"
    assert told.stdout.splitlines() == [f"{begins}kubectl {where}", f"{begins}{again}"]


def test_a_bar_in_a_pattern_is_quoted() -> None:
    """To ksh it stands between two patterns: no move was found in the plan, and that was said to be all."""
    for part in files("cli.output.views.scripts").iterdir():
        if part.name.endswith(".sh"):
            found = re.findall(r"\$\{\w+(?:##?|%%?)[^}\\]*\|", part.read_text())
            assert not found, part.name


def test_help_and_mistakes(planner: Planner, tmp_path: Path) -> None:
    """A script says what it does, and refuses what it does not understand, without any kubectl."""
    script = tmp_path / "script.sh"
    script.write_text(planner("rebalance", "-f", lopsided(tmp_path / "c.json"), "-o", "script").out)
    asked = subprocess.run(["sh", str(script), "--help"], capture_output=True, text=True, check=False)
    assert asked.returncode == 0
    assert asked.stdout.splitlines()[0].startswith("2 moves in ")
    for words in (["--dryrun"], ["now"]):
        wrong = subprocess.run(["sh", str(script), *words], capture_output=True, text=True, check=False)
        assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)


def test_waves(planner: Planner, tmp_path: Path) -> None:
    """--waves has the beginning of the plan, a note about the rest, and exit code 1 while there is one."""
    file = lopsided(tmp_path / "c.json")
    whole = json.loads(planner("rebalance", "-f", file, "-o", "json").out)
    ended = planner("rebalance", "-f", file, "--waves", "1", "-o", "json")
    first = json.loads(ended.out)
    assert first["steps"] == [step for step in whole["steps"] if step["wave"] == 1]
    assert 0 < len(first["steps"]) < len(whole["steps"])
    assert (ended.code, first["status"], first["after"]["hardViolations"] > 0) == (1, "Feasible", True)
    assert any("1 of 2 waves" in note for note in first["notes"])


def blocked(path: Path) -> str:
    """Web has to take the only gap, and to leave it again for the one workload that can be nowhere else."""
    ssd: Object = {"disk": "ssd"}
    some, taints = {"key": "ssd", "operator": "Exists"}, ["ssd:NoSchedule"]
    nodes = [node(name, zone=name[0], cpu="1") for name in ("a1", "a2", "b1", "b2")]
    nodes += [node(name, zone="a", cpu="1", labels=ssd, taints=taints) for name in ("a3", "a4")]
    nodes.append(node("b3", zone="b", cpu="1", labels=ssd))
    placed = {"web": ("a1", "a2"), "api": ("b1", "b2"), "data": ("a3", "a4")}
    more: Object = {"data": {"tolerations": [some], "nodeSelector": ssd}}
    pods: list[Object] = []
    for app, where in placed.items():
        words = {"owner": f"ReplicaSet/{app}", "app": app, "spread": [spread(app=app)], **more.get(app, {})}
        pods += [pod(f"{app}-{on}", on, cpu="1", uid=f"{app}-{on}", **words) for on in where]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}))
    return str(path)


def test_a_script_ends_before_a_pod_moves_again(planner: Planner, tmp_path: Path) -> None:
    """The pod that would be evicted then has a name that nobody knows yet."""
    words = ("rebalance", "-f", blocked(tmp_path / "c.json"))
    steps = json.loads(planner(*words, "-o", "json").out)["steps"]
    assert [step["pod"] for step in steps if step["pod"] == "default/web-a1"] == ["default/web-a1"] * 2
    assert len(planner(*words, "-o", "name").out.splitlines()) == 3
    printed = planner(*words, "-o", "script").out
    assert len(re.findall("^    move ", printed, re.MULTILINE)) == 2
    assert "plan again then for 2 moves more" in printed.splitlines()[1]
    assert "\nLATER=2 " in printed


@pytest.mark.parametrize(
    ("uid", "gates", "told"),
    [
        ("", (), "default/StatefulSet/web is not there yet, its pods go to n1 2. Applied with this gate"),
        (
            "u",
            (),
            "default/StatefulSet/web is still to make pods, planned for n1 2: nothing leads them there.",
        ),
        ("u", ("hold",), "planned for n1 2: plan again when they wait at their gates."),
    ],
)
def test_pods_that_a_workload_is_to_make(
    planner: Planner, tmp_path: Path, uid: str, gates: tuple[str, ...], told: str
) -> None:
    """What went wrong: a StatefulSet that made its pods in turn was said not to be there.

    A gate was proposed for its template, which would roll out all that run.
    """
    web = scaled("StatefulSet", "web", 2)
    web["metadata"]["uid"] = uid
    web["spec"]["template"]["spec"]["schedulingGates"] = [{"name": name} for name in gates]
    path = tmp_path / "c.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("n1"), web]}))
    printed = planner("solve", "--gated", "-f", str(path), "-o", "script").out
    assert told in printed
    assert ("planner/hold" in printed) is (not uid)


def test_gated_pods_are_taken_in(planner: Planner, tmp_path: Path) -> None:
    """Without --gated they stay where they are, and with it they get a node."""
    file = lopsided(tmp_path / "c.json")
    assert "scheduling gated" in planner("simulate", "-f", file).out
    decided = json.loads(planner("simulate", "-f", file, "--gated", "-o", "json").out)["decisions"]
    assert [item["pod"] for item in decided if item["node"]] == ["default/held"]
    out = planner("solve", "-f", file, "--gated", "-o", "script").out
    [line] = [line for line in out.splitlines() if line.startswith("    open_gate ")]
    assert '"key":"metadata.name","operator":"In","values":' in line
    assert '{"op":"add","path":"/spec/schedulingGates","value":[]}' in line


def test_what_was_supposed_is_said_and_looked_for(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: a script for the time after a drain did not say so, and did not look at the node."""
    asked = ("scale-down", "replicaset/web=1", "-f", lopsided(tmp_path / "c.json"), "-o", "script")
    usual, supposed = planner(*asked).out, planner(*asked, "--drain", "n1").out
    for script, said in ((usual, False), (supposed, True)):
        assert ("after the what-if flags in AGAIN" in script) is said
        assert ("\n    node n1 '' cordoned\n" in script) is said
    assert "AGAIN=$ELSEWHERE'planner scale-down replicaset/web=1 --drain n1 -o script'" in supposed


def test_nodes_that_are_supposed_to_be_gone_are_named(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: a script for the time after --remove-node did not look for the node."""
    asked = ("scale-down", "replicaset/web=1", "-f", lopsided(tmp_path / "c.json"), "-o", "script")
    script = planner(*asked, "--remove-node", "n1").out
    assert "\n    absent n1\n" in script
    assert "\n    node n1 " not in script


def test_comments_control_no_terminal(planner: Planner, tmp_path: Path) -> None:
    """A zone may be called anything; what stands in a comment is looked at before the script is run."""
    path = tmp_path / "escaping.json"
    lopsided(path)
    path.write_text(path.read_text().replace('zone": "a"', 'zone": "a\\u001b[31m"'))
    ended = planner("rebalance", "-f", str(path), "-o", "script")
    assert "a\\x1b[31m has 1 too many" in ended.out
    assert "\x1b" not in ended.out


def test_taints_are_those_that_keep_pods_off() -> None:
    """Others that are there when the script runs have come since; a cordon and a soft taint are none."""
    taints = ["dedicated=web:NoSchedule", "gone:NoExecute", "soft:PreferNoSchedule"]
    found = cluster(node("a1", taints=[*taints, "node.kubernetes.io/unschedulable:NoSchedule"]), node("b1"))
    assert [*nodes(found, ["a1", "b1"])] == [
        "node a1 '' open 'dedicated=web:NoSchedule gone=:NoExecute'",
        "node b1 '' open",
    ]
