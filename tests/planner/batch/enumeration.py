"""Every placement that some order of admissible binds leads to, on tiny clusters.

The filters alone decide, each pod under those of its own profile.
"""

from collections import Counter
from collections.abc import Iterator

from models import Cluster
from planner.batch.pending import Pending
from planner.documents.plan import PlacementPlan
from planner.problem.problem import Problem
from planner.problem.volume_claims import VolumeChoice
from planner.scheduler.order import Step


def reachable(pending: Pending) -> Iterator[Counter[Step]]:
    """Each once for every way to bind its claims; its pods are bound in `pending.state` meanwhile."""
    seen: set[tuple[frozenset[tuple[Step, int]], frozenset[VolumeChoice]]] = set()

    def explore(placed: Counter[Step]) -> Iterator[Counter[Step]]:
        key = frozenset(placed.items()), frozenset(pending.state.claims.bindings)
        if key in seen:
            return
        seen.add(key)
        yield placed
        for number, pods in pending.pods.items():
            used = sum(count for (template, _), count in placed.items() if template == number)
            if used == len(pods):
                continue
            framework = pending.framework(number)
            mask = framework.feasible(framework.plan(pending.template(number))).mask.copy()
            for node in mask.nonzero()[0].tolist():
                mark = pending.state.mark()
                pending.state.bind(pods[used], node)
                yield from explore(placed + Counter([(number, node)]))
                pending.state.rollback(mark)

    return explore(Counter())


def most_pods(found: Cluster) -> tuple[int, ...]:
    """The most pods per priority, the highest first, that any order of admissible binds places."""
    pending = Pending(Problem(found))
    return max(pending.placed(placement) for placement in reachable(pending))


def pods_placed(plan: PlacementPlan) -> tuple[int, ...]:
    """The values of the stages that count pods, the highest priority first."""
    return tuple(stage.value for stage in plan.objective if stage.name.startswith("podsPlaced/"))


def is_admissible(found: Cluster, plan: PlacementPlan) -> bool:
    """Whether the filters of each pod's profile accept every bind of a plan at its turn."""
    pending = Pending(Problem(found))
    for step in plan.steps:
        pod = pending.problem.pod_index[step.pod]
        number = int(pending.problem.template_of[pod])
        framework = pending.framework(number)
        node = pending.problem.nodes.index[step.node or ""]
        if not framework.fits(framework.plan(pending.template(number)), node):
            return False
        pending.state.bind(pod, node)
    return True


def usual(found: Cluster) -> Counter[Step]:
    """Where the reference scheduler puts pods."""
    pending = Pending(Problem(found))
    template_of = pending.problem.template_of
    return Counter(
        (int(template_of[decision.pod]), decision.node)
        for decision in pending.scheduler.run()
        if decision.node is not None
    )
