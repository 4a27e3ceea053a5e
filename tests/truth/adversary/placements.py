"""`solve --allow-moves` as its script carries it out: step after step, each in the cluster as it is then.

An evicted pod is gone before the next step.  Its replacement is held back, by a template that is narrowed to
no node, until the plan has a place for it.  A pod with a place is narrowed to it: it either lands there or,
where it finds no node, may preempt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from models import Cluster
from planner.batch.narrowed_binds import refused_when_narrowed
from planner.documents.move_plan import OnNodes
from planner.documents.plan import PlacementPlan
from tests.truth import manifests
from tests.truth.adversary.controllers import Controllers
from tests.truth.adversary.failures import Failure
from tests.truth.adversary.ground import Ground, replacement_of
from tests.truth.adversary.moves import PlannedMove
from tests.truth.manifests import Object


def against_placement(objects: Sequence[Object], plan: PlacementPlan) -> list[Failure]:
    """What goes otherwise than the steps say; the first of the landings, and all about Jobs and budgets.

    Of a plan for which no script is printed nothing is carried out.
    """
    objects = manifests.complete(objects)
    controllers = Controllers(objects)
    evicted = [step.pod for step in plan.steps if step.action == "evict"]
    owners = [manifests.controller(controllers.pods[pod]) or {} for pod in evicted]
    if not all(owner.get("kind") in {"ReplicaSet", "ReplicationController"} for owner in owners):
        return []
    if any(refused_when_narrowed(Cluster.from_objects(objects), plan.steps)):
        return []
    found = [Failure("job", 0, text) for text in controllers.failed_jobs(evicted)]
    found += [
        Failure("not made", 0, f"nothing makes {pod} again")
        for pod in evicted
        if controllers.needed_first(pod) is None
    ]
    found += _budgets(objects, controllers, evicted)
    return found or [*_landings(objects, plan)][:1]


def _budgets(
    objects: Sequence[Object], controllers: Controllers, evicted: Sequence[str]
) -> Iterator[Failure]:
    """No replacement is promised to be ready before the next eviction, so each eviction counts."""
    pods = [*controllers.pods.values()]
    drawn: Counter[str] = Counter()
    budgets = {item["metadata"]["name"]: item for item in objects if item["kind"] == "PodDisruptionBudget"}
    for name in evicted:
        pod = controllers.pods[name]
        covering = [key for key, budget in budgets.items() if manifests.covers(budget, pod)]
        if len(covering) > 1 and not manifests.is_starting(pod):
            yield Failure("budget", 0, f"{name} is under two budgets: no eviction is ever admitted")
        drawn.update(key for key in covering if manifests.draws_on(budgets[key], pod, pods, objects))
    for key, times in drawn.items():
        if times > (allowed := manifests.allowed_disruptions(budgets[key], pods, objects)):
            yield Failure("budget", 0, f"{times} evictions under {key}, which allows {allowed}")


def _landings(objects: Sequence[Object], plan: PlacementPlan) -> Iterator[Failure]:
    binds = [
        PlannedMove(number, 0, step.pod, "", "", frozenset((step.node,)), "any", OnNodes(nodes=(step.node,)))
        for number, step in enumerate(plan.steps)
        if step.action == "bind" and step.node is not None
    ]
    ground = Ground(objects, binds)
    by_number = {move.number: move for move in binds}
    positions: dict[str, str | None] = {}
    events: list[str] = []
    for number, step in enumerate(plan.steps):
        if step.action == "evict":
            positions[step.pod] = None
        else:
            move = by_number[number]
            answer = ground.answer(positions, move, None)
            if answer.victims:
                text = f"{step.pod} preempts {', '.join(answer.victims)}"
                yield Failure("preempts", 0, text, tuple(events))
            elif answer.nodes != move.lands:
                yield Failure("pending", 0, f"{step.pod} does not come to {step.node}", tuple(events))
            positions[replacement_of(move)] = step.node
        events.append(f"{step.action} {step.pod}")
