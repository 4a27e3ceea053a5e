"""A cluster at rest of which domains are lost: what waits for a node in it already is no part of any loss."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from models import Cluster
from models.objects.pod import Pod
from models.objects.workload import Job
from planner.eviction.jobs import LOST, Impact, JobDisruptions
from planner.eviction.movable import is_tied
from planner.explain.at_rest import AtRest
from planner.problem.problem import Problem
from planner.proof.effort import STANDARD, ExplainEffort
from planner.whatif.jobs import fail_jobs, failing
from planner.whatif.nodes import lose_contact, remove_nodes


class BeforeLoss:
    """The pending pods are placed, and what preemption evicts for them is made again and placed, too."""

    def __init__(self, cluster: Cluster, key: str, effort: ExplainEffort = STANDARD.explain) -> None:
        """`key` is the label whose values are the domains."""
        self._key, self._effort = key, effort
        self.domains: Sequence[str] = sorted(
            {node.metadata.labels[key] for node in cluster.nodes if key in node.metadata.labels}
        )
        before = AtRest(cluster, True, effort)
        self.evicted = len(before.evicted)
        """How many pods preemption evicts before anything is lost."""
        self.snapshot = before.problem
        """The snapshot, compiled."""
        running = before.cluster()
        for _ in range(effort.rounds_to_rest if before.evicted else 0):
            before = AtRest(running, True, effort, before.problem)
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
        """The names of the nodes of a domain."""
        return {node.name for node in self.running.nodes if node.metadata.labels.get(self._key) == domain}

    def without(self, domain: str) -> AtRest:
        """The cluster at rest once the nodes of a domain are removed."""
        return self._at_rest(remove_nodes(self._failed_without(domain), f"{self._key}={domain}"))

    def unreachable(self, domain: str) -> AtRest:
        """The same while the nodes are there, and do not answer."""
        return self._at_rest(lose_contact(self._failed_without(domain), f"{self._key}={domain}"))

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

    def _at_rest(self, cluster: Cluster) -> AtRest:
        return AtRest(cluster, True, self._effort, self.problem)

    def left(self, after: AtRest) -> list[int]:
        """The pods that find no node then, and did not wait for one before."""
        return [pod for pod in after.left if not self.waited(after.problem.pods[pod])]

    def preempted(self, after: AtRest) -> list[int]:
        """The pods that preemption evicts then and that find no free node again, or nothing makes again."""
        scheduler, pods = after.scheduler, after.problem.pods
        mark = scheduler.state.mark()
        found = []
        for pod in dict.fromkeys(after.evicted):
            if is_replica(pods[pod]) and not self.waited(pods[pod]):
                decision = scheduler.decide(pod) if pods[pod].metadata.controller is not None else None
                if decision is None or decision.node is None or decision.victims:
                    found.append(pod)
        scheduler.state.rollback(mark)
        return found

    def replaced(self, after: AtRest, preempted: Collection[int]) -> list[int]:
        """The pods that were made in place of lost ones and have a node, in the end another one perhaps."""
        node_of, pods = after.scheduler.state.node_of, after.problem.pods
        moved_on = {*after.evicted}.difference(preempted)
        made = (pod for pod, found in enumerate(pods) if not (found.node_name or self.waited(found)))
        return [pod for pod in made if node_of[pod] >= 0 or pod in moved_on]

    @property
    def waiting(self) -> int:
        """How many pods have no node before anything is lost."""
        return len(self._waiting)

    def waited(self, pod: Pod) -> bool:
        """Whether a pod had no node before."""
        return pod.key in self._waiting


def is_replica(pod: Pod) -> bool:
    """Whether a pod is a replica that counts: not one of a DaemonSet, or of its node."""
    return not (pod.is_terminating or is_tied(pod))
