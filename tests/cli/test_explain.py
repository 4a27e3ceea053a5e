"""`planner explain` and `planner check --survive` as they are typed."""

import json
import shlex
from itertools import chain
from pathlib import Path

import pytest

from cli.output.page import Page
from cli.output.render import show
from cli.output.views.explanation import consequences
from planner.documents.explanation import Explanation, ExplanationList, Fix, FixChange
from planner.documents.survival import Survival
from tests import builders
from tests.builders import claim, labelled, volume
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, lopsided, node, pod, write
from tests.planner.test_survive import replicas

ZONE = "topology.kubernetes.io/zone"
#: The nodes of two pods in each of three zones.
ON_ALL = ("a1", "a1", "b1", "b1", "c1", "c1")


@pytest.fixture
def stuck(tmp_path: Path) -> str:
    """Two pods that are too large, in two namespaces, and one that fits."""
    huge = pod("huge", cpu="64"), pod("giant", cpu="65", namespace="bank", app="ledger")
    return write(tmp_path / "stuck.json", node("a1"), pod("small"), *huge)


def test_all_pending_pods_are_explained(planner: Planner, stuck: str) -> None:
    """Without names a list of all; what finds a place is no matter for it."""
    ended = planner("explain", "-f", stuck, "-o", "json")
    found = ExplanationList.model_validate_json(ended.out)
    assert ([item.pod for item in found.items], ended.code) == (["shop/huge", "bank/giant"], 1)


@pytest.mark.parametrize("name", ["huge", "shop/huge", "pod/huge"])
def test_one_pod_by_name_is_a_document_of_its_own(planner: Planner, stuck: str, name: str) -> None:
    """As with kubectl: one object by itself, several in a list."""
    ended = planner("explain", name, "-f", stuck, "-o", "json")
    assert Explanation.model_validate_json(ended.out).pod == "shop/huge"
    both = planner("explain", name, "giant", "-f", stuck, "-o", "json")
    assert json.loads(both.out)["kind"] == "ExplanationList"


def test_one_pod_by_name_says_which_release_was_copied(planner: Planner, stuck: str) -> None:
    """The release was lost with the list around the one explanation: `kubernetes` was null, and -v silent."""
    ended = planner("explain", "huge", "-f", stuck, "-o", "json")
    assert json.loads(ended.out)["kubernetes"] == {"version": "1.36", "source": "newest"}
    assert "as kube-scheduler 1.36 decides" in planner("explain", "huge", "-f", stuck, "-v").err


def test_a_manifest_without_its_cluster_says_that_no_cluster_was_asked(
    planner: Planner, tmp_path: Path
) -> None:
    """Who gave a manifest alone, to see where the live cluster would put it, read that there are no nodes."""
    ended = planner("simulate", "-f", write(tmp_path / "web.json", deployment("web", 2)))
    assert "with -f only these files are read, not the live cluster" in " ".join(ended.err.split())


def test_where_the_volume_is_stands_below_the_nodes(planner: Planner, tmp_path: Path) -> None:
    """Beside `didn't match PersistentVolume's node affinity` one had to look for the volume oneself."""
    needs = {"required": {"nodeSelectorTerms": [labelled(ZONE, "In", "eu-1b")]}}
    volumes = volume("pv", nodeAffinity=needs), claim("data", "pv")
    using = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    db = pod("db-0", namespace="default", volumes=using)
    path = write(tmp_path / "far.json", node("a1"), *volumes, db)
    told = planner("explain", "-f", path).out
    assert f"  claim data: its volume needs a node with {ZONE}=eu-1b; there is none" in told


def test_nodes_that_one_plugin_refuses_for_several_reasons_are_told_apart(
    planner: Planner, tmp_path: Path
) -> None:
    """Two rows of NodeResourcesFit looked like one that was printed twice."""
    path = write(tmp_path / "room.json", node("a1", cpu="1"), node("b1"), pod("big", cpu="2", memory="32Gi"))
    told = planner("explain", "-f", path).out
    assert "NodeResourcesFit   1       a1; Insufficient cpu, Insufficient memory" in told
    assert "NodeResourcesFit   1       b1; Insufficient memory" in told


@pytest.mark.parametrize(
    ("choice", "pods"), [(("-n", "bank"), ["giant -n bank"]), (("-l", "app=web"), ["huge -n shop"])]
)
def test_namespace_and_labels_choose(
    planner: Planner, stuck: str, choice: tuple[str, ...], pods: list[str]
) -> None:
    """-n and -l as everywhere; running pods that they choose are no error."""
    ended = planner("explain", "-f", stuck, *choice, "-o", "name")
    assert ended.out.splitlines() == [f"pod/{name}" for name in pods]


def test_the_name_of_a_workload_alone_says_how_it_is_given(planner: Planner, tmp_path: Path) -> None:
    """`explain web` said only that there is no such pod, though a Deployment of that name has one pending."""
    path = write(tmp_path / "web.json", node("a1", cpu="1"), deployment("web", 2, cpu="2"))
    ended = planner("explain", "web", "-f", path)
    assert ended.code == 2
    assert "no pod web in the cluster (did you mean deployment/web?)" in ended.err
    assert "did you mean" not in planner("explain", "www", "-f", path, "-n", "shop").err


def test_what_is_chosen_may_have_pods_that_are_not_looked_at(planner: Planner, tmp_path: Path) -> None:
    """One of another scheduler, or one that failed without a node, made -n an error; no note told of it."""
    other = pod("other", cpu="64", schedulerName="volcano")
    failed = pod("failed")
    failed["status"] = {"phase": "Failed"}
    path = write(tmp_path / "mixed.json", node("a1"), pod("huge", cpu="64"), other, failed)
    for choice in ((), ("-n", "shop"), ("-l", "app=web")):
        ended = planner("explain", "-f", path, *choice, "-o", "name")
        assert (ended.code, ended.out) == (1, "pod/huge -n shop\n")
        assert "1 pending pod asks for scheduler volcano, which has no profile here: left alone" in ended.err


def test_nothing_pending(planner: Planner, tmp_path: Path) -> None:
    """Exit code 0 and one sentence."""
    ended = planner("explain", "-f", write(tmp_path / "well.json", node("a1"), pod("small")))
    assert (ended.code, ended.out) == (0, "No pod stays pending.\n")


def test_a_pod_that_is_not_there(planner: Planner, stuck: str) -> None:
    """Bad input: one line, exit code 2, nothing on stdout."""
    ended = planner("explain", "nobody", "-f", stuck)
    assert (ended.code, ended.out, ended.err) == (2, "", "error: there is no pod nobody in the cluster\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["twin"], "twin: there is a pod of this name in several namespaces: bank, shop"),
        (["shop/twn"], "there is no pod shop/twn in the cluster (did you mean shop/twin?)"),
        (["pod/shop/twn"], "there is no pod shop/twn in the cluster (did you mean shop/twin?)"),
        (["twin", "-n", "play"], "there is no pod twin in namespace play (did you mean shop/twin?)"),
    ],
)
def test_which_pod_was_meant(planner: Planner, tmp_path: Path, words: list[str], problem: str) -> None:
    """What went wrong: all three were `there is no pod default/...`, whatever pods there are."""
    pods = [pod("twin", namespace=name) for name in ("shop", "bank")]
    path = write(tmp_path / "c.json", node("a1"), *pods, pod("other", namespace="play"))
    ended = planner("explain", *words, "-f", path)
    assert (ended.code, ended.err) == (2, f"error: {problem}\n")


def test_a_pod_that_finds_a_place_is_not_explained(planner: Planner, stuck: str) -> None:
    """Asked about by name it is no error either."""
    ended = planner("explain", "small", "-f", stuck)
    assert (ended.code, ended.out) == (0, "No pod stays pending.\n")


def test_what_if_flags_come_first(planner: Planner, stuck: str) -> None:
    """With more and larger nodes nothing is pending."""
    ended = planner("explain", "huge", "-f", stuck, "--delete-pod", "bank/giant", "-o", "json")
    assert Explanation.model_validate_json(ended.out).pod == "shop/huge"


def test_wide_output_has_kubectls_line(planner: Planner, tmp_path: Path) -> None:
    """The patch of a workload as one line to copy, where the table has a fragment of YAML."""
    owned = pod("web-9", spread="DoNotSchedule")
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "w", "controller": True}
    ]
    more = [pod("other", on="b1", cpu="4", app="other"), owned]
    path = write(tmp_path / "owned.json", *lopsided(), *more)
    patch = '{"spec":{"template":{"spec":{"topologySpreadConstraints":[{"topologyKey":"'
    line = f'kubectl patch statefulset web -n shop -p \'{patch}{ZONE}","maxSkew":4}}]}}}}}}}}\''
    _, *commands = planner("explain", "-f", path, "-o", "wide").out.split("$ ")
    words = shlex.split(commands[0].partition("\n 2. ")[0].replace("\\\n", ""))
    assert words[:-1] == shlex.split(line)[:-1]
    assert json.loads(words[-1]) == json.loads(shlex.split(line)[-1])
    assert "maxSkew: 4" in planner("explain", "-f", path).out


def test_the_loss_of_zones(planner: Planner, tmp_path: Path) -> None:
    """Exit code 1 for a workload that does not survive, with its names; 0 where nothing is lost."""
    path = write(tmp_path / "lopsided.json", *lopsided(), pod("teller", namespace="bank", cpu="8"))
    ended = planner("check", "-f", path, "--survive", ZONE, "-o", "json")
    found = Survival.model_validate_json(ended.out)
    assert (ended.code, found.failures) == (1, 3)
    assert planner("check", "-f", path, "--survive", ZONE, "-n", "bank").code == 0
    assert planner("check", "-f", path, "--survive", ZONE, "-o", "name").out.splitlines() == [
        f"pod/web-{number} -n shop" for number in range(3)
    ]


def test_a_loss_that_is_survived_only_as_ties_go(planner: Planner, tmp_path: Path) -> None:
    """It was green, and a note said that it may end otherwise."""
    sizes = {"a1": "6", "c1": "6", "b1": "4", "b2": "2"}
    nodes = [builders.node(name, name[0], cpu=cpu) for name, cpu in sizes.items()]
    sets = (replicas(name, ["a1", "c1"], cpu=cpu) for name, cpu in (("big", "4"), ("small", "2")))
    ended = planner("check", "-f", write(tmp_path / "c.json", *nodes, *chain(*sets)), "--survive", ZONE)
    assert ended.code == 0
    told = "each of 3 domains of zone, but that of a or c only as ties go here."
    assert told in " ".join(ended.out.split())


def test_an_unknown_key_cannot_be_lost(planner: Planner, stuck: str) -> None:
    """Exit code 2."""
    ended = planner("check", "-f", stuck, "--survive", "rack")
    assert (ended.code, ended.err.split(" (")[0]) == (2, "error: --survive rack: no node has the label rack")


def test_what_is_the_same_for_several_domains_is_told_once(planner: Planner, tmp_path: Path) -> None:
    """The reason and the change that helps, with all domains whose loss leads there."""
    nodes = [node(f"{zone}1", zone, cpu="1") for zone in "abc"]
    pods = [pod(f"web-{zone}", on=f"{zone}1", spread="DoNotSchedule", cpu="600m") for zone in "abc"]
    for item in pods:
        item["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}
        ]
    out = planner("check", "-f", write(tmp_path / "c.json", *nodes, *pods), "--survive", ZONE).out
    assert out.count("stays pending:") == 1
    assert "Without a, b or c, 1 pod of StatefulSet/web in shop stays pending:" in out
    assert out.count("Insufficient cpu") == 1


def test_of_very_many_kinds_of_pods_those_that_are_the_most_are_told(
    planner: Planner, tmp_path: Path
) -> None:
    """A change is looked for where the most pods wait; where none was, that is what is said."""
    nodes = [node("a1", "a", cpu="100"), node("b1", "b", cpu="500m")]
    sizes = {f"w{number:02}": 1 for number in range(55)} | {"z": 20}
    pods = [
        pod(f"{name}-{number}", on="a1", app=name, cpu="1", owner=f"ReplicaSet/{name}")
        for name, size in sizes.items()
        for number in range(size)
    ]
    asked = ("check", "-f", write(tmp_path / "c.json", *nodes, *pods), "--survive", ZONE)
    loss = Survival.model_validate_json(planner(*asked, "-o", "json").out).domains[0]
    assert len(loss.pending) == len(sizes)
    assert sum(left.sought for left in loss.pending) == 20
    assert {left.pods for left in loss.pending if not left.sought} == {1}
    assert all(left.fix for left in loss.pending if left.sought)
    out = planner(*asked).out
    assert out.index("20 pods of ReplicaSet/z ") < out.index("1 pod of ReplicaSet/w00 ")
    assert "and 36 kinds of pods more (-v shows all)" in out
    assert out.count("stays pending:") == 19
    whole = planner(*asked, "-v").out
    assert whole.count("stays pending:") == 55
    assert whole.count("no change was looked for") == 36


def test_it_is_said_whose_replacement_goes_where() -> None:
    """Of one pod that is deleted "its"; of several each by name."""
    lines = [f"kubectl delete pod w{n} -n shop" for n in range(2)]
    change = FixChange(action="DeletePod", target="Pod/w0", summary="delete pod", command=lines[0])
    one = Fix(changes=(change,), node="a", replaced=("shop/w0",), replacements=("b",))
    assert consequences(one) == " (its replacement goes to b)"
    both = change.model_copy(update={"command": "\n".join(lines)})
    two = Fix(changes=(both,), node="a", replaced=("shop/w0", "shop/w1"), replacements=("b", None))
    told = "the replacement of shop/w0 goes to b, the replacement of shop/w1 stays pending"
    assert consequences(two) == f" ({told})"


def test_a_pod_that_is_not_created_is_no_matter_of_nodes(planner: Planner, tmp_path: Path) -> None:
    """What the API server says would have to change; a quota is named, with how it is changed."""
    web = deployment("web", 1)
    web["spec"]["template"]["spec"]["priorityClassName"] = "gone"
    ended = planner("explain", "-f", write(tmp_path / "class.json", node("a1"), web))
    words = "No node has a part in it: what the API server says would have to change.\n"
    assert ended.out.endswith(words)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "shop"}}
    del web["spec"]["template"]["spec"]["priorityClassName"]
    path = write(tmp_path / "quota.json", node("a1", "eu"), web, {**quota, "spec": {"hard": {"pods": "0"}}})
    ended = planner("explain", "-f", path)
    assert " 1. let ResourceQuota q allow pods 1 -> a1\n" in ended.out


def test_survive_tells_of_an_outage_only_what_it_adds(planner: Planner, tmp_path: Path) -> None:
    """Pods that stay pending once the nodes are gone, too, stood a second time below `more pods wait`."""
    zones = [node(f"{zone}1", zone) for zone in "abc"]
    web = [pod(f"web-{n}", on, spread="DoNotSchedule", owner="ReplicaSet/web") for n, on in enumerate(ON_ALL)]
    big = pod("big", "a1", app="big", cpu="3900m", owner="ReplicaSet/big")
    path = write(tmp_path / "z.json", *zones, *web, big)
    loss = Survival.model_validate_json(planner("check", "--survive", ZONE, "-f", path, "-o", "json").out)
    assert {left.workload for left in loss.domains[0].meanwhile} == {"ReplicaSet/web", "ReplicaSet/big"}
    meanwhile = planner("check", "--survive", ZONE, "-f", path).out.partition("more pods wait:")[2]
    assert "ReplicaSet/web" in meanwhile
    assert "ReplicaSet/big" not in meanwhile
    assert "ReplicaSet/big" in planner("check", "--survive", ZONE, "-f", path, "-v").out.partition("wait:")[2]
    asked = ("check", "--survive", ZONE, "-f", path, "-l", "app=big", "-o", "json")
    chosen = Survival.model_validate_json(planner(*asked).out).domains[0].meanwhile
    assert {left.workload for left in chosen} == {"ReplicaSet/big"}, "the selector was passed over"


def test_survive_says_how_many_pods_a_change_helps(planner: Planner, tmp_path: Path) -> None:
    """Of two pods one was said to be helped, by its name; nothing told that the other one still waits."""
    nodes = node("a1", "a"), node("b1", "b")
    pods = [pod(f"web-{n}", on="a1", cpu="3", owner="ReplicaSet/web") for n in (1, 2)]
    path = write(tmp_path / "full.json", *nodes, *pods, pod("full", on="b1", cpu="4"))
    told = planner("check", "--survive", ZONE, "-f", path).out
    assert "What helps: one more node like b1 -> b1-2, 1 of the 2 pods" in told


def test_how_many_taints_there_are_besides_is_not_said(planner: Planner, tmp_path: Path) -> None:
    """The document has ten of them, and of twenty four were said to be more than six."""
    taints = [{"key": f"team-{number}", "effect": "NoSchedule"} for number in range(20)]
    nodes = [{**node(f"n{n}"), "spec": {"taints": [taint]}} for n, taint in enumerate(taints)]
    told = planner("explain", "-f", write(tmp_path / "teams.json", *nodes, pod("p"))).out
    assert "; taints: team-0:NoSchedule" in told
    assert "NoSchedule, ..." in told


def test_survive_says_what_helps_pods_that_do_not_end(planner: Planner, tmp_path: Path) -> None:
    """Below a row that named the deletion of the nodes stood that no change was looked for."""
    db = [pod(f"db-{n}", f"{zone}1", app="db", owner="StatefulSet/db") for n, zone in enumerate("ab")]
    path = write(tmp_path / "set.json", node("a1", "a"), node("b1", "b"), *db)
    told = planner("check", "--survive", ZONE, "-f", path, "-v").out
    assert "What helps: the nodes are deleted" in told
    assert "no change was looked for" not in told


def test_survive_says_that_pods_which_do_not_end_keep_others_from_being_made(
    planner: Planner, tmp_path: Path
) -> None:
    """They hold their share of `count/pods`; the sentence named constraints alone as the reason."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"count/pods": "2"}}}
    full = quota | {"metadata": {"name": "all", "namespace": "default"}}
    objects = [node("a1", "a"), node("b1", "b"), *replicas("web", ("a1", "b1")), full]
    told = planner("check", "--survive", ZONE, "-f", write(tmp_path / "full.json", *objects)).out
    assert "some of its pods do not end" in told.replace("\n", " ")


def test_survive_looks_for_no_change_for_preempted_pods(planner: Planner, tmp_path: Path) -> None:
    """No change was said to be known that helps such a pod, which nothing makes again: none was tried out."""
    high = pod("high", "a1", app="high", cpu="3", priority=9, owner="ReplicaSet/high")
    low = pod("low", "b1", app="low", cpu="3")
    path = write(tmp_path / "low.json", node("a1", "a"), node("b1", "b"), high, low)
    ended = planner("check", "--survive", ZONE, "-f", path)
    assert "preempted by a pod of higher priority" in ended.out
    assert "no change is known that helps" not in ended.out.partition("preempted")[2].partition("stays")[0]


def test_pods_that_no_field_keeps_apart_have_no_table_of_fields(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: pods before a taint had a field `<none>` with the value `<any>`."""
    tainted = builders.node("a1", taints=["gpu:NoSchedule"])
    ended = planner("explain", "--batch", "-f", write(tmp_path / "web.json", tainted, pod("web")))
    assert ended.out.splitlines()[-5:] == [
        "",
        "Beside the pods that run these cannot be placed together, whatever goes where: a minimal set of",
        "pods. They could not without constraints, selectors, ports and requests either.",
        "PODS",
        "shop/web",
    ]


def test_many_groups_of_pods_are_cut(
    planner: Planner, stuck: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What went wrong: of 110 groups there were 4,923 lines."""
    found = ExplanationList.model_validate_json(planner("explain", "-f", stuck, "-o", "json").out)
    for verbose, shown in ((False, 20), (True, 60)):
        show(found.model_copy(update={"items": found.items * 30}), Page.of(None, verbose))
        told = capsys.readouterr().out
        assert told.count(" stays pending:\n") == shown
        assert told.endswith("\nand 40 groups of like pods more (-v shows all)\n") is not verbose
