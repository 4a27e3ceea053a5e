"""What if a zone is lost: every domain of a key one by one, its pods made again, and everything simulated."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from models import Cluster
from models.collector import old_left_alone
from models.objects.pod import Pod
from planner.audit.spread_counts import Owners
from planner.documents.survival import NOT_ENDED, DomainLoss, LostPending, Survival, WorkloadLoss
from planner.eviction.job_notes import lost_with, taken_for_granted
from planner.explain.at_rest import AtRest
from planner.explain.before_loss import BeforeLoss, is_replica
from planner.explain.blockers import PendingCase
from planner.explain.report import fix_of
from planner.explain.search import FixSearch, TestedFix
from planner.explain.trial_states import TrialStates
from planner.proof.clock import report_best
from planner.proof.effort import STANDARD, DrawEffort, Effort, ExplainEffort
from planner.scheduler import other_ties
from planner.scheduler.other_ties import NOT_DRAWN
from planner.scheduler.remarks import notes_on
from planner.simulation.processes import Processes, has_second_core

Workload = tuple[str, str]
_NONE_READY = "no replica elsewhere is ready"
_BOUND = "its template has spec.nodeName {}, and that node is lost"


def survive(cluster: Cluster, key: str, *, effort: Effort = STANDARD) -> Survival:
    """What the loss of each domain of a topology key would mean, once the pending pods are placed."""
    cluster.domains(key, f"--survive {key}")
    before = BeforeLoss(cluster, key, effort.explain)
    losses = [*_Losses(key, before, effort.explain).one_by_one()]
    failing = dict(_failing_draws(before, losses, effort.draws))
    numbers = {domain: len(rows) for domain, rows in failing.items()}
    found = tuple(loss.model_copy(update={"failing_draws": numbers.get(loss.domain)}) for loss in losses)
    return Survival(
        topology_key=key,
        domains=found,
        failures=sum(not row.ok for loss in found for row in loss.workloads),
        kubernetes=before.snapshot.kubernetes.document,
        notes=(
            *notes_on(before.snapshot),
            *taken_for_granted(before.problem, lost_with(before.problem, key)),
            *_about_changes(found, before.waiting),
            *_about_draws(failing, effort.draws),
            *((NOT_DRAWN,) if not failing and any(map(_is_survived, losses)) else ()),
        ),
    )


def _about_changes(losses: Sequence[DomainLoss], waiting: int) -> Iterator[str]:
    """That a change which helps after a loss may help another pod where it is made before."""
    rows = (row for loss in losses for row in (*loss.pending, *loss.meanwhile))
    if waiting and any(row.fix is not None for row in rows):
        pods = "a pod that has" if waiting == 1 else f"one of {waiting} pods that have"
        yield f"what helps was tried out after the loss: made before it, {pods} no node now may take the room"


def _is_survived(loss: DomainLoss) -> bool:
    """Whether all workloads survive, and there is something to survive."""
    return loss.ok and loss.pods > 0


def _failing_draws(
    before: BeforeLoss, losses: Sequence[DomainLoss], effort: DrawEffort
) -> Iterator[tuple[str, Sequence[Workload]]]:
    """Of each loss that all survive the first workload without a node, for each draw of ties that has one."""
    seeds, survived = other_ties.seeds(before.problem, effort), [*filter(_is_survived, losses)]
    for number, loss in enumerate(survived) if seeds else ():
        report_best(f"all survive: {number} of {len(survived)} lost with other ties, now {loss.domain}")
        draws = before.drawn(loss.domain, seeds)
        found = ((Owners(draw.problem.cluster), [*before.without_node(draw)]) for draw in draws)
        yield loss.domain, [_workload(owners, left[0]) for owners, left in found if left]


def _about_draws(failing: Mapping[str, Sequence[Workload]], effort: DrawEffort) -> Iterator[str]:
    """At most one note: the domains whose loss all survive, but not with other ties and turns."""
    namespace, workload = next((rows[0] for rows in failing.values() if rows), ("", ""))
    what = f"some pods find no node, such as one of {workload} in {namespace}"
    return other_ties.losses({domain: len(rows) for domain, rows in failing.items()}, what, effort)


class _Losses:
    """The loss of each domain, once its nodes are removed and, meanwhile, while they are unreachable."""

    def __init__(self, key: str, before: BeforeLoss, effort: ExplainEffort) -> None:
        self._key, self._domains, self._before = key, before.domains, before
        self._there = _Replicas(before)
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
                yield loss.model_copy(update={"meanwhile": self._meanwhile(domain, left, loss.pending)})

    def _by_processes(self) -> Iterator[DomainLoss]:
        """The same: first all domains without their nodes, then each while these are unreachable."""
        with Processes() as processes:
            _tell(0, self._domains)
            removed = [processes.start(partial(self._lose, domain)) for domain in self._domains]
            unreachable = []
            for number, (domain, answer) in enumerate(zip(self._domains, removed, strict=True)):
                left, loss = answer.get()
                unreachable.append(processes.start(partial(self._meanwhile, domain, left, loss.pending)))
                _tell(number, self._domains)
            for one, other in zip(removed, unreachable, strict=True):
                yield one.get()[1].model_copy(update={"meanwhile": other.get()})

    def _lose(self, domain: str) -> tuple[int, DomainLoss]:
        """How many pods are left once the nodes are removed, and the loss but for what is meanwhile."""
        before = self._before
        after = self._kept(before.without(domain))
        pods, left = after.problem.pods, before.left(after)
        pending = [*_pending(after, left, (self._key, domain))]
        waiting = before.not_replaced(after)
        others = [(pods[pod], reason) for pod, reason in waiting.items() if pod not in {*left}]
        others += [(pod, _preempted(pod)) for pod in before.preempted(after)]
        owners = Owners(after.problem.cluster)
        missing = [*(pods[pod] for pod in left), *(pod for pod, _ in others)]
        replaced = before.replaced(domain, after, waiting)
        numbers = [Counter(_workload(owners, pod) for pod in some) for some in (missing, replaced)]
        rows = tuple(_workloads(before, self._there, domain, after, numbers))
        return len(left), DomainLoss(
            domain=domain,
            nodes=len(before.nodes_of(domain)),
            pods=sum(row.lost for row in rows),
            workloads=rows,
            pending=(*pending, *_not_explained(owners, others)),
            ok=all(row.ok for row in rows),
        )

    def _meanwhile(self, domain: str, left: int, later: Sequence[LostPending]) -> tuple[LostPending, ...]:
        """The pods pending while the nodes are unreachable; none where they are not more than `left`.

        Those are `later`, once the nodes are gone.
        """
        meanwhile = self._kept(self._before.unreachable(domain))
        more = self._before.left(meanwhile)
        stuck = [(pod, NOT_ENDED) for pod in self._before.waiting_for_the_end(domain)]
        if len(more) + len(stuck) <= left:
            return ()
        pending = _pending(meanwhile, more, (self._key, domain), later)
        return (*pending, *_not_explained(Owners(self._before.problem.cluster), stuck))

    def _kept(self, found: AtRest) -> AtRest:
        """The same, out of reach of the garbage collector where the process ends before it is garbage."""
        if self._in_processes:
            gc.freeze()
        return found


def _tell(number: int, domains: Sequence[str]) -> None:
    """Show how far it is."""
    report_best(f"{number} of {len(domains)} done, now {domains[number]}")


def _not_explained(owners: Owners, reasons: Iterable[tuple[Pod, str]]) -> Iterator[LostPending]:
    """Rows of pods for which no change is looked for, those of a workload with one reason together."""
    groups = dict[tuple[Workload, str], list[Pod]]()
    for pod, reason in reasons:
        groups.setdefault((_workload(owners, pod), reason), []).append(pod)
    for ((namespace, workload), reason), several in groups.items():
        yield LostPending(
            namespace=namespace,
            workload=workload,
            pods=len(several),
            example=several[0].key,
            message=reason,
            sought=False,
        )


def _preempted(pod: Pod) -> str:
    """Why a pod that preemption evicts has no node in the end."""
    then = "nothing makes it again" if pod.metadata.controller is None else "the cluster is not at rest then"
    return f"preempted by a pod of higher priority, and {then}"


class _Replicas:
    """The replicas of every workload, and how many of them are ready, in all and on each node."""

    def __init__(self, before: BeforeLoss) -> None:
        owners = Owners(before.problem.cluster)
        self.replicas, self.ready = Counter[Workload](), Counter[Workload]()
        self._on: dict[str, Counter[tuple[Workload, bool]]] = {}
        for number, pod in enumerate(before.problem.pods):
            if pod.node_name and is_replica(pod):
                workload, is_ready = _workload(owners, pod), before.is_ready(number)
                self.replicas[workload] += 1
                self.ready[workload] += is_ready
                self._on.setdefault(pod.node_name, Counter())[workload, is_ready] += 1

    def lost_with(self, nodes: Collection[str]) -> tuple[Counter[Workload], Counter[Workload]]:
        """Those on some nodes, and those of them that are ready."""
        lost, ready = Counter[Workload](), Counter[Workload]()
        for node in nodes:
            for (workload, is_ready), number in self._on.get(node, {}).items():
                lost[workload] += number
                ready[workload] += number if is_ready else 0
        return lost, ready


def _of_failing_jobs(before: BeforeLoss, domain: str) -> Iterator[tuple[Workload, str]]:
    """The workloads with a Job that fails by the loss of a domain, and why."""
    failing = before.failing(domain)
    owners = Owners(before.problem.cluster)
    for pod in before.problem.pods if failing else ():
        job = before.jobs.job_of(pod) if pod.node_name and is_replica(pod) else None
        if job is not None and job.key in failing:
            yield _workload(owners, pod), failing[job.key]


def _workloads(
    before: BeforeLoss, there: _Replicas, domain: str, after: AtRest, numbers: Sequence[Counter[Workload]]
) -> Iterator[WorkloadLoss]:
    """Every workload that has pods in the domain, or pods that are pending because of it.

    `numbers` are how many are pending, and how many are replaced.
    """
    pending, replaced = numbers
    replicas, ready = there.replicas, there.ready
    nodes = before.nodes_of(domain)
    lost, ready_lost = there.lost_with(nodes)
    reasons = dict(_of_failing_jobs(before, domain))
    later = Owners(after.problem.cluster)
    for pod in after.problem.cluster.pods:
        if pod.node_name in nodes and is_replica(pod):
            reasons.setdefault(_workload(later, pod), _BOUND.format(pod.node_name))
    for workload in lost:
        if replicas[workload] > lost[workload] and ready[workload] == ready_lost[workload] > 0:
            reasons.setdefault(workload, _NONE_READY)
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


def _workload(owners: Owners, pod: Pod) -> Workload:
    return pod.namespace, owners.of(pod)


def _pending(
    after: AtRest, left: list[int], lost: tuple[str, str], later: Sequence[LostPending] = ()
) -> Iterator[LostPending]:
    """Pods that find no node, pods alike together, with the change that helps the most of them.

    No new node in the domain that is `lost`.  Of very many kinds the largest are explained, and none of
    workloads of which as many pods are pending `later`: what helps these is told there.
    """
    owners = Owners(after.problem.cluster)
    states = TrialStates(after)
    groups = after.problem.by_template(left)
    pods_of = after.problem.pods
    pending = Counter(_workload(owners, pods_of[pod]) for pod in left)
    for row in later:
        pending[row.namespace, row.workload] -= row.pods
    more = [one for one, pods in groups.items() if pending[_workload(owners, pods_of[pods[0]])] > 0]
    explained = sorted(more, key=lambda one: -len(groups[one]))[: after.effort.losses_explained]
    for template, pods in groups.items():
        first, sought = pods[0], template in explained
        namespace, workload = _workload(owners, pods_of[first])
        case = PendingCase.of(after, first)
        found = _way_out(case, pods, states, lost) if sought else None
        yield LostPending(
            namespace=namespace,
            workload=workload,
            pods=len(pods),
            example=after.problem.pods[first].key,
            message=after.messages[first],
            fix=fix_of(case, found, owners) if found else None,
            sought=sought,
        )


def _way_out(
    case: PendingCase, pods: Sequence[int], states: TrialStates, lost: tuple[str, str]
) -> TestedFix | None:
    """The cheapest fix where it helps all of the pods; else of more fixes the one that helps the most."""
    search = partial(FixSearch, case, alike=pods[1:], states=states, lost=lost)
    cheapest = search(best_only=True).run().fixes[:1]
    some = any(fix.places < len(pods) for fix in cheapest)
    fixes = search().run().fixes if some else cheapest
    return max(fixes, key=lambda fix: fix.places, default=None)
