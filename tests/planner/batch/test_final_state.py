"""Final states of batches too large to be searched: no pod that comes ends with a broken constraint."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from models import Cluster
from planner import solve
from planner.audit.spread_counts import asked
from planner.documents.plan import PlacementPlan
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD
from planner.state.state import State
from tests.builders import HARD, HOST, ZONE, Object, cluster, node, pod, profile, scheduler, spread, term
from tests.strategies import clusters, relaxed

#: Every batch is too large for a model of all nodes.
_TOO_LARGE = replace(STANDARD, exact=replace(STANDARD.exact, small_pairs=0))


def test_what_heals_elsewhere_excuses_nothing() -> None:
    """As many constraints were broken after the plan as before, and it was called the best: another one."""
    db = [pod(f"db-{n}", on="a1", app="db", spread=[spread(app="db")]) for n in range(2)]
    heals = pod("db-2", app="db", spread=[spread(app="db")])
    in_a = {ZONE: "a"}
    early = pod("early", app="web", spread=[spread() | {"nodeAffinityPolicy": "Ignore"}], node_selector=in_a)
    late = [pod(f"late-{n}", app="web", node_selector=in_a) for n in range(3)]
    found = cluster(node("a1", zone="a"), node("b1", zone="b"), *db, heals, early, *late)
    plan = solve(found, final_state=True, effort=_TOO_LARGE)
    assert 0 < len(plan.steps) < 5
    assert plan.status == "Feasible"
    sequence = solve(found)
    assert (len(sequence.steps), sequence.verdicts.final_state) == (5, False)


@relaxed
@given(clusters())
def test_who_comes_lives_with_its_constraints(objects: list[Object]) -> None:
    """Also where something else was healed meanwhile: counted anew on the plan's own steps."""
    found = cluster(*objects)
    _assert_all_hold(found, solve(found, final_state=True, effort=_TOO_LARGE))
    if (sequence := solve(found)).verdicts.final_state:
        _assert_all_hold(found, sequence)


def _assert_all_hold(found: Cluster, plan: PlacementPlan) -> None:
    problem = Problem(found)
    node_of = problem.node_of.copy()
    came: list[tuple[int, int]] = []
    for step in plan.steps:
        assert step.node is not None
        pod, node = problem.pod_index[step.pod], problem.nodes.index[step.node]
        node_of[pod] = node
        came.append((int(problem.template_of[pod]), node))
    for demand in asked(problem, State(problem, node_of)):
        rule = demand.rule
        if rule.constraint.when_unsatisfiable == HARD:
            sums, most = rule.counts.sums(), rule.minimum() + rule.constraint.max_skew
            for template, node in came:
                code = int(rule.column.codes[node])
                if template in demand.carriers and code >= 0:
                    assert sums[code] <= most, (demand.workload, np.asarray(sums).tolist())


def test_a_node_that_a_plan_overcommits_is_no_final_state() -> None:
    """What went wrong: one finding went, one came, and the new one is about a node and names no pod.

    A pod that lacks its peer gets it on a node with too little room, which its profile does not look at.
    """
    without_room = profile(plugins={"filter": {"disabled": [{"name": "NodeResourcesFit"}]}})
    lonely = pod("lonely", "n1", near=[term(HOST, "db")])
    plan = solve(cluster(node("n1", cpu="1"), scheduler(without_room), lonely, pod("db", cpu="2", app="db")))
    assert (len(plan.steps), plan.verdicts.final_state) == (1, False)
