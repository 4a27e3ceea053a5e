"""A replay of a whole plan from the start, in the order it is printed and in random orders.

Every eviction, end and landing is one event; within a wave they come in any order that can happen, and every
replacement lands on any node that its kind of landing allows.  An old pod may end at any time until its wave
is over, even after all replacements have landed.  A replacement that finds no node may preempt other pods:
then the plan does not hold.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from planner.constraints.family import Verdict
from planner.landing.landing import RESTRICTED, Landing, NodeSets
from planner.moves.constraint_counts import excesses, worse
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.proof import move_effort as effort
from planner.scheduler.framework import Diagnosis, Rejection
from planner.scheduler.nominations import Nominations
from planner.scheduler.preemption import Preemption


def first_failure(
    trial: TrialCluster, waves: Sequence[Sequence[Landing]], *, soft: bool, while_away: bool = True
) -> str | None:
    """The first deviation from the plan when its waves are replayed from the start; None if they hold.

    Without `while_away` a constraint may be worse until the replacements of a wave have landed.
    """
    moves = [landing.move for wave in waves for landing in wave]
    alone = _one_by_one(trial, moves, while_away=while_away)
    if alone is not None:
        return alone
    timeline = EvictionTimeline.of(trial, moves)
    size = len(moves) * trial.problem.nodes.size
    draws = next(number for most, number in effort.DRAWS_PLAYED if size <= most)
    seeds: list[int | None] = [*range(1, draws + 1)]
    if draws > 1 or any(int(landing.nodes.sum()) > 1 for wave in waves for landing in wave):
        # Where each has one node, a large plan has just been played in its own order.
        seeds.insert(0, None)
    found = (
        line
        for seed in seeds
        for line in failures(timeline, waves, seed=seed, soft=soft, while_away=while_away)
    )
    return next(found, None)


def _one_by_one(trial: TrialCluster, moves: Sequence[Move], *, while_away: bool) -> str | None:
    """The first move that fails when every move ends before the next begins; None if all succeed."""
    with trial.after():
        failed = next((move for move in moves if not trial.attempt(move, while_away=while_away)), None)
    if failed is None:
        return None
    pods, names = trial.problem.pods, trial.problem.nodes.names
    return f"{pods[failed.pod].key} cannot move from {names[failed.source]} to {names[failed.target]} alone"


def failures(
    timeline: EvictionTimeline,
    waves: Sequence[Sequence[Landing]],
    *,
    seed: int | None,
    soft: bool = False,
    while_away: bool = True,
) -> Iterator[str]:
    """What deviates from the plan: one move after the other without a seed, else in a random order.

    Without `while_away` a constraint may be worse until the replacements of a wave have landed.
    Hard constraints must end as planned wherever replacements land; with `soft` soft ones as well.
    Without a seed the smallest name wins ties, and every replacement has to land on its planned node.
    The timeline is left as it was found.
    """
    draw = None if seed is None else random.Random(seed)
    with timeline.trial.after():
        for number, wave in enumerate(waves, start=1):
            constraints = {
                landing.move.pod: timeline.trial.ledger.hard_of((timeline.trial.template(landing.move.pod),))
                for landing in wave
            }
            before = {pod: excesses(found) for pod, found in constraints.items()}
            landed: dict[int, Move] = {}
            for landing, following in _events(timeline, wave, draw):
                move, phase = landing.move, following
                if move.pod in landed:
                    # Its old pod ends.
                    move = landed[move.pod]
                elif phase in {Phase.LINGERING, Phase.LANDED}:
                    nodes = np.flatnonzero(_choices(timeline.trial, landing))
                    preempted = None if nodes.size else _preempted(timeline, landing)
                    move = landed[move.pod] = _landed(timeline, landing, nodes, draw)
                    if preempted is not None or not landing.nodes[move.target]:
                        name = _name(timeline, landing)
                        yield f"wave {number}: {name} {preempted or 'does not land on a planned node'}"
                        return
                    phase = Phase.LANDED if timeline.has_ended(move) else phase
                timeline.put(move, phase)
                # This event can make no constraint worse but those of the pod's own template.
                if while_away and worse(before[move.pod], constraints[move.pod]):
                    name = _name(timeline, landing)
                    yield f"wave {number}: a constraint is worse than before with {name} {phase.name}"
            if any(worse(before[pod], found) for pod, found in constraints.items()):
                yield f"wave {number}: a constraint is worse than before"
        yield from _end(timeline, waves, soft=soft)


def _end(timeline: EvictionTimeline, waves: Sequence[Sequence[Landing]], *, soft: bool) -> Iterator[str]:
    """A line if constraints end otherwise than they do where the smallest name wins ties."""
    found = _too_many(timeline, soft=soft)
    for wave in waves:
        timeline.put_all((landing.move for landing in wave), Phase.LANDED)
    planned = _too_many(timeline, soft=soft)
    if planned != found:
        ends = f"domains with too many pods: {found[1]}, pods too many: {found[0]}"
        yield f"the plan ends with {ends}, not with {planned[1]} and {planned[0]}"


def _too_many(timeline: EvictionTimeline, *, soft: bool) -> tuple[int, int, int]:
    """The hard excess in pods, the hard violations in domains, and with `soft` the soft excess, else 0."""
    ledger = timeline.trial.ledger
    return ledger.excess(hard=True), ledger.violations(), ledger.excess(hard=False) if soft else 0


def _events(
    timeline: EvictionTimeline, wave: Sequence[Landing], draw: random.Random | None
) -> Iterator[tuple[Landing, Phase]]:
    """The events of a wave in their order; a pod may end before or after its replacement has landed.

    In one of three draws every pod that can do so ends after all replacements have landed.
    """
    late = draw is not None and draw.random() < effort.LATE_ENDS
    lines = [[(landing, phase) for phase in _phases(timeline, landing, draw, late=late)] for landing in wave]
    if draw is None:
        for line in lines:
            yield from line
        return
    last = [line.pop() for line in lines if late and line[-2][1] is Phase.LINGERING]
    while any(lines):
        yield draw.choice([line for line in lines if line]).pop(0)
    yield from last


def _phases(
    timeline: EvictionTimeline, landing: Landing, draw: random.Random | None, *, late: bool
) -> list[Phase]:
    """The phases of a move: its pod ends before its replacement has landed, or when it has, or later."""
    waits = timeline.waits_for_the_end(landing.move)
    if waits or (draw is not None and not late and draw.random() < 0.5):  # noqa: PLR2004
        return [Phase.LEAVING, Phase.GONE, Phase.LANDED]
    return [Phase.LEAVING, *(() if draw is None else (Phase.LINGERING,)), Phase.LANDED]


def _landed(timeline: EvictionTimeline, landing: Landing, nodes: Codes, draw: random.Random | None) -> Move:
    """The move to that of its nodes where the replacement lands; to its source if no node is open to it.

    Where no node is open while the old pod is still ending, the replacement waits until it has ended.
    """
    if not nodes.size:
        timeline.put(landing.move, Phase.GONE)
        nodes = np.flatnonzero(_choices(timeline.trial, landing))
    if not nodes.size:
        return Move(landing.move.pod, landing.move.source, landing.move.source)
    if draw is None and landing.move.target in nodes:
        return landing.move
    target = nodes[0] if draw is None else draw.choice(nodes.tolist())
    return Move(landing.move.pod, landing.move.source, int(target))


def _preempted(timeline: EvictionTimeline, landing: Landing) -> str | None:
    """What the scheduler would preempt for a replacement without an open node; None if nothing."""
    trial, move = timeline.trial, landing.move
    framework, plan = trial.framework(trial.template(move.pod)), trial.plan(trial.template(move.pod))
    if framework.profile.preemption is None:
        return None
    preemption = Preemption(framework, Nominations(trial.problem, trial.state), framework.profile.preemption)
    outcome = preemption.attempt(plan, move.pod, _without_excluded(framework.diagnose(plan), trial, landing))
    if outcome.node is None:
        return None
    victims = ", ".join(trial.problem.pods[victim].key for victim in outcome.victims) or "pods that leave"
    return f"finds no node, and preempts {victims} on {trial.problem.nodes.names[outcome.node]}"


def _without_excluded(diagnosis: Diagnosis, trial: TrialCluster, landing: Landing) -> Diagnosis:
    """A diagnosis in which preemption does not help on nodes that a pin or cordon excludes."""
    if landing.kind not in RESTRICTED:
        return diagnosis
    shut = trial.problem.nodes.mask_of([*landing.cordon])
    if landing.pin is not None:
        shut = ~NodeSets(trial).mask(landing.pin)
    never = Rejection("", Verdict((), unresolvable=True))
    first = np.where(shut, len(diagnosis.rejections), diagnosis.first)
    return replace(diagnosis, rejections=(*diagnosis.rejections, never), first=first)


def _choices(trial: TrialCluster, landing: Landing) -> Mask:
    """All nodes where a replacement may land now."""
    template = trial.template(landing.move.pod)
    if landing.pin is not None:
        return trial.open_pinned(template, NodeSets(trial).mask(landing.pin))
    if landing.kind in {"filters", "cordoned"}:
        found = trial.open_to(template).copy()
        found[[*landing.cordon]] = False
        return found
    return trial.tops(template)[1]


def _name(timeline: EvictionTimeline, landing: Landing) -> str:
    return timeline.problem.pods[landing.move.pod].key
