"""Scaling in time: workloads asked for one number of replicas after the other, as an autoscaler does.

Between two numbers everything comes to rest, and minutes to hours pass: a ReplicaSet that shrinks looks at
how long its pods have been ready.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from models import Cluster
from models.controllers.apply import FIELD_OF_KIND
from models.errors import InputError
from models.objects.custom_workload import is_custom
from models.objects.workload import Job
from models.snapshot import Snapshot
from planner.documents.rollout import ScalingPath, ScalingStep, Trajectory
from planner.proof.clock import report_best
from planner.simulation.rollout.draw import begin, drawn
from planner.simulation.rollout.makers import Rolling
from planner.simulation.rollout.prepare import Prepared, prepare
from planner.simulation.rollout.report import Domains, counts_at, ends_of, message_of, spread_of
from planner.whatif.scaling import scalable

#: Seconds between two numbers, from and to, drawn evenly over their logarithms.
_MINUTE, _HALF_A_DAY = 60.0, 43_200.0


@dataclass(frozen=True, slots=True)
class _RestingPoint:
    """Where one workload came to rest in one draw."""

    completes: bool
    message: str
    excess: int
    domains: Domains


def trajectory(
    cluster: Cluster,
    paths: Mapping[str, Sequence[int]],
    *,
    replays: int = 20,
    preemption: bool = True,
    stop_event: threading.Event | None = None,
) -> Trajectory:
    """Workloads `Kind/name[.namespace]` scaled along their paths, all of them at the same times.

    A stop ends the draws, and the one that is under way; without any there is NoAnswer.
    """
    owners = {name: _owner(cluster, name, numbers) for name, numbers in paths.items()}
    if len({(item.kind, item.key) for item in owners.values()}) < len(owners):
        raise InputError(["a workload has one list of replica counts, not several"])
    prepared = prepare(cluster, _largest(owners, paths))
    numbers = {(owners[name].kind, owners[name].key): found for name, found in paths.items()}
    path = [numbers[owner.kind, owner.key] for owner in prepared.workloads]

    def played(seed: int | None) -> list[list[_RestingPoint]]:
        draw = _played(prepared, path, seed, preemption)
        report_best(f"{1 + (seed or 0)} of {replays + 1} runs")
        return draw

    draws, stopped = drawn(played, replays, stop_event)
    last = [[rests[place][-1] for place in range(len(path))] for rests in draws]
    return Trajectory(
        runs=len(draws),
        rebalance=sum(any(rest.excess for rest in rests) for rests in last),
        courses=tuple(
            ScalingPath(
                namespace=owner.namespace,
                workload=f"{owner.kind}/{owner.name}",
                steps=tuple(_steps(owner, path[place], [rests[place] for rests in draws])),
            )
            for place, owner in enumerate(prepared.workloads)
        ),
        notes=tuple(dict.fromkeys((*prepared.notes, *stopped))),
    )


def _owner(cluster: Cluster, name: str, numbers: Sequence[int]) -> Rolling:
    for number in numbers:
        found = scalable(cluster, name, number)
    if isinstance(found, Job):
        raise InputError([f"Job {found.key}: its pods come to an end, they cannot be scaled step by step"])
    if is_custom(found):
        raise InputError([f"{found.kind} {found.key}: its controller is not played step by step"])
    owner: Rolling = found
    return owner


def _largest(owners: Mapping[str, Rolling], paths: Mapping[str, Sequence[int]]) -> Snapshot:
    """The workloads at the largest number of their path: so many pods may be needed."""
    manifests = Snapshot()
    for name, owner in owners.items():
        field = FIELD_OF_KIND[owner.kind]
        more: Any = (*getattr(manifests, field), owner.changed("spec", replicas=max(paths[name])))
        manifests = replace(manifests, **{field: more})
    return manifests


def _played(
    prepared: Prepared, paths: Sequence[Sequence[int]], seed: int | None, preemption: bool
) -> list[list[_RestingPoint]]:
    """For every workload where it came to rest after each number; a short path stays at its last number."""
    draw, chance = begin(prepared, seed, preemption=preemption), Random(seed or 0)
    found: list[list[_RestingPoint]] = [[] for _ in paths]
    for step in range(max(map(len, paths))):
        for run, path in zip(draw.runs, paths, strict=True):
            run.scale(path[min(step, len(path) - 1)])
        draw.go_on()
        for place, (run, owner) in enumerate(zip(draw.runs, prepared.workloads, strict=True)):
            simulation = draw.simulation
            counts = counts_at(prepared.problem, simulation.scheduler.state, run.pods)
            excess = sum(sum(item.surplus.values()) for item in counts if item.hard)
            domains = spread_of(prepared.problem, simulation, run, owner)
            message = message_of(simulation, run)
            found[place].append(_RestingPoint(draw.completes(place), message, excess, domains))
        draw.simulation.now += math.exp(chance.uniform(math.log(_MINUTE), math.log(_HALF_A_DAY)))
    return found


def _steps(
    owner: Rolling, numbers: Sequence[int], draws: Sequence[Sequence[_RestingPoint]]
) -> Iterator[ScalingStep]:
    for step, replicas in enumerate(numbers):
        rests = [rests[step] for rests in draws]
        stopped = next((rest for rest in rests if not rest.completes), None)
        yield ScalingStep(
            replicas=replicas,
            completed=sum(rest.completes for rest in rests),
            message="" if stopped is None else stopped.message,
            lopsided=sum(rest.excess > 0 for rest in rests),
            excess=max(rest.excess for rest in rests),
            ends=tuple(ends_of(owner, ((rest.completes, rest.domains, "") for rest in rests))),
        )
