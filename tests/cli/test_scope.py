"""`-n`, `-A` and `-l` choose what is shown; the whole cluster always counts."""

import json
from pathlib import Path

import pytest

from cli.input.selector import parse_selector
from tests import builders
from tests.cli.conftest import Planner
from tests.cli.manifests import Object, deployment, lopsided, node, pod, write

HALF_WAY = Path(__file__).parents[2] / "examples" / "50-rollout-half-way"


@pytest.fixture
def two_teams(tmp_path: Path) -> str:
    """One node with room for one of two pods; the older one is not ours."""
    return write(
        tmp_path / "teams.json",
        node("a1", cpu="1"),
        pod("theirs", namespace="other", app="db", cpu="900m"),
        pod("ours", app="web", cpu="900m"),
    )


def _pods(output: str) -> list[str]:
    return [decision["pod"] for decision in json.loads(output)["decisions"]]


def test_all_namespaces_are_shown(planner: Planner, two_teams: str) -> None:
    """A snapshot is a whole: without -n, and with -A, everything is shown."""
    plain = planner("simulate", "-f", two_teams, "-o", "json").out
    assert _pods(plain) == ["other/theirs", "shop/ours"]
    assert planner("simulate", "-f", two_teams, "-o", "json", "-A", "-n", "shop").out == plain


def test_one_namespace_is_shown_and_both_are_simulated(planner: Planner, two_teams: str) -> None:
    """Our pod stays pending because of a pod that is not shown."""
    ended = planner("simulate", "-f", two_teams, "-n", "shop")
    assert ended.code == 1
    assert "theirs" not in ended.out
    assert "shop/ours stays pending" in ended.out


def test_the_exit_code_is_about_what_is_shown(planner: Planner, two_teams: str) -> None:
    """A team's pipeline does not fail for another team's pod."""
    assert planner("simulate", "-f", two_teams, "-n", "other").code == 0
    assert planner("simulate", "-f", two_teams, "-l", "app=db").code == 0


def test_what_others_are_told_is_no_finding_here(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: exit code 1 for a line about another namespace, and none was an error in pipelines."""
    line = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    told = pod("told", namespace="other")
    told["status"] = {"conditions": [line | {"message": "0/1 nodes are available: 1 Insufficient cpu."}]}
    asked = ("simulate", "-f", write(tmp_path / "told.json", node("a1"), pod("ours"), told))
    ours, theirs = (planner(*asked, "-n", name, "-o", "github") for name in ("shop", "other"))
    assert (ours.code, "::error" in ours.out) == (0, False)
    assert (theirs.code, "::error" in theirs.out) == (1, True)
    said = ["kube-scheduler says of other/told" in ended.err for ended in (ours, theirs)]
    assert said == [False, True], "the note about others was there"
    assert planner(*asked).verdict == "2 pods placed. Of 1 pod kube-scheduler says otherwise."


def test_rollouts_of_others_are_not_shown(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: they were, and one that stops half-way was a finding."""
    before = (f"{HALF_WAY}/nodes.yaml", f"{HALF_WAY}/running.yaml", f"{HALF_WAY}/next/too-large.yaml")
    ours = write(tmp_path / "ours.json", pod("ours", app="ours"))
    asked = ("simulate", *(word for name in (*before, ours) for word in ("-f", name)))
    ended = planner(*asked)
    assert (ended.code, "1 stops half-way" in ended.out) == (1, True)
    ended = planner(*asked, "-l", "app=ours")
    assert (ended.code, ended.verdict) == (0, "1 pod placed.")


def test_check_is_about_what_is_shown(planner: Planner, tmp_path: Path) -> None:
    """Constraints and violations of other namespaces are neither shown nor counted."""
    path = write(tmp_path / "lopsided.json", *lopsided())
    assert planner("check", "-f", path, "-l", "app=web").code == 1
    path = write(tmp_path / "two.json", *lopsided(), pod("alone", on="a1", namespace="other"))
    other = planner("check", "-f", path, "-n", "other", "-o", "json")
    assert other.code == 0
    assert json.loads(other.out)["constraints"] == []


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("app=web", {"app": "web"}, True),
        ("app==web", {"app": "db"}, False),
        ("app!=web", {}, True),
        ("app in (web, db),tier", {"app": "db", "tier": ""}, True),
        ("app notin (web,db)", {"app": "web"}, False),
        ("!canary", {"canary": "yes"}, False),
        ("example.com/team=a.b_c-d", {"example.com/team": "a.b_c-d"}, True),
        ("app=", {"app": ""}, True),
    ],
)
def test_selectors_read_as_kubectl_reads_them(text: str, labels: dict[str, str], selected: bool) -> None:
    """Every operator of kubectl's -l."""
    assert parse_selector(text).matches(labels) is selected


def test_a_namespace_that_is_not_there(planner: Planner, two_teams: str) -> None:
    """A slip of the pen is no clean bill: nothing was looked at, so nothing is well."""
    for command in ("check", "simulate", "explain"):
        ended = planner(command, "-f", two_teams, "-n", "shopp")
        assert ended.code == 2
        assert (
            ended.err == "error: -n shopp: there is no such namespace in the cluster (did you mean shop?)\n"
        )


def test_a_selector_that_selects_nothing(planner: Planner, two_teams: str) -> None:
    """Labels that no object has are a mistake, and the ones that look alike are named."""
    ended = planner("check", "-f", two_teams, "-l", "app=wbe")
    assert ended.code == 2
    assert ended.err == "error: -l app=wbe: no pod has such labels (did you mean app=web?)\n"
    ended = planner("simulate", "-f", two_teams, "-n", "other", "-l", "app=web")
    assert ended.code == 2
    assert ended.err == "error: -l app=web: no pod in namespace other has such labels\n"


def test_a_selector_beside_pods_that_are_named(planner: Planner, two_teams: str) -> None:
    """What went wrong: a selector that did not choose the named pod was passed over."""
    ended = planner("explain", "-f", two_teams, "web-0", "-l", "app=web")
    assert ended.code == 2
    assert "-l app=web chooses among all pending pods, and web-0 is named" in ended.err


def test_labels_that_only_a_template_has_are_there(planner: Planner, tmp_path: Path) -> None:
    """A workload without replicas is nothing to be wrong about, and no mistake."""
    web = deployment("web", replicas=0)
    path = write(tmp_path / "none.json", node("a1"), web)
    assert planner("check", "-f", path, "-l", "app=web").code == 0


def test_a_file_without_a_name(planner: Planner) -> None:
    """`-f ""`, as an unset variable leaves it, is not this folder."""
    ended = planner("check", "-f", "")
    assert ended.code == 2
    assert ended.err == "error: -f: the name of a file or folder is missing\n"


def test_manifests_without_a_namespace_take_the_one_of_the_command(planner: Planner, tmp_path: Path) -> None:
    """As with `kubectl apply -n shop`: it is the running workload that changes, not a second one."""
    running = deployment("web", replicas=1)
    running["metadata"]["uid"] = "web-uid"
    cluster = write(tmp_path / "cluster.json", node("a1", "a"), running)
    bigger = deployment("web", replicas=3)
    del bigger["metadata"]["namespace"]
    manifest = write(tmp_path / "web.json", bigger)
    ended = planner("simulate", "-f", cluster, "-f", manifest, "-n", "shop", "-o", "json")
    assert len(_pods(ended.out)) == 3
    ended = planner("simulate", "-f", cluster, "-f", manifest, "-o", "json")
    assert len(_pods(ended.out)) == 1 + 3
    assert "names no namespace, so it is a second one beside shop/web" in ended.err


def test_manifests_do_not_make_a_namespace(planner: Planner, tmp_path: Path) -> None:
    """A slip in -n is found although the manifests would now be in that namespace."""
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    web = deployment("web", replicas=1)
    del web["metadata"]["namespace"]
    path = write(tmp_path / "cluster.json", node("a1", "a"), place, web)
    assert planner("simulate", "-f", path, "-n", "shop").code == 0
    assert "did you mean shop?" in planner("simulate", "-f", path, "-n", "shopp").err


def test_pending_pods_are_told_by_check(planner: Planner, tmp_path: Path) -> None:
    """Nothing is broken where nothing runs; the answer says how many are not counted."""
    path = write(tmp_path / "waiting.json", node("a1", "a"), pod("w", spread="DoNotSchedule"))
    ended = planner("check", "-f", path)
    assert ended.code == 0
    assert ended.verdict.endswith("; 1 pod is pending and is not counted.")
    assert json.loads(planner("check", "-f", path, "-n", "shop", "-o", "json").out)["pending"] == 1


def test_a_constraint_over_a_label_that_no_node_has(planner: Planner, tmp_path: Path) -> None:
    """It cannot be broken and no pod can meet it: a note says so, and --strict makes it a finding."""
    path = write(tmp_path / "zoneless.json", node("a1"), pod("w", on="a1", spread="DoNotSchedule"))
    ended = planner("check", "-f", path)
    assert ended.code == 0
    assert "no node that counts for it has the label topology.kubernetes.io/zone" in ended.err
    assert planner("check", "-f", path, "--strict").code == 1


def test_strict_is_about_notes_alone(planner: Planner, two_teams: str) -> None:
    """Without a note it changes nothing."""
    assert planner("check", "-f", two_teams, "--strict").code == 0
    assert planner("simulate", "-f", two_teams, "--strict").code == 1


def test_two_keys_to_survive(planner: Planner, tmp_path: Path) -> None:
    """The second --survive does not replace the first."""
    path = write(tmp_path / "lopsided.json", *lopsided())
    zone, host = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
    ended = planner("check", "-f", path, "--survive", zone, "--survive", host)
    assert ended.code == 1
    assert "domains of zone" in ended.out
    assert "domains of hostname" in ended.out
    document = json.loads(
        planner("check", "-f", path, "--survive", zone, "--survive", host, "-o", "json").out
    )
    assert [item["topologyKey"] for item in document["items"]] == [zone, host]


def test_pods_that_wait_for_one_reason_are_counted_together(planner: Planner, tmp_path: Path) -> None:
    """Two pods of one StatefulSet, each with another toleration, were told as `Without a or a, 1 pod`."""
    path = write(
        tmp_path / "held.json",
        *(builders.node(f"{zone}1", zone=zone) for zone in "ab"),
        builders.scaled("ReplicaSet", "web", 2),
        *(
            builders.pod(
                f"web-{key}",
                on="a1",
                app="web",
                owner="ReplicaSet/web",
                nodeSelector={builders.ZONE: "a"},
                tolerations=[{"key": key, "operator": "Exists"}],
            )
            for key in "xy"
        ),
    )
    ended = planner("check", "-f", path, "--survive", builders.ZONE)
    assert "Without a, 2 pods of ReplicaSet/web in default stay pending:" in ended.out
    assert "a or a" not in ended.out


def test_a_job_that_fails_by_a_loss_is_told(planner: Planner, tmp_path: Path) -> None:
    """The table shows no pending pod: a line says what the job controller does."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "uid": "sum"}}
    job["spec"] = {"parallelism": 2, "completions": 2, "backoffLimit": 0}
    nodes = [builders.node(name, zone=name) for name in "ab"]
    pods = [builders.pod(f"sum-{name}", on=name, app="sum", owner="Job/sum") for name in "ab"]
    ended = planner(
        "check", "-f", write(tmp_path / "job.json", *nodes, job, *pods), "--survive", builders.ZONE
    )
    assert ended.code == 1
    assert "Without a or b, Job/sum in default fails: BackoffLimitExceeded" in ended.out


def test_kinds_that_make_pods_are_told_apart(planner: Planner, tmp_path: Path) -> None:
    """A RayCluster is no ConfigMap: its running pods count, and those that it would make are unknown."""
    rollout = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "web"}}
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    running = pod("web-1", on="a1")
    running["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "name": "web",
            "uid": "u",
            "controller": True,
        }
    ]
    path = write(tmp_path / "cluster.json", node("a1"), running, rollout, settings)
    told = planner("check", "-f", path).err
    assert "note: skipped 1 object of kind RayCluster, which makes pods; counted as found: 1 running" in told
    assert "note: skipped 1 object of kind ConfigMap" in told


def test_an_excluded_workload_is_not_checked(planner: Planner, tmp_path: Path) -> None:
    """Neither its constraints nor what is found about its pods decide the exit code; the others still do."""
    shop = [deployment("web", 3), deployment("db", 3)]
    for item in shop:
        item["metadata"]["uid"] = item["metadata"]["name"]
    found = write(
        tmp_path / "shop.json", node("a1", "a"), node("b1", "b"), *shop, *_owned("web"), *_owned("db")
    )
    both = planner("check", "-f", found)
    one = planner("check", "-f", found, "--exclude", "deploy/web")
    none = planner("check", "-f", found, "--exclude", "deploy/web", "--exclude", "deployment/db.shop")
    assert (both.code, one.code, none.code) == (1, 1, 0)
    assert "Deployment/db" in one.out
    assert "shop Deployment/web" not in one.out
    lost = ("check", "-f", found, "--survive", "topology.kubernetes.io/zone")
    assert planner(*lost).code == 1
    assert planner(*lost, "--exclude", "deploy/web", "--exclude", "deploy/db").code == 0
    unknown = planner("check", "-f", found, "--exclude", "deploy/wbe")
    assert (unknown.code, "did you mean web" in unknown.err) == (2, True)


def _owned(name: str) -> list[Object]:
    """The ReplicaSet of a Deployment, and three pods of it on one node."""
    template = deployment(name, 3)["spec"]["template"]
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": name, "controller": True}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-1", "uid": f"{name}-1"}
    replicas: Object = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name}-1",
            "namespace": "shop",
            "uid": f"{name}-1",
            "ownerReferences": [above],
        },
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template},
    }
    pods = [pod(f"{name}-1-{number}", on="a1", app=name, spread="DoNotSchedule") for number in range(3)]
    for item in pods:
        item["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return [replicas, *pods]


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (("-n", "shop"), "only pods of namespace shop"),
        (("-l", "app=web,team!=db"), "only pods with app=web,team notin (db)"),
        (("-n", "shop", "-l", "app=web"), "only pods of namespace shop with app=web"),
        (("-n", "shop", "-A"), None),
        ((), None),
    ],
)
def test_an_answer_says_of_which_pods_it_is(
    planner: Planner, two_teams: str, words: tuple[str, ...], about: str | None
) -> None:
    """What went wrong: `No pod stays pending.` where pods of another namespace did."""
    sentence = f"{about} were asked about.".capitalize() if about else "were asked about"
    for command in ("simulate", "check", "explain", "rebalance"):
        if command == "rebalance" and "-A" in words:
            continue
        given = (command, "-f", two_teams, *words)
        assert json.loads(planner(*given, "-o", "json").out)["about"] == about, command
        assert (sentence in planner(*given).out) == (about is not None), command
        assert (sentence in planner(*given, "-o", "markdown").out) == (about is not None), command


def test_an_answer_names_what_is_left_out(planner: Planner, tmp_path: Path) -> None:
    file = write(tmp_path / "web.yaml", node("a1"), deployment("web", 1))
    for command in ("check", "rebalance"):
        out = planner(command, "-f", file, "--exclude", "deploy/web").out
        assert "All pods but those of Deployment/web of shop were asked about." in out


def test_pods_that_are_named_are_what_explain_is_about(planner: Planner, two_teams: str) -> None:
    found = planner("explain", "-f", two_teams, "ours", "-n", "shop", "-o", "json").out
    assert json.loads(found)["about"] is None
