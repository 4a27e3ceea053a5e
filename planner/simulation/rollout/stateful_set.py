"""A StatefulSet in a rollout: numbered pods, made from the lowest, replaced from the highest.

With OrderedReady every step waits until all lower pods are ready; with Parallel only the replacement
does.  Pods below `partition` keep their revision; with OnDelete no pod is replaced.  One pod is replaced
at a time, or with 1.37 as many as maxUnavailable says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from models.objects.share import pods_of_share
from models.objects.workload import StatefulSet
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import Due, PodRun


class StatefulSetRun(PodRun):
    def __init__(
        self,
        owner: StatefulSet,
        old: Mapping[int, int],
        new: Mapping[int, int],
        terminating: Mapping[int, int],
    ) -> None:
        """For every ordinal the pod that runs and the one that is wanted: the same where nothing changes.

        `terminating` are pods that were told to go before this begins, and whose names are not free yet.
        """
        pods = [*old.values(), *new.values()]
        super().__init__(pods, terminating.values(), owner.spec.min_ready_seconds)
        self.owner, self.old, self.new, self._ending = owner, old, new, terminating
        self._fresh = frozenset(new.values())

    @property
    def _wanted(self) -> range:
        start = self.owner.spec.ordinals.start
        return range(start, start + self.owner.spec.replicas)

    @property
    def _is_ordered(self) -> bool:
        return self.owner.spec.pod_management_policy == "OrderedReady"

    @property
    def _first_updated(self) -> int:
        strategy = self.owner.spec.update_strategy
        if strategy.type == "OnDelete":
            return self._wanted.stop
        return self._wanted.start + strategy.rolling_update.partition

    @property
    def _most_unavailable(self) -> int:
        share = self.owner.spec.update_strategy.rolling_update.max_unavailable
        replicas = self.owner.spec.replicas
        return 1 if share is None else max(1, pods_of_share(share, replicas, round_up=False))

    def scale(self, replicas: int) -> None:
        self.owner = self.owner.changed("spec", replicas=replicas)

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether all pods wanted are there and available, those that may be of the new revision."""
        current = [self._current(simulation, ordinal) for ordinal in self._wanted]
        surplus = [
            n for n in self._known() if n not in self._wanted and self._current(simulation, n) is not None
        ]
        ready = all(pod is not None and simulation.available[pod] for pod in current)
        fresh = all(
            ordinal < self._first_updated or pod == self.new.get(ordinal)
            for ordinal, pod in zip(self._wanted, current, strict=True)
        )
        return ready and fresh and not surplus

    def sizes(self, simulation: ClusterSimulation) -> tuple[int, int]:
        """The pods that are there of the old revision and of the new one."""
        live = [pod for pod in self.pods if simulation.alive[pod]]
        new = sum(pod in self._fresh for pod in live)
        return len(live) - new, new

    def _known(self) -> list[int]:
        return sorted({*self.old, *self.new, *self._ending})

    def _current(self, simulation: ClusterSimulation, ordinal: int) -> int | None:
        """The pod of an ordinal that is there, of whichever revision."""
        found = (table.get(ordinal) for table in (self.new, self.old))
        return next((pod for pod in found if pod is not None and simulation.alive[pod]), None)

    def _is_leaving(self, simulation: ClusterSimulation, ordinal: int) -> bool:
        tables = (self.new, self.old, self._ending)
        return any(simulation.is_leaving(table[ordinal]) for table in tables if ordinal in table)

    def due(self, simulation: ClusterSimulation) -> Due:
        """What lacks comes first, then what is too much goes, then what is old.

        With OrderedReady whatever is not as it should be ends the reconcile; with Parallel it does not.
        """
        due = Due(ordered=True)
        for ordinal in self._in_batches(simulation, self._wanted):
            found = self._current(simulation, ordinal)
            if found is None and not self._is_leaving(simulation, ordinal):
                due.made.append(self._revision_for(ordinal))
            if self._is_ordered and (found is None or not simulation.available[found]):
                return due
        surplus = [
            n for n in reversed(self._known()) if n not in self._wanted and self._is_there(simulation, n)
        ]
        if self._is_ordered and surplus:
            due.gone += self._highest(simulation, surplus)
            return due
        for ordinal in self._in_batches(simulation, surplus):
            found = self._current(simulation, ordinal)
            due.gone += [] if found is None else [found]
        self._outdated(simulation, due)
        return due

    def _in_batches(self, simulation: ClusterSimulation, ordinals: Sequence[int]) -> Sequence[int]:
        """With Parallel one pod first, then two at once, then four; which of a batch is first is open."""
        if self._is_ordered:
            return ordinals
        places = list(range(len(ordinals)))
        simulation.shuffle(places)
        return [ordinals[place] for place in sorted(places, key=lambda place: (place + 1).bit_length())]

    def _revision_for(self, ordinal: int) -> int:
        """The pod to be made: below `partition` as it was; with OnDelete, too, a pod that is made is new."""
        kept = self.owner.spec.update_strategy.type != "OnDelete" and ordinal < self._first_updated
        return self.old[ordinal] if kept and ordinal in self.old else self.new[ordinal]

    def _is_there(self, simulation: ClusterSimulation, ordinal: int) -> bool:
        return self._current(simulation, ordinal) is not None or self._is_leaving(simulation, ordinal)

    def _highest(self, simulation: ClusterSimulation, surplus: Sequence[int]) -> Iterator[int]:
        """The next surplus pod to delete: the highest ordinal when it is ready and no pod is leaving.

        One that is not ready goes only when no lower one is in that state.
        """
        found = [self._current(simulation, ordinal) for ordinal in surplus]
        highest, *lower = found
        if highest is not None and (
            simulation.available[highest]
            or all(pod is not None and simulation.available[pod] for pod in lower)
        ):
            yield highest

    def _outdated(self, simulation: ClusterSimulation, due: Due) -> None:
        """Pods of the old revision go from the highest."""
        current = {ordinal: self._current(simulation, ordinal) for ordinal in reversed(self._wanted)}
        old = [
            pod
            for ordinal, pod in current.items()
            if pod is not None and ordinal >= self._first_updated and pod != self.new.get(ordinal)
        ]
        if simulation.problem.behaviour.updates_sets_together:
            away = sum(pod is None or not simulation.available[pod] for pod in current.values())
            left = max(0, self._most_unavailable - away)
            if self._is_ordered:
                due.gone += old[:left]
            else:
                due.gone += [pod for pod in old if not simulation.available[pod]]
                due.gone += [pod for pod in old if simulation.available[pod]][:left]
            return
        for ordinal, pod in current.items():
            if ordinal < self._first_updated or pod is None:
                return
            if pod in old:
                due.gone.append(pod)
                return
            if not simulation.available[pod]:
                return
