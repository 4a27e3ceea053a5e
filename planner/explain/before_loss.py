"""A cluster at rest of which domains are lost: what waits for a node in it already is no part of any loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from models import Cluster
from models.controllers.jobs import replaces_ended_only
from models.controllers.stateful import ordinal_of, set_key
from models.objects.pod import Pod
from models.objects.workload import Job
from planner.eviction.jobs import LOST, Impact, JobDisruptions
from planner.eviction.movable import is_tied, stands_for
from planner.eviction.ordinals import WAITS_FOR_LOWER, Ordinals
from planner.explain.at_rest import AtRest
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD, ExplainEffort
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
        before = AtRest(Problem(cluster, known), True, effort)
        self.evicted = len(before.evicted)
        """How many pods preemption evicts before anything is lost."""
        self.snapshot = before.problem
        """The snapshot, compiled."""
        running = before.cluster()
        for _ in range(effort.rounds_to_rest if before.evicted else 0):
            before = AtRest(Problem(running, before.problem), True, effort)
            self.evicted += len(before.evicted)
            running = before.cluster()
            if not before.evicted:
                break
        self.running = running
        """The cluster at rest."""
        unchanged = running is before.problem.cluster
        self.problem = before.problem if unchanged else Problem(running, before.problem)
        """The cluster at rest, compiled."""
        self._waiting = {pod.key for pod in running.pods if not pod.node_name}
        self.jobs = JobDisruptions(running, LOST)
        """What it does to Jobs that nodes are lost."""

    def nodes_of(self, domain: str) -> Collection[str]:
        return {node.name for node in self.running.nodes if node.metadata.labels.get(self._key) == domain}

    def without(self, domain: str) -> AtRest:
        """The cluster at rest once the nodes of a domain are removed."""
        return AtRest(self._removed(domain), True, self._effort)

    def drawn(self, domain: str, seeds: Iterable[int]) -> Iterator[AtRest]:
        """The same with ties drawn, and the pods that controllers make again in any order, for each seed."""
        problem = self._removed(domain)
        return (AtRest(problem, True, self._effort, seed, lambda pod: not self.waited(pod)) for seed in seeds)

    def unreachable(self, domain: str) -> AtRest:
        """The same while the nodes are there, and do not answer."""
        lost = self._failed_without(domain)
        ending = {pod.key for pod in self._without_end(lost, domain)}
        awaited = {pod.key for pod in self._awaited(lost, domain)}
        found = lose_contact(lost, f"{self._key}={domain}", ending, awaited)
        return AtRest(Problem(found, self.problem), True, self._effort)

    def waiting_for_the_end(self, domain: str) -> list[int]:
        """The pods in whose place none is made as long as their nodes do not answer."""
        awaited = self._awaited(self._failed_without(domain), domain)
        pods = (pod for pod in awaited if is_replica(pod))
        return [self.problem.pod_index[pod.key] for pod in pods]

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
        return fail_jobs(self.running, self.jobs, self._failing(domain))

    def _removed(self, domain: str) -> Problem:
        left = remove_nodes(self._failed_without(domain), f"{self._key}={domain}")
        return Problem(left, self.problem)

    def left(self, after: AtRest) -> list[int]:
        """The pods that find no node then, and are missed: they did not wait for one before."""
        made_up = self._made_up(after)
        return [pod for pod in after.left if not (pod in made_up or self.waited(after.problem.pods[pod]))]

    def _made_up(self, after: AtRest) -> Collection[int]:
        """The pods without a node for each of which a replica alike that waited before has one."""
        index, pods, node_of = after.problem.pod_index, after.problem.pods, after.scheduler.state.node_of
        waited = [index[key] for key in self._waiting & index.keys()]
        free = Counter(stands_for(pods[pod]) for pod in waited if node_of[pod] >= 0)
        found = set[int]()
        for pod in after.left if free else ():
            if free[replicas := stands_for(pods[pod])] and not self.waited(pods[pod]):
                free[replicas] -= 1
                found.add(pod)
        return found

    def preempted(self, after: AtRest) -> list[int]:
        """The pods that preemption evicts then and that find no free node again, or nothing makes again."""
        scheduler, pods = after.scheduler, after.problem.pods
        mark = scheduler.state.mark()
        found = []
        for pod in dict.fromkeys(after.evicted):
            if is_replica(pods[pod]) and not self.waited(pods[pod]):
                comes = pods[pod].metadata.controller is not None
                is_looked_at = pods[pod].spec.scheduler_name in scheduler.schedulers
                decision = scheduler.decide(pod) if comes and is_looked_at else None
                if decision is None or decision.node is None or decision.victims:
                    found.append(pod)
        scheduler.state.rollback(mark)
        return found

    def replaced(self, after: AtRest, preempted: Collection[int]) -> list[int]:
        """The pods that were made in place of lost ones and have a node, in the end another one perhaps."""
        node_of, pods = after.scheduler.state.node_of, after.problem.pods
        moved_on = {*after.evicted}.difference(preempted)
        made = (pod for pod, found in enumerate(pods) if not (found.node_name or self.waited(found)))
        return [*(pod for pod in made if node_of[pod] >= 0 or pod in moved_on), *self._made_up(after)]

    def not_replaced(self, after: AtRest) -> Mapping[int, str]:
        """The pods made in place of lost ones that are not even looked at, each with the reason."""
        pods, found = after.problem.pods, dict[int, str]()
        lowest = self._lowest_awaited(after)
        for number in after.problem.queue():
            pod = pods[number]
            if self.waited(pod) or is_tied(pod):
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
            will_be_ready = not pod.node_name or self.is_ready(self.problem.pod_index[pod.key])
            if node_of[number] < 0 or not will_be_ready:
                found[set_key(pod)] = min(ordinal, found.get(set_key(pod), ordinal))
        return found

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
