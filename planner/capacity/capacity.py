"""`planner capacity`: each workload for itself, over the same state."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

from models import Cluster
from models.controllers.owners import ByController
from models.errors import InputError
from models.snapshot import Snapshot
from planner.capacity.autoscalers import at_maximum
from planner.capacity.best import BestAnswer, with_best
from planner.capacity.drawn import CapacityDraws
from planner.capacity.growth import Asked, scalable
from planner.capacity.replicas import Found
from planner.capacity.sets import count_sets, of_other_schedulers
from planner.capacity.walk import walked
from planner.documents.capacity import AutoscalerCapacity, Capacity, SetCapacity, WorkloadCapacity
from planner.documents.plan import Cut
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested
from planner.proof.effort import STANDARD
from planner.scheduler.other_ties import NOT_DRAWN, some_of
from planner.scheduler.remarks import remarks
from planner.whatif.autoscaling import ineffective
from planner.whatif.named import workload_named
from planner.whatif.nodes import remove_nodes
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
                    *cluster.notes,
                    *problem.notes,
                    *remarks(problem),
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
    answers: dict[str, list[BestAnswer]] = {asked.name: [] for asked in several}
    for domain, left in clusters.items():
        if is_stop_requested(stop_event):
            break
        there = {asked.name: asked for asked in scalable(left)}
        rest = [there[asked.name] for asked in several]
        for asked, found in _with_answers(rest, walked(Problem(left), rest, stop_event)):
            answers[asked.name].append(BestAnswer(left, asked, found, domain))
    counted = [found for found in answers.values() if len(found) == len(clusters)]
    return [min(found, key=lambda answer: answer.found.more) for found in counted]
