"""The live cluster: the real kubectl against a stand-in for the API server."""

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.input import live
from tests.cli.api_server import ApiServer, serving, write_kubeconfig
from tests.cli.conftest import Planner
from tests.cli.manifests import lopsided, node, pod
from tests.seeds import at_first

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")


#: Where paths end that list no objects.
DISCOVERY = {"api", "apis", "v1", "v2", "version"}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kubeconfig and no cache of the user of this machine; a kubectl that looks for no garbage."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GOGC", "off")
    monkeypatch.setenv("GOMAXPROCS", "1")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    monkeypatch.setattr(live, "_FIRST_ANSWER_SECONDS", 30)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    """A running cluster that $KUBECONFIG points to; its only constraint is broken."""
    found = lopsided()
    objects = {"nodes": found[:2], "pods": found[2:], "secrets": [{"metadata": {"name": "key"}}]}
    with serving(objects) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        yield running


@pytest.mark.usefixtures("server")
def test_without_files_the_live_cluster_is_checked(planner: Planner) -> None:
    """The same report as from a file."""
    ended = planner("check")
    assert (ended.code, ended.err) == (1, "")
    assert "  a   ███ 3   2 too many\n  b       0\n" in ended.out


@pytest.mark.long
@pytest.mark.usefixtures("server")
def test_a_snapshot_reads_like_the_cluster(planner: Planner, tmp_path: Path) -> None:
    """What `planner snapshot` wrote, compressed or not, gives the report of the live cluster."""
    live = planner("check")
    for name in ("snapshot.json", "snapshot.json.gz"):
        path = tmp_path / name
        assert planner("snapshot", "-o", str(path)).code == 0
        assert planner("check", "-f", str(path)) == live
        content = path.read_bytes()
        assert json.loads(gzip.decompress(content) if name.endswith(".gz") else content)["items"]


def test_a_snapshot_says_where_it_comes_from(planner: Planner, tmp_path: Path) -> None:
    """The uid of kube-system, context, kubeconfig and version are its first item.

    It takes one list a kind, whatever the size of the cluster; secrets and config maps stay there.
    """
    kube_system = {"metadata": {"name": "kube-system", "uid": "0815"}}
    secrets = [{"metadata": {"name": "key"}}]
    objects = {"nodes": [node("a1")], "namespaces": [kube_system], "pods": [], "secrets": secrets}
    with serving(objects) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        found = json.loads(planner("snapshot").out)["items"]
        asked = [*running.asked]
    assert "/api/v1/pods" in asked
    assert not [path for path in asked if "secrets" in path or "configmaps" in path]
    lists = [path for path in asked if path.rpartition("/")[2] not in DISCOVERY]
    assert len(lists) == len(set(lists))
    kinds = found[0].pop("kinds")
    assert {"nodes", "pods", "resourcequotas", "runtimeclasses"} <= {*kinds}
    assert found[0] == {
        "apiVersion": "planner/v1alpha1",
        "kind": "SnapshotOrigin",
        "cluster": "0815",
        "context": "standin",
        "kubeconfig": str(tmp_path / "kubeconfig"),
        "serverVersion": "v1.34.1",
    }
    assert [item["kind"] for item in found[1:]] == ["Node", "Namespace"]


@pytest.mark.usefixtures("server")
def test_a_snapshot_keeps_the_release_that_was_asked_for(planner: Planner, tmp_path: Path) -> None:
    """It is stronger than the server's, and weaker than what is asked of the command that reads it."""
    path = str(tmp_path / "snapshot.json")
    assert planner("snapshot", "-o", path, "--kubernetes", "1.36").code == 0
    told = json.loads(planner("check", "-f", path, "-o", "json").out)
    assert told["kubernetes"] == {"version": "1.36", "source": "asked"}
    told = json.loads(planner("check", "-f", path, "-o", "json", "--kubernetes", "1.35").out)
    assert told["kubernetes"] == {"version": "1.35", "source": "asked"}
    ended = planner("snapshot", "--kubernetes", "latest")
    assert (ended.code, ended.out) == (2, "")
    assert "'latest' is not a version of Kubernetes" in ended.err


@pytest.mark.parametrize("file", ["json", "missing/snapshot.json"])
def test_a_snapshot_needs_a_file(planner: Planner, server: ApiServer, tmp_path: Path, file: str) -> None:
    """`-o json` is a slip, and a folder that is not there is told, before the cluster is asked."""
    ended = planner("snapshot", "-o", file if file == "json" else str(tmp_path / file))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert server.asked == []


def test_what_may_not_be_listed_is_a_note(planner: Planner, tmp_path: Path) -> None:
    """Without budgets and CSINodes there still is an answer.

    What went wrong: a user with few rights had a note for each of 25 kinds above every answer.
    """
    objects = {"nodes": [node("a1")], "pods": [pod("web-0", on="a1")]}
    with serving(objects, ("csinodes", "poddisruptionbudgets")) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        ended = planner("check")
    assert ended.code == 0
    assert ended.err == "note: poddisruptionbudgets, csinodes are left out: this user may not list them\n"


@pytest.mark.parametrize("lacks", at_first(1, [["mutatingadmissionpolicies"], ["deviceclasses"]]))
def test_what_a_server_lacks_is_left_out(planner: Planner, tmp_path: Path, lacks: list[str]) -> None:
    """With a kind go those that came with it: a policy says nothing without its binding.

    What went wrong: where the first is lacked it was not known that there are no others, and so on servers
    before 1.36 not that no policy changes pods.
    """
    (group,) = (group for group in live._NOT_EVERYWHERE if f"{lacks[0]}." in " ".join(group))
    names = [name.partition(".")[0] for name in group]
    with serving({"nodes": [node("a1")]}, lacks=lacks) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        ended = planner("snapshot")
    known = {name.partition(".")[0] for name in live.KINDS} - {"rollouts", "clonesets"}
    assert (ended.code, ended.err) == (0, "")
    unknown = {*names} if lacks[0] != names[0] else set()
    assert {*json.loads(ended.out)["items"][0]["kinds"]} == known - unknown


#: Argo CD without Argo Rollouts, and OpenKruise, whose kinds are in two versions.
OF_OTHERS = {
    "argoproj.io/v1alpha1": (("applications", "Application", True),),
    "apps.kruise.io/v1beta1": (("statefulsets", "StatefulSet", True),),
    "apps.kruise.io/v1alpha1": (("clonesets", "CloneSet", True),),
}


@pytest.mark.long
def test_workloads_of_others_are_asked_for_where_they_are_installed(planner: Planner, tmp_path: Path) -> None:
    """What the server does not have is not asked for; what may not be listed is told by its whole name."""
    clones = {"metadata": {"name": "web", "namespace": "shop", "uid": "u"}, "spec": {"replicas": 2}}
    objects = {"nodes": [node("a1")], "pods": [], "clonesets": [clones]}
    with serving(objects, more=OF_OTHERS) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        found = json.loads(planner("snapshot").out)["items"]
        asked = [path.rpartition("/")[2] for path in running.asked]
    assert [item["kind"] for item in found] == ["SnapshotOrigin", "Node", "CloneSet"]
    assert {"clonesets", "statefulsets.apps.kruise.io"} & {*found[0]["kinds"]} == {
        "statefulsets.apps.kruise.io"
    }
    assert "clonesets.apps.kruise.io" in found[0]["kinds"]
    assert ("rollouts" in asked, "applications" in asked, "clonesets" in asked) == (False, False, True)
    with serving(objects, ("clonesets",), more=OF_OTHERS) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        ended = planner("check")
    assert ended.code == 0
    assert "note: clonesets are left out: this user may not list them\n" in ended.err


@pytest.mark.parametrize("kind", at_first(1, ["nodes", "pods"]))
def test_nodes_and_pods_are_needed(planner: Planner, tmp_path: Path, kind: str) -> None:
    """Without them there is no answer, and kubectl's line says why."""
    with serving({"nodes": [node("a1")], "pods": [pod("web-0")]}, (kind,)) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        ended = planner("check")
    assert (ended.code, ended.out) == (2, "")
    assert f"{kind} is forbidden" in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.usefixtures("server")
def test_a_wrong_context(planner: Planner) -> None:
    """kubectl's own words, in one line."""
    ended = planner("check", "--context", "elsewhere")
    assert ended.code == 2
    assert "elsewhere" in ended.err
    assert ended.err.count("\n") == 1


def test_a_kubeconfig_of_choice(planner: Planner, server: ApiServer, tmp_path: Path) -> None:
    """--kubeconfig and --context are handed on."""
    other = tmp_path / "other"
    write_kubeconfig(other, server.server_port, context="second")
    ended = planner("check", "--kubeconfig", str(other), "--context", "second")
    assert ended.code == 1


def test_no_cluster(planner: Planner, tmp_path: Path) -> None:
    """Nothing listens at the address."""
    write_kubeconfig(tmp_path / "kubeconfig", 1)
    ended = planner("simulate")
    assert ended.code == 2
    assert ended.err.startswith("error: kubectl: ")
    assert ended.err.count("\n") == 1


def test_an_empty_cluster(planner: Planner, tmp_path: Path) -> None:
    """A cluster without nodes and pods has nothing to tell."""
    with serving({}) as running:
        write_kubeconfig(tmp_path / "kubeconfig", running.server_port)
        ended = planner("check")
    assert (ended.code, ended.err.startswith("error: the live cluster: neither")) == (2, True)


def test_a_server_that_does_not_answer(
    planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kubectl would go on trying for minutes; the planner does not."""
    silent = tmp_path / "kubectl"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(live, "_FIRST_ANSWER_SECONDS", 0.6)
    ended = planner("check")
    assert (ended.code, ended.err) == (2, "error: kubectl: no answer from the cluster in 1 s\n")
