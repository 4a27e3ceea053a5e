"""The audit against its definition counted in loops, and against what a scheduler may leave behind."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from models import Cluster
from planner import check
from planner.audit.findings import audit
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.builders import HARD, HOST, ZONE, Object, cluster, node, pod, spread
from tests.planner import oracle
from tests.strategies import NODE_TERMS, clusters, nodes, one_of, relaxed


def owned(objects: list[Object]) -> list[Object]:
    """The same cluster with an owner for every pod: one for all pods that are written alike."""
    names: dict[str, str] = {}
    for item in objects:
        if item["kind"] == "Pod":
            spec = {key: value for key, value in item["spec"].items() if key != "nodeName"}
            kind = json.dumps([spec, item["metadata"]["labels"], item["metadata"]["namespace"]])
            name = names.setdefault(kind, f"rs{len(names)}")
            reference = {"kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
            item["metadata"]["ownerReferences"] = [reference]
    return objects


def peopled(objects: list[Object]) -> list[Object]:
    """The same cluster with one more pod, so that there is one."""
    return [*objects, pod("resident", "n0")]


@relaxed
@given(clusters().map(peopled).map(owned))
def test_violations_are_those_of_the_definition(objects: list[Object]) -> None:
    """Constraint and domain pairs counted pod by pod: as many, with the same surplus."""
    report = check(Cluster.from_objects(objects))
    surplus = oracle.spread_excess(oracle.cluster_state(objects))
    assert report.hard_excess == sum(surplus.values())
    assert report.violations - len(report.findings) == len(surplus)
    assert sum(not found.ok and found.when_unsatisfiable == HARD for found in report.constraints) == len(
        {key[:3] for key in surplus}
    )


def rows(now: oracle.ClusterState) -> Iterator[tuple[object, ...]]:
    """What every constraint of a workload asks for and has: domains, global minimum, skew, pods outside."""
    by_owner = defaultdict[str, list[Object]](list)
    for item in now.pods:
        by_owner[item["metadata"]["ownerReferences"][0]["name"]].append(item)
    for alike in by_owner.values():
        placed = [now.node_of(item) for item in alike if "deletionTimestamp" not in item["metadata"]]
        every = oracle.constraints_of(now, alike[0])
        for item in every:
            key, when, skew = item["topologyKey"], item["whenUnsatisfiable"], item["maxSkew"]
            keys = [other["topologyKey"] for other in every if other["whenUnsatisfiable"] == when]
            domains = oracle.counts(now, alike[0], item, keys)
            least = oracle.global_minimum(item, domains) if domains else 0
            most = max(domains.values(), default=least)
            alone = (replace(now, nodes=[on]) for on in placed if on is not None)
            outside = sum(not oracle.counts(one, alike[0], item, keys) for one in alone)
            yield key, when, skew, tuple(sorted(domains.items())), least, most - least, outside


@relaxed
@given(clusters().map(peopled).map(owned))
def test_rows_are_those_of_the_definition(objects: list[Object]) -> None:
    """Those of constraints that are soft, too, and of workloads whose pods all wait."""
    told = [
        (
            *(row.topology_key, row.when_unsatisfiable, row.max_skew, tuple(sorted(row.domains.items()))),
            *(row.global_minimum, row.skew, row.outside),
        )
        for row in check(Cluster.from_objects(objects)).constraints
    ]
    assert Counter(told) == Counter(rows(oracle.cluster_state(objects)))


@relaxed
@given(clusters().map(peopled).map(owned))
def test_findings_are_those_of_the_definition(objects: list[Object]) -> None:
    """Counted pod by pod and node by node; a constraint that counts none of its own pods is one, too."""
    now = oracle.cluster_state(objects)
    owner_of = {oracle.key_of(item): item["metadata"]["ownerReferences"][0]["name"] for item in now.pods}
    own = {
        owner_of[oracle.key_of(item)]: (item["metadata"]["labels"], oracle.constraints_of(now, item))
        for item in now.pods
        if "deletionTimestamp" not in item["metadata"]
    }
    expected = Counter(oracle.findings(now))
    for owner, (labels, constraints) in own.items():
        for selector in (item["labelSelector"] for item in constraints):
            counts = not oracle.is_empty(selector) and oracle.selects(selector, labels)
            expected["PodTopologySpread", owner] += not counts
    found = check(Cluster.from_objects(objects)).findings
    told = [owner_of[row.pod] if row.plugin == "PodTopologySpread" else row.pod or row.node for row in found]
    assert Counter(zip((row.plugin for row in found), told, strict=True)) == +expected


@relaxed
@given(clusters(running=False, pods=16))
def test_a_scheduler_breaks_nothing_but_spread(objects: list[Object]) -> None:
    """From an empty cluster, without preemption, no family but spread has anything to object to."""
    problem = Problem(Cluster.from_objects(objects))
    run = Scheduler(problem, preemption=False)
    for _ in run.run():
        assert audit(problem, run.state.node_of).findings == ()


@st.composite
def own_constraints(draw: st.DrawFn) -> list[Object]:
    """A cluster in which every constraint selects exactly the pods of its own template."""
    machines, pods = draw(nodes()), []
    for number in range(draw(st.integers(1, 3))):
        app = f"app{number}"
        more = {"minDomains": draw(one_of(1, 2, 4)), "nodeTaintsPolicy": draw(one_of("Honor", "Ignore"))}
        constraints = [spread(ZONE, draw(one_of(1, 2)), app, **more)]
        if draw(st.booleans()):
            constraints.append(spread(HOST, draw(one_of(1, 2)), app))
        words: Object = {"spread": constraints, "app": app, "cpu": draw(one_of("500m", "1"))}
        words["only_on"] = draw(one_of(None, *[[item] for item in NODE_TERMS[:4]]))
        words["tolerations"] = draw(one_of([], [{"operator": "Exists"}]))
        pods += [pod(f"{app}-{copy}", **dict(words)) for copy in range(draw(st.integers(1, 5)))]
    return [*machines, *draw(st.permutations(pods))]


@relaxed
@given(own_constraints())
@example(
    [
        node("a1", zone="a"),
        node("b1", zone="b", cordoned=True),
        *[pod(f"p{n}", app="w", spread=[spread(app="w")]) for n in "xyz"],
    ]
)
def test_a_scheduler_keeps_constraints_over_their_own_pods(objects: list[Object]) -> None:
    """Where all that a constraint counts carries it, the minimum only grows and no bind breaks it later."""
    problem = Problem(Cluster.from_objects(objects))
    run = Scheduler(problem, preemption=False)
    for _ in run.run():
        report = audit(problem, run.state.node_of)
        assert (report.violations, report.hard_excess) == (0, 0)


def test_mixed_selectors_can_break_an_early_pod() -> None:
    """Why the property above asks for own pods: later pods without the constraint may fill its domain."""
    pods = [
        pod("a", app="web", spread=[spread()]),
        *[pod(f"b{n}", app="web", node_selector={ZONE: "a"}) for n in "12"],
    ]
    problem = Problem(cluster(node("a1", zone="a"), node("b1", zone="b"), *pods))
    run = Scheduler(problem, preemption=False)
    assert all(decision.node is not None for decision in run.run())
    assert audit(problem, run.state.node_of).violations == 1


@relaxed
@given(clusters().map(peopled))
def test_an_audit_of_any_placement_is_the_check_of_such_a_cluster(objects: list[Object]) -> None:
    """A placement given apart is judged as if the snapshot had it."""
    problem = Problem(Cluster.from_objects(objects))
    here = check(problem.cluster)
    audited = audit(problem, problem.node_of)
    assert here.findings[: len(audited.findings)] == audited.findings
    more = here.findings[len(audited.findings) :]
    assert {finding.plugin for finding in more} <= {"PodTopologySpread"}
    same = {"notes": here.notes, "kubernetes": here.kubernetes, "findings": here.findings}
    assert audited.model_copy(update={**same, "violations": audited.violations + len(more)}) == here
    nowhere = audit(problem, np.full_like(problem.node_of, -1))
    assert (nowhere.violations, nowhere.findings) == (0, ())
