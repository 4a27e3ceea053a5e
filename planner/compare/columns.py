"""Outcomes in figures: the columns, the draws, and which of these is the worst, the median and the best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from models.errors import InternalError
from planner.audit import spread_counts
from planner.audit.summary import by_priority, summary
from planner.compare.ways import Outcome
from planner.documents.columns import ComparedColumn, Draw, Rank
from planner.documents.comparison import BestRepair, DeschedulerRun, RepairComparison
from planner.documents.figures import RepairFigures, Summary
from planner.eviction.protections import HARD
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.state.state import State


class ClusterFigures:
    """Outcomes of one question in figures; `now` is where its pods are today."""

    def __init__(self, problem: Problem, pods: Sequence[int], now: Codes) -> None:
        self._problem = problem
        self._pods = pods
        self._now = now
        self._waiting = np.flatnonzero([not pod.is_terminating for pod in problem.pods])
        owners = spread_counts.Owners(problem.cluster)
        self._workloads = [(template.namespace, owners.of(template.pod)) for template in problem.templates]

    def column(self, outcome: Outcome, rank: Rank | None = None) -> ComparedColumn:
        """All figures of an outcome."""
        found = summary(self._problem, self._pods, outcome.node_of)
        plan, descheduled = outcome.plan, outcome.descheduled
        return ComparedColumn(
            **{name: getattr(found, name) for name in Summary.model_fields if name != "unplaced"},
            name=outcome.name,
            rank=rank,
            seed=outcome.seed,
            pending=self._pending(outcome),
            **spread_counts.too_much((row.when_unsatisfiable == HARD, row.excess) for row in found.spread),
            evictions=outcome.evictions,
            rounds=len(outcome.rounds),
            preempted=0 if descheduled is None else descheduled.preempted,
            replicas_down=self._replicas_down(outcome.rounds),
            elsewhere=self._elsewhere(outcome.node_of),
            ending=None if descheduled is None else descheduled.ending,
            status=None if plan is None else plan.status,
            objective=() if plan is None else plan.objective,
            # Whether no plan is better in any stage.
            proved=None
            if plan is None
            else plan.status == "Optimal" and all(s.proved for s in plan.objective),
        )

    def draws(self, outcomes: Iterable[Outcome]) -> list[Draw]:
        return [self._draw(outcome, outcome.seed) for outcome in outcomes if outcome.seed is not None]

    def ranked(self, outcomes: Sequence[Outcome], draws: Sequence[Draw]) -> Iterator[tuple[Rank, Outcome]]:
        """The worst, the median and the best of one way's outcomes with seeds.

        Pods placed count first, the highest priority before others, then what is too much, then evictions.
        """
        known = {outcome.seed: outcome for outcome in outcomes}
        placed = {draw.seed: self._placed(known[draw.seed]) for draw in draws}
        order = sorted(draws, key=lambda d: (placed[d.seed], -d.hard_excess, -d.soft_excess, -d.evictions))
        if order:
            ranks: tuple[Rank, ...] = ("worst", "median", "best")
            places = (0, (len(order) - 1) // 2, len(order) - 1)
            yield from zip(ranks, (known[order[place].seed] for place in places), strict=True)

    def _draw(self, outcome: Outcome, seed: int) -> Draw:
        descheduled = outcome.descheduled
        return Draw(
            **dict(self.repair(outcome)),
            name="kubeScheduler" if descheduled is None else "descheduler",
            seed=seed,
            placed=sum(self._placed(outcome)),
            ending=None if descheduled is None else descheduled.ending,
        )

    def repair(self, outcome: Outcome) -> RepairFigures:
        """What was evicted, and what is wrong in the end."""
        found = spread_counts.take(self._problem, State(self._problem, outcome.node_of))
        return RepairFigures(
            evictions=outcome.evictions,
            rounds=len(outcome.rounds),
            **spread_counts.too_much((counts.hard, counts.surplus) for counts in found),
            pending=self._pending(outcome),
        )

    def _placed(self, outcome: Outcome) -> tuple[int, ...]:
        """The pods placed of every priority, the highest first."""
        counts = by_priority(self._problem, self._pods, outcome.node_of)
        return tuple(count.placed for count in counts)

    def _pending(self, outcome: Outcome) -> int:
        return int(np.count_nonzero(outcome.node_of[self._waiting] < 0)) - outcome.lost

    def _elsewhere(self, node_of: Codes) -> int:
        """The pods that leave their node: of every template those that a node has fewer of."""
        before, after = (
            Counter((self._problem.template_of * self._problem.nodes.size + nodes)[nodes >= 0].tolist())
            for nodes in (self._now, node_of)
        )
        return (before - after).total()

    def _replicas_down(self, rounds: Iterable[Iterable[int]]) -> int:
        """The most pods of one workload that one round or wave evicts."""
        template_of = self._problem.template_of
        evicted = (Counter(self._workloads[int(template_of[pod])] for pod in pods) for pods in rounds)
        return max((max(counts.values()) for counts in evicted), default=0)


def repair(figures: ClusterFigures, now: Outcome, runs: Sequence[Outcome], best: Outcome) -> RepairComparison:
    """The first of Descheduler's runs is the one without draws."""
    named, *draws = [_run(figures, outcome) for outcome in runs]
    plan = best.plan
    if plan is None:
        raise InternalError("the best outcome has no plan")
    return RepairComparison(
        before=figures.repair(now),
        descheduler=named,
        draws=tuple(draws),
        optimal=BestRepair(
            **dict(figures.repair(best)),
            status=plan.status,
            objective=plan.objective,
            proved=plan.status == "Optimal",
        ),
    )


def _run(figures: ClusterFigures, outcome: Outcome) -> DeschedulerRun:
    found = outcome.descheduled
    if found is None:
        raise InternalError("not a run of Descheduler")
    return DeschedulerRun(
        **dict(figures.repair(outcome)),
        seed=outcome.seed,
        ending=found.ending,
        preempted=found.preempted,
    )
