"""What the search found, as the document that is printed, with a reason for every move."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property

import numpy as np

from models.errors import InternalError
from models.objects.pod import Pod
from models.words import are, counted, value_told
from planner.audit import spread_counts
from planner.audit.findings import change_of, findings_of
from planner.documents import plan
from planner.documents.move_plan import Balance, CurvePoint, MovePlan, MoveStep
from planner.landing.landing import RESTRICTED, Landing
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes
from planner.proof.bounds import Bound, Claim, Measured, ObjectiveStage, judge, status_of
from planner.scheduler.remarks import remarks
from planner.state.state import State


def document(  # noqa: PLR0913 - what a plan consists of
    trial: TrialCluster,
    movable: Movable | None,
    waves: Sequence[Sequence[Landing]],
    stages: Sequence[str],
    claims: Sequence[Claim],
    *,
    curve: Sequence[CurvePoint] = (),
    notes: Sequence[str] = (),
) -> MovePlan:
    """The plan with its stages, the most important first, and what is claimed of them; before and after."""
    problem = trial.problem
    before, after = before_and_after(trial, waves)
    values = _values(movable, waves, after.balance)
    judged = tuple(_judged(values, stages, (*claims, *_certain(before.balance.soft_excess))))
    return MovePlan(
        status=status_of(stage for stage in judged if stage.name in stages),
        objective=tuple(stage.objective() for stage in judged),
        steps=tuple(steps(trial, waves, reasons(trial, waves))),
        before=before.balance,
        after=after.balance,
        spread=tuple(changes(before, after)) if waves else (),
        stays=_stays(trial, movable) if movable is not None and after.balance.hard_violations else {},
        curve=tuple(curve),
        verdicts=plan.Verdicts(
            sequence=True, final_state=after.balance.hard_violations <= before.balance.hard_violations
        ),
        kubernetes=problem.kubernetes.document,
        notes=(
            *problem.cluster.notes,
            *problem.notes,
            *problem.unproved,
            *remarks(problem),
            *undecided_landings(trial, waves),
            *notes,
            *(() if "softExcess" in stages else _not_asked(after)),
        ),
    )


def _judged(
    values: Mapping[str, int], stages: Sequence[str], claims: Sequence[Claim]
) -> Iterator[ObjectiveStage]:
    """The stages in their order, with pins after the moves; bounds on weights hold with any pins."""
    measured = [
        Measured(name, values[name], largest=False)
        for name in dict.fromkeys((*stages, *values))
        if name != "pinned"
    ]
    for number, stage in enumerate(judge(measured, claims)):
        yield stage
        if stage.name == "moves":
            pinned = Measured("pinned", values["pinned"], largest=False)
            yield [*judge([*measured[: number + 1], pinned], claims)][-1]


def _certain(soft_excess: int) -> Iterator[Claim]:
    """Claims that hold for all plans: no count is below zero, and without moves everything stays as it is."""
    for name in ("hardExcess", "moves", "disruption", "softExcess", "pinned"):
        yield Claim(name, Bound(0, "no count is negative"))
    yield Claim("softExcess", Bound(soft_excess, "nothing moves"), {"moves": 0})


def _not_asked(after: PlacementCounts) -> Iterator[str]:
    """A note on soft constraints that are exceeded and were not asked to be repaired."""
    exceeded = sum(1 for found in after.spread if not found.hard and found.surplus)
    if exceeded:
        these = f"{counted(exceeded, 'ScheduleAnyway constraint')} {are(exceeded)}"
        many = f"{counted(after.balance.soft_excess, 'pod')} too many"
        yield f"{these} exceeded, {many}: --soft repairs them as well"


def undecided_landings(trial: TrialCluster, waves: Iterable[Sequence[Landing]]) -> Iterator[str]:
    """A note on replacements to which nodes may be open of which the snapshot does not tell that."""
    problem, known = trial.problem, cache(trial.leaves_open)
    moved = (one.move.pod for wave in waves for one in wave if one.kind != "pinned")
    pods = [problem.pods[pod].key for pod in moved if known(trial.template(pod))]
    if pods:
        whose = pods[0] if len(pods) == 1 else f"{len(pods)} pods, {pods[0]} for one"
        yield (
            f"of some nodes it is not known whether they accept the replacement of {whose} (devices, or "
            "volumes that were not read): it may land there, too"
        )


class PlacementCounts:
    """The excess of a placement, counted as `check` counts it, for the constraints that are considered."""

    def __init__(self, trial: TrialCluster, node_of: Codes) -> None:
        problem = trial.problem
        state = State(problem, node_of)
        looked_at = {constraint.asked.identity for constraint in trial.ledger.constraints}
        found = spread_counts.take(problem, state)
        self.spread = [counts for counts in found if counts.identity in looked_at]
        surpluses = ((found.hard, found.surplus) for found in self.spread)
        self.balance = Balance(**spread_counts.too_much(surpluses), pending=len(problem.queue()))
        self._problem, self._state = problem, state

    @cached_property
    def findings(self) -> int:
        """The number of other findings of `check`."""
        return sum(1 for _ in findings_of(self._problem, self._state))


def before_and_after(
    trial: TrialCluster, waves: Sequence[Sequence[Landing]]
) -> tuple[PlacementCounts, PlacementCounts]:
    """What is counted before and after the moves of some waves, which leave nothing else worse."""
    node_of = trial.problem.node_of.astype(np.intp).copy()
    for wave in waves:
        for landing in wave:
            node_of[landing.move.pod] = landing.move.target
    before = PlacementCounts(trial, trial.problem.node_of)
    after = PlacementCounts(trial, node_of) if waves else before
    if waves and after.findings > before.findings:
        raise InternalError("a plan leaves something else worse than before")
    return before, after


def _values(movable: Movable | None, waves: Sequence[Sequence[Landing]], after: Balance) -> dict[str, int]:
    pods = [landing.move.pod for wave in waves for landing in wave]
    return {
        "hardExcess": after.hard_excess,
        "moves": len(pods),
        "disruption": int(movable.weights[pods].sum()) if movable is not None else 0,
        "softExcess": after.soft_excess,
        "pinned": sum(landing.kind in RESTRICTED for wave in waves for landing in wave),
    }


def steps(
    trial: TrialCluster, waves: Sequence[Sequence[Landing]], why: Sequence[Sequence[str]]
) -> Iterator[MoveStep]:
    """The moves wave by wave, each with its reason."""
    problem, names = trial.problem, trial.problem.nodes.names
    owners = spread_counts.Owners(problem.cluster)
    for number, (wave, because) in enumerate(zip(waves, why, strict=True), start=1):
        for landing, reason in zip(wave, because, strict=True):
            move = landing.move
            yield MoveStep(
                wave=number,
                pod=problem.pods[move.pod].key,
                workload=owners.of(problem.pods[move.pod]),
                owner=_owner(problem.pods[move.pod]),
                source=names[move.source],
                node=names[move.target],
                landing=landing.kind,
                lands=landing.place,
                pin=landing.pin,
                cordon=tuple(names[node] for node in landing.cordon),
                why=reason,
            )


def _owner(pod: Pod) -> str:
    """`Kind/name` of the controller that replaces this pod when it is gone."""
    owner = pod.metadata.controller
    if owner is None:
        raise InternalError(f"{pod.key} is to be moved, and has no controller")
    return f"{owner.kind}/{owner.name}"


def changes(before: PlacementCounts, after: PlacementCounts) -> Iterator[plan.SpreadChange]:
    """The constraints whose domains have other counts than before."""
    known = {found.identity: found for found in before.spread}
    for found in after.spread:
        earlier = known[found.identity]
        if not np.array_equal(earlier.counts, found.counts):
            yield change_of(earlier, found)


def _stays(trial: TrialCluster, movable: Movable) -> Mapping[str, int]:
    """The pods of broken constraints that may not be moved, by reason."""
    templates = {t for one in trial.ledger.broken() for t in one.members}
    found = Counter(reason for pod, reason in movable.reasons.items() if trial.template(pod) in templates)
    return dict(sorted(found.items()))


def reasons(trial: TrialCluster, waves: Sequence[Sequence[Landing]]) -> list[list[str]]:
    """A reason for every move of every wave, as the cluster is when the wave begins."""
    left = [landing.move for wave in waves for landing in wave]
    found = []
    with trial.after():
        for wave in waves:
            moves = [landing.move for landing in wave]
            left = left[len(moves) :]
            found.append([_reason(trial, move, left) for move in moves])
            for move in moves:
                trial.make(move)
    return found


def _reason(trial: TrialCluster, move: Move, later: Sequence[Move]) -> str:
    template = trial.template(move.pod)
    for constraint in trial.ledger.of(template):
        column = constraint.rule.column
        domain = int(column.codes[move.source])
        if template in constraint.members and domain >= 0 and constraint.rule.counts.eligible[move.source]:
            surplus = int(constraint.surplus()[domain])
            if surplus:
                return f"{column.key} {value_told(column.values[domain])} has {surplus} too many"
    names = trial.problem.nodes.names
    if any(other.pod == move.pod for other in later):
        return "a temporary place, out of the way of others"
    coming = next((other for other in later if other.target == move.source), None)
    if coming is not None:
        return f"makes room on {names[move.source]} for {trial.problem.pods[coming.pod].key}"
    for constraint in trial.ledger.of(template):
        column, domain = constraint.rule.column, int(constraint.rule.column.codes[move.target])
        if constraint.excess() and template in constraint.members and domain >= 0:
            return f"{column.key} {column.values[domain]} has too few"
    return "evens out what later moves need"
