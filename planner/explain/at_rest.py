"""Where a cluster comes to rest: the pending pods are tried, and tried again while that places any pod.

A pod that was refused is not lost: kube-scheduler takes it up again when something has changed. So
what keeps a pod pending is judged in the state in which another round changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from models import Cluster
from models.controllers.daemons import node_meant
from models.objects.node import Node
from models.objects.pod import Pod
from planner.eviction.budgets import Budgets
from planner.explain.losses import DeletionLosses
from planner.explain.new_daemons import NewDaemons
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD, ExplainEffort
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from planner.state.state import State
from planner.whatif.eviction import without_pods


class AtRest:
    """A cluster at rest: where the pods are, which are left and which preemption evicted, and why."""

    def __init__(
        self,
        problem: Problem,
        preemption: bool,
        effort: ExplainEffort = STANDARD.explain,
        seed: int | None = None,
    ) -> None:
        """Run the queue until it has nothing more to give.

        With a seed nodes are sampled and ties drawn.
        """
        self.problem = problem
        self.scheduler = Scheduler(problem, preemption=preemption, seed=seed)
        self.preemption, self.effort = preemption, effort
        self.evicted: list[int] = []
        self.messages: dict[int, str] = {}
        self.late: dict[int, int] = {}
        self._claiming: list[tuple[int, int]] = []
        self.left = [decision.pod for decision in self.scheduler.run() if self._take(decision) is None]
        self._try_again()

    def _try_again(self) -> None:
        for _ in range(self.effort.rounds_to_rest):
            before = self.scheduler.version
            for pod in [pod for pod in self.left if not self.problem.held_back(pod)]:
                node = self._take(self.scheduler.decide(pod))
                if node is not None:
                    self.left.remove(pod)
                    self.late[pod] = node
            if self.scheduler.version == before:
                break

    def _take(self, decision: SchedulingDecision) -> int | None:
        """Take note of a decision; the node that the pod got, if any."""
        pod, node = decision.pod, decision.node
        self.evicted += decision.victims
        if node is None:
            self.messages[pod] = decision.message
        elif self.problem.pods[pod].spec.volumes:
            self._claiming.append((pod, node))
        return node

    @cached_property
    def budgets(self) -> Budgets:
        """The PodDisruptionBudgets, counted once for all pods that are explained."""
        return Budgets(self.problem)

    @cached_property
    def losses(self) -> DeletionLosses:
        """What is lost with pods that are deleted, worked out once for all pods that are explained."""
        return DeletionLosses(self.problem)

    def daemons_on(self, node: Node, like: int) -> Sequence[Pod]:
        """The pods of DaemonSets that a new node gets, which is like one that is there."""
        there = self.scheduler.state.pods_on[like]
        return [*self._daemons.on(node, map(self.problem.pods.__getitem__, there))]

    def daemons_on_changed(self, node: Node, place: int) -> Sequence[Pod]:
        """The pods of DaemonSets that a node that is there gets once it is changed to this one.

        None of those of which a pod waits for this node already.
        """
        there, old = self.scheduler.state.pods_on[place], self.problem.nodes.nodes[place]
        pods = map(self.problem.pods.__getitem__, there)
        return [*self._daemons.on_changed(node, old, (*pods, *self._waiting_for.get(node.name, ())))]

    @cached_property
    def _waiting_for(self) -> Mapping[str, Sequence[Pod]]:
        """The pods that are left and meant for one node, as those of DaemonSets are, by its name."""
        found = defaultdict[str, list[Pod]](list)
        for pod in map(self.problem.pods.__getitem__, self.left):
            if (name := node_meant(pod)) is not None:
                found[name].append(pod)
        return found

    @cached_property
    def _daemons(self) -> NewDaemons:
        return NewDaemons(self.problem)

    @cached_property
    def promised(self) -> list[int]:
        """The pods that are left and are still promised a node."""
        return [pod for pod in self.left if self.scheduler.is_promised(pod)]

    def cluster(self) -> Cluster:
        """The snapshot with all pods where the scheduler put them; the same one where nothing has changed.

        In place of pods that preemption evicted there are those that their controllers make next, beside
        those that a quota had refused.
        """
        problem, names = self.problem, self.problem.nodes.names
        node_of = self.scheduler.state.node_of.tolist()
        evicted = [pod for pod in dict.fromkeys(self.evicted) if node_of[pod] < 0]
        found = []
        for pod in problem.cluster.pods:
            number = problem.pod_index.get(pod.key)
            node = -1 if number is None else node_of[number]
            found.append(pod.on(names[node]) if node >= 0 and names[node] != pod.node_name else pod)
        changed = self.scheduler.state.version
        placed = replace(problem.cluster, pods=tuple(found)) if changed else problem.cluster
        again = [
            pod for pod in problem.refused if evicted and problem.pods[pod].metadata.controller is not None
        ]
        gone = [problem.pods[pod] for pod in (*evicted, *again)]
        returning = [pod for pod in gone if not pod.is_mirror]
        return without_pods(placed, gone, returning=returning) if gone else placed

    @cached_property
    def start(self) -> tuple[State, Sequence[tuple[int, int]]]:
        """A fresh state with all pods in place, but for those that bind claims, and the nodes of these."""
        node_of: Codes = self.scheduler.state.node_of.astype(np.int32)
        staying = [(pod, node) for pod, node in self._claiming if node_of[pod] == node]
        node_of[[pod for pod, _ in staying]] = -1
        return State(self.problem.varied(node_of)), staying
