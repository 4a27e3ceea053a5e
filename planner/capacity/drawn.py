"""How many more replicas there is room for when ties go elsewhere: the fewest of some draws."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from models import Cluster
from planner.capacity.growth import Asked, scalable
from planner.capacity.replicas import Found
from planner.capacity.walk import walked
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested, looking_for
from planner.proof.effort import DrawEffort
from planner.scheduler import other_ties


def fewest_of_draws(
    now: Problem,
    asked: Sequence[Asked],
    left: Sequence[Cluster],
    effort: DrawEffort,
    stop_event: threading.Event | None,
) -> Mapping[str, int]:
    """By workload the least in all these clusters, as it is or without a domain; only what all draws counted.

    What controllers make again after a loss comes in any order.
    """
    names, there = [one.name for one in asked], {pod.key for pod in now.pods if not pod.node_name}
    counts: dict[str, list[int]] = {name: [] for name in names}
    is_small = len(asked) * len(now.pods) * now.nodes.size <= effort.draws_counts
    are_few = len(asked) * len(left) <= effort.draws_workloads
    seeds = other_ties.seeds(now, effort) if is_small and are_few else ()
    for seed in seeds:
        for cluster in left:
            if is_stop_requested(stop_event):
                return {}
            looking_for("less room with other ties")
            drawn = other_ties.with_turns_drawn(
                cluster, lambda pod: not pod.node_name and pod.key not in there, seed
            )
            for name, found in _counted(drawn, names, seed, stop_event).items():
                counts[name].append(found.more)
    every = len(seeds) * len(left)
    return {name: min(found) for name, found in counts.items() if found and len(found) == every}


def _counted(
    cluster: Cluster, names: Sequence[str], seed: int, stop_event: threading.Event | None
) -> Mapping[str, Found]:
    every = {one.name: one for one in scalable(cluster)}
    return walked(Problem(cluster), [every[name] for name in names], stop_event, seed)
