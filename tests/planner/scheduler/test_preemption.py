"""Preemption against trying every node: the same node, victims and message, and nothing left changed."""

import random
from collections.abc import Iterator
from copy import deepcopy

from models import Cluster
from models.objects.scheduler_config import DefaultPreemptionArgs
from planner import simulate
from planner.problem.problem import Problem
from planner.scheduler.framework import Diagnosis, Plan
from planner.scheduler.preemption import Preemption, PreemptionOutcome
from planner.scheduler.scheduler import Scheduler
from tests import seeds
from tests.builders import HOST, ZONE, Object, budget, node, pod, profile, scheduler, spread, term
from tests.planner.scheduler.preemption_oracle import Oracle, fingerprint

STARTS = ("2024-01-01T00:00:00Z", "2024-01-01T06:00:00Z", "2024-02-01T00:00:00Z", None)
APPS = ("web", "db", "cache")


def crowded(draw: random.Random) -> Iterator[Object]:
    """A cluster of alike nodes full of pods of lower priority, with pods pending that matter more."""
    names = [f"n{number:03}" for number in range(draw.choice((2, 3, 8, 30, 130)))]
    kinds = draw.choice((1, 2, 4))
    for name in names:
        yield node(
            name,
            zone=draw.choice(("a", "b", "c", None) if kinds > 3 else "abc"),
            cpu=draw.choice(("4", "4", "2")) if kinds > 1 else "4",
            pods=draw.choice(("110", "3")) if kinds > 2 else "110",
            taints=["gpu=x:NoSchedule"] if kinds > 3 and draw.random() < 0.2 else [],
        )
    for number, app in enumerate(draw.sample(APPS, draw.randint(0, 3))):
        counted = {f"r{draw.randrange(20):04}": STARTS[0] for _ in range(draw.randint(0, 9))}
        yield _with_status(budget(f"b{number}", app, draw.randint(0, 3)), disruptedPods=counted)
    if draw.random() < 0.5:
        few = {"minCandidateNodesPercentage": draw.choice((1, 10)), "minCandidateNodesAbsolute": 2}
        yield scheduler(profile(DefaultPreemption=few))
    numbers = iter(range(10_000))
    for name in names:
        for _ in range(draw.choice((0, 3, 4, 4))):
            yield _running(draw, f"r{next(numbers):04}", name, kinds)
    pending = [_words(draw, kinds) for _ in range(draw.randint(1, 4))]
    for number in range(draw.randint(1, 30)):
        promised = {"nominated": draw.choice(names)} if draw.random() < 0.2 else {}
        yield pod(f"p{number:02}", **deepcopy(draw.choice(pending)), **promised)


def lopsided(draw: random.Random) -> Iterator[Object]:
    """Nodes with pods of lower priority that are spread unevenly, and pods pending that count them."""
    names = [f"n{number:03}" for number in range(draw.randint(2, 6))]
    for name in names:
        taints = ["gpu=x:NoSchedule"] if draw.random() < 0.15 else []
        yield node(name, zone=draw.choice(("a", "b", "b", None)), cpu="8", taints=taints)
    for number in range(draw.randint(4, 16)):
        app, priority = draw.choice(("web", "web", "db")), draw.choice((0, 5, 20))
        yield pod(f"r{number:02}", draw.choice(names), app=app, cpu="1", priority=priority)
    for number in range(draw.randint(1, 6)):
        more: Object = {"apart": [term(HOST, "db")]} if draw.random() < 0.3 else {}
        rules = [_constraint(draw, key, "web") for key in draw.choice(((ZONE,), (HOST,), (ZONE, HOST)))]
        yield pod(
            f"p{number}",
            app=draw.choice(("web", "web", "db")),
            cpu=draw.choice(("500m", "4", "7")),
            priority=10,
            spread=rules,
            **more,
        )


def _with_status(item: Object, **more: object) -> Object:
    return {**item, "status": {**item["status"], **more}}


def _running(draw: random.Random, name: str, on: str, kinds: int) -> Object:
    start = draw.choice(STARTS[:kinds])
    return pod(
        name,
        on,
        app=draw.choice(APPS),
        cpu=draw.choice(("900m", "500m", "1")[:kinds]),
        priority=draw.choice((0, 0, 5, 50)[:kinds]),
        gone=draw.random() < 0.05,
        **({"started": start} if start else {}),
        **({"ports": [80]} if kinds > 3 and draw.random() < 0.1 else {}),
    )


def _words(draw: random.Random, kinds: int) -> Object:
    """What some of the pending pods ask for."""
    words: Object = {
        "app": draw.choice(APPS),
        "cpu": draw.choice(("1", "2", "3", "3500m", "9")),
        "priority": draw.choice((10, 10, 100)),
    }
    if kinds > 1 and draw.random() < 0.5:
        words |= draw.choice(
            (
                {"spread": [_constraint(draw, draw.choice((ZONE, HOST)))]},
                {"spread": [_constraint(draw, ZONE), _constraint(draw, HOST)]},
                {
                    "spread": [_constraint(draw, draw.choice((ZONE, HOST)))],
                    "apart": [term(draw.choice((HOST, ZONE)), draw.choice(APPS))],
                },
                {"ports": [80]},
                {"apart": [term(draw.choice((HOST, ZONE)), draw.choice(APPS))]},
                {"near": [term(draw.choice((HOST, ZONE)), draw.choice(APPS))]},
                {"never": "Never"},
            )
        )
    return words


def _constraint(draw: random.Random, key: str, app: str | None = None) -> Object:
    """A DoNotSchedule constraint of any sort."""
    more: Object = {
        "minDomains": draw.choice((2, 4)),
        "nodeTaintsPolicy": "Honor",
        "nodeAffinityPolicy": "Ignore",
    }
    chosen = draw.sample([*more], draw.choice((0, 0, 1, 2)))
    skew = draw.choice((1, 1, 2, 5))
    return spread(key, skew, app or draw.choice(APPS), **{name: more[name] for name in chosen})


def _checked(preemption: Preemption, framework_of: Scheduler, percent: DefaultPreemptionArgs) -> list[str]:
    """Make every attempt also ask the oracle; what differs comes into the list, a sentence each."""
    framework = next(iter(framework_of._frameworks.values()))
    oracle = Oracle(framework, framework_of._nominations)
    attempt, wrong = preemption.attempt, []

    def both(plan: Plan, pod: int, diagnosis: Diagnosis) -> PreemptionOutcome:
        helped = len(diagnosis.resolvable())
        enough = max(
            helped * percent.min_candidate_nodes_percentage // 100, percent.min_candidate_nodes_absolute
        )
        wanted = oracle.attempt(plan, pod, diagnosis, enough)
        before = fingerprint(framework)
        found = attempt(plan, pod, diagnosis)
        if fingerprint(framework) != before:
            wrong.append(f"{framework.problem.pods[pod].key}: a trial was not undone")
        if "not eligible" not in found.message and wanted != (found.node, set(found.victims), found.message):
            wrong.append(f"{framework.problem.pods[pod].key}: {found} instead of {wanted}")
        return found

    preemption.attempt = both  # type: ignore[method-assign]
    return wrong


def test_shortcuts_decide_as_trying_every_node_does() -> None:
    """Alike nodes, what is remembered from pod to pod, and nodes seen at once change no decision."""
    for seed in seeds.seeds(6):
        drawn = (crowded, lopsided)[seed % 2]
        problem = Problem(Cluster.from_objects(list(drawn(random.Random(seed)))))
        kube = Scheduler(problem)
        config = problem.cluster.scheduler_config
        args = config.profiles[0].args(DefaultPreemptionArgs) if config else DefaultPreemptionArgs()
        wrong = _checked(kube._preemptions["default-scheduler"], kube, args)
        list(kube.run())
        assert not wrong, f"seed {seed}: {wrong[:3]}"


def test_the_oracle_notices_a_wrong_victim() -> None:
    """The test above can fail: an attempt that gives up one victim too few is reported."""
    items = [node("n1", cpu="2"), *(pod(f"r{i}", "n1", cpu="1") for i in range(2))]
    kube = Scheduler(Problem(Cluster.from_objects([*items, pod("p", cpu="2", priority=9)])))
    preemption = kube._preemptions["default-scheduler"]
    attempt = preemption.attempt

    def short(plan: Plan, pod: int, diagnosis: Diagnosis) -> PreemptionOutcome:
        found = attempt(plan, pod, diagnosis)
        return PreemptionOutcome(found.node, found.victims[:1], found.message)

    preemption.attempt = short  # type: ignore[method-assign]
    wrong = _checked(preemption, kube, DefaultPreemptionArgs())
    list(kube.run())
    assert wrong


def test_alike_nodes_differ_where_a_budget_has_counted_one_of_their_pods() -> None:
    """An eviction that the disruption controller has counted already breaks no budget any more."""
    nodes = [node(name, cpu="1") for name in ("n1", "n2")]
    running = [pod(f"r{number}", f"n{number}", app="web", cpu="1") for number in (1, 2)]
    counted = _with_status(budget("b", "web", 0), disruptedPods={"r2": STARTS[0]})
    found = simulate(Cluster.from_objects([*nodes, *running, counted, pod("p", cpu="1", priority=9)]))
    assert [(item.node, item.victims) for item in found.decisions] == [("n2", ("default/r2",))]


def test_a_promise_ends_where_evictions_no_longer_help() -> None:
    """What went wrong: a node stayed promised to a pod that others of its priority keep from it, and pods of
    lower priority had no room there. kube-scheduler clears the nomination when it finds no candidate."""
    there = pod("there", "a", cpu="2", priority=9)
    first = pod("first", cpu="4", priority=9, nominated="a")
    found = simulate(Cluster.from_objects([node("a"), there, first, pod("later", cpu="1")]))
    assert {decision.pod: decision.node for decision in found.decisions} == {
        "default/first": None,
        "default/later": "a",
    }
