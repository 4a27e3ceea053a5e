"""What a consolidation is about: a cluster with some machines that may be added, prices, and what may go.

A machine of the catalogue is a node of the cluster here, empty but for pods of DaemonSets; until it is
added it is one of the nodes that are removed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice

import numpy as np

from models import Cluster
from models.collector import collector_paused
from models.controllers.daemons import node_meant
from planner.audit.replicas_down import ReplicaLimit
from planner.consolidate.catalogue import Catalogue, MachineType
from planner.consolidate.layout import Layout, PlanLimits, SearchTask, first_layout, moves_to
from planner.consolidate.prices import INSTANCE_TYPE, NodePrices
from planner.consolidate.removable import NodeChoice, Removable
from planner.documents.consolidation import AddedNode
from planner.eviction.budgets import Budgets
from planner.eviction.movable import is_tied
from planner.eviction.protections import protections_of
from planner.moves.movable import Movable
from planner.moves.trial_cluster import Move, TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.problem.problem import Problem
from planner.whatif.eviction import without_pods
from planner.whatif.nodes import free_names, without_nodes


@dataclass(frozen=True, slots=True)
class ConsolidationQuestion:
    """What the user asks about: prices by type and the label that names the type, and the nodes looked at.

    At most `max_unavailable` replicas of a workload may be down.  So many thousandths of the kept nodes' room
    stay free, and with `survive` any domain of that key may be lost.
    """

    cluster: Cluster
    prices: Mapping[str, float | str | Decimal] | None = None
    price_label: str = INSTANCE_TYPE
    choice: NodeChoice = field(default_factory=NodeChoice)
    max_unavailable: int = 1
    thousandths: int = 0
    max_moves: int | None = None
    survive: str | None = None
    pins: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """A cluster with machines, and everything that is known of it before a search."""

    question: ConsolidationQuestion
    machines: Mapping[str, MachineType]
    trial: TrialCluster
    movable: Movable
    removable: Removable
    prices: NodePrices
    limit: ReplicaLimit

    @classmethod
    def of(cls, question: ConsolidationQuestion, machines: Mapping[str, MachineType]) -> Setting:
        """The cluster of a question with some machines, by the names of their nodes."""
        problem = Problem(with_machines(question.cluster, machines))
        own = {name: machine.price for name, machine in machines.items()}
        prices = NodePrices.of(problem, question.prices, question.price_label, own)
        limit = ReplicaLimit.of(problem, question.max_unavailable)
        staying = limit.kept_up(problem)
        movable = Movable(problem, protections_of(problem.cluster), Budgets(problem), staying)
        choice = replace(question.choice, machines=frozenset(machines))
        removable = Removable.of(problem, movable, prices.prices, choice)
        return cls(question, machines, TrialCluster(problem), movable, removable, prices, limit)

    @property
    def problem(self) -> Problem:
        return self.trial.problem

    @property
    def added(self) -> Mask:
        """The nodes that are machines of the catalogue."""
        return np.isin(self.problem.nodes.names, [*self.machines])

    @property
    def kinds(self) -> Codes:
        """A number for the type and zone of every machine; -1 of other nodes."""
        numbers = {id(machine): number for number, machine in enumerate(self.machines.values())}
        found = [self.machines.get(name) for name in self.problem.nodes.names]
        return np.array([-1 if one is None else numbers[id(one)] for one in found], np.intp)

    @property
    def before(self) -> Layout:
        """The snapshot's layout: no node goes, and no machine is added."""
        return replace(first_layout(self.problem, self.movable), removed=self.added)

    def task(self, limits: PlanLimits | None = None) -> SearchTask:
        """What a search is about, on a trial cluster of its own."""
        trial = TrialCluster(self.problem)
        return SearchTask(trial, self.movable, self.removable, self.before, limits or PlanLimits())

    def only(self, nodes: Mask) -> Setting:
        """The same with those machines alone that are in a mask."""
        names = {*self.problem.nodes.names_of(nodes)}
        machines = {name: machine for name, machine in self.machines.items() if name in names}
        return self if len(machines) == len(self.machines) else Setting.of(self.question, machines)

    def end(self, layout: Layout, removed: Mask) -> Cluster:
        """The cluster when some of a layout's nodes are deleted, and pods of the others stay on them."""
        problem = self.problem
        names, stays = problem.nodes.names, layout.removed & ~removed
        moves = moves_to(problem, self.movable, self.before, layout)
        places = {problem.pods[move.pod].key: names[move.target] for move in moves if not stays[move.source]}
        return in_the_end(problem.cluster, places, frozenset(problem.nodes.names_of(removed)))

    def translated(self, layout: Layout, to: Setting) -> Layout:
        """A layout of this setting in another one that has all machines that the layout uses."""
        if to is self:
            return layout
        names, index, pods = self.problem.nodes.names, to.problem.nodes.index, to.problem.pod_index
        moves = [
            Move(pods[self.problem.pods[move.pod].key], index[names[move.source]], index[names[move.target]])
            for move in moves_to(self.problem, self.movable, self.before, layout)
        ]
        removed = to.added
        for node, gone in enumerate(layout.removed.tolist()):
            if names[node] in index:
                removed[index[names[node]]] = gone
        return to.before.after(to.trial, moves, removed)


def named(
    question: ConsolidationQuestion, counts: Sequence[tuple[MachineType, int]]
) -> dict[str, MachineType]:
    """So many nodes of each type, by names that no node has."""
    taken = {node.name for node in question.cluster.nodes}
    names = {machine.prefix: free_names(machine.prefix, taken) for machine, _ in counts}
    return {name: machine for machine, number in counts for name in islice(names[machine.prefix], number)}


def with_added(
    cluster: Cluster, added: Sequence[AddedNode], rows: Sequence[Mapping[str, str]], price_label: str
) -> Cluster:
    """The cluster with the machines that a plan adds from a catalogue."""
    if not added:
        return cluster
    types = {(found.name, found.zone): found for found in Catalogue.of(cluster, rows, price_label).types}
    return with_machines(cluster, {row.name: types[row.type, row.zone] for row in added})


def with_machines(cluster: Cluster, machines: Mapping[str, MachineType]) -> Cluster:
    """The cluster with the nodes of some machines, the pods of DaemonSets on them."""
    if not machines:
        return cluster
    with collector_paused():
        nodes = tuple(machine.node(name) for name, machine in machines.items())
        known = {pod.key for pod in cluster.pods}
        grown = without_pods(replace(cluster, nodes=cluster.nodes + nodes), ())
        pods = []
        for pod in grown.pods:
            only = node_meant(pod) if pod.key not in known and is_tied(pod) else None
            if only is not None and only in machines:
                pods.append(pod.on(only, running=True))
            else:
                pods.append(pod)
        return replace(grown, pods=tuple(pods))


def in_the_end(cluster: Cluster, places: Mapping[str, str], gone: frozenset[str]) -> Cluster:
    """The cluster with pods, by their keys, on other nodes, and without nodes and what still ran there."""
    pods = (pod.on(places[pod.key]) if pod.key in places else pod for pod in cluster.pods)
    left = tuple(pod for pod in pods if pod.node_name not in gone)
    return without_nodes(replace(cluster, pods=left), gone)
