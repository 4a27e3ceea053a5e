"""The audit: tables worked out by hand, and clusters counted by others."""

from typing import Any

import pytest

from models import Cluster, InputError
from planner import check, simulate
from planner.audit.findings import audit
from planner.documents.plan import CheckReport
from planner.problem.problem import Problem
from tests.builders import (
    HARD,
    HOST,
    SOFT,
    ZONE,
    Object,
    claim,
    cluster,
    node,
    pod,
    profile,
    scheduler,
    service,
    spread,
    term,
    tolerate,
    volume,
    workload,
)
from tests.planner.recordings import Case, recorded
from tests.strategies import RACK

ABC = [node("a1", zone="a"), node("b1", zone="b"), node("c1", zone="c")]
WEB = workload("ReplicaSet", "web")


def webs(places: str, start: int = 0, **words: object) -> list[Object]:
    """Pods of ReplicaSet web, one on every node named in `places`."""
    found = {"owner": WEB, "app": "web", "spread": [spread()], **words}
    return [pod(f"web-{start + number}", on=place, **found) for number, place in enumerate(places.split())]


def audited(found: Cluster) -> CheckReport:
    """The snapshot's own placement, without what is found about constraints whatever the placement."""
    problem = Problem(found)
    return audit(problem, problem.node_of)


#: Title, objects, violations, hard excess.
SPREADS = [
    ("even", [*ABC, *webs("a1 b1 c1")], 0, 0),
    ("skew of one", [*ABC, *webs("a1 a1 b1 c1")], 0, 0),
    ("one too many", [*ABC, *webs("a1 a1 b1")], 1, 1),
    ("two domains too full", [*ABC, *webs("a1 a1 a1 b1 b1")], 2, 3),
    ("no pod in the third", [*ABC, *webs("a1 a1 a1")], 1, 2),
    ("maxSkew 2 allows it", [*ABC, *webs("a1 a1 b1", spread=[spread(skew=2)])], 0, 0),
    (
        "too few domains: the minimum is 0",
        [*ABC[:2], *webs("a1 a1 b1 b1", spread=[spread(minDomains=3)])],
        2,
        2,
    ),
    ("as many domains as asked for", [*ABC, *webs("a1 a1 b1 b1 c1", spread=[spread(minDomains=3)])], 0, 0),
    ("a node without the key is no domain", [*ABC[:2], node("x"), *webs("a1 b1")], 0, 0),
    ("pods on a node without the key do not count", [*ABC[:2], node("x"), *webs("a1 b1 x x x")], 0, 0),
    (
        "a tainted domain counts by default",
        [*ABC[:2], node("c1", zone="c", taints=["t:NoSchedule"]), *webs("a1 a1 b1 b1")],
        2,
        2,
    ),
    (
        "and does not under Honor",
        [
            *ABC[:2],
            node("c1", zone="c", taints=["t:NoSchedule"]),
            *webs("a1 a1 b1 b1", spread=[spread(nodeTaintsPolicy="Honor")]),
        ],
        0,
        0,
    ),
    ("a domain outside nodeSelector does not count", [*ABC, *webs("a1 a1", node_selector={ZONE: "a"})], 0, 0),
    (
        "and does under Ignore",
        [*ABC, *webs("a1 a1", node_selector={ZONE: "a"}, spread=[spread(nodeAffinityPolicy="Ignore")])],
        1,
        1,
    ),
    ("terminating pods do not count", [*ABC, *webs("a1 b1 c1"), *webs("a1 a1", 5, gone=True)], 0, 0),
    ("finished pods do not count", [*ABC, *webs("a1 b1 c1"), *webs("a1 a1", 5, phase="Succeeded")], 0, 0),
    ("pending pods are nowhere", [*ABC, *webs("a1 b1"), pod("p", app="web", spread=[spread()])], 0, 0),
    (
        "another namespace does not count",
        [*ABC, *webs("a1 b1 c1"), pod("o", "a1", app="web", namespace="o")],
        0,
        0,
    ),
    ("soft constraints are no violations", [*ABC, *webs("a1 a1 a1", spread=[spread(when=SOFT)])], 0, 0),
    ("an empty selector counts no pod", [*ABC, *webs("a1 a1 a1", spread=[spread(selects={})])], 0, 0),
    ("a missing selector counts no pod", [*ABC, *webs("a1 a1 a1", spread=[spread(app=None)])], 0, 0),
    (
        "a selector over others: the domain with the carrier is too full of them",
        [*ABC, *webs("a1", spread=[spread(app="db")]), *[pod(f"db-{n}", "a1", app="db") for n in range(3)]],
        1,
        2,
    ),
    (
        "too full where no carrier is: no violation of any pod",
        [*ABC, *webs("b1", spread=[spread(app="db")]), *[pod(f"db-{n}", "a1", app="db") for n in range(3)]],
        0,
        0,
    ),
    (
        "a carrier on its way out holds no domain",
        [
            *ABC,
            *webs("b1", spread=[spread(app="db")]),
            *webs("a1", 5, spread=[spread(app="db")], gone=True),
            *[pod(f"db-{n}", "a1", app="db") for n in range(3)],
        ],
        0,
        0,
    ),
    (
        "matchLabelKeys keeps revisions apart",
        [
            *ABC[:2],
            *webs("a1 b1", labels={"rev": "1"}, spread=[spread(matchLabelKeys=["rev"])]),
            *webs("a1 a1", 5, labels={"rev": "2"}, spread=[spread(matchLabelKeys=["rev"])]),
        ],
        1,
        1,
    ),
    (
        "two workloads with one selector: each is told",
        [
            *ABC[:2],
            *webs("a1 a1"),
            pod("other", "a1", app="web", owner="ReplicaSet/other", spread=[spread()]),
        ],
        2,
        4,
    ),
    ("two constraints of a pod", [*ABC[:2], *webs("a1 a1", spread=[spread(), spread(HOST)])], 2, 2),
    (
        "a zone where not every node has the other key",
        [
            *ABC[:2],
            node("c1", zone="c", labels={HOST: None}),
            *webs("a1 b1 a1 b1", spread=[spread(), spread(HOST, skew=5)]),
        ],
        0,
        0,
    ),
    (
        "cluster defaults, over the pods of a Service",
        [
            *ABC[:2],
            *webs("a1 a1", spread=[]),
            service("web", app="web"),
            scheduler(
                profile(
                    PodTopologySpread={
                        "defaultingType": "List",
                        "defaultConstraints": [
                            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": HARD}
                        ],
                    }
                )
            ),
        ],
        1,
        1,
    ),
    (
        "kube's own defaults are soft",
        [*ABC[:2], *webs("a1 a1 a1", spread=[]), service("web", app="web")],
        0,
        0,
    ),
]


@pytest.mark.parametrize(("objects", "violations", "excess"), [pytest.param(*r, id=t) for t, *r in SPREADS])
def test_spread(objects: list[Object], violations: int, excess: int) -> None:
    """Pairs of constraint and domain that are too full, and by how much."""
    report = audited(cluster(*objects, WEB))
    assert (report.violations, report.hard_excess, report.findings) == (violations, excess, ())


TWO = [node("n1", zone="a"), node("n2", zone="b")]
#: Title, objects, plugin of every finding with its pod.
FINDINGS = [
    ("room to the brim", [*TWO, pod("p", "n1", cpu="4")], []),
    ("overcommitted", [*TWO, pod("p", "n1", cpu="4"), pod("q", "n1", cpu="1m")], [("NodeResourcesFit", "")]),
    (
        "too many pods",
        [node("n1", pods="1"), pod("p", "n1"), pod("q", "n1")],
        [("NodeResourcesFit", "")],
    ),
    (
        "two resources short",
        [*TWO, pod("p", "n1", cpu="5", memory="9Gi")],
        [("NodeResourcesFit", ""), ("NodeResourcesFit", "")],
    ),
    ("host port twice", [*TWO, pod("p", "n1", ports=[80]), pod("q", "n1", ports=[80])], [("NodePorts", "q")]),
    (
        "any address includes each",
        [*TWO, pod("p", "n1", ports=[{"hostPort": 80, "hostIP": "10.0.0.1"}]), pod("q", "n1", ports=[80])],
        [("NodePorts", "q")],
    ),
    (
        "different addresses",
        [
            *TWO,
            pod("p", "n1", ports=[{"hostPort": 80, "hostIP": "10.0.0.1"}]),
            pod("q", "n1", ports=[{"hostPort": 80, "hostIP": "10.0.0.2"}]),
        ],
        [],
    ),
    (
        "anti-affinity broken, both of a kind",
        [*TWO, *[pod(name, "n1", app="web", apart=[term(HOST, "web")]) for name in "pq"]],
        [("InterPodAffinity", "p"), ("InterPodAffinity", "q")],
    ),
    (
        "anti-affinity broken, one owner",
        [*TWO, pod("p", "n1", apart=[term(ZONE, "web")]), pod("q", "n1", app="web")],
        [("InterPodAffinity", "p")],
    ),
    ("alone with one's own anti-affinity", [*TWO, pod("p", "n1", app="web", apart=[term(HOST, "web")])], []),
    (
        "anti-affinity over a key that the node lacks",
        [node("x"), *[pod(name, "x", app="web", apart=[term(ZONE, "web")]) for name in "pq"]],
        [],
    ),
    (
        "affinity peer in another zone",
        [*TWO, pod("p", "n1", near=[term(ZONE, "db")]), pod("q", "n2", app="db")],
        [("InterPodAffinity", "p")],
    ),
    ("affinity peer here", [*TWO, pod("p", "n1", near=[term(ZONE, "db")]), pod("q", "n1", app="db")], []),
    ("itself as first affinity peer", [*TWO, pod("p", "n1", app="web", near=[term(ZONE, "web")])], []),
    (
        "a volume out of reach",
        [*TWO, volume("v", ["b"]), claim("c", bound_to="v"), pod("p", "n1", claims=["c"])],
        [("VolumeBinding", "p")],
    ),
    (
        "a volume within reach",
        [*TWO, volume("v", ["a"]), claim("c", bound_to="v"), pod("p", "n1", claims=["c"])],
        [],
    ),
]


@pytest.mark.parametrize(("objects", "expected"), [pytest.param(*r, id=t) for t, *r in FINDINGS])
def test_other_families(objects: list[Object], expected: list[tuple[str, str]]) -> None:
    """Each broken promise is one finding, told of its pod, and one violation."""
    report = check(cluster(*objects))
    told = sorted((finding.plugin, finding.pod.removeprefix("default/")) for finding in report.findings)
    assert told == expected
    assert report.violations == len(expected)
    assert report.hard_excess == 0


def test_a_report_names_what_it_counted() -> None:
    """Every constraint with its workload, its terms and the pods of each domain."""
    more = pod("p", app="web", owner=WEB, spread=[spread(minDomains=2), spread(HOST, skew=2, when=SOFT)])
    report = check(
        cluster(*ABC, node("x"), *webs("a1 a1 b1", spread=more["spec"]["topologySpreadConstraints"]), WEB)
    )
    hard, soft = report.constraints
    assert (hard.namespace, hard.workload, hard.topology_key) == ("default", "ReplicaSet/web", ZONE)
    assert (hard.when_unsatisfiable, hard.max_skew, hard.min_domains, hard.selector) == (
        HARD,
        1,
        2,
        "app=web",
    )
    assert (dict(hard.domains), hard.global_minimum, hard.skew, hard.ok) == (
        {"a": 2, "b": 1, "c": 0},
        0,
        2,
        False,
    )
    assert (dict(soft.domains), soft.skew, soft.ok) == ({"a1": 2, "b1": 1, "c1": 0, "x": 0}, 2, True)
    assert report.violations == 1


def test_a_workload_is_the_deployment_behind_its_replica_set() -> None:
    """Users know the Deployment; pods of two ReplicaSets of it are told as one."""
    sets = [
        workload(
            "ReplicaSet",
            name,
            "web",
            ownerReferences=[{"kind": "Deployment", "name": "web", "controller": True}],
        )
        for name in ("web-1", "web-2")
    ]
    pods = [pod(f"p{n}", on="a1", app="web", owner=owner, spread=[spread()]) for n, owner in enumerate(sets)]
    report = check(cluster(*ABC, *sets, *pods))
    assert [(found.workload, found.skew) for found in report.constraints] == [("Deployment/web", 2)]
    assert report.violations == 1


@pytest.mark.parametrize("case", recorded(), ids=lambda case: case["name"])
def test_recorded_clusters(case: Case) -> None:
    """The nine recorded clusters have the violations and the excess that an independent count found."""
    report = audited(Cluster.from_objects(case["cluster"]["items"]))
    assert (report.violations, report.hard_excess) == (case["violations"], case["excess"])


@pytest.mark.parametrize("selector", [{"app": "wbe"}, {}, None])
def test_a_constraint_that_counts_none_of_its_own_pods_is_a_finding(selector: dict[str, str] | None) -> None:
    """All four pods are in one zone and no skew is seen: green would be a false answer."""
    constraint = {**spread(), "labelSelector": None if selector is None else {"matchLabels": selector}}
    report = check(cluster(*ABC, *webs("a1 a1 a1 a1", spread=[constraint]), WEB))
    (finding,) = report.findings
    assert (report.violations, report.hard_excess) == (1, 0)
    assert (finding.plugin, finding.pod) == ("PodTopologySpread", "default/web-0")
    assert "counts none of its own pods" in finding.message


def test_a_constraint_that_counts_some_of_its_own_pods_is_none() -> None:
    """Another revision may have other labels; as long as some pods are counted there is no finding."""
    pods = webs("a1 b1") + webs("c1", start=5, app="old")
    assert check(cluster(*ABC, *pods, WEB)).findings == ()


@pytest.mark.parametrize(
    "words", [{"node_selector": {"os": "linux"}}, {"tolerations": [tolerate("example.com/spot")]}]
)
def test_revisions_that_differ_and_are_left_the_same_nodes_are_one_row(words: dict[str, Any]) -> None:
    """What went wrong: in the middle of a rollout a constraint was told twice, and twice as much too many."""
    constraint = spread(nodeTaintsPolicy="Honor")
    nodes = [node(f"{zone}1", zone=zone, labels={"os": "linux"}) for zone in "ab"]
    old, new = (webs("a1 a1", start, spread=[constraint], **more) for start, more in ((0, {}), (2, words)))
    report = check(cluster(*nodes, *old, *new, WEB))
    assert [(row.domains, row.excess) for row in report.constraints] == [({"a": 4, "b": 0}, {"a": 3})]
    assert (report.violations, report.hard_excess) == (1, 3)


def test_revisions_that_are_left_other_nodes_are_rows_of_their_own() -> None:
    """Each has its own domains, and its own global minimum."""
    old = webs("a1 b1", spread=[spread()])
    new = webs("a1", 2, spread=[spread()], node_selector={ZONE: "a"})
    rows = check(cluster(*ABC, *old, *new, WEB)).constraints
    assert [row.domains for row in rows] == [{"a": 2, "b": 1, "c": 0}, {"a": 2}]


def test_a_pod_that_ends_without_a_node_is_not_pending() -> None:
    """What went wrong: a pod that a finalizer holds was told as one that waits; `simulate` knew of none."""
    report = check(cluster(*ABC, *webs("a1"), pod("job", gone=True), pod("waits"), WEB))
    assert report.pending == 1


def test_pods_outside_all_domains_are_counted_and_named() -> None:
    """A node without the label, and one that a policy leaves out, are in no domain: the pods are named."""
    nodes = [*ABC, node("x"), node("t1", zone="a", taints=["t:NoSchedule"])]
    report = check(cluster(*nodes, *webs("a1 b1 c1 x t1", spread=[spread(nodeTaintsPolicy="Honor")]), WEB))
    assert [(row.outside, row.domains) for row in report.constraints] == [(2, {"a": 1, "b": 1, "c": 1})]
    assert (
        "ReplicaSet/web of default: 2 pods are outside all domains of its constraint over "
        f"{ZONE}, and not counted: web-3 on x, web-4 on t1" in report.notes
    )


def test_a_note_names_the_labels_that_are_missing() -> None:
    """A node counts that has all labels: of those it lacks the note speaks, not of each constraint's own."""
    both = pod("w", app="web", spread=[spread(HOST), spread(ZONE)])
    rack = pod("w", app="web", spread=[spread(RACK), spread(ZONE)])
    begin = "Pod/w of default: no node that counts for it has the"
    end = "so its DoNotSchedule constraint keeps its pods pending"
    assert check(cluster(node("n1"), both)).notes == (f"{begin} label {ZONE}, {end}",)
    apart = [node("n1", zone="a"), node("n2", labels={RACK: "r"})]
    assert check(cluster(*apart, rack)).notes == (f"{begin} labels {RACK} and {ZONE}, {end}",)


def test_a_constraint_that_no_profile_asks_for_keeps_no_pod_pending() -> None:
    """It has no domains, and its pod gets a node all the same."""
    off = scheduler(profile(plugins={"filter": {"disabled": [{"name": "PodTopologySpread"}]}}))
    found = cluster(node("n1"), pod("w", app="web", spread=[spread(ZONE)]), off)
    (note,) = check(found).notes
    assert note.endswith(f"has the label {ZONE}, so its DoNotSchedule constraint has no effect")
    assert simulate(found).decisions[0].node == "n1"


def test_a_snapshot_without_nodes_is_an_error() -> None:
    """Without nodes no pod stands anywhere, and nothing could be found wrong."""
    with pytest.raises(InputError, match="no nodes"):
        check(cluster(*webs("a1")))
