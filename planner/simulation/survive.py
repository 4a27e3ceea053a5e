"""What if a zone is lost: every domain of a key one by one, its pods made again, and everything simulated."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

from models import Cluster
from models.collector import old_left_alone
from planner.audit.spread_counts import Owners
from planner.documents.survival import DomainLoss, LostPending, Survival, WorkloadLoss
from planner.eviction.unread import lost_with, taken_for_granted
from planner.explain.at_rest import AtRest
from planner.explain.before_loss import BeforeLoss, is_replica
from planner.explain.blockers import PendingCase
from planner.explain.report import fix_of
from planner.explain.search import FixSearch, TestedFix
from planner.explain.trial_states import TrialStates
from planner.proof.clock import report_best
from planner.proof.effort import STANDARD, Effort, ExplainEffort
from planner.scheduler.remarks import remarks
from planner.simulation.processes import Processes, has_second_core

Workload = tuple[str, str]


def survive(cluster: Cluster, key: str, *, effort: Effort = STANDARD) -> Survival:
    """What the loss of each domain of a topology key would mean, once the pending pods are placed."""
    cluster.domains(key, f"--survive {key}")
    before = BeforeLoss(cluster, key, effort.explain)
    found = tuple(_Losses(key, before, effort.explain).one_by_one())
    return Survival(
        topology_key=key,
        domains=found,
        failures=sum(not row.ok for loss in found for row in loss.workloads),
        kubernetes=before.snapshot.kubernetes.document,
        notes=(
            *cluster.notes,
            *before.snapshot.notes,
            *remarks(before.snapshot),
            *taken_for_granted(before.problem, lost_with(before.problem, key)),
            *_about_changes(found, before.waiting),
        ),
    )


def _about_changes(losses: Sequence[DomainLoss], waiting: int) -> Iterator[str]:
    """That a change which helps after a loss may help another pod where it is made before."""
    rows = (row for loss in losses for row in (*loss.pending, *loss.meanwhile))
    if waiting and any(row.fix is not None for row in rows):
        pods = "a pod that has" if waiting == 1 else f"one of {waiting} pods that have"
        yield f"what helps was tried out after the loss: made before it, {pods} no node now may take the room"


class _Losses:
    """The loss of each domain, once its nodes are removed and, meanwhile, while they are unreachable."""

    def __init__(self, key: str, before: BeforeLoss, effort: ExplainEffort) -> None:
        self._key, self._domains, self._before = key, before.domains, before
        self._in_processes = len(before.running.pods) >= effort.pods_for_two and has_second_core()

    def one_by_one(self) -> Iterator[DomainLoss]:
        """All losses in the order of the domains; by processes for their halves where that pays."""
        with old_left_alone():
            if self._in_processes:
                yield from self._by_processes()
                return
            for number, domain in enumerate(self._domains):
                _tell(number, self._domains)
                if number:
                    # A cluster at rest has circles of references, and the next domain needs nothing of it.
                    gc.collect()
                left, loss = self._lose(domain)
                yield loss.model_copy(update={"meanwhile": self._meanwhile(domain, left)})

    def _by_processes(self) -> Iterator[DomainLoss]:
        """The same: first all domains without their nodes, then each while these are unreachable."""
        with Processes() as processes:
            _tell(0, self._domains)
            removed = [processes.start(partial(self._lose, domain)) for domain in self._domains]
            unreachable = []
            for number, (domain, answer) in enumerate(zip(self._domains, removed, strict=True)):
                left, _ = answer.get()
                unreachable.append(processes.start(partial(self._meanwhile, domain, left)))
                _tell(number, self._domains)
            for one, other in zip(removed, unreachable, strict=True):
                yield one.get()[1].model_copy(update={"meanwhile": other.get()})

    def _lose(self, domain: str) -> tuple[int, DomainLoss]:
        """How many pods are left once the nodes are removed, and the loss but for what is meanwhile."""
        before = self._before
        after = self._kept(before.without(domain))
        left = before.left(after)
        pending = [*_pending(after, left)]
        preempted = before.preempted(after)
        replaced = before.replaced(after, preempted)
        rows = tuple(_workloads(before, domain, after, (left, preempted, replaced)))
        return len(left), DomainLoss(
            domain=domain,
            nodes=len(before.nodes_of(domain)),
            pods=sum(row.lost for row in rows),
            workloads=rows,
            pending=(*pending, *_told(after, preempted)),
            ok=all(row.ok for row in rows),
        )

    def _meanwhile(self, domain: str, left: int) -> tuple[LostPending, ...]:
        """The pods pending while the nodes are unreachable; none where they are not more than `left`."""
        meanwhile = self._kept(self._before.unreachable(domain))
        more = self._before.left(meanwhile)
        return tuple(_pending(meanwhile, more, (self._key, domain))) if len(more) > left else ()

    def _kept(self, found: AtRest) -> AtRest:
        """The same, out of reach of the garbage collector where the process ends before it is garbage."""
        if self._in_processes:
            gc.freeze()
        return found


def _tell(number: int, domains: Sequence[str]) -> None:
    """Show how far it is."""
    report_best(f"{number} of {len(domains)} done, now {domains[number]}")


def _told(after: AtRest, preempted: Sequence[int]) -> Iterator[LostPending]:
    """Rows of pods that preemption evicted, those of a workload together."""
    owners, groups = Owners(after.problem.cluster), dict[Workload, list[int]]()
    for pod in preempted:
        groups.setdefault(_workload(after, owners, pod), []).append(pod)
    for (namespace, workload), pods in groups.items():
        first = after.problem.pods[pods[0]]
        then = (
            "nothing makes it again" if first.metadata.controller is None else "no node is free for it then"
        )
        yield LostPending(
            namespace=namespace,
            workload=workload,
            pods=len(pods),
            example=first.key,
            message=f"preempted by a pod of higher priority, and {then}",
        )


def _workloads(
    before: BeforeLoss, domain: str, after: AtRest, pods: tuple[Sequence[int], ...]
) -> Iterator[WorkloadLoss]:
    """Every workload that has pods in the domain, or pods that are pending because of it.

    `pods` are those that are left, those that are preempted, and those that have another node.
    """
    problem, gone, failing = before.problem, before.nodes_of(domain), before.failing(domain)
    owners = Owners(problem.cluster)
    reasons: dict[Workload, str] = {}
    replicas: Counter[Workload] = Counter()
    lost: Counter[Workload] = Counter()
    for pod in problem.pods:
        if pod.node_name and is_replica(pod):
            workload = (pod.namespace, owners.of(pod))
            replicas[workload] += 1
            lost[workload] += pod.node_name in gone
            job = before.jobs.job_of(pod) if failing else None
            if job is not None and job.key in failing:
                reasons[workload] = failing[job.key]
    later = Owners(after.problem.cluster)
    left, preempted, replaced = (Counter(_workload(after, later, pod) for pod in some) for some in pods)
    pending = left + preempted
    for workload in sorted({name for name, pods in lost.items() if pods} | pending.keys()):
        yield WorkloadLoss(
            namespace=workload[0],
            workload=workload[1],
            replicas=replicas[workload],
            lost=lost[workload],
            replaced=replaced[workload],
            pending=pending[workload],
            ok=replicas[workload] > lost[workload] and not (pending[workload] or workload in reasons),
            reason=reasons.get(workload, ""),
        )


def _workload(static: AtRest, owners: Owners, pod: int) -> Workload:
    found = static.problem.pods[pod]
    return found.namespace, owners.of(found)


def _pending(
    after: AtRest, left: list[int], unreachable: tuple[str, str] | None = None
) -> Iterator[LostPending]:
    """Pods that find no node, pods alike together, with the cheapest change that helps the first of them.

    No new node in the domain that is `unreachable`.  Of very many kinds the largest are explained.
    """
    owners = Owners(after.problem.cluster)
    states = TrialStates(after)
    groups = after.problem.by_template(left)
    explained = sorted(groups, key=lambda one: -len(groups[one]))[: after.effort.losses_explained]
    for template, pods in groups.items():
        first, sought = pods[0], template in explained
        namespace, workload = _workload(after, owners, first)
        case = PendingCase.of(after, first)
        found: Sequence[TestedFix] = ()
        if sought:
            found = FixSearch(case, states=states, best_only=True, lost=unreachable).run().fixes
        yield LostPending(
            namespace=namespace,
            workload=workload,
            pods=len(pods),
            example=after.problem.pods[first].key,
            message=after.messages[first],
            fix=fix_of(case, found[0], owners) if found else None,
            sought=sought,
        )
