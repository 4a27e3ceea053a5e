"""What there is room for when ties go elsewhere: the fewest replicas and copies of some draws."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from models import Cluster
from models.objects.pod import Pod
from models.snapshot import Snapshot
from planner.capacity.autoscalers import more_at_maximum, short_in_draw
from planner.capacity.growth import Asked, scalable
from planner.capacity.replicas import Found
from planner.capacity.sets import placed_in_draw
from planner.capacity.walk import walked
from planner.documents.capacity import SetCapacity
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested, looking_for
from planner.proof.effort import DrawEffort
from planner.scheduler import other_ties


@dataclass(frozen=True, slots=True)
class CapacityDraws:
    """Draws of ties in a cluster as it is, or in each that is left without a domain.

    What controllers make again after a loss comes in any order.
    """

    now: Problem
    left: Sequence[Cluster]
    effort: DrawEffort
    stop_event: threading.Event | None

    def fewest_replicas(self, asked: Sequence[Asked]) -> Mapping[str, int]:
        """By workload the least in all these clusters; only what all draws counted."""
        names, now = [one.name for one in asked], self.now
        counts: dict[str, list[int]] = {name: [] for name in names}
        is_small = len(asked) * len(now.pods) * now.nodes.size <= self.effort.draws_counts
        are_few = len(asked) * len(self.left) <= self.effort.draws_workloads
        seeds = other_ties.seeds(now, self.effort) if is_small and are_few else ()
        for seed, drawn in self._drawn(seeds):
            for name, found in _counted(drawn, names, seed, self.stop_event).items():
                counts[name].append(found.more)
        return {name: min(found) for name, found in counts.items() if self._is_all(found, seeds)}

    def fewest_copies(self, told: SetCapacity, manifests: Snapshot) -> int | None:
        """The least of the copies that are told; None where none are drawn."""
        seeds = self._seeds(told.more * told.pods)
        counts = [
            placed_in_draw(drawn, manifests, told.more, seed, self.stop_event)
            for seed, drawn in self._drawn(seeds)
        ]
        found = [number for number in counts if number is not None]
        return min(found) if self._is_all(found, seeds) else None

    def failing(self) -> Counter[tuple[str, str]] | None:
        """By namespace and name of autoscalers in how many draws they have pending pods at all maxima.

        None where none are drawn.
        """
        seeds = self._seeds(more_at_maximum(self.now.cluster))
        found = [(seed, {*short_in_draw(drawn, seed, self._is_made)}) for seed, drawn in self._drawn(seeds)]
        failing = {(seed, name) for seed, short in found for name in short}
        return Counter(name for _, name in failing) if self._is_all(found, seeds) else None

    def _seeds(self, more: int) -> Sequence[int]:
        """A seed for each draw in which so many more pods come; none where all together take too long."""
        return other_ties.seeds(self.now, self.effort, (len(self.now.pods) + more) * len(self.left))

    def _is_all(self, found: Sequence[object], seeds: Sequence[int]) -> bool:
        """Whether there were draws, and all of them came to an end."""
        return bool(found) and len(found) == len(seeds) * len(self.left)

    def _drawn(self, seeds: Sequence[int]) -> Iterator[tuple[int, Cluster]]:
        """Each cluster for each seed, until a stop."""
        for seed in seeds:
            for cluster in self.left:
                if is_stop_requested(self.stop_event):
                    return
                looking_for("less room with other ties")
                yield seed, other_ties.with_turns_drawn(cluster, self._is_made, seed)

    def _is_made(self, pod: Pod) -> bool:
        """Whether a pod waits that did not before: controllers have made it since."""
        before = self.now.pod_index.get(pod.key)
        return not pod.node_name and (before is None or bool(self.now.pods[before].node_name))


def _counted(
    cluster: Cluster, names: Sequence[str], seed: int, stop_event: threading.Event | None
) -> Mapping[str, Found]:
    every = {one.name: one for one in scalable(cluster)}
    return walked(Problem(cluster), [every[name] for name in names], stop_event, seed)
