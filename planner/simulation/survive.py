"""What if a zone is lost: every domain of a key one by one, its pods made again, and everything simulated."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection

from models import Cluster
from models.collector import old_left_alone
from models.errors import InputError
from models.objects.pod import Pod
from planner.audit.spread_counts import Owners
from planner.documents.survival import DomainLoss, LostPending, Survival, WorkloadLoss
from planner.explain.at_rest import AtRest
from planner.explain.blockers import PendingCase
from planner.explain.report import fix_of
from planner.explain.search import FixSearch
from planner.explain.trial_states import TrialStates
from planner.problem.problem import Problem
from planner.proof.clock import report_best
from planner.proof.effort import STANDARD, Effort
from planner.simulation.second_process import forked, has_second_core
from planner.whatif.nodes import lose_contact, remove_nodes

Workload = tuple[str, str]


def survive(cluster: Cluster, key: str, *, preemption: bool = True, effort: Effort = STANDARD) -> Survival:
    """What the loss of each domain of a topology key would mean, once the pending pods are placed."""
    domains = sorted({node.metadata.labels[key] for node in cluster.nodes if key in node.metadata.labels})
    if not domains:
        raise InputError([f"no node has the label {key}"])
    before = AtRest.of(cluster, preemption, effort.explain)
    losses = _Losses(key, domains, before)
    found = tuple(losses.one_by_one())
    return Survival(
        topology_key=key,
        domains=found,
        failures=sum(not row.ok for loss in found for row in loss.workloads),
        kubernetes=before.problem.kubernetes.document,
        notes=(*cluster.notes, *before.problem.notes),
    )


class _Losses:
    """The loss of each domain, once its nodes are removed and, meanwhile, while they are unreachable."""

    def __init__(self, key: str, domains: Sequence[str], before: AtRest) -> None:
        self._key, self._domains, self._before = key, domains, before
        self._waiting = {before.problem.pods[pod].key for pod in before.left}
        """Pods that were pending before are no part of any loss."""
        self._running = before.cluster()
        unchanged = self._running is before.problem.cluster
        self._problem = before.problem if unchanged else Problem(self._running, before.problem)

    def one_by_one(self) -> Iterator[DomainLoss]:
        """All losses in the order of the domains; what is meanwhile by a second process where that pays."""
        with ExitStack() as stack:
            stack.enter_context(old_left_alone())
            pipe = None
            if len(self._running.pods) >= self._before.effort.pods_for_two and has_second_core():
                pipe = stack.enter_context(forked(self._answer))
            for number, domain in enumerate(_told(self._domains)):
                if number:
                    # A cluster at rest has circles of references, and the next domain needs nothing of it.
                    gc.collect()
                yield self._lose(domain, pipe)

    def _answer(self, pipe: Connection) -> None:
        """In the second process: for each domain which pods are pending meanwhile, if they are more."""
        for domain in self._domains:
            pipe.send(self._meanwhile(domain, pipe.recv))
            gc.collect()

    def _lose(self, domain: str, pipe: Connection | None) -> DomainLoss:
        running, before = self._running, self._before
        gone = {node.name for node in running.nodes if node.metadata.labels.get(self._key) == domain}
        removed = remove_nodes(running, f"{self._key}={domain}")
        after = AtRest.of(removed, before.preemption, before.effort, self._problem)
        left = _left(after, self._waiting)
        _tell(pipe, len(left))
        rows = tuple(_workloads(self._problem, gone, after, left))
        pending = tuple(_pending(after, left))
        return DomainLoss(
            domain=domain,
            nodes=len(gone),
            pods=sum(row.lost for row in rows),
            workloads=rows,
            pending=pending,
            meanwhile=self._told_meanwhile(domain, len(left), pipe),
            ok=all(row.ok for row in rows),
        )

    def _told_meanwhile(self, domain: str, left: int, pipe: Connection | None) -> tuple[LostPending, ...]:
        """What the second process found; found here where there is none, or none any more."""
        if pipe is not None:
            with suppress(EOFError, OSError):
                found: tuple[LostPending, ...] = pipe.recv()
                return found
        return self._meanwhile(domain, lambda: left)

    def _meanwhile(self, domain: str, left: Callable[[], int]) -> tuple[LostPending, ...]:
        """The pods pending while the nodes are unreachable; none where they are not more than `left`."""
        unreachable = lose_contact(self._running, f"{self._key}={domain}")
        meanwhile = AtRest.of(unreachable, self._before.preemption, self._before.effort, self._problem)
        more = _left(meanwhile, self._waiting)
        return tuple(_pending(meanwhile, more)) if len(more) > left() else ()


def _tell(pipe: Connection | None, left: int) -> None:
    """Say to the second process how many pods are left, if it is still there."""
    if pipe is not None:
        with suppress(OSError):
            pipe.send(left)


def _told(domains: Sequence[str]) -> Iterator[str]:
    """The domains one by one, with progress shown."""
    for number, domain in enumerate(domains):
        report_best(f"{number} of {len(domains)} done, now {domain}")
        yield domain


def _left(after: AtRest, waiting: set[str]) -> list[int]:
    return [pod for pod in after.left if after.problem.pods[pod].key not in waiting]


def _workloads(problem: Problem, gone: set[str], after: AtRest, left: list[int]) -> Iterator[WorkloadLoss]:
    """Every workload that has pods in the domain, or pods that are pending because of it."""
    owners = Owners(problem.cluster)
    replicas: Counter[Workload] = Counter()
    lost: Counter[Workload] = Counter()
    for number, pod in enumerate(problem.pods):
        if pod.node_name and _counts(pod):
            workload = (pod.namespace, owners.workload_of(pod, problem.template(number)))
            replicas[workload] += 1
            lost[workload] += pod.node_name in gone
    later = Owners(after.problem.cluster)
    pending = Counter(_workload(after, later, pod) for pod in left)
    for workload in sorted({name for name, pods in lost.items() if pods} | pending.keys()):
        bare = workload[1].startswith("Pod/")
        replaced = 0 if bare else max(lost[workload] - pending[workload], 0)
        yield WorkloadLoss(
            namespace=workload[0],
            workload=workload[1],
            replicas=replicas[workload],
            lost=lost[workload],
            replaced=replaced,
            pending=pending[workload],
            ok=replicas[workload] > lost[workload] and not pending[workload],
        )


def _counts(pod: Pod) -> bool:
    """Whether a pod is a replica that counts: not one of a DaemonSet, or of its node."""
    owner = pod.metadata.controller
    return not pod.is_terminating and (owner is None or owner.kind not in {"DaemonSet", "Node"})


def _workload(static: AtRest, owners: Owners, pod: int) -> Workload:
    found = static.problem.pods[pod]
    return found.namespace, owners.workload_of(found, static.problem.template(pod))


def _pending(after: AtRest, left: list[int]) -> Iterator[LostPending]:
    """Pods that find no node, pods alike together, with the cheapest change that helps the first of them."""
    owners = Owners(after.problem.cluster)
    states = TrialStates(after)
    groups: dict[int, list[int]] = {}
    for pod in left:
        groups.setdefault(int(after.problem.template_of[pod]), []).append(pod)
    for number, pods in enumerate(groups.values()):
        first = pods[0]
        namespace, workload = _workload(after, owners, first)
        case = PendingCase.of(after, first)
        found = (
            FixSearch(case, states=states, best_only=True).run().fixes
            if number < after.effort.losses_explained
            else ()
        )
        yield LostPending(
            namespace=namespace,
            workload=workload,
            pods=len(pods),
            example=after.problem.pods[first].key,
            message=after.messages[first],
            fix=fix_of(case, found[0], owners) if found else None,
        )
