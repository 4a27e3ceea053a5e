"""Draws of a rollout as a document."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from statistics import median_low

import numpy as np

from models.objects.base import MOST_INT32
from models.objects.pod import Pod
from models.objects.workload import Deployment
from planner.audit.findings import change_of
from planner.audit.spread_counts import SpreadCounts, take
from planner.documents.plan import SpreadChange
from planner.documents.rollout import BrokenConstraint, RolloutEnd, WorkloadRollout
from planner.problem.nodes import ZONE
from planner.problem.problem import Problem
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import ControllerRun
from planner.simulation.rollout.draw import RolloutDraw
from planner.simulation.rollout.makers import Rolling
from planner.simulation.rollout.prepare import Prepared
from planner.state.state import State

#: For every key of a workload's constraints the pods of every domain.
Domains = tuple[tuple[tuple[str, int], ...], ...]


def workload_reports(
    prepared: Prepared, draws: Sequence[RolloutDraw], unfinished: Collection[tuple[str, str]]
) -> Iterator[WorkloadRollout]:
    """What became of every workload, over all draws; some lacked pods before, and nothing changes them."""
    for place, owner in enumerate(prepared.workloads):
        row = _report(prepared.problem, owner, draws, place)
        as_before = not row.completes and (row.namespace, row.workload) in unfinished
        yield row.model_copy(update={"as_before": as_before})


def _report(problem: Problem, owner: Rolling, draws: Sequence[RolloutDraw], place: int) -> WorkloadRollout:
    done = [draw.completes(place) for draw in draws]
    # The first draw is reported, unless only another one stops.
    reported = draws[0 if all(done) else done.index(False)]
    told, least_ready = reported.runs[place], [draw.runs[place].least_ready or 0 for draw in draws]
    return WorkloadRollout(
        namespace=owner.namespace,
        workload=f"{owner.kind}/{owner.name}",
        completes=all(done),
        stopped_at=None if all(done) else len(told.steps),
        message="" if all(done) else message_of(reported.simulation, told),
        gives_up_after=None if all(done) else _deadline(owner),
        least_ready=min(least_ready),
        least_ready_median=median_low(least_ready),
        least_ready_best=max(least_ready),
        steps=tuple(told.steps),
        ends=tuple(_ends(problem, owner, draws, place)),
    )


def late(owners: Sequence[Rolling], draws: Sequence[RolloutDraw]) -> Iterator[str]:
    """A note for each workload that completes after the API server has refused pods of it."""
    for place, owner in enumerate(owners):
        for draw in draws:
            if draw.completes(place) and not draw.simulation.refused_once.isdisjoint(draw.runs[place].pods):
                yield (
                    f"{owner.kind}/{owner.name} of {owner.namespace} is slow: what a quota refuses on the "
                    "way is tried again up to 1000 s later"
                )
                break


def _deadline(owner: Rolling) -> int | None:
    """After how many seconds without progress a Deployment says so; a paused one does not, nor one that may
    wait for ever."""
    if not isinstance(owner, Deployment) or owner.spec.paused:
        return None
    seconds = owner.spec.progress_deadline_seconds
    return None if seconds == MOST_INT32 else seconds


def message_of(simulation: ClusterSimulation, run: ControllerRun) -> str:
    """Why the first of its pods that wait has no node; or why one is not made, ready or gone."""
    mine = set(run.pods)
    waiting = (
        simulation.messages[pod] for pod in simulation.waiting if pod in simulation.messages and pod in mine
    )
    refused = (line for pod, line in simulation.refusals.items() if pod in mine)
    unstarted = (simulation.why_not_started(pod) for pod in simulation.starting if pod in mine)
    watched = (pod for controller in run.controllers for pod in controller.watched)
    endless = (_why_not_ended(simulation, pod) for pod in watched if simulation.is_leaving(pod))
    stuck = [*_not_ready(simulation, run)]
    failed = (f"{pod.name} does not start: {pod.start_failure}" for pod in stuck if pod.start_failure)
    unready = (f"{pod.name} runs and is not ready" for pod in stuck)
    return next(filter(None, chain(waiting, refused, failed, unstarted, endless, unready)), "")


def _why_not_ended(simulation: ClusterSimulation, pod: int) -> str:
    """Why a pod that was told to go stays, if so."""
    found = simulation.problem.endings.why_not(pod)
    return "" if found is None else f"{simulation.problem.pods[pod].name} does not end: {found.words}"


def _not_ready(simulation: ClusterSimulation, run: ControllerRun) -> Iterator[Pod]:
    """The pods that have had a node from the start and are not going to be ready."""
    is_new = ~np.isnan(simulation.made_at)
    for pod in run.pods:
        is_stuck = simulation.alive[pod] and not (simulation.ready[pod] or is_new[pod])
        if is_stuck and pod not in simulation.starting and pod not in simulation.waiting:
            yield simulation.problem.pods[pod]


def _ends(problem: Problem, owner: Rolling, draws: Sequence[RolloutDraw], place: int) -> Iterator[RolloutEnd]:
    """Every distinct end of the draws with what was said there."""
    found = []
    for draw in draws:
        run, completes = draw.runs[place], draw.completes(place)
        line = "" if completes else message_of(draw.simulation, run)
        found.append((completes, spread_of(problem, draw.simulation, run, owner), line))
    return ends_of(owner, found)


def ends_of(owner: Rolling, found: Iterable[tuple[bool, Domains, str]]) -> Iterator[RolloutEnd]:
    """Every distinct end, the most frequent first: whether it is complete, the domains, and lines."""
    keys, ends = keys_of(owner), Counter[tuple[bool, Domains]]()
    lines: defaultdict[object, Counter[str]] = defaultdict(Counter)
    for completes, domains, line in found:
        ends[completes, domains] += 1
        lines[completes, domains].update([line] if line else [])
    for (completes, domains), runs in ends.most_common():
        named = {key: dict(pods) for key, pods in zip(keys, domains, strict=True)}
        told = dict(lines[completes, domains].most_common())
        yield RolloutEnd(runs=runs, completes=completes, domains=named, messages=told)


def keys_of(owner: Rolling) -> list[str]:
    """The keys that the workload's constraints name; zones where it has none."""
    spec = owner.spec.template.spec if owner.spec.template else None
    asked = [item.topology_key for item in spec.topology_spread_constraints] if spec else []
    return list(dict.fromkeys(asked)) or [ZONE]


def spread_of(problem: Problem, simulation: ClusterSimulation, run: ControllerRun, owner: Rolling) -> Domains:
    """The pods of a workload by domain, for every key of its constraints."""
    nodes = run.nodes(simulation)
    found = []
    for column in map(problem.nodes.column, keys_of(owner)):
        codes = column.codes[nodes[nodes >= 0]]
        counts = np.bincount(codes[codes >= 0], minlength=len(column.values))
        order, names = column.by_name
        found.append(tuple(zip(names, counts[order].tolist(), strict=True)))
    return tuple(found)


def counts_at(problem: Problem, state: State, pods: Sequence[int] | None = None) -> list[SpreadCounts]:
    """Every constraint that a pod that is there carries, with its pods by domain; those of some pods only."""
    chosen = np.arange(len(problem.pods)) if pods is None else np.array(pods, np.int64)
    held = {int(number) for number in problem.template_of[chosen[state.node_of[chosen] >= 0]]}
    return take(problem, state, [item for item in problem.templates if item.index in held])


def broken_constraints(worse: Iterable[tuple[tuple[str, str, str], int]]) -> Iterator[BrokenConstraint]:
    """What draws leave broken: for each constraint how many of them, and by how much at worst."""
    found: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for whose, excess in worse:
        found[whose].append(excess)
    for (namespace, workload, key), excesses in sorted(found.items()):
        yield BrokenConstraint(
            namespace=namespace, workload=workload, topology_key=key, runs=len(excesses), excess=max(excesses)
        )


def spread_changes(before: Sequence[SpreadCounts], after: Sequence[SpreadCounts]) -> Iterator[SpreadChange]:
    """The constraints at the end, beside what the same ones had at the start."""
    known = {item.identity: item for item in before}
    for item in after:
        yield change_of(known.get(item.identity), item)
