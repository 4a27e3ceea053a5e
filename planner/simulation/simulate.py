"""What kube-scheduler does with the pending pods, as a document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from models import Cluster
from models.collector import old_left_alone
from models.words import counted
from planner.audit import spread_counts
from planner.audit.contradicted import contradictions, notes_of
from planner.audit.findings import change_of
from planner.documents import plan
from planner.documents.reasons import pending_by_reason
from planner.documents.rollout import AppliedSimulation
from planner.problem.problem import Problem
from planner.proof.clock import Progress
from planner.scheduler.draws import sampled
from planner.scheduler.remarks import notes_on
from planner.scheduler.scheduler import DecisionDetails, Scheduler, SchedulingDecision


def simulate(
    cluster: Cluster,
    *,
    preemption: bool = True,
    seed: int | None = None,
    verbose: bool = False,
    progress: Progress | None = None,
) -> plan.Simulation:
    """Every pending pod's decision; with `verbose` every node's refusal and every plugin's scores too.

    Where later files change the template of a workload that runs, it is rolled out in its own simulation:
    an `AppliedSimulation` says how that goes.
    """
    if cluster.replaced:
        # Imported where something may be rolled out: a tenth of the time of a small `simulate`.
        from planner.simulation.rollout import rollout
        from planner.simulation.rollout.restart import taken_apart

        apart = taken_apart(cluster)
        if apart is not None:
            running, manifests = apart
            plain = simulate(running, preemption=preemption, seed=seed, verbose=verbose, progress=progress)
            rolled = rollout(running, manifests, preemption=preemption, fixes=False)
            return AppliedSimulation(**dict(plain), rollouts=rolled.workloads)
    problem = Problem(cluster)
    scheduler = Scheduler(problem, preemption=preemption, seed=seed, explain=verbose)
    before = spread_counts.take(problem, scheduler.state)
    spread_before = {found.identity: found for found in before}
    owners, contradicted = spread_counts.Owners(cluster), contradictions(problem)
    total = len(scheduler.queue)
    decisions, left = [], []
    with old_left_alone():
        for number, decision in enumerate(scheduler.run(), start=1):
            decisions.append(_decision(problem, owners, decision))
            if decision.node is None and decision.nominated is None:
                left.append(decision.pod)
            if progress is not None:
                progress(number, total)
    after = spread_counts.take(problem, scheduler.state)
    return plan.Simulation(
        decisions=tuple(decisions),
        spread=tuple(change_of(spread_before[found.identity], found) for found in after),
        pending=pending_by_reason(decisions),
        contradicted=contradicted,
        kubernetes=problem.kubernetes.document,
        notes=(
            *notes_on(problem),
            *_drawn(scheduler, seed, preemption),
            *notes_of(contradicted),
            *_tried_again(scheduler, left),
        ),
        verbose=verbose,
    )


def _drawn(scheduler: Scheduler, seed: int | None, preemption: bool) -> Iterator[str]:
    """How far a run in which nodes were sampled is from one that scores all of them."""
    problem = scheduler.problem
    looked_at = sampled(problem)
    if seed is None or looked_at is None:
        return
    whole = Scheduler(problem, preemption=preemption)
    pods = [decision.pod for decision in whole.run()]
    elsewhere = np.count_nonzero(scheduler.state.node_of[pods] != whole.state.node_of[pods])
    several = f"{elsewhere} of {counted(len(pods), 'pod')} {'ends' if elsewhere == 1 else 'end'}"
    yield (
        f"seed {seed} draws as kube-scheduler does, which looks at {looked_at} feasible nodes of "
        f"{problem.nodes.size} for a pod: {several} elsewhere than with all scored"
    )


def _decision(problem: Problem, owners: spread_counts.Owners, decision: SchedulingDecision) -> plan.Decision:
    names = problem.nodes.names
    return plan.Decision(
        pod=problem.pods[decision.pod].key,
        workload=owners.of(problem.template(decision.pod).pod),
        node=None if decision.node is None else names[decision.node],
        message=decision.message,
        nominated_node=None if decision.nominated is None else names[decision.nominated],
        victims=tuple(sorted(problem.pods[victim].key for victim in decision.victims)),
        **({} if decision.explanation is None else _explained(problem, decision.explanation)),
    )


def _explained(problem: Problem, known: DecisionDetails) -> dict[str, object]:
    """The refusals and scores behind a decision, by node name."""
    names, diagnosis = problem.nodes.names, known.diagnosis
    feasible = [(names[node], node) for node in np.flatnonzero(known.feasible).tolist()]
    scores = {
        plugin: {name: score if isinstance(score, int) else int(score[node]) for name, node in feasible}
        for plugin, score in known.scores.items()
    }
    rejected = {
        names[node]: plan.NodeRejection(plugin=found.plugin, reasons=found.verdict.reasons)
        for node, number in enumerate(diagnosis.first.tolist())
        if number >= 0 and (found := diagnosis.rejections[number])
    }
    totals = {name: sum(score[name] for score in scores.values()) for name, _ in feasible} if scores else {}
    return {"rejected": rejected, "scores": scores, "totals": totals}


def _tried_again(scheduler: Scheduler, left: Sequence[int]) -> Iterator[str]:
    """A note about pods that get a node when they are tried again; the scheduler's state is used up.

    kube-scheduler takes a pod that was refused up again when a pod comes or goes that its filters watch.
    """
    waiting = [pod for pod in left if scheduler.would_bind(pod) and _may_be_let_in(scheduler, pod)]
    placed: set[int] = set()
    before = -1
    while before < len(placed):
        before = len(placed)
        placed.update(pod for pod in waiting if pod not in placed and scheduler.decide(pod).node is not None)
    if not placed:
        return
    first = scheduler.problem.pods[next(pod for pod in waiting if pod in placed)].key
    if len(placed) == 1:
        which, gets, them = f"{first}, which stays pending at the first try,", "gets", "it"
    else:
        which, gets, them = (
            f"{len(placed)} pods that stay pending at the first try",
            "get",
            f"them, {first} for one,",
        )
    yield (
        f"{which} {gets} a node when kube-scheduler tries {them} again, "
        "after pods that came later in the queue"
    )


def _may_be_let_in(scheduler: Scheduler, pod: int) -> bool:
    """Whether pods that come to other nodes can help this one: they only take room from all the rest."""
    plan = scheduler.plan_of(pod)
    if plan.refusal is not None:
        return False
    watched = [plugin.watches(plan.template) for plugin in plan.changing]
    return any(templates is None or templates for templates in watched)
