"""Moves in waves, each to one certain node: for clusters so full that only that node will do.

No landing is uncertain here: a replacement goes to its planned node, or to the scheduler's own choice where
that is as good, and is pinned there unless the scheduler takes that node whatever the tie-break.

Moves of a wave touch different nodes.  So a node that another move touches has one of two loads, with that
pod or without, and judging each move with all others not begun, away and landed covers every mixture.
Moves that are coupled by a count that both change are few in a wave and judged in all combinations, with old
pods that end before their replacements have landed, and after that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from planner.landing.landing import Landing
from planner.landing.node_sets import NodeSets
from planner.moves.constraint_counts import excesses, worse
from planner.moves.preemption_risk import PreemptionRisk
from planner.moves.timeline import EvictionTimeline, Phase
from planner.moves.trial_cluster import Interference, Move
from planner.problem.nodes import Mask
from planner.proof import effort
from planner.waves.open_waves import WaveRules

_OTHERS = (Phase.BEFORE, Phase.GONE, Phase.LANDED)


class _PassedOver:
    """Moves that were passed over: moves after them in the plan must not take what they need."""

    def __init__(self, interference: Interference) -> None:
        self._interference = interference
        self._targets: set[int] = set()
        self._templates: set[int] = set()

    def add(self, move: Move, template: int) -> None:
        """Pass a move over."""
        self._targets.add(move.target)
        self._templates.add(template)

    def before(self, move: Move, template: int) -> bool:
        """Whether a move has to wait for one of them: it would take its room, or change its counts."""
        return move.target in self._targets or any(
            self._interference.related(template, other) for other in self._templates
        )


class SingleNodeWaves:
    """Plans waves for moves, each to one node, and carries them out on a timeline."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        moves: Sequence[Move],
        rules: WaveRules,
        *,
        reserved: Container[int] = (),
        strict: bool = False,
    ) -> None:
        """Waves for moves; none takes what reserved pods need, with `strict` what any earlier move needs."""
        self._timeline = timeline
        self._trial = timeline.trial
        self._left = list(moves)
        self._places = NodeSets(timeline.trial)
        self._rules = rules
        self._reserved = reserved
        self._strict = strict
        self._interference = Interference(self._trial)
        self._risk = PreemptionRisk(self._trial)
        #: The options of the next move of a pod, since the last wave.
        self._known: dict[int, tuple[bool, int | None]] = {}
        self.waves: list[list[Landing]] = []

    def plan_waves(self, is_over: Callable[[], bool]) -> Sequence[Move]:
        """Plan all waves; returns the moves that could not be scheduled safely."""
        while self._left and not is_over():
            wave = self._next_wave()
            if not wave:
                break
            self.waves.append(wave)
            done = {landing.move.pod for landing in wave}
            first = {pod: next(m for m in self._left if m.pod == pod) for pod in done}
            self._left = [move for move in self._left if first.get(move.pod) is not move]
            self._timeline.put_all((landing.move for landing in wave), Phase.LANDED)
            self._trial.state.forget_history()
        return self._left

    def _next_wave(self) -> list[Landing]:
        """As many moves as hold together; a move that does not hold is passed over."""
        refused: set[int] = set()
        self._known.clear()
        while True:
            wave = list(self._gather(refused))
            if not wave:
                return []
            landings = self._judge(wave)
            failed = {move.pod for move, found in zip(wave, landings, strict=True) if found is None}
            if not failed:
                return [found for found in landings if found is not None]
            refused |= failed

    def _gather(self, refused: set[int]) -> Iterator[Move]:
        """The moves that may be in the next wave, in their order, without those refused before."""
        nodes: set[int] = set()
        pods: set[int] = set()
        workloads: Counter[str] = Counter()
        budgets: Counter[int] = Counter()
        wave: list[Move] = []
        waiting = _PassedOver(self._interference)
        for move in self._left:
            template = self._trial.template(move.pod)
            first = move.pod not in pods
            pods.add(move.pod)
            may = first and move.pod not in refused and self._in_time(move, workloads, budgets)
            may = may and not waiting.before(move, template)
            placed = self._placed(move, nodes) if may else None
            if placed is None or self._too_many_coupled(placed, wave):
                if self._strict or move.pod in self._reserved:
                    waiting.add(move, template)
                continue
            nodes |= {placed.source, placed.target}
            workloads[self._workload(placed)] += 1
            budgets.update(self._rules.budgets.asked(placed.pod))
            wave.append(placed)
            yield placed

    def _workload(self, move: Move) -> str:
        return self._trial.workloads[self._trial.template(move.pod)]

    def _in_time(self, move: Move, workloads: Counter[str], budgets: Counter[int]) -> bool:
        """Whether budgets and `max_unavailable` allow one more pod to be away."""
        rules = self._rules
        return workloads[self._workload(move)] < rules.max_unavailable and all(
            budgets[number] < rules.budgets.allowed[number] for number in rules.budgets.asked(move.pod)
        )

    def _too_many_coupled(self, move: Move, wave: Sequence[Move]) -> bool:
        return len(self._coupled_moves(move, wave)) + 1 > effort.COUPLED_IN_A_WAVE or any(
            len(self._coupled_moves(other, [*wave, move])) + 1 > effort.COUPLED_IN_A_WAVE
            for other in self._coupled_moves(move, wave)
        )

    def _coupled_moves(self, move: Move, wave: Iterable[Move]) -> list[Move]:
        template = self._trial.template(move.pod)
        return [
            other
            for other in wave
            if other is not move and self._interference.related(template, self._trial.template(other.pod))
        ]

    def _placed(self, move: Move, nodes: set[int]) -> Move | None:
        """The move, with the scheduler's own node where that is as good; None when it cannot be made."""
        if move.source in nodes:
            return None
        accepted, best = self._options(move)
        target = move.target if accepted and move.target not in nodes else None
        if best is not None and best not in nodes:
            target = best
        return None if target is None else replace(move, target=target)

    def _options(self, move: Move) -> tuple[bool, int | None]:
        """Whether the target accepts the pod now, and the scheduler's own node if that is as good."""
        found = self._known.get(move.pod)
        if found is None:
            trial, template = self._trial, self._trial.template(move.pod)
            mark = trial.state.mark()
            trial.state.unbind(move.pod)
            accepted = trial.accepts(template, move.target)
            best = None if self._strict else trial.first_choice(template)
            serves = best == move.target or (
                best is not None and best != move.source and self._serves(template, best, move)
            )
            trial.state.rollback(mark)
            found = self._known[move.pod] = accepted, best if serves else None
        return found

    def _serves(self, template: int, node: int, move: Move) -> bool:
        """Whether another node is as good as the planned one, with room for all moves to come there."""
        for constraint in self._trial.ledger.of(template):
            codes = constraint.rule.column.codes
            if constraint.hard and codes[node] != codes[move.target]:
                counts = constraint.rule.counts.padded()
                several = len(constraint.rule.column.values) * 2 > len(codes)
                if not several or counts[codes[node]] > counts[codes[move.target]]:
                    return False
        problem, state = self._trial.problem, self._trial.state
        coming = [other for other in self._left if other.target == node and other is not move]
        wanted = problem.templates[template].requests + sum(
            problem.template(other.pod).requests for other in coming
        )
        return not coming or bool((state.used[:, node] + wanted <= problem.allocatable[:, node]).all())

    def _judge(self, wave: Sequence[Move]) -> list[Landing | None]:
        """The landing of every move, valid in every state of the others; None where a move does not hold."""
        steady = self._steady(wave)
        natural = np.ones(len(wave), np.bool_)
        holds = np.ones(len(wave), np.bool_)
        coupled_moves = [self._coupled_moves(move, wave) for move in wave]
        mark = self._trial.state.mark()
        for others in _OTHERS:
            self._timeline.put_all(wave, others)
            for number, move in enumerate(wave):
                if not holds[number]:
                    continue
                inner = self._trial.state.mark()
                accepted, first = self._lands(move, coupled_moves[number], wants_first=bool(natural[number]))
                holds[number] &= accepted
                natural[number] &= first
                self._trial.state.rollback(inner)
        self._trial.state.rollback(mark)
        holds &= natural | [
            self._trial.template(move.pod) in self._rules.pin_policy.pinnable for move in wave
        ]
        return [
            self._landing(move, own=bool(natural[number])) if holds[number] and steady[number] else None
            for number, move in enumerate(wave)
        ]

    def _landing(self, move: Move, *, own: bool) -> Landing:
        """A landing on one node: by the scheduler's own scores, or pinned."""
        only = self._only(move)
        return Landing(move, "scores" if own else "pinned", only, self._places.named(only))

    def _only(self, move: Move) -> Mask:
        """The target, as a set of nodes."""
        found: Mask = self._timeline.problem.nodes.none.copy()
        found[move.target] = True
        return found

    def _lands(self, move: Move, coupled_moves: Sequence[Move], *, wants_first: bool) -> tuple[bool, bool]:
        """Whether the target accepts the replacement, and is the first choice, in all coupled phases.

        While the old pod is still ending, no node may be open to the replacement: then it waits until the pod
        has ended, unless it would preempt others.
        """
        template, natural = self._trial.template(move.pod), wants_first
        only = self._only(move)
        leaves = not self._timeline.waits_for_the_end(move)
        preempts = self._risk.is_possible(template)
        for phases in product(Phase, repeat=len(coupled_moves)):
            for other, phase in zip(coupled_moves, phases, strict=True):
                self._timeline.put(other, phase)
            if leaves and (natural or preempts):
                self._timeline.put(move, Phase.LEAVING)
                natural = natural and self._comes_or_waits(template, move.target)
                held = natural or not preempts or self._trial.accepts_pinned(template, move.target)
                if not held and self._risk.threatens(template, only):
                    return False, False
            self._timeline.put(move, Phase.GONE)
            natural = natural and self._trial.first_choice(template) == move.target
            if not (natural or self._trial.accepts_pinned(template, move.target)):
                return False, False
        return True, natural

    def _comes_or_waits(self, template: int, target: int) -> bool:
        """Whether a pod comes to the target now, or finds no node at all and preempts nothing."""
        first = self._trial.first_choice(template)
        if first is not None or self._trial.open_to(template).any():
            return first == target
        return not self._risk.threatens(template)

    def _steady(self, wave: Sequence[Move]) -> list[bool]:
        """For every move whether no constraint is ever worse than before, in all phases of coupled moves."""
        trial, found = self._trial, []
        for move in wave:
            group = [move, *self._coupled_moves(move, wave)]
            templates = {trial.template(member.pod) for member in group}
            constraints = trial.ledger.touched(templates)
            before, mark = excesses(constraints), trial.state.mark()
            fine = True
            for phases in product((Phase.BEFORE, Phase.GONE, Phase.LANDED), repeat=len(group)):
                for member, phase in zip(group, phases, strict=True):
                    self._timeline.put(member, phase)
                left = any(
                    phase is not Phase.BEFORE
                    and trial.breaks_affinity_of(trial.template(member.pod), member.source)
                    for member, phase in zip(group, phases, strict=True)
                )
                fine = fine and not left and not worse(before, constraints)
                if not fine:
                    break
            trial.state.rollback(mark)
            found.append(fine)
        return found
