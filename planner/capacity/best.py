"""What the best placement could hold: the same replicas given to `solve`, with its bound."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from models import Cluster
from models.controllers.expand import MOST_NEW_PODS
from models.errors import InternalError
from models.objects.pod import Pod
from planner.batch.solve import solve
from planner.capacity.growth import Asked
from planner.capacity.replicas import Found
from planner.documents.capacity import WorkloadCapacity
from planner.documents.plan import PODS_PLACED, Objective
from planner.proof.clock import is_stop_requested
from planner.whatif.scaling import scale


@dataclass(frozen=True, slots=True)
class BestAnswer:
    """What was found for a workload in a cluster: the one asked about, or what is left without a domain."""

    cluster: Cluster
    asked: Asked
    found: Found
    lost: str | None = None


def with_best(
    answers: Sequence[BestAnswer],
    rows: Sequence[WorkloadCapacity],
    time_limit: float,
    stop_event: threading.Event | None,
) -> tuple[list[WorkloadCapacity], bool]:
    """The rows with what a plan places and its bound, and whether the time was up before that was known."""
    ends, told, cut = time.monotonic() + time_limit, list[WorkloadCapacity](), False
    for number, (answer, row) in enumerate(zip(answers, rows, strict=True)):
        left = (ends - time.monotonic()) / (len(rows) - number)
        if left <= 0 or is_stop_requested(stop_event):
            told.append(row)
            cut = True
            continue
        most = answer.found.most
        if most is None:
            told.append(row)
            continue
        # What was counted up to the most pods that are made at all bounds nothing.
        limit = most if most < MOST_NEW_PODS else None
        if row.more >= most:
            told.append(row.model_copy(update={"best": row.more, "bound": limit}))
            continue
        tried = min(most, MOST_NEW_PODS - answer.asked.replicas)
        plan = solve(_at_its_turn(answer, tried), time_limit=left, stop_event=stop_event)
        stages = [stage for stage in plan.objective if stage.name.startswith(PODS_PLACED)]
        best = max(sum(stage.value for stage in stages), row.more)
        most_placed = _bound(stages)
        # Where all that were tried may have a node, more may.
        bound = most_placed if most_placed is not None and most_placed < tried else limit
        if bound is not None and bound < best:
            raise InternalError(
                f"{row.workload}: {best} replicas are placed, and {bound} were said to be the most"
            )
        told.append(row.model_copy(update={"best": best, "bound": bound}))
        cut = cut or plan.cut
    return told, cut


def _bound(stages: Sequence[Objective]) -> int | None:
    """What no plan places more of; None where that is not known of every priority."""
    bounds = [stage.bound for stage in stages if stage.bound is not None and not stage.assumes]
    return sum(bounds) if len(bounds) == len(stages) else None


def _at_its_turn(answer: BestAnswer, more: int) -> Cluster:
    """The cluster when the scheduler comes to the replicas, with so many of them to come."""
    cluster, asked, found = answer.cluster, answer.asked, answer.found
    scaled = scale(cluster, asked.name, asked.replicas + more)
    known = {pod.key for pod in cluster.pods}
    pods = tuple(
        there
        for pod in scaled.pods
        if (there := pod if pod.key not in known else _standing(pod, found)) is not None
    )
    return replace(scaled, pods=pods)


def _standing(pod: Pod, found: Found) -> Pod | None:
    """A pod where it is at that time; None where it is evicted, or still waits."""
    if pod.key not in found.decided:
        return pod if pod.spec.node_name or pod.is_finished else None
    node = found.decided[pod.key]
    if node is None:
        return None
    return pod.on(node)
