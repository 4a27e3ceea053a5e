"""A DaemonSet in a rollout: a pod on every node that it serves, replaced node by node.

With maxSurge the new pod comes first and the old one goes when it is ready, or at once where it is not
ready itself; on nodes that get no new one old pods go as long as enough others are available.  Else the old
one goes, as many as maxUnavailable allows, and pods that are not ready go at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from models.controllers.daemons import node_meant
from models.objects.pod import Pod
from models.objects.share import pods_of_share
from models.objects.workload import DaemonSet
from planner.simulation.rollout.cluster_simulation import ClusterSimulation
from planner.simulation.rollout.controllers import Due, PodRun


class DaemonSetRun(PodRun):
    """The controller of one DaemonSet; nodes are named by the pods that are meant for them."""

    def __init__(  # noqa: PLR0913, PLR0917 - all pods that there are or may be, by what becomes of them
        self,
        owner: DaemonSet,
        old: Mapping[str, int],
        new: Mapping[str, int],
        terminating: Mapping[str, Sequence[int]],
        closed: Collection[str] = (),
        surplus: Sequence[int] = (),
    ) -> None:
        """For every node the pod that runs there, and for every node to be served the wanted one.

        `terminating` are the pods of each node that were told to go before this begins.  A `closed` node has
        a pod of the old revision, which goes in its turn, and gets no other one.  `surplus` go at once.
        """
        pods, ending = [*old.values(), *new.values(), *surplus], chain.from_iterable(terminating.values())
        super().__init__(pods, ending, owner.spec.min_ready_seconds)
        self.owner, self.old, self.new, self._ending_on = owner, old, new, terminating
        self._closed, self._surplus = closed, surplus

    def due(self, simulation: ClusterSimulation) -> Due:
        """Pods for nodes without one, away with those of nodes not to be served; then old ones go."""
        due = Due()
        self._serve(simulation, due)
        if self.owner.spec.update_strategy.type != "OnDelete":
            self._update(simulation, due)
        return due

    def completes(self, simulation: ClusterSimulation) -> bool:
        """Whether every node to be served has an available pod, a new one unless OnDelete says no."""
        served = all(self._is_available(simulation, node) for node in self.new)
        fresh = all(simulation.available[pod] for pod in self.new.values())
        return served and (fresh or self.owner.spec.update_strategy.type == "OnDelete")

    def sizes(self, simulation: ClusterSimulation) -> tuple[int, int]:
        """The pods that are there of the old revision and of the new one."""
        old = sum(bool(simulation.alive[pod]) for node, pod in self.old.items() if self.new.get(node) != pod)
        return old, sum(bool(simulation.alive[pod]) for pod in self.new.values())

    def _of(self, simulation: ClusterSimulation, node: str) -> tuple[int | None, int | None]:
        """The old and the new pod of a node, as far as they are there."""
        old, new = self.old.get(node), self.new.get(node)
        old = None if old == new else old
        return (
            old if old is not None and simulation.alive[old] else None,
            new if new is not None and simulation.alive[new] else None,
        )

    def _is_available(self, simulation: ClusterSimulation, node: str) -> bool:
        return any(pod is not None and simulation.available[pod] for pod in self._of(simulation, node))

    def _serve(self, simulation: ClusterSimulation, due: Due) -> None:
        for node, pod in self.new.items():
            there = any(found is not None for found in self._of(simulation, node))
            # With maxSurge it is not waited for that the pod before has ended.
            if not there and (self._surge or not self._is_occupied(simulation, node)):
                due.made.append(pod)
        unwanted = self.old.keys() - self.new.keys() - {*self._closed}
        gone = [*self._surplus, *(pod for node, pod in self.old.items() if node in unwanted)]
        due.gone += [pod for pod in gone if simulation.alive[pod]]

    def _is_occupied(self, simulation: ClusterSimulation, node: str) -> bool:
        """Whether a node has a pod, if only one that was told to go and whose containers run."""
        there = any(pod is not None for pod in self._of(simulation, node))
        former = [pod for pod in (self.old.get(node), self.new.get(node)) if pod is not None]
        return there or any(map(simulation.is_running_on, [*former, *self._ending_on.get(node, ())]))

    def _in_any_order(self, simulation: ClusterSimulation) -> list[str]:
        """The nodes to be served, and others as long as pods of theirs run.

        The controller has them in a map, and goes through it as it comes.
        """
        others = {**self.old, **self._ending_on}.keys() - self.new.keys()
        nodes = [*self.new, *(node for node in sorted(others) if self._is_occupied(simulation, node))]
        simulation.shuffle(nodes)
        return nodes

    @property
    def _surge(self) -> int:
        return self.owner.surge_of(len(self.new))

    def _update(self, simulation: ClusterSimulation, due: Due) -> None:
        if self._surge:
            self._with_surge(simulation, due, self._surge)
        else:
            share = self.owner.spec.update_strategy.rolling_update.max_unavailable
            unavailable = 1 if share is None else pods_of_share(share, len(self.new), round_up=True)
            self._in_place(simulation, due, unavailable)

    def _in_place(self, simulation: ClusterSimulation, due: Due, unavailable: int) -> None:
        pairs = {node: self._of(simulation, node) for node in self._in_any_order(simulation)}
        left = unavailable - sum(not self._is_available(simulation, node) for node in pairs)
        due.gone += [old for _, old in _outdated(simulation, pairs, left)]

    def _with_surge(self, simulation: ClusterSimulation, due: Due, surge: int) -> None:
        """A new pod beside every old one that is not ready, and beside so many of the others."""
        pairs = {node: self._of(simulation, node) for node in self._in_any_order(simulation)}
        both = [(old, new) for old, new in pairs.values() if old is not None and new is not None]
        left = surge - sum(not simulation.available[new] for _, new in both)
        served = {node: pair for node, pair in pairs.items() if node in self.new}
        due.made += [self.new[node] for node, _ in _outdated(simulation, served, left)]
        due.gone += [old for old, new in both if simulation.available[new] or not simulation.ready[old]]
        due.gone += self._without_successor(simulation, pairs)

    def _without_successor(
        self, simulation: ClusterSimulation, pairs: Mapping[str, tuple[int | None, int | None]]
    ) -> list[int]:
        """The old pods on closed nodes: those that are not available, and as many as are not needed.

        With maxSurge as many pods stay available as there are nodes to be served, wherever they are.
        """
        alone = [old for node, (old, _) in pairs.items() if node in self._closed and old is not None]
        counted = (new if old is None else old for old, new in pairs.values())
        available = sum(bool(simulation.available[pod]) for pod in counted if pod is not None)
        spare = [pod for pod in alone if simulation.available[pod]][: max(0, available - len(self.new))]
        return [*(pod for pod in alone if not simulation.available[pod]), *spare]


def _outdated(
    simulation: ClusterSimulation, pairs: Mapping[str, tuple[int | None, int | None]], most: int
) -> Iterator[tuple[str, int]]:
    """The nodes where the old pod is alone, each with that pod; only so many of which it is available."""
    for node, (old, new) in pairs.items():
        if old is None or new is not None or (simulation.available[old] and most <= 0):
            continue
        most -= bool(simulation.available[old])
        yield node, old


@dataclass(frozen=True, slots=True)
class DaemonPods:
    """The pods at the beginning: for each node one of an old revision and one of the newest.

    The others are too many: while a rollout with maxSurge goes on a node has both, else one of them.  Of more
    the controller keeps the oldest.
    """

    old: Mapping[str, Pod]
    current: Mapping[str, Pod]
    surplus: Sequence[Pod]

    @classmethod
    def of(cls, pods: Iterable[Pod], old_ones: Collection[str], *, surges: bool) -> DaemonPods:
        """The pods; `old_ones` are keys of those of old revisions, and only with `surges` two may stay."""
        old, current, surplus = dict[str, Pod](), dict[str, Pod](), list[Pod]()
        for node, several in _by_node(pods).items():
            for pod in several:
                table = old if pod.key in old_ones else current
                is_full = node in table if surges else node in old or node in current
                if is_full:
                    surplus.append(pod)
                else:
                    table[node] = pod
        return cls(old, current, surplus)


def _by_node(pods: Iterable[Pod]) -> Mapping[str, Sequence[Pod]]:
    """The pods of each node, also of one that affinity alone names; bound ones first, then the oldest."""
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in sorted(pods, key=_place_in_line):
        found[node_meant(pod) or ""].append(pod)
    return found


def _place_in_line(pod: Pod) -> tuple[bool, float, str]:
    created = pod.metadata.creation_timestamp
    return not pod.node_name, 0.0 if created is None else created.timestamp(), pod.name
