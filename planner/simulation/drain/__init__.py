"""In which order to drain nodes, where the pods land, and which pods block a node."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from models import Cluster
from models.controllers.stateful import ordinal_of
from models.errors import InputError
from models.objects.workload import Job
from planner.audit.spread_counts import surpluses_of, take, worse_constraints
from planner.documents.drain import DrainPlan
from planner.eviction import job_notes
from planner.eviction.controllers import Controllers
from planner.eviction.job_notes import taken_for_granted
from planner.eviction.jobs import Impact
from planner.eviction.movable import stands_for
from planner.eviction.ordinals import WAITS_FOR_LOWER
from planner.problem.nodes import ZONE
from planner.problem.problem import Problem
from planner.proof.clock import is_stop_requested, looking_for, report_best
from planner.proof.effort import STANDARD, DrainEffort, DrawEffort, Effort
from planner.scheduler import other_ties
from planner.scheduler.other_ties import NOT_DRAWN
from planner.scheduler.remarks import notes_on
from planner.simulation.drain import held, report
from planner.simulation.drain.allowances import Allowances
from planner.simulation.drain.fixes import Fixes
from planner.simulation.drain.held import DrainFacts, Held, Overrides
from planner.simulation.drain.play import RESTLESS, Drain, Drained, pods_to_go
from planner.simulation.drain.simulation import DrainSimulation
from planner.simulation.rollout.report import spread_changes
from planner.whatif.named import nodes_named
from planner.whatif.nodes import add_nodes, cordon

__all__ = ["drain"]


def drain(
    cluster: Cluster,
    nodes: Sequence[str],
    *,
    at_once: int = 1,
    surge: int = 0,
    force: bool = False,
    delete_emptydir_data: bool = False,
    preemption: bool = True,
    fixes: bool = True,
    effort: Effort = STANDARD,
    stop_event: threading.Event | None = None,
) -> DrainPlan:
    """The nodes drained in waves of `at_once`; before, `surge` new nodes come, like the first of each zone.

    Where a pod blocks a node or stays pending, or a constraint ends worse, other orders are tried, and
    changes that free a blocked node, and new nodes; with `fixes` False none of these.  Pods without a
    controller are evicted with `force` alone, those with emptyDir volumes with `delete_emptydir_data` alone,
    and else block their nodes.  When `stop_event` is set, no more is tried.
    """
    if not nodes:
        raise InputError(["there is no node to drain"])
    if at_once < 1:
        raise InputError([f"at_once: expected 1 or more, found {at_once}"])
    overrides = Overrides(force, delete_emptydir_data)

    def run_on(cluster: Cluster, new: int = surge) -> DrainRun:
        grown = cordon(_with_surge(cluster, nodes, new), *nodes)
        return DrainRun(grown, nodes, at_once, effort.drain, overrides, preemption=preemption)

    def still_there(changed: Cluster) -> frozenset[str]:
        """The nodes that are not emptied in a changed cluster, and the pods that stay."""
        looking_for("what frees blocked nodes")
        # Whether a change frees a node is asked of the order that was asked for.
        again = run_on(changed).best(None, others=False)
        return frozenset(name for row in again.blocked for name in (row.node, *(p.pod for p in row.pods)))

    run = run_on(cluster)
    plan = run.best(stop_event, others=fixes, draws=effort.draws)
    known = {node.name for node in cluster.nodes}
    plan = plan.model_copy(update={"surge": tuple(name for name in run.node_names if name not in known)})
    if not (fixes and any(_left(plan))):
        return plan
    # One of the drains that are played beside this one is that with new nodes.
    most = effort.drain.pods_of_fixes // max(1, run.size) - 1
    fixes_of = Fixes(cluster, still_there, max(1, most), stop_event)
    freed, told = tuple(fixes_of.told(plan.blocked)), [*plan.notes, *fixes_of.notes()]
    if not surge and most > 0 and not is_stop_requested(stop_event):
        looking_for("what new nodes would change")
        again = run_on(cluster, len(nodes)).best(stop_event, others=True)
        if again.played_to_end and _left(again) < _left(plan):
            told.append(report.with_new_nodes(again))
    return plan.model_copy(update={"blocked": freed, "notes": tuple(told)})


def _left(plan: DrainPlan) -> tuple[int, int]:
    """The smaller the better: nodes that are not empty, and pods that wait and did not before."""
    return len(plan.blocked), plan.new_pending


def _harm(plan: DrainPlan) -> tuple[int, int, int]:
    """The smaller the better: what is left, and what is broken by it."""
    return *_left(plan), sum(row.excess_after - row.excess_before for row in plan.worse)


def _turns_drawn(pods_on: Mapping[int, Sequence[int]], seed: int) -> Mapping[int, Sequence[int]]:
    """The pods of each node in an order that is drawn: `kubectl drain` evicts them side by side."""
    chance = other_ties.chance_of_turns(seed)
    return {node: chance.sample(pods, len(pods)) for node, pods in pods_on.items()}


def _with_surge(cluster: Cluster, nodes: Sequence[str], surge: int) -> Cluster:
    """The cluster with so many more nodes, spread over the zones of those that are drained."""
    patterns: dict[str | None, str] = {}
    for node in nodes_named(cluster, nodes):
        patterns.setdefault(node.metadata.labels.get(ZONE), node.name)
    each, more = divmod(surge, len(patterns))
    for place, pattern in enumerate(patterns.values()):
        number = each + (place < more)
        cluster = add_nodes(cluster, number, pattern) if number else cluster
    return cluster


class _DrainOutcome(NamedTuple):
    """What comes of an order, and which pods may be preempted on the way, each with the pod that does it."""

    order: Sequence[int]
    plan: DrainPlan
    preempted: Sequence[tuple[int, int]]

    @property
    def rank(self) -> tuple[int, ...]:
        """Its harm, first of all whether it comes to an end, and last how many pods may be preempted."""
        return not self.plan.played_to_end, *_harm(self.plan), len(self.preempted)


class DrainRun:
    """A drain of some nodes, in one order or another; all of them are cordoned."""

    def __init__(
        self,
        cluster: Cluster,
        nodes: Sequence[str],
        at_once: int,
        effort: DrainEffort,
        overrides: Overrides,
        *,
        preemption: bool,
    ) -> None:
        self._effort = effort
        self._cluster, self._nodes, self._at_once, self._preemption = cluster, nodes, at_once, preemption
        self._problem = Problem(cluster)
        self._numbers = [self._problem.nodes.index[name] for name in nodes]
        self._controllers = Controllers(self._problem, jobs=True)
        going = pods_to_go(self._problem, self._numbers, self._controllers.is_orphan)
        bound = [one for pods in going.values() for one in held.bound(self._controllers, pods, nodes)]
        staying = {one[0] for one in bound}
        self._going = {node: [pod for pod in pods if pod not in staying] for node, pods in going.items()}
        self._moving = [pod for node in self._numbers for pod in self._going[node]]
        others = self._controllers.others(self._moving)
        self._replaced = {pod: number for number, pod in enumerate(others, start=len(self._problem.pods))}
        self._larger = self._problem.with_replacements(others) if others else self._problem
        self._doubled = self._larger.with_leaving(self._moving)
        endless = {one[0]: one for one in held.without_end(self._problem, self._moving)}
        refused = [one for pods in going.values() for one in held.refused(self._problem, pods, overrides)]
        stuck = held.stuck(self._problem, self._numbers)
        unasked = self._by_node(refused).keys()
        asked = [pod for node in self._numbers if node not in unasked for pod in self._going[node]]
        later = frozenset(filter(self._controllers.comes_after_the_end, self._moving))
        self._facts = DrainFacts(
            {*_for_good(self._controllers, self._moving, asked), *(later & endless.keys())},
            [*self._controllers.too_many(self._moving)],
            self._in_order(),
            self._replaced,
            later,
            endless,
            self._by_node([*refused, *bound, *stuck, *endless.values()]),
            unasked,
        )

    @property
    def size(self) -> int:
        return len(self._moving)

    @property
    def node_names(self) -> Sequence[str]:
        """All nodes of the cluster, those that come before the drain included."""
        return [node.name for node in self._cluster.nodes]

    def _in_order(self) -> dict[int, tuple[Sequence[int], int]]:
        """The wanted pods of StatefulSets with OrderedReady that go, by ordinal, and the place of each."""
        found: dict[int, tuple[Sequence[int], int]] = {}
        for several in self._controllers.one_at_a_time(filter(self._controllers.is_wanted, self._moving)):
            ordered = sorted(several, key=lambda pod: ordinal_of(self._problem.pods[pod]) or 0)
            found |= {pod: (ordered, place) for place, pod in enumerate(ordered)}
        return found

    def _by_node(self, staying: Iterable[Held]) -> dict[int, list[Held]]:
        """The nodes of some pods, each with its pods among them; a pod is there once."""
        found: dict[int, dict[int, Held]] = defaultdict(dict)
        for one in staying:
            found[int(self._problem.node_of[one[0]])].setdefault(one[0], one)
        return {node: [*pods.values()] for node, pods in found.items()}

    def best(
        self, stop_event: threading.Event | None, *, others: bool, draws: DrawEffort | None = None
    ) -> DrainPlan:
        """What comes of the order that was asked for; where that does harm, of the best of `others` too.

        With `draws` it is said where an order that does none does it with other ties.
        """
        found = self._outcome(self._numbers)
        for order in self._others() if others else ():
            if not any(found.rank) or is_stop_requested(stop_event):
                break
            looking_for("an order that does less harm")
            report_best(
                "{} nodes not emptied, {} pods left over, {} more too many; at least 0".format(
                    *_harm(found.plan)
                )
            )
            found = min(found, self._outcome(order), key=lambda one: one.rank)
        told = [*report.preempted(self._larger, found.preempted)]
        plan = found.plan
        if draws is not None and plan.played_to_end and self._moving and not any(_harm(found.plan)):
            seeds = other_ties.seeds(self._problem, draws, len(self._moving))
            failing = self._failing(found.order, seeds, stop_event)
            told += (NOT_DRAWN,) if failing is None else report.of_draws(failing, draws)
            plan = plan.model_copy(update={"failing_draws": None if failing is None else len(failing)})
        return plan.model_copy(update={"notes": (*plan.notes, *told)})

    def _failing(
        self, order: Sequence[int], seeds: Sequence[int], stop_event: threading.Event | None
    ) -> Sequence[DrainPlan] | None:
        """What comes of an order in draws, where that does harm; None where they are too many, or stopped."""
        found = []
        for number, seed in enumerate(seeds):
            if is_stop_requested(stop_event):
                return None
            looking_for("other ties that do harm")
            report_best(f"no harm as ties go; {number} of {len(seeds)} draws done")
            found.append(self._play(order, seed=seed)[0])
        return [plan for plan in found if any(_harm(plan)) or not plan.played_to_end] if seeds else None

    def _others(self) -> Iterator[Sequence[int]]:
        """The order the other way round, and some that are drawn; none on large clusters."""
        size = len(self._moving) * self._problem.nodes.size
        if len(self._numbers) > 1 and size <= self._effort.orders_places:
            yield self._numbers[::-1]
            for seed in range(1, self._effort.orders):
                yield random.Random(seed).sample(self._numbers, len(self._numbers))

    def _outcome(self, order: Sequence[int]) -> _DrainOutcome:
        """What comes of an order; where pods could preempt, also with old pods that end late."""
        plan, preempted = self._play(order)
        if self._preemption and self._has_lower:
            _, late = self._play(order, late=True)
            preempted = max(preempted, late, key=len)
        return _DrainOutcome(order, plan, preempted)

    @cached_property
    def _has_lower(self) -> bool:
        """Whether a pod that moves has a higher priority than another one."""
        priorities = self._problem.priorities
        return bool(self._moving) and bool((priorities < priorities[self._moving].max()).any())

    def _play(
        self, order: Sequence[int], *, late: bool = False, seed: int | None = None
    ) -> tuple[DrainPlan, Sequence[tuple[int, int]]]:
        """The plan of an order, and what is preempted meanwhile."""
        problem, doubled = self._problem, self._doubled
        doubles = {pod: len(self._larger.pods) + place for place, pod in enumerate(self._moving)}
        absent = self._replaced.values()
        simulation = DrainSimulation(doubled, doubles, absent, preemption=self._preemption, seed=seed)
        allowances = Allowances(problem, range(len(problem.pods)))
        going = self._going if seed is None else _turns_drawn(self._going, seed)
        played = Drain(simulation, allowances, going, self._effort, self._facts, late=late)
        played.run_until_quiet()
        spread = take(doubled, simulation.scheduler.state)
        before = report.balance_of(spread, simulation)
        waiting = self._by_replicas(simulation.waiting.keys() | simulation.refusals.keys())
        already = len(simulation.preempted)
        found = played.run(order, self._at_once)
        simulation.explain()
        evicted = [pod for pods in found.evicted.values() for pod in pods]
        not_yet = {self._replaced.get(pod, pod): WAITS_FOR_LOWER for pod in found.not_created}
        refused = simulation.refusals | not_yet
        ends = take(doubled, simulation.scheduler.state)
        after = report.balance_of(ends, simulation)
        impacts = [*self._controllers.impacts(evicted)]
        plan = DrainPlan(
            nodes=tuple(self._nodes),
            steps=tuple(report.steps_of(doubled, simulation, found, self._replaced)),
            blocked=tuple(report.blocked_of(self._problem, found, self._nodes)),
            played_to_end=not found.restless,
            before=before,
            after=after.model_copy(update={"pending": after.pending + len(not_yet)}),
            new_pending=(self._by_replicas(refused.keys() | simulation.waiting.keys()) - waiting).total(),
            worse=tuple(worse_constraints(surpluses_of(spread), surpluses_of(ends))),
            jobs=tuple(report.job_of(job, impact) for job, impact in impacts),
            pending=tuple(report.pending_of(doubled, simulation, refused)),
            spread=tuple(row for row in spread_changes(spread, ends) if row.before != row.after),
            kubernetes=problem.kubernetes.document,
            notes=tuple(self._notes(simulation, found, evicted, impacts)),
        )
        return plan, simulation.preempted[already:]

    def _by_replicas(self, pods: Iterable[int]) -> Counter[tuple[str, ...]]:
        """How many of some pods stand for each other."""
        return Counter(stands_for(self._doubled.pods[pod]) for pod in pods)

    def _notes(
        self,
        simulation: DrainSimulation,
        found: Drained,
        evicted: Sequence[int],
        impacts: Sequence[tuple[Job, Impact]],
    ) -> Iterator[str]:
        problem, doubled, absent = self._problem, self._doubled, self._replaced.values()
        yield from notes_on(problem)
        yield from report.overridden(problem, evicted)
        yield from report.not_made_again(problem, self._controllers, evicted)
        yield from taken_for_granted(problem, evicted)
        yield from job_notes.lost([item for item in impacts if item[1].outcome == "Fails"])
        yield from job_notes.presumed(impacts)
        yield from problem.devices.notes(doubled.pods[pod] for pod in simulation.waiting if pod in absent)
        yield from report.returned(doubled, simulation, found, self._numbers, self._replaced)
        if found.restless:
            yield RESTLESS


def _for_good(controllers: Controllers, moving: Sequence[int], asked: Sequence[int]) -> Iterator[int]:
    """The pods in whose place nothing comes: no controller wants them, or the evictions fail their Job.

    Evicted are those that are `asked` to go: no pod of a node that has to stay is.
    """
    failing = {job.key for job, impact in controllers.impacts(asked) if impact.outcome == "Fails"}
    for pod in moving:
        job = controllers.job_of(pod)
        if not controllers.is_wanted(pod) or (job is not None and job.key in failing):
            yield pod
