"""The filters, alone and through all the caches, against the oracle's loops."""

import random
from collections.abc import Iterable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster
from planner import simulate
from planner.problem.problem import Problem
from planner.scheduler.framework import Framework
from planner.scheduler.profile import build, profiles_of
from planner.scheduler.scheduler import Scheduler
from planner.state.state import State
from tests.builders import HOST, ZONE, Object, cluster, node, pod, profile, scheduler, term, weighted
from tests.planner import oracle
from tests.strategies import clusters, relaxed


def framework_of(problem: Problem, state: State) -> Framework:
    """The plugins of the first profile over this state."""
    config = next(iter(profiles_of(problem.cluster.scheduler_config).values()))
    return Framework(problem, state, build(config, problem, state))


def feasible_nodes(framework: Framework, pod: int) -> set[str]:
    """The nodes that the framework leaves a pod, by name."""
    problem = framework.problem
    plan = framework.plan(problem.templates[problem.template_of[pod]])
    if plan.refusal is not None:
        return set()
    mask = framework.feasible(plan).mask
    return {problem.nodes.names[node] for node in np.flatnonzero(mask).tolist()}


def differences(
    framework: Framework, now: oracle.ClusterState, pods: Iterable[int]
) -> dict[str, tuple[set[str], set[str]]]:
    """Where framework and oracle part: the pod, what the framework found, what is right."""
    by_key = {oracle.key_of(pod): pod for pod in now.pods}
    wrong = {}
    for number in pods:
        key = framework.problem.pods[number].key
        found, right = feasible_nodes(framework, number), oracle.feasible(now, by_key[key])
        if found != right:
            wrong[key] = (found, right)
    return wrong


def pending(state: State) -> list[int]:
    """The pods that are nowhere."""
    return np.flatnonzero(state.node_of < 0).tolist()


@relaxed
@given(clusters(config=True))
def test_a_pod_fits_where_every_rule_says_so(objects: list[Object]) -> None:
    """For every pending pod of a random cluster the feasible nodes are the oracle's."""
    problem = Problem(Cluster.from_objects(objects))
    state = State(problem)
    assert differences(framework_of(problem, state), oracle.cluster_state(objects), pending(state)) == {}


@relaxed
@given(clusters(pods=8), st.integers(0, 2**32))
def test_answers_stay_right_while_pods_come_and_go(objects: list[Object], seed: int) -> None:
    """One framework, asked again and again between binds, unbinds and rollbacks, is never stale."""
    problem = Problem(Cluster.from_objects(objects))
    if not problem.pods:
        return
    state = State(problem)
    framework = framework_of(problem, state)
    now = oracle.cluster_state(objects)
    choose = random.Random(seed)
    marks: list[int] = []
    for _ in range(25):
        _change(state, choose, marks)
        now.placed = {
            problem.pods[number].key: problem.nodes.names[place]
            for number, place in enumerate(state.node_of.tolist())
            if place >= 0
        }
        asked = choose.sample(pending(state), min(2, len(pending(state))))
        assert differences(framework, now, asked) == {}


def _change(state: State, choose: random.Random, marks: list[int]) -> None:
    """One random step: a pod comes, leaves, or everything since some mark is taken back."""
    number = choose.randrange(len(state.problem.pods))
    match choose.randrange(8):
        case 0:
            marks.append(state.mark())
        case 1 if marks:
            state.rollback(marks.pop())
        case _ if state.node_of[number] < 0:
            state.bind(number, choose.randrange(state.problem.nodes.size))
        case _:
            state.unbind(number)


def test_a_full_node_is_seen_when_two_workloads_with_equal_requests_alternate() -> None:
    """What went wrong: a follower that was made anew had the version of the old one, with other answers.

    Workloads x and y request alike, so they share one follower; it is kept only from its second
    making on, while the plan of x is kept already.
    """
    names = [("a1", "x", "1"), ("b1", "y", "1"), ("a2", "x", "1"), ("big", "x", "2"), ("a3", "x", "1")]
    pods = [pod(name, namespace=space, cpu=cpu) for name, space, cpu in names]
    decisions = simulate(cluster(node("n1", cpu="5"), *pods)).decisions
    assert [decision.node for decision in decisions] == ["n1", "n1", "n1", "n1", None]


def test_company_is_seen_when_pods_without_affinity_come_between() -> None:
    """What went wrong: counts that were made anew had the version of the old ones, with other numbers.

    The rules of `shy` are kept from their second making on; its plan is kept a step earlier, because
    the plain pod between needs a plan but no rules.  What is scored is what was thought feasible.
    """
    shy: Object = {"app": "shy", "apart": [term(ZONE, "loud")]}
    pods = [
        pod("shy-1", **shy),
        pod("plain", app="plain"),
        pod("shy-2", **shy),
        pod("loud", app="loud", node_selector={ZONE: "b"}),
        pod("shy-3", **shy),
    ]
    machines = [node("n1", zone="a"), node("n2", zone="a"), node("n3", zone="b")]
    busy = pod("busy", on="n3", app="busy", cpu="3")
    decisions = simulate(cluster(*machines, busy, *pods), verbose=True).decisions
    assert [decision.node for decision in decisions][3] == "n3"
    assert set(decisions[4].totals or ()) == {"n1", "n2"}


def test_profiles_do_not_share_what_they_weigh_differently() -> None:
    """What went wrong: two profiles with other weights for required affinity shared one count of admirers.

    Profile `strong` gives a required affinity the weight 5, which `weak` gives to nothing but the
    preferred term; the one asked first decided for both.  To `strong` both nodes are alike.
    """
    close = term(HOST, "web")
    there = [
        pod("needs", on="n1", app="web", near=[close]),
        pod("likes", on="n2", likes=[weighted(5, close)]),
    ]
    config = scheduler(
        profile("weak", InterPodAffinity={"hardPodAffinityWeight": 0}),
        profile("strong", InterPodAffinity={"hardPodAffinityWeight": 5}),
    )
    incoming = [pod(name, app="web", schedulerName=name) for name in ("weak", "strong")]
    _, strong = simulate(cluster(node("n1"), node("n2"), *there, *incoming, config), verbose=True).decisions
    assert (strong.scores or {})["InterPodAffinity"] == {"n1": 0, "n2": 0}


@relaxed
@given(clusters(running=False, config=True, pods=20))
def test_a_scheduler_that_forgets_everything_decides_the_same(objects: list[Object]) -> None:
    """Every decision is the one that plugins made afresh from the same placement would take."""
    problem = Problem(Cluster.from_objects(objects))
    scheduler = Scheduler(problem, preemption=False)
    node_of = scheduler.state.node_of.copy()
    for decision in scheduler.run():
        fresh = framework_of(problem, State(problem, node_of))
        plan = fresh.plan(problem.templates[problem.template_of[decision.pod]])
        feasible = None if plan.refusal is not None else fresh.feasible(plan)
        if feasible is None or not feasible.count:
            assert decision.node is None
            continue
        assert decision.node == fresh.best(plan, feasible)
        node_of[decision.pod] = decision.node


@relaxed
@given(clusters(pods=6), st.integers(0, 2**32))
def test_one_node_is_judged_as_all_of_them(objects: list[Object], seed: int) -> None:
    """`fits`, `rejection`, `diagnose` and `feasible` never contradict each other."""
    problem = Problem(Cluster.from_objects(objects))
    state = State(problem)
    framework = framework_of(problem, state)
    choose = random.Random(seed)
    for template in problem.templates:
        if problem.pods:
            _change(state, choose, [])
        plan = framework.plan(template)
        diagnosis = framework.diagnose(plan)
        if plan.refusal is not None:
            assert diagnosis.refusal == plan.refusal
            continue
        mask = framework.feasible(plan).mask.tolist()
        for place, fits in enumerate(mask):
            found = framework.rejection(plan, place)
            number = int(diagnosis.first[place])
            assert framework.fits(plan, place) is fits
            assert (found is None) is fits
            assert (number < 0) is fits
            if found is not None:
                told = diagnosis.rejections[number]
                assert (told.plugin, told.verdict) == (found.plugin, found.verdict)


def test_the_comparison_notices_a_difference() -> None:
    """The properties above can fail: another placement gives other answers."""
    objects = [node("n1", cpu="1"), node("n2", cpu="1"), pod("there", on="n1", cpu="1"), pod("p", cpu="1")]
    problem = Problem(Cluster.from_objects(objects))
    state = State(problem)
    now = oracle.cluster_state(objects)
    assert differences(framework_of(problem, state), now, [1]) == {}
    now.placed["default/there"] = "n2"
    assert differences(framework_of(problem, state), now, [1]) == {"default/p": ({"n2"}, {"n1"})}
