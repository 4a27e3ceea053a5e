"""`planner capacity`: each workload for itself, over the same state.

What the best placement could hold is asked of `solve`, given the same replicas, with its bound.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from models import Cluster
from models.controllers.expand import MOST_NEW_PODS
from models.controllers.owners import ByController
from models.errors import InputError, InternalError
from models.objects.pod import Pod
from models.snapshot import Snapshot
from planner.batch.solve import solve
from planner.capacity.autoscalers import at_maximum
from planner.capacity.drawn import CapacityDraws
from planner.capacity.growth import Asked, scalable
from planner.capacity.replicas import Found
from planner.capacity.sets import count_sets, of_other_schedulers
from planner.capacity.walk import walked
from planner.documents.capacity import AutoscalerCapacity, Capacity, SetCapacity, WorkloadCapacity
from planner.documents.plan import PODS_PLACED, Cut, Objective
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested
from planner.proof.effort import STANDARD
from planner.scheduler.other_ties import NOT_DRAWN, some_of
from planner.scheduler.remarks import notes_on
from planner.whatif.autoscaling import ineffective
from planner.whatif.named import workload_named
from planner.whatif.nodes import remove_nodes
from planner.whatif.scaling import scale
from planner.whatif.unforeseen import left_out, why_unforeseen


def capacity(  # noqa: PLR0913 - the options of the command
    cluster: Cluster,
    workloads: Sequence[str] = (),
    *,
    best: bool = False,
    survive: str | None = None,
    autoscalers: bool = False,
    sets: Snapshot | None = None,
    time_limit: float = 30.0,
    stop_event: threading.Event | None = None,
) -> Capacity:
    """How many more replicas of each workload `Kind/name[.namespace]`, or of all, kube-scheduler would place.

    `more` is exact for the reference scheduler: scaled by so many, all of them are placed without evicting a
    pod, and of one more than that one is not.  Pods that are pending already and come before in the queue
    take their room first.  With `survive` the same after the loss of any one domain of that key, whose pods
    come back first.  With `best` what a plan places, and what none can beat, in `time_limit` seconds for all.
    With `autoscalers` which pods stay pending when all HorizontalPodAutoscalers are at their maximum.  With
    `sets` how many times these manifests fit together; then only the workloads named are counted beside it.
    """
    several = _wanted(cluster, workloads) if workloads or sets is None else []
    problem = Problem(cluster)
    left: Mapping[str | None, Cluster]
    if survive is None:
        counted = _with_answers(several, walked(problem, several, stop_event))
        answers = [BestAnswer(cluster, asked, found) for asked, found in counted]
        left = {None: cluster}
    else:
        domains = cluster.domains(survive, f"--survive {survive}")
        left = {domain: remove_nodes(cluster, f"{survive}={domain}") for domain in domains}
        answers = _surviving(left, several, stop_event)
    told = [answer.asked for answer in answers if answer.found.more]
    draws = CapacityDraws(problem, [*left.values()], STANDARD.draws, stop_event)
    drawn = draws.fewest_replicas(told)
    rows = [_row(answer, drawn) for answer in answers]
    sought = "room for the other workloads" if len(answers) < len(several) else None
    if best:
        rows, unfinished = with_best(answers, rows, time_limit, stop_event)
        sought = sought or ("the best placements" if unfinished else None)
    copies = None if sets is None else _sets(left, sets, draws)
    if copies is not None and not copies.exact and is_stop_requested(stop_event):
        sought = sought or "room for more copies"
    together = _autoscalers(left, draws) if autoscalers else ()
    document = Capacity(
        survive=survive,
        workloads=tuple(sorted(rows, key=lambda row: (row.more, row.namespace, row.workload))),
        autoscalers=together,
        sets=copies,
        kubernetes=problem.kubernetes.document,
        notes=tuple(
            dict.fromkeys(
                (
                    *notes_on(problem),
                    *left_out(cluster),
                    *(() if sets is None else of_other_schedulers(cluster, sets)),
                    *(ineffective(cluster) if autoscalers else ()),
                    *_about_draws(together),
                    *(() if (drawn or not told) and _is_drawn(copies, together) else (NOT_DRAWN,)),
                )
            )
        ),
    )
    return document.cut_while(None if sought is None else Cut(sought, is_stop_requested(stop_event)))


def _is_drawn(sets: SetCapacity | None, autoscalers: Sequence[AutoscalerCapacity]) -> bool:
    """Whether ties were drawn for the copies and autoscalers that fit."""
    copies = sets is None or not sets.more or sets.fewest is not None
    return copies and all(row.pending or row.failing_draws is not None for row in autoscalers)


def _about_draws(autoscalers: Sequence[AutoscalerCapacity]) -> Iterator[str]:
    """At most one note: the autoscalers that fit only as ties go."""
    failing = {f"{row.namespace}/{row.name}": row.failing_draws or 0 for row in autoscalers}
    yield from some_of(failing, "pods stay pending at the maximum of", STANDARD.draws)


def _with_answers(several: Sequence[Asked], found: dict[str, Found]) -> list[tuple[Asked, Found]]:
    """The workloads that were counted before the time was over, each with what was found."""
    return [(asked, found[asked.name]) for asked in several if asked.name in found]


def _row(answer: BestAnswer, drawn: Mapping[str, int]) -> WorkloadCapacity:
    asked, found = answer.asked, answer.found
    fewest = drawn.get(asked.name, found.more)
    return WorkloadCapacity(
        namespace=asked.workload.namespace,
        workload=f"{asked.workload.kind}/{asked.workload.name}",
        replicas=asked.replicas,
        more=found.more,
        fewest=fewest if fewest < found.more else None,
        message=found.message,
        limited_by=found.limited_by,
        lost=answer.lost,
    )


def _wanted(cluster: Cluster, names: Sequence[str]) -> list[Asked]:
    """The workloads named, or all that have a number of replicas."""
    every, sets = {asked.name: asked for asked in scalable(cluster)}, ByController(cluster.replica_sets)
    chosen: dict[str, Asked] = {}
    problems: list[str] = []
    for name in names:
        workload = workload_named(cluster, name)
        if workload.full_name in every:
            chosen[workload.full_name] = every[workload.full_name]
        else:
            no_number = f"{workload.kind} {workload.key} has no number of replicas of its own to raise"
            problems.append(why_unforeseen(workload, sets) or no_number)
    if problems:
        raise InputError(problems)
    return [*(chosen or every).values()]


def _sets(clusters: Mapping[str | None, Cluster], manifests: Snapshot, draws: CapacityDraws) -> SetCapacity:
    """How many copies, or the least over all domains that may be lost; and in the worst draw of ties."""
    counted = [
        count_sets(left, manifests, draws.stop_event).model_copy(update={"lost": domain})
        for domain, left in clusters.items()
    ]
    # What is exact is the least of all, whatever those that are not come to.
    least = min(counted, key=lambda found: (found.more, not found.exact))
    fewest = draws.fewest_copies(least, manifests) if least.more else None
    return least.model_copy(update={"fewest": fewest})


def _autoscalers(
    clusters: Mapping[str | None, Cluster], draws: CapacityDraws
) -> tuple[AutoscalerCapacity, ...]:
    """All autoscalers at their maximum; of each the worst over all domains that may be lost."""
    worst: dict[tuple[str, str], AutoscalerCapacity] = {}
    for domain, left in clusters.items():
        for found in at_maximum(left):
            row, name = found.model_copy(update={"lost": domain}), (found.namespace, found.name)
            worst[name] = max(worst.get(name, row), row, key=lambda row: (row.pending, row.alone))
    fit = [name for name, row in worst.items() if not row.pending]
    failing = draws.failing() if fit else None
    if failing is not None:
        worst |= {name: worst[name].model_copy(update={"failing_draws": failing[name]}) for name in fit}
    return tuple(sorted(worst.values(), key=lambda row: (-row.pending, row.namespace, row.name)))


def _surviving(
    clusters: Mapping[str | None, Cluster], several: Sequence[Asked], stop_event: threading.Event | None
) -> list[BestAnswer]:
    """The least over all domains that may be lost, and which it is; only what was counted for all."""
    least: dict[str, BestAnswer] = {}
    for domain, left in clusters.items():
        if is_stop_requested(stop_event):
            return []
        there = {asked.name: asked for asked in scalable(left)}
        rest = [there[asked.name] for asked in several]
        enough = {name: answer.found.more for name, answer in least.items()}
        counted = _with_answers(rest, walked(Problem(left), rest, stop_event, enough=enough))
        answers = [BestAnswer(left, asked, found, domain) for asked, found in counted]
        least = {
            answer.asked.name: min(
                least.get(answer.asked.name, answer), answer, key=lambda one: one.found.more
            )
            for answer in answers
        }
        several = [asked for asked in several if asked.name in least]
    return [least[asked.name] for asked in several]


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
