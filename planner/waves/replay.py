"""A plan played through once more from the start, in the order it is printed and in others.

Every eviction, end and landing is one event; within a wave they come in any order that nature allows,
and every replacement lands on any node that its kind of landing leaves it.  An old pod may end at any time
until its wave is over, also when all replacements have landed.  One that finds no node may preempt others:
then the plan does not hold.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from planner.constraints.family import Verdict
from planner.landing.landing import HELD, Landing
from planner.landing.node_sets import NodeSets
from planner.moves.constraint_counts import excesses, worse
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Mask
from planner.proof import effort
from planner.scheduler.framework import Diagnosis, Rejection
from planner.scheduler.nominations import Nominations
from planner.scheduler.preemption import Preemption


def first_failure(trial: TrialCluster, waves: Sequence[Sequence[Landing]], *, soft: bool) -> str | None:
    """What goes otherwise when waves are played through from the start; None when they hold."""
    moves = [landing.move for wave in waves for landing in wave]
    alone = _one_by_one(trial, moves)
    if alone is not None:
        return alone
    stage = EvictionTimeline(trial.problem, moves, trial)
    size = len(moves) * trial.problem.nodes.size
    draws = next(number for most, number in effort.DRAWS_PLAYED if size <= most)
    found = (
        line for seed in (None, *range(1, draws + 1)) for line in failures(stage, waves, seed=seed, soft=soft)
    )
    return next(found, None)


def _one_by_one(trial: TrialCluster, moves: Sequence[Move]) -> str | None:
    """What the filters refuse, or what is worse, when every move ends before the next one, as it is told."""
    mark = trial.state.mark()
    failed = next((move for move in moves if not trial.attempt(move)), None)
    trial.state.rollback(mark)
    if failed is None:
        return None
    pods, names = trial.problem.pods, trial.problem.nodes.names
    return f"{pods[failed.pod].key} cannot move from {names[failed.source]} to {names[failed.target]} alone"


def failures(
    stage: EvictionTimeline, waves: Sequence[Sequence[Landing]], *, seed: int | None, soft: bool = False
) -> Iterator[str]:
    """What goes otherwise than planned: one after the other without a seed, else in a random mixture.

    Hard constraints end as planned wherever replacements land; with `soft` the others as well.
    Without a seed the smallest name wins, and everybody has to land on the very node that was told.
    The stage is left as it was found.
    """
    draw = None if seed is None else random.Random(seed)
    start = stage.trial.state.mark()
    for number, wave in enumerate(waves, start=1):
        constraints = {
            landing.move.pod: stage.trial.ledger.touched((stage.trial.template(landing.move.pod),))
            for landing in wave
        }
        before = {pod: excesses(found) for pod, found in constraints.items()}
        landed: dict[int, Move] = {}
        for landing, following in _events(stage, wave, draw):
            move, phase = landing.move, following
            if move.pod in landed:
                # Its old pod ends.
                move = landed[move.pod]
            elif phase in {Phase.LINGERING, Phase.LANDED}:
                preempted = _preempted(stage, landing)
                move = landed[move.pod] = _landed(stage, landing, draw)
                if preempted is not None or not landing.nodes[move.target]:
                    name = _name(stage, landing)
                    yield f"wave {number}: {name} {preempted or 'does not land where it was told'}"
                    stage.trial.state.rollback(start)
                    return
                phase = Phase.LANDED if stage.has_ended(move) else phase
            stage.put(move, phase)
            # No other constraint than those of its own template can be worse by this event.
            if worse(before[move.pod], constraints[move.pod]):
                name = _name(stage, landing)
                yield f"wave {number}: a constraint is worse than before with {name} {phase.name}"
    yield from _end(stage, waves, soft=soft)
    stage.trial.state.rollback(start)


def _end(stage: EvictionTimeline, waves: Sequence[Sequence[Landing]], *, soft: bool) -> Iterator[str]:
    """Whether constraints end as they do where the smallest name wins."""
    found = _standing(stage, soft=soft)
    for wave in waves:
        stage.put_all((landing.move for landing in wave), Phase.LANDED)
    planned = _standing(stage, soft=soft)
    if planned != found:
        yield f"the plan ends with {found[0]} too many in {found[1]} domains, not with {planned}"


def _standing(stage: EvictionTimeline, *, soft: bool) -> tuple[int, int, int]:
    """What hard constraints have too much, in how many domains, and what soft ones have if they matter."""
    ledger = stage.trial.ledger
    return ledger.excess(hard=True), ledger.violations(), ledger.excess(hard=False) if soft else 0


def _events(
    stage: EvictionTimeline, wave: Sequence[Landing], draw: random.Random | None
) -> Iterator[tuple[Landing, Phase]]:
    """What happens in a wave, and when; a pod may end before or after its replacement has landed.

    In one of three draws every pod that can ends after all replacements have landed.
    """
    late = draw is not None and draw.random() < effort.LATE_ENDS
    lines = [[(landing, phase) for phase in _phases(stage, landing, draw, late=late)] for landing in wave]
    if draw is None:
        for line in lines:
            yield from line
        return
    last = [line.pop() for line in lines if late and line[-2][1] is Phase.LINGERING]
    while any(lines):
        yield draw.choice([line for line in lines if line]).pop(0)
    yield from last


def _phases(
    stage: EvictionTimeline, landing: Landing, draw: random.Random | None, *, late: bool
) -> list[Phase]:
    """The phases of a move: its pod ends before its replacement has landed, or when it has, or later."""
    waits = stage.waits_for_the_end(landing.move)
    if waits or (draw is not None and not late and draw.random() < 0.5):  # noqa: PLR2004
        return [Phase.LEAVING, Phase.GONE, Phase.LANDED]
    return [Phase.LEAVING, *(() if draw is None else (Phase.LINGERING,)), Phase.LANDED]


def _landed(stage: EvictionTimeline, landing: Landing, draw: random.Random | None) -> Move:
    """The move to where the replacement lands; with nowhere to go, to its source.

    Where nothing is open to it as long as its pod still ends, it waits for that.
    """
    nodes = np.flatnonzero(_choices(stage.trial, landing))
    if not nodes.size:
        stage.put(landing.move, Phase.GONE)
        nodes = np.flatnonzero(_choices(stage.trial, landing))
    if not nodes.size:
        return Move(landing.move.pod, landing.move.source, landing.move.source)
    if draw is None and landing.move.target in nodes:
        return landing.move
    target = nodes[0] if draw is None else draw.choice(nodes.tolist())
    return Move(landing.move.pod, landing.move.source, int(target))


def _preempted(stage: EvictionTimeline, landing: Landing) -> str | None:
    """What a replacement for which no node is open makes room by, as the scheduler would."""
    trial, move = stage.trial, landing.move
    if _choices(trial, landing).any():
        return None
    framework, plan = trial.framework(trial.template(move.pod)), trial.plan(trial.template(move.pod))
    if framework.profile.preemption is None:
        return None
    preemption = Preemption(framework, Nominations(trial.problem, trial.state), framework.profile.preemption)
    outcome = preemption.attempt(plan, move.pod, _held(framework.diagnose(plan), trial, landing))
    if outcome.node is None:
        return None
    victims = ", ".join(trial.problem.pods[victim].key for victim in outcome.victims) or "pods that leave"
    return f"finds no node, and preempts {victims} on {trial.problem.nodes.names[outcome.node]}"


def _held(diagnosis: Diagnosis, trial: TrialCluster, landing: Landing) -> Diagnosis:
    """The same for a replacement that is pinned or kept off nodes: elsewhere evictions do not help."""
    if landing.kind not in HELD:
        return diagnosis
    shut = np.isin(np.arange(diagnosis.nodes), landing.cordon)
    if landing.kind == "pinned":
        shut = ~NodeSets(trial).mask(landing.pin or landing.place)
    never = Rejection("", Verdict((), unresolvable=True))
    first = np.where(shut, len(diagnosis.rejections), diagnosis.first)
    return replace(diagnosis, rejections=(*diagnosis.rejections, never), first=first)


def _choices(trial: TrialCluster, landing: Landing) -> Mask:
    """All nodes where a replacement may land now."""
    template = trial.template(landing.move.pod)
    if landing.kind == "pinned":
        return trial.open_pinned(template, NodeSets(trial).mask(landing.pin or landing.place))
    if landing.kind in {"filters", "cordoned"}:
        found = trial.open_to(template).copy()
        found[[*landing.cordon]] = False
        return found
    feasible, totals = trial.choice(template)
    tops: Mask = feasible.mask & (totals == totals[feasible.mask].max(initial=0))
    return tops


def _name(stage: EvictionTimeline, landing: Landing) -> str:
    return stage.problem.pods[landing.move.pod].key
