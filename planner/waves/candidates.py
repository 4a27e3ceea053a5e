"""Which moves hold now, alone and together: what the orders of waves choose from.

Every move is judged alone first, then together with the others of its wave: the room that they leave, and the
room that they may take wherever they land.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from planner.audit.replicas_down import ReplicaLimit
from planner.eviction.budgets import Budgets
from planner.landing.coupled_constraints import CoupledConstraints, coupled_constraints
from planner.landing.landing import NO_PINS, Considered, Landing, LandingPreferences, PinPolicy
from planner.landing.wave_landings import WaveLandings
from planner.moves.constraint_counts import TrackedConstraint
from planner.moves.movable import Limit, LimitUse
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase
from planner.problem.nodes import Ints, Mask
from planner.proof import move_effort as effort


@dataclass(frozen=True, slots=True)
class WaveRules:
    """How much may be under way at the same time, what may be pinned, and which constraints count.

    `weights` has the cost of moving each pod.
    """

    budgets: Budgets
    weights: Ints
    limit: ReplicaLimit = field(default_factory=ReplicaLimit)
    pin_policy: PinPolicy = NO_PINS
    kinds: frozenset[str] = frozenset(("DoNotSchedule",))

    @property
    def evict_only(self) -> bool:
        return not self.pin_policy


@dataclass(frozen=True, slots=True)
class Within:
    """For every move the nodes on which its replacement may land at most, and those with room for it."""

    nodes: Callable[[Move], Mask]
    open_nodes: Callable[[Move], Mask]


class Candidates:
    """Judges the moves that are left; what is chosen of them is carried out on a timeline."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        moves: Sequence[Move],
        rules: WaveRules,
        first: Mapping[int, int] | None = None,
        kept: int = effort.HISTOGRAMS_KEPT,
    ) -> None:
        """Waves for moves; up to `kept` histograms are kept apart.

        The pods in `first`, the highest number before the others, and those with coupled constraints go while
        every landing is still certain, and keep it certain if scores alone can.
        """
        self.timeline = timeline
        self.trial = timeline.trial
        self.rules = rules
        #: Where replacements may land at most, if an order says so.
        self.within: Within | None = None
        #: Work done so far: nodes looked at.
        self.work = 0
        times = Counter(move.pod for move in moves)
        sources: dict[int, list[int]] = {}
        for move in moves:
            sources.setdefault(self.trial.template(move.pod), []).append(move.source)
        self._coupled = coupled_constraints(self.trial, sources, self._matters, kept)
        self.first: dict[int, int] = {}
        for pod, rank in sorted((first or {}).items(), key=lambda one: one[1]):
            self.first |= dict.fromkeys(self._with_coupled([pod], times), rank)
        self.landings = WaveLandings(
            timeline,
            self._coupled,
            LandingPreferences(
                pin_policy=rules.pin_policy,
                again={pod for pod, number in times.items() if number > 1},
                certain=self.first,
            ),
        )
        self._refused: dict[Hashable, object] = {}

    @staticmethod
    def ready(left: Iterable[Move]) -> Iterable[Move]:
        """The next move of every pod."""
        found = dict[int, Move]()
        for move in left:
            found.setdefault(move.pod, move)
        return found.values()

    def alone(self, moves: Iterable[Move], considered: Considered, *, again: bool = False) -> list[Landing]:
        """The landings of the moves that hold by themselves, as many as may be away at once.

        Moves refused before are judged again only when their counts, or room for them, have changed, or
        these refusals are forgotten: if always, 5,000 nodes 99 % full take 37 s, not 25.
        """
        found, away = list[Landing](), LimitUse()
        asked = {move: self._asked(move, considered) for move in moves}
        fresh = [
            move for move, (question, state) in asked.items() if again or self._refused.get(question) != state
        ]
        self.landings.precompute(self._as_many(fresh))
        for move in fresh:
            if not away.allow(self._limits(move)):
                continue
            landing = None
            if self._can_leave([move]):
                self.work += self.trial.problem.nodes.size
                landing = self._judge([move], considered)[0]
            if landing is None:
                question, state = asked[move]
                self._refused[question] = state
            else:
                found.append(landing)
                away.use(self._limits(move))
        return found

    def forget_refusals(self) -> bool:
        """Have every move judged again: scores may have changed since.  False if none was refused.

        Where nothing else is left; without it one of eight clusters of 600 nodes next to full has 68 pins in
        293 waves, not one in 161, and takes twice as long.
        """
        any_refused = bool(self._refused)
        self._refused.clear()
        return any_refused

    def together(self, alone: Sequence[Landing]) -> list[Landing]:
        """The most of some moves that keep their kind of landing when they are under way together."""
        # A move that has nodes cordoned goes alone, because a cordon keeps every other replacement off them.
        alone = [landing for landing in alone if landing.kind != "cordoned"] or alone[:1]
        first = {landing.move.pod: landing for landing in alone}
        wave = [*self._as_many(landing.move for landing in alone)]
        known = first
        while len(wave) > 1:
            held = self._judged(wave, known)
            if any((found.nodes & ~known[found.move.pod].nodes).any() for found in held):
                # The others were judged against a set of nodes that is too small.
                wider = [(known[found.move.pod], found.nodes) for found in held]
                known = known | {old.move.pod: replace(old, nodes=old.nodes | more) for old, more in wider}
                wave = [found.move for found in held]
            elif held and self._can_leave([found.move for found in held]):
                return held
            else:
                wave, known = wave[: len(wave) // 2], first
        return [first[move.pod] for move in wave]

    # How they are judged

    def _judged(self, wave: Sequence[Move], known: Mapping[int, Landing]) -> list[Landing]:
        """The landings of the moves of a wave that hold together, with the same kind of landing as alone."""
        pins = any(landing.kind == "pinned" for landing in known.values())
        scores = self.work <= effort.SCORED or any(landing.kind == "scores" for landing in known.values())
        judged = self._judge(wave, Considered(pins=pins, scores=scores), known)
        landings = [found for found in judged if found is not None]
        # Moves with the same coupled constraints hold together or not at all.
        lost = {self._coupling(found.move.pod) for found in landings if not self._keeps(found, known)}
        return [found for found in landings if self._coupling(found.move.pod) not in lost]

    def _judge(
        self,
        wave: Sequence[Move],
        considered: Considered,
        known: Mapping[int, Landing] | None = None,
    ) -> Sequence[Landing | None]:
        within, none = self.within, self.trial.problem.nodes.none
        closed = [none if within is None else ~within.nodes(move) for move in wave]
        return self.landings.judge(wave, closed, considered, known)

    def _keeps(self, found: Landing, known: Mapping[int, Landing]) -> bool:
        """Whether a landing is no worse than alone; for pods that go first also no less certain."""
        alone = known[found.move.pod]
        if found.move.pod in self.first and alone.kind == "scores":
            return found.kind == "scores"
        return _RANK[found.kind] <= _RANK[alone.kind]

    def _asked(self, move: Move, considered: Considered) -> tuple[Hashable, object]:
        """What was asked about a move, and the state on which a refusal depends: counts, and room."""
        histograms = self._coupling(move.pod).histograms
        free = self.landings.room.free_on(move.target).tobytes()
        open_nodes = b"" if self.within is None else self.within.open_nodes(move).tobytes()
        return (move, considered), (histograms, free, open_nodes)

    def _can_leave(self, wave: Sequence[Move]) -> bool:
        """Whether no pod loses a required affinity peer when all of a wave's pods are away."""
        with self.trial.after():
            self.timeline.put_all(wave, Phase.GONE)
            return not any(
                self.trial.breaks_affinity_of(self.trial.template(move.pod), move.source) for move in wave
            )

    # Which moves belong together

    def _as_many(self, moves: Iterable[Move]) -> Iterator[Move]:
        """As many of some moves as may be under way at once."""
        away = LimitUse()
        for move in moves:
            if away.allow(self._limits(move)):
                away.use(self._limits(move))
                yield move

    def _limits(self, move: Move) -> Iterator[Limit]:
        """How many pods may be away at once of a pod's workload, budgets and coupled constraints."""
        rules = self.rules
        workload = self.trial.workloads[self.trial.template(move.pod)]
        yield workload, rules.limit.at_once(workload)
        yield from ((budget, rules.budgets.allowed[budget]) for budget in rules.budgets.asked(move.pod))
        coupled = effort.COUPLED_IN_A_WAVE if rules.limit.most > 1 else 1
        yield self._coupling(move.pod), coupled

    def _coupling(self, pod: int) -> CoupledConstraints:
        return self._coupled[self.trial.template(pod)]

    def _with_coupled(self, pods: Iterable[int], moving: Collection[int]) -> set[int]:
        """All moving pods whose constraints are coupled with those of some pods."""
        couplings = {self._coupling(pod) for pod in pods if pod in moving}
        return {pod for pod in moving if self._coupling(pod) in couplings}

    def _matters(self, constraint: TrackedConstraint) -> bool:
        return constraint.hard or constraint.kind in self.rules.kinds


_RANK = {"filters": 0, "scores": 1, "pinned": 2}
