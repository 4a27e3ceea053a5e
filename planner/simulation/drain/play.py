"""Nodes drained one wave after the other, as `kubectl drain` does, with the scheduler in between.

All nodes are cordoned first, so that no pod lands on one that is still to be drained: no pod moves
twice.  In a wave every pod is evicted as soon as its budget allows; its replacement is scheduled and
becomes ready, which gives the budget back.  A replacement that tolerates the cordon may come back: it is
another pod, and is not asked again.

Old pods end when their replacements have been looked at; or, where they take their time, not before nothing
else can happen.  Where a controller waits for the end the replacement is made then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.eviction.movable import is_tied
from planner.problem.problem import Problem
from planner.proof.clock import report_best
from planner.proof.effort import DrainEffort
from planner.simulation.drain.allowances import Allowances
from planner.simulation.drain.held import DrainFacts, Held
from planner.simulation.rollout.cluster_simulation import ClusterSimulation

RESTLESS = "Pods evict each other in a loop, so that the drain was not played to an end"


@dataclass(slots=True)
class Drained:
    """What came of the waves: the nodes of each, what was evicted from which, and what is in the way."""

    waves: list[list[int]] = field(default_factory=list)
    evicted: dict[int, list[int]] = field(default_factory=dict)
    stuck: dict[int, list[Held]] = field(default_factory=dict)
    """For every node that is not empty the pods that stay, and why."""
    not_created: list[int] = field(default_factory=list)
    """Pods whose turn has not come: in the end those of lower ordinals are never ready."""
    restless: bool = False
    """Whether pods evicted each other in a loop until it was given up."""


class Drain:
    """Drains nodes of a cluster simulation."""

    def __init__(  # noqa: PLR0913 - what happens, and what a drain goes by
        self,
        simulation: ClusterSimulation,
        allowances: Allowances,
        pods_on: Mapping[int, Sequence[int]],
        effort: DrainEffort,
        facts: DrainFacts,
        *,
        late: bool = False,
    ) -> None:
        """`pods_on` has for every node the pods that are to go, in the order in which they are asked.

        With `late` pods end as late as they can.
        """
        self._simulation = simulation
        simulation.on_ready_preempted = self._lose
        # Until pods are evicted and end all backoffs are over: what that helps is due at once.
        simulation.now = math.inf
        self._facts = facts
        self._predecessor = {new: pod for pod, new in facts.replaced.items()}
        self._endless = {simulation.doubles[pod] for pod in facts.endless}
        self._surplus_of = {pod: place for place, (pods, _) in enumerate(facts.too_many) for pod in pods}
        self._too_many = [number for _, number in facts.too_many]
        self._late = late
        self._allowances = allowances
        self._pods_on = pods_on
        self._found = Drained()
        self._asked: set[int] = set()
        pods = len(simulation.waiting) + sum(map(len, pods_on.values()))
        self._most = max(effort.least_events, effort.events_per_pod * pods)

    def run_until_quiet(self) -> None:
        """Let happen what happens without a drain."""
        while self._let_others_act():
            pass

    def run(self, nodes: Sequence[int], at_once: int) -> Drained:
        """Drain the nodes, those that are stuck again after all others, until no order helps any more."""
        waiting = [node for node in nodes if node not in self._facts.unasked]
        while waiting and not self._found.restless:
            left = []
            for start in range(0, len(waiting), at_once):
                left += self._wave(waiting[start : start + at_once])
                report_best(f"{len(self._found.waves)} waves done, {len(left)} nodes to be tried again")
            if len(left) == len(waiting):
                break
            waiting = left
        for node in waiting if self._found.restless else ():
            if staying := self._staying(node):
                self._found.stuck[node] = [(pod, "Budget", RESTLESS) for pod in staying]
        for node in nodes:
            if node in self._facts.nodes:
                known = self._found.stuck.setdefault(node, [])
                told = {one[0] for one in known}
                known += [one for one in self._facts.nodes[node] if one[0] not in told]
        return self._found

    def _wave(self, nodes: Sequence[int]) -> list[int]:
        """Drain nodes together; those that are not empty then."""
        moved = True
        touched: set[int] = set()
        while moved:
            moved = False
            for node in nodes:
                if self._evict(node):
                    touched.add(node)
                    moved = True
            moved |= self._let_others_act()
        came = [node for node in nodes if node in touched or not self._staying(node)]
        if came:
            self._found.waves.append(came)
        left = []
        for node in nodes:
            self._found.stuck.pop(node, None)
            staying = self._staying(node)
            if staying:
                left.append(node)
                refusals = ((pod, self._allowances.refusal(self._simulation, pod)) for pod in staying)
                self._found.stuck[node] = [(pod, "Budget", refusal) for pod, refusal in refusals]
        return left

    def _staying(self, node: int) -> list[int]:
        """The pods of a node that are there and have not been evicted yet."""
        node_of, alive = self._simulation.scheduler.state.node_of, self._simulation.alive
        left = [pod for pod in self._pods_on[node] if pod not in self._asked]
        return [pod for pod in left if alive[pod] and node_of[pod] == node]

    def _evict(self, node: int) -> bool:
        """Evict every pod that may go now; what a controller makes again waits for a node at once."""
        simulation, gone = self._simulation, False
        for pod in self._staying(node):
            if self._allowances.refusal(simulation, pod):
                continue
            if simulation.ready[pod]:
                self._lose(pod)
            simulation.delete(pod)
            self._asked.add(pod)
            self._found.evicted.setdefault(node, []).append(pod)
            if self._is_made_again(pod):
                self._found.not_created.append(pod)
            gone = True
        self._make_again(has_room=gone)
        return gone

    def _make_again(self, *, has_room: bool) -> bool:
        """Have pods made that others may have left room for, evicted ones first unless chance decides."""
        ways = [self._create, self._try_refused] if has_room else [self._create]
        self._simulation.shuffle(ways)
        return any([make() for make in ways])

    def _create(self) -> bool:
        """Have those pods made again whose turn it is; whether any is."""
        missing = self._found.not_created
        made = [pod for pod in missing if self._is_its_turn(pod)]
        for pod in made:
            missing.remove(pod)
            self._simulation.create(self._facts.replaced.get(pod, pod))
        return bool(made)

    def _is_its_turn(self, pod: int) -> bool:
        if pod in self._facts.after_the_end and self._simulation.is_leaving(pod):
            return False
        several, place = self._facts.in_order.get(pod, ((), 0))
        return all(map(self._is_back, several[:place]))

    def _is_back(self, pod: int) -> bool:
        """Whether a pod was not evicted, or the one in its place is ready."""
        return pod not in self._asked or bool(self._simulation.ready[self._facts.replaced.get(pod, pod)])

    def _lose(self, pod: int) -> None:
        """The budgets of a ready pod that goes, or of the one that it came for, have one less."""
        self._allowances.lose(self._predecessor.get(pod, pod))

    def _is_made_again(self, pod: int) -> bool:
        """Whether another pod comes for one that was evicted just now."""
        if pod in self._facts.for_good:
            return False
        place = self._surplus_of.get(pod)
        if place is None or not self._too_many[place]:
            return True
        self._too_many[place] -= 1
        return False

    def _let_others_act(self) -> bool:
        """Replacements are scheduled and become ready, old pods end; whether anything happened."""
        simulation = self._simulation
        moved = simulation.schedule(self._most)
        if len(simulation.happened) >= self._most:
            self._found.restless = True
            return False
        for pod in list(simulation.starting):
            simulation.become_ready(pod)
            self._allowances.regain(self._predecessor.get(pod, pod))
            moved = True
        for double in [] if self._late and moved else [*simulation.leaving]:
            if double in self._endless:
                continue
            simulation.end(double)
            moved = True
        return self._make_again(has_room=moved) or moved

    def _try_refused(self) -> bool:
        """Create pods that the API server refused before, first in place of evicted ones; whether any is."""
        simulation, again = self._simulation, set[int]()
        pods = sorted(simulation.refusals, key=lambda pod: self._predecessor.get(pod, pod) not in self._asked)
        simulation.shuffle(pods)
        for pod in pods:
            template = int(simulation.problem.template_of[pod])
            # What refuses one pod of a template refuses all.
            if template not in again and not simulation.create(pod):
                again.add(template)
        return len(simulation.refusals) < len(pods)


def pods_to_go(
    problem: Problem, nodes: Sequence[int], is_orphan: Callable[[int], bool]
) -> dict[int, list[int]]:
    """For every node the pods that `kubectl drain` would evict: all but static pods and DaemonSets'.

    A pod whose DaemonSet is gone `is_orphan`, and goes, too.
    """
    chosen = set(nodes)
    found: dict[int, list[int]] = {node: [] for node in nodes}
    for number, node in enumerate(problem.node_of.tolist()):
        pod = problem.pods[number]
        if node in chosen and not pod.is_terminating and (not is_tied(pod) or is_orphan(number)):
            found[node].append(number)
    return found
