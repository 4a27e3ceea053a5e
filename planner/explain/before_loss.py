"""A cluster at rest of which domains are lost: what waits for a node in it already is no part of any loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from models import Cluster
from models.controllers.jobs import replaces_ended_only
from models.controllers.owners import ByController
from models.controllers.reconcile import workloads_of
from models.controllers.stateful import numbered_freely, ordinal_of, set_key
from models.objects.pod import Pod
from models.objects.workload import Job
from planner.eviction.jobs import LOST, Impact, JobDisruptions
from planner.eviction.movable import is_tied, stands_for
from planner.eviction.ordinals import WAITS_FOR_LOWER, Ordinals
from planner.explain.at_rest import AtRest
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD, ExplainEffort
from planner.scheduler.other_ties import with_turns_drawn
from planner.scheduler.remarks import no_profile
from planner.whatif.eviction import fail_jobs, failing
from planner.whatif.nodes import lose_contact, remove_nodes

#: The namespace and the name of a StatefulSet.
_Set = tuple[str, str]


class BeforeLoss:
    """The pending pods are placed, and what preemption evicts for them is made again and placed, too."""

    def __init__(
        self,
        cluster: Cluster,
        key: str,
        effort: ExplainEffort = STANDARD.explain,
        known: Problem | None = None,
    ) -> None:
        """`key` is the label whose values are the domains; quicker where most pods are `known`."""
        self._key, self._effort = key, effort
        self.domains: Sequence[str] = sorted(
            {node.metadata.labels[key] for node in cluster.nodes if key in node.metadata.labels}
        )
        self.snapshot = Problem(cluster, known)
        """The snapshot, compiled."""
        rounds = [*self._rounds(self.snapshot)]
        self.evicted = sum(len(found.evicted) for found in rounds)
        """How many pods preemption evicts before anything is lost."""
        before = rounds[-1]
        self.running = before.cluster()
        """The cluster at rest."""
        unchanged = self.running is before.problem.cluster
        self.problem = before.problem if unchanged else Problem(self.running, before.problem)
        """The cluster at rest, compiled."""
        self._waited = [self.problem.pods[pod] for pod in self.problem.queue()]
        self._waiting = {pod.key for pod in self._waited}
        self.jobs = JobDisruptions(self.running, LOST)
        """What it does to Jobs that nodes are lost."""

    def _rounds(self, problem: Problem, seed: int | None = None) -> Iterator[AtRest]:
        """The cluster at rest, and again as long as preemption evicts pods, which are made again."""
        found = AtRest(problem, True, self._effort, seed)
        yield found
        for _ in range(self._effort.rounds_to_rest):
            if not found.evicted:
                return
            found = AtRest(Problem(found.cluster(), problem), True, self._effort, seed)
            yield found

    def _at_rest(self, problem: Problem) -> AtRest:
        *_, found = self._rounds(problem)
        return found

    def nodes_of(self, domain: str) -> Collection[str]:
        return {node.name for node in self.running.nodes if node.metadata.labels.get(self._key) == domain}

    def without(self, domain: str) -> AtRest:
        """The cluster at rest once the nodes of a domain are removed."""
        return self._at_rest(Problem(self._removed(domain), self.problem))

    def drawn(self, domain: str, seeds: Iterable[int]) -> Iterator[AtRest]:
        """The same with ties drawn, and the pods that controllers make again in any order, for each seed."""
        left = self._removed(domain)
        waited = self._waiting.intersection(pod.key for pod in self._without_refused.pods)
        for seed in seeds:
            turns = with_turns_drawn(left, lambda pod: not (pod.node_name or pod.key in waited), seed)
            *_, found = self._rounds(Problem(turns, self.problem), seed)
            yield found

    def unreachable(self, domain: str) -> AtRest:
        """The same while the nodes are there, and do not answer."""
        lost = self._failed_without(domain)
        ending = {pod.key for pod in self._without_end(lost, domain)}
        awaited = {pod.key for pod in self._awaited(lost, domain)}
        found = lose_contact(lost, f"{self._key}={domain}", ending, awaited)
        return self._at_rest(Problem(found, self.problem))

    def waiting_for_the_end(self, domain: str) -> list[Pod]:
        """The pods in whose place none is made as long as their nodes do not answer."""
        awaited = self._awaited(self._failed_without(domain), domain)
        return [pod for pod in awaited if is_replica(pod)]

    def _awaited(self, cluster: Cluster, domain: str) -> Iterator[Pod]:
        """The pods that stay Terminating there, of controllers that wait for their end."""
        for pod in self._without_end(cluster, domain):
            job = self.jobs.job_of(pod)
            if set_key(pod) is not None or (job is not None and replaces_ended_only(job)):
                yield pod

    def _without_end(self, cluster: Cluster, domain: str) -> Iterator[Pod]:
        """The pods that stay Terminating there: they hold their claims and their place in affinity."""
        names = self.nodes_of(domain)
        for pod in cluster.pods:
            ends = pod.is_finished or pod.spec.termination_grace_period_seconds == 0
            if pod.node_name in names and not (ends or is_tied(pod)):
                yield pod

    def failing(self, domain: str) -> Mapping[str, str]:
        """The Jobs that fail by the loss of a domain, and why."""
        return {job.key: impact.reason for job, impact in self._failing(domain)}

    def _failing(self, domain: str) -> Iterator[tuple[Job, Impact]]:
        if not self.running.jobs:
            return iter(())
        names = self.nodes_of(domain)
        return failing(self.jobs, (pod for pod in self.running.pods if pod.node_name in names))

    def _failed_without(self, domain: str) -> Cluster:
        return fail_jobs(self._without_refused, self.jobs, self._failing(domain))

    @cached_property
    def _without_refused(self) -> Cluster:
        """The cluster at rest without pods that are not created: they are made beside the lost ones."""
        workloads = workloads_of(self.running)
        refused = (self.problem.pods[pod] for pod in self.problem.refused)
        again = {pod.key for pod in refused if workloads.controller_of(pod) is not None}
        if not again:
            return self.running
        return replace(self.running, pods=tuple(pod for pod in self.running.pods if pod.key not in again))

    def _removed(self, domain: str) -> Cluster:
        return remove_nodes(self._failed_without(domain), f"{self._key}={domain}")

    def left(self, after: AtRest) -> list[int]:
        """The pods that find no node then, beside as many that stand for them and had none before."""
        pods, as_before = after.problem.pods, set[int]()
        had_none = Counter(map(self._stands_for, self._waited))
        for pod in sorted(after.left, key=lambda pod: not self.waited(pods[pod])):
            if had_none[replicas := self._stands_for(pods[pod])]:
                had_none[replicas] -= 1
                as_before.add(pod)
        return [pod for pod in after.left if pod not in as_before and is_replica(pods[pod])]

    def without_node(self, after: AtRest) -> Iterator[Pod]:
        """All that are without a node by a loss: those left, and those that nothing makes again."""
        yield from map(after.problem.pods.__getitem__, self.left(after))
        yield from self.preempted(after)

    def preempted(self, after: AtRest) -> list[Pod]:
        """The pods that preemption evicts then and nothing makes again, or only after the last round."""
        pods, node_of = after.problem.pods, after.scheduler.state.node_of
        again = [pods[pod] for pod in dict.fromkeys(after.evicted) if node_of[pod] < 0]
        there, nodes = after.problem.pod_index, after.problem.nodes.index
        bare = (pod for pod in self.problem.pods if pod.metadata.controller is None)
        gone = [pod for pod in bare if pod.node_name in nodes and pod.key not in there]
        return [pod for pod in (*gone, *again) if is_replica(pod) and not self.waited(pod)]

    def replaced(self, domain: str, after: AtRest, missing: Collection[int]) -> Iterator[Pod]:
        """The lost pods in whose place others have a node then that are not missing all the same."""
        nodes, node_of = self.nodes_of(domain), after.scheduler.state.node_of.tolist()
        there = ((number, pod) for number, pod in enumerate(after.problem.pods) if node_of[number] >= 0)
        found = (pod for number, pod in there if is_replica(pod) and number not in missing)
        more = Counter(map(self._stands_for, found))
        ran = [pod for pod in self.problem.pods if pod.node_name and is_replica(pod)]
        more.subtract(self._stands_for(pod) for pod in ran if pod.node_name not in nodes)
        for pod in ran:
            if pod.node_name in nodes and more[replicas := self._stands_for(pod)] > 0:
                more[replicas] -= 1
                yield pod

    def _stands_for(self, pod: Pod) -> tuple[str, ...]:
        """What pods share that take each other's place: `stands_for`, or a set that no controller numbers."""
        key = set_key(pod)
        return ("", *key) if key is not None and key in self._unnumbered else stands_for(pod)

    @cached_property
    def _unnumbered(self) -> Collection[_Set]:
        pods, sets = ByController(self.running.pods), self.running.stateful_sets
        return {(item.namespace, item.name) for item in sets if any(numbered_freely(item, pods.of(item)))}

    def not_replaced(self, after: AtRest) -> Mapping[int, str]:
        """The pods made in place of lost ones that are not even looked at, each with the reason."""
        pods, found = after.problem.pods, dict[int, str]()
        lowest = self._lowest_awaited(after)
        for number, pod in enumerate(pods):
            if not (self._is_new(pod) and is_replica(pod)) or self.waited(pod):
                continue
            if pod.spec.scheduler_name not in after.scheduler.schedulers:
                found[number] = no_profile(pod.spec.scheduler_name)
            elif (key := set_key(pod)) in lowest and lowest[key] < (ordinal_of(pod) or 0):
                found[number] = WAITS_FOR_LOWER
        return found

    def _lowest_awaited(self, after: AtRest) -> Mapping[_Set | None, int]:
        """By StatefulSet with OrderedReady the lowest ordinal whose pod has no node then, or is not ready."""
        found, node_of = dict[_Set | None, int](), after.scheduler.state.node_of
        for number, pod in enumerate(after.problem.pods):
            ordinal = ordinal_of(pod) if self._ordinals.is_ordered(pod) else None
            if ordinal is None or pod.is_terminating or not self._ordinals.is_wanted(pod):
                continue
            will_be_ready = self._is_new(pod) or self.is_ready(self.problem.pod_index[pod.key])
            if node_of[number] < 0 or not will_be_ready:
                found[set_key(pod)] = min(ordinal, found.get(set_key(pod), ordinal))
        return found

    def _is_new(self, pod: Pod) -> bool:
        """Whether a pod does not run where one of its name did before."""
        return pod.node_name is None or pod.node_name != self._ran_on.get(pod.key)

    @cached_property
    def _ran_on(self) -> Mapping[str, str | None]:
        return {pod.key: pod.node_name for pod in self.problem.pods}

    @cached_property
    def _ordinals(self) -> Ordinals:
        return Ordinals(self.running)

    def is_ready(self, number: int) -> bool:
        """Whether a pod with a node runs and is ready before anything is lost, or will be.

        Those that are bound and start will be, those that run and are not ready stay so.
        """
        pod = self.problem.pods[number]
        was = self.snapshot.pod_index.get(pod.key)
        if not self.problem.endings.is_ready(int(self.problem.node_of[number])):
            return False
        is_new = was is None or not self.snapshot.pods[was].node_name
        return is_new or not (pod.start_failure or (pod.is_unready and not pod.is_starting))

    @property
    def waiting(self) -> int:
        """How many pods have no node before anything is lost."""
        return len(self._waiting)

    def waited(self, pod: Pod) -> bool:
        return pod.key in self._waiting


def is_replica(pod: Pod) -> bool:
    """Whether a pod is a replica that counts: not one of a DaemonSet, or of its node."""
    return not (pod.is_terminating or is_tied(pod))
