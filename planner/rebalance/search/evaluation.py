"""What moves are worth: the one evaluator of all neighbourhoods.

`Evaluator` measures moves in every stage of the objective and keeps what is claimed about all moves.
`OffNode` tries single moves: what a pod's constraints hold while it is away, and where it may land.
`EvictionLimits` counts the evictions that a policy and the retries of Jobs allow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

import numpy as np

from planner.eviction.protections import SOFT, Protections
from planner.moves.constraint_counts import ConstraintCounts, TrackedConstraint, excesses, worse
from planner.moves.movable import Limit, LimitUse, Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.proof import move_effort as effort
from planner.proof.bounds import Assumption, Claim, Measured, ObjectiveStage, judge
from planner.proof.clock import report_best
from planner.proof.meter import Meter

Values = Mapping[str, int]
#: Moves in their order, and their value in every stage.
Found = tuple[Sequence[Move], Values]
#: How many constraints no moves can repair, the moves that the others need, and the excess of all.
Distance = tuple[int, int, int]


class ClusterSize(Enum):
    """How large a cluster is: small enough to try out all moves, or at least for models of all nodes."""

    TINY = auto()
    SMALL = auto()
    LARGE = auto()


@dataclass(frozen=True, slots=True)
class FoundMoves:
    """Moves in an order that holds, their values stage by stage, and claims about all moves."""

    moves: Sequence[Move]
    values: Values
    stages: Sequence[str]
    claims: Sequence[Claim]

    def judged(self) -> Iterator[ObjectiveStage]:
        """Every stage of the objective with its verdict, for all of the moves."""
        return judge([Measured(name, self.values[name], largest=False) for name in self.stages], self.claims)


def stages_of(protections: Protections) -> tuple[str, ...]:
    """The stages of the objective, the most important first."""
    return "hardExcess", *(("softExcess",) if SOFT in protections.kinds else ()), "moves", "disruption"


@dataclass(frozen=True, slots=True)
class ConstraintGroup:
    """Constraints that share movable templates, and all of these; groups compete for room alone."""

    templates: Sequence[int]
    constraints: Sequence[TrackedConstraint]

    @property
    def is_broken(self) -> bool:
        """Whether any pod is too many now."""
        return any(constraint.excess() for constraint in self.constraints)


def groups_of(
    ledger: ConstraintCounts, movable: Movable, first: Iterable[TrackedConstraint], *, hard: bool = False
) -> Iterator[ConstraintGroup]:
    """Some constraints, and all that share movable templates with them; with `hard` only of hard ones."""
    seen = set[int]()
    for constraint in first:
        if constraint.number in seen:
            continue
        touched = constraint.members.union(constraint.carriers)
        own = next((template for template in sorted(touched) if movable.of(template).size), None)
        templates, group = list[int](), [constraint]
        if own is not None:
            templates, group = ledger.linked(
                own, lambda template: bool(movable.of(template).size), lambda one: one.hard or not hard
            )
        seen.update(one.number for one in group)
        yield ConstraintGroup(templates, group)


class Evaluator:
    """A trial cluster to try moves on, what they are worth, and what is known about all moves."""

    def __init__(
        self,
        trial: TrialCluster,
        movable: Movable,
        protections: Protections,
        meter: Meter,
        most: int | None = None,
    ) -> None:
        """At most `most` moves are allowed, if that is given."""
        self.trial, self.movable, self.protections = trial, movable, protections
        self.meter, self.most = meter, most
        self.stages = stages_of(protections)
        self._claims: list[Claim] = []
        self._start = trial.state.mark()

    @cached_property
    def size(self) -> ClusterSize:
        nodes, pods = self.trial.problem.nodes.size, int(np.count_nonzero(self.movable.weights))
        if len(self.movable.templates) * nodes > effort.REGION_VARIABLES:
            return ClusterSize.LARGE
        is_tiny = pods <= effort.EXHAUSTED_PODS and nodes <= effort.EXHAUSTED_NODES
        return ClusterSize.TINY if is_tiny else ClusterSize.SMALL

    @cached_property
    def groups(self) -> Sequence[ConstraintGroup]:
        """The constraints that are broken to begin with, and all that share pods with them."""
        self.set()
        broken = self.trial.ledger.broken(self.protections.kinds)
        return [*groups_of(self.trial.ledger, self.movable, broken)]

    def still_broken(self) -> list[TrackedConstraint]:
        """The hard constraints of all groups that have too many pods now."""
        return [one for group in self.groups for one in group.constraints if one.hard and one.excess()]

    def set(self, moves: Iterable[Move] = ()) -> None:
        """Put the trial cluster into the state after just these moves."""
        self.trial.state.rollback(self._start)
        for move in moves:
            self.trial.make(move)

    def of(self, moves: Sequence[Move]) -> Found:
        """Moves that have just been made, with their values."""
        pods, ledger = [move.pod for move in moves], self.trial.ledger
        return moves, {
            "hardExcess": ledger.excess(hard=True),
            "softExcess": ledger.excess(hard=False),
            "moves": len(pods),
            "disruption": int(self.movable.weights[pods].sum()),
        }

    def best(self, found: Iterable[Found]) -> Found:
        """The first of the best."""
        return min(found, key=lambda one: self.key(one[1]))

    def key(self, values: Values) -> tuple[int, ...]:
        """The smaller, the better."""
        return tuple(values[name] for name in self.stages)

    def limits(self, moves: Iterable[Move] = ()) -> EvictionLimits:
        found = EvictionLimits(self)
        found.remember(moves)
        return found

    def learn(self, claims: Iterable[Claim]) -> None:
        """Keep claims, unless labels follow nodes: they count pods by the labels of their manifests."""
        if not self.trial.problem.labels_follow_nodes:
            self._claims += claims

    @cached_property
    def assumes(self) -> frozenset[Assumption]:
        """What is taken for granted where filters alone have said to which nodes pods may move."""
        undecided = any(map(self.trial.leaves_open, self.movable.templates))
        return frozenset({Assumption.NOTHING_UNDECIDED} if undecided else ())

    @property
    def floor(self) -> Values:
        """A lower bound in every stage, on moves that are at the lower bounds of the stages before."""
        floor: dict[str, int] = {}
        for name in self.stages:
            known = (c.bound.value for c in self._claims if c.stage == name and c.speaks_of(floor))
            floor[name] = max(known, default=0)
        return floor

    def result(self, found: Found) -> FoundMoves:
        return FoundMoves(*found, self.stages, self._claims)

    def is_open(self, found: Found) -> bool:
        """Whether moves could be better, as far as is known."""
        return not all(stage.proved for stage in self.result(found).judged())

    def tell(self, found: Found) -> None:
        """Report the best result so far, and its bound, as progress."""
        values, floor = found[1], self.floor
        report_best(
            f"{values['moves']} moves leave {values['hardExcess']} pods too many; "
            f"at least {floor['moves']} moves and {floor['hardExcess']} pods"
        )


class OffNode:
    """A pod that has been taken off its node, to be tried on others."""

    def __init__(self, trial: TrialCluster, pod: int) -> None:
        self._trial, self._pod = trial, pod
        self._mark = trial.state.mark()
        template, self._source = trial.template(pod), int(trial.state.node_of[pod])
        self._constraints = trial.ledger.of(template)
        self._hard = [constraint for constraint in self._constraints if constraint.hard]
        self._before = excesses(self._hard)
        self._far = distance(self._constraints)
        trial.state.unbind(pod)
        self._away = trial.state.mark()
        #: Whether no hard constraint is worse without the pod, and no pod loses its last affinity peer.
        self.is_harmless = not worse(self._before, self._hard) and not trial.breaks_affinity_of(
            template, self._source
        )

    def lands(self, node: int, *, nearer: bool) -> Move | None:
        """The move to a node, if it makes nothing worse, and with `nearer` something better; else undone."""
        self._trial.state.bind(self._pod, node)
        if not worse(self._before, self._hard) and (not nearer or distance(self._constraints) < self._far):
            return Move(self._pod, self._source, node)
        self.lift()
        return None

    def lift(self) -> None:
        """Take the pod off the node where it landed."""
        self._trial.state.rollback(self._away)

    def back(self) -> None:
        """Put the pod back where it was."""
        self._trial.state.rollback(self._mark)


def distance(constraints: Iterable[TrackedConstraint]) -> Distance:
    """How far constraints are from their goal."""
    beyond = needed = excess = 0
    for constraint in constraints:
        over = constraint.excess()
        if over:
            least = constraint.moves_needed(closed=True)
            beyond += least is None
            needed += least or 0
            excess += over
    return beyond, needed, excess


class EvictionLimits:
    """Which limits count the eviction of a pod, and how many evictions each has left."""

    def __init__(self, evaluator: Evaluator) -> None:
        """Those of its protections and of Jobs, and the most moves that it allows in all."""
        self._trial, self._rules = evaluator.trial, evaluator.protections
        self._in_all: Sequence[Limit] = () if evaluator.most is None else (("all", evaluator.most),)
        self._quotas = evaluator.movable.quotas
        self._used = LimitUse()
        #: The pods that have moved; they do not move again.
        self.moved = set[int]()

    def of(self, template: int, node: int) -> Iterator[Limit]:
        """The limits that count a pod of a template leaving a node, and how many each allows in all."""
        if self._rules.most_per_node is not None:
            yield ("node", node), self._rules.most_per_node
        if self._rules.most_per_namespace is not None:
            namespace = self._trial.problem.templates[template].namespace
            yield ("namespace", namespace), self._rules.most_per_namespace
        for number, (templates, most) in enumerate(self._quotas):
            if template in templates:
                yield ("job", number), most

    def remember(self, moves: Iterable[Move]) -> None:
        """Count moves against the limits."""
        for move in moves:
            self.moved.add(move.pod)
            self._used.use(self._of_moves((move,)))

    def allow(self, moves: Iterable[Move]) -> bool:
        """Whether these evictions are within the limits, too."""
        return self._used.allow(self._of_moves(moves))

    def _of_moves(self, moves: Iterable[Move]) -> Iterator[Limit]:
        for move in moves:
            yield from self._in_all
            yield from self.of(self._trial.template(move.pod), move.source)
