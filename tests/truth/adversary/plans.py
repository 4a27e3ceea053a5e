"""A plan of moves from its first wave to its last, against everything that the document promises."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from planner.documents.consolidation import ConsolidationPlan
from planner.documents.move_plan import MovePlan
from tests.truth import manifests
from tests.truth.adversary.controllers import Controllers
from tests.truth.adversary.failures import Failure
from tests.truth.adversary.ground import Excess, Ground, with_cordons
from tests.truth.adversary.moves import PlannedMove, moves_of
from tests.truth.adversary.waves import Cast, Landed, Limits, play
from tests.truth.manifests import Object


@dataclass
class Verdict:
    """What the adversary found, how many states it saw, and whether these were all there are."""

    failures: list[Failure] = field(default_factory=list)
    states: int = 0
    whole: bool = True


def against_moves(  # noqa: PLR0913 - the options of the command
    objects: Sequence[Object],
    plan: MovePlan | ConsolidationPlan,
    *,
    max_unavailable: int = 1,
    soft: bool = False,
    limits: Limits | None = None,
    seed: int = 0,
) -> Verdict:
    """Play a plan of moves; it ends at the first wave in which something fails.

    The nodes that a consolidation removes, and those that it closes meanwhile, are cordoned first.
    """
    given = objects = manifests.complete(objects)
    nodes = [item for item in objects if item["kind"] == "Node"]
    if isinstance(plan, ConsolidationPlan):
        closed = frozenset((*(row.node for row in plan.removed), *plan.cordoned_meanwhile))
        objects = with_cordons(objects, closed)
    waves = moves_of(plan.steps, nodes)
    moves = [move for wave in waves for move in wave]
    cast = _cast(objects, moves)
    cast.worse_meanwhile = isinstance(plan, ConsolidationPlan)
    verdict, found, starts = Verdict(), limits or Limits(), [()]
    verdict.failures += _jobs(cast.controllers, moves)
    starts_of: Sequence[Landed] = starts
    for wave in waves:
        verdict.failures += _at_once(objects, cast.controllers, wave, max_unavailable)
        verdict.failures += _misplaced(cast, wave, starts_of)
        if verdict.failures:
            return verdict
        played = play(cast, wave, starts_of, found, seed)
        verdict.states += played.states
        verdict.failures += played.failures.values()
        if verdict.failures:
            return verdict
        outcomes = sorted(played.outcomes)
        verdict.whole = verdict.whole and played.whole and len(outcomes) <= found.starts
        if len(outcomes) > found.starts:
            outcomes = random.Random(seed).sample(outcomes, found.starts)
        starts_of = outcomes
    verdict.failures += _ends(cast, moves, plan, starts_of, soft=soft)
    if isinstance(plan, ConsolidationPlan):
        verdict.failures += _without_nodes(given, moves, plan, starts_of)
    return verdict


def _cast(objects: Sequence[Object], moves: Sequence[PlannedMove]) -> Cast:
    closed = {move.cordon: Ground(objects, moves, move.cordon) for move in moves if move.cordon}
    return Cast(moves, Controllers(objects), Ground(objects, moves), Excess(objects), closed)


def _jobs(controllers: Controllers, moves: Sequence[PlannedMove]) -> Iterator[Failure]:
    for text in controllers.failed_jobs([move.pod for move in moves]):
        yield Failure("job", 0, text)


def _at_once(
    objects: Sequence[Object], controllers: Controllers, wave: Sequence[PlannedMove], max_unavailable: int
) -> Iterator[Failure]:
    """What is down when all moves of a wave are under way together."""
    number = wave[0].wave
    for workload, down in Counter(_workload(controllers, move) for move in wave).items():
        if down > max_unavailable:
            yield Failure("unavailable", number, f"{down} replicas of {workload} are down together")
    pods = list(controllers.pods.values())
    budgets = [item for item in objects if item["kind"] == "PodDisruptionBudget"]
    drawn = Counter[str]()
    for move in wave:
        pod = controllers.pods[move.pod]
        covering = [budget for budget in budgets if manifests.covers(budget, pod)]
        if len(covering) > 1:
            yield Failure("budget", number, f"{move.pod} is under two budgets: no eviction is ever admitted")
        elif covering and manifests.draws_on(covering[0], pod, pods, objects):
            drawn[covering[0]["metadata"]["name"]] += 1
    for budget in budgets:
        times, allowed = (
            drawn[budget["metadata"]["name"]],
            manifests.allowed_disruptions(budget, pods, objects),
        )
        if times > allowed:
            name = budget["metadata"]["name"]
            yield Failure("budget", number, f"{times} evictions under {name}, which allows {allowed}")


def _workload(controllers: Controllers, move: PlannedMove) -> str:
    return f"{controllers.pods[move.pod]['metadata']['namespace']} {move.workload}"


def _misplaced(cast: Cast, wave: Sequence[PlannedMove], starts: Sequence[Landed]) -> Iterator[Failure]:
    """Pods that are not for certain where a step says that it takes them from."""
    for move in wave:
        before = [m.number for m in cast.moves if m.pod == move.pod and m.number < move.number]
        if not before:
            found = {str(cast.controllers.pods[move.pod]["spec"].get("nodeName"))}
        else:
            found = {dict(start)[before[-1]] for start in starts}
        if found != {move.source}:
            yield Failure("step", move.wave, f"{move.pod} may be on {sorted(found)}, not on {move.source}")


def _ends(
    cast: Cast,
    moves: Sequence[PlannedMove],
    plan: MovePlan | ConsolidationPlan,
    starts: Sequence[Landed],
    *,
    soft: bool,
) -> Iterator[Failure]:
    """What constraints have too much in the end, wherever replacements have landed."""
    last = moves[-1].wave if moves else 0
    for landed in starts:
        places = dict(landed)
        pods: dict[str, str | None] = {m.pod: places[m.number] for m in moves}
        hard = sum(cast.excess.hard(pods))
        if hard != plan.after.hard_excess:
            yield Failure("end", last, f"hard excess {hard}, the plan says {plan.after.hard_excess}: {pods}")
            return
        if soft and (left := cast.excess.soft(pods)) != plan.after.soft_excess:
            yield Failure("end", last, f"soft excess {left}, the plan says {plan.after.soft_excess}: {pods}")
            return


def _without_nodes(
    objects: Sequence[Object], moves: Sequence[PlannedMove], plan: ConsolidationPlan, starts: Sequence[Landed]
) -> Iterator[Failure]:
    """What is worse than in the snapshot, the nodes being cordoned or deleted; and what is left on them."""
    last, gone = moves[-1].wave if moves else 0, frozenset(row.node for row in plan.removed)
    before, closed = _by_workload(objects), with_cordons(objects, gone)
    for landed in starts:
        places = dict(landed)
        pods = {move.pod: places[move.number] for move in moves}
        there = [_placed(item, pods) for item in closed]
        for after, when in ((there, "are there"), (_deleted(there, gone), "are deleted")):
            if not (found := _by_workload(after)) <= before:
                text = f"while the nodes {when}: {dict(found - before)} more than in the snapshot, {pods}"
                yield Failure("end", last, text)
                return
        left = [item["metadata"]["name"] for item in there if _holds(item, gone)]
        if left:
            yield Failure("end", last, f"{', '.join(left)} are on nodes that go")
            return


def _by_workload(objects: Sequence[Object]) -> Counter[str]:
    """How much hard constraints have too much, by workload."""
    excess, found = Excess(objects), Counter[str]()
    for name, much in zip(excess.names(), excess.hard({}), strict=True):
        found[name] += much
    return found


def _placed(item: Object, pods: Mapping[str, str]) -> Object:
    if item["kind"] != "Pod":
        return item
    on = pods.get(f"{item['metadata']['namespace']}/{item['metadata']['name']}")
    return item if on is None else {**item, "spec": {**item["spec"], "nodeName": on}}


def _deleted(objects: Sequence[Object], gone: Collection[str]) -> list[Object]:
    """The objects without some nodes, and without the pods that still run there."""
    return [
        item
        for item in objects
        if not (item["kind"] == "Node" and item["metadata"]["name"] in gone)
        and not (item["kind"] == "Pod" and item["spec"].get("nodeName") in gone)
    ]


def _holds(item: Object, gone: Collection[str]) -> bool:
    """Whether it is a pod on a node that goes, and neither goes with its node nor ends already."""
    if item["kind"] != "Pod" or item["spec"].get("nodeName") not in gone:
        return False
    meta = item["metadata"]
    kinds = {owner.get("kind") for owner in meta.get("ownerReferences") or ()}
    ended = (item.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not (kinds & {"DaemonSet", "Node"} or ended or meta.get("deletionTimestamp"))
