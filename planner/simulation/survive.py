"""What if a zone is lost: every domain of a key one by one, its pods made again, and everything simulated."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence

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
from planner.whatif.nodes import lose_contact, remove_nodes

Workload = tuple[str, str]


def survive(cluster: Cluster, key: str, *, preemption: bool = True, effort: Effort = STANDARD) -> Survival:
    """What the loss of each domain of a topology key would mean, once the pending pods are placed."""
    domains = sorted({node.metadata.labels[key] for node in cluster.nodes if key in node.metadata.labels})
    if not domains:
        raise InputError([f"no node has the label {key}"])
    before = AtRest.of(cluster, preemption, effort.explain)
    waiting = {before.problem.pods[pod].key for pod in before.left}
    running = before.cluster()
    losses = []
    with old_left_alone():
        for domain in _told(domains):
            losses.append(_lose(running, key, domain, waiting, before))
            # A cluster at rest has circles of references, and of one domain nothing is needed for the next.
            gc.collect()
    return Survival(
        topology_key=key,
        domains=tuple(losses),
        failures=sum(not row.ok for loss in losses for row in loss.workloads),
        kubernetes=before.problem.kubernetes.document,
        notes=(*cluster.notes, *before.problem.notes),
    )


def _told(domains: Sequence[str]) -> Iterator[str]:
    """The domains one by one, with progress shown."""
    for number, domain in enumerate(domains):
        report_best(f"{number} of {len(domains)} done, now {domain}")
        yield domain


def _lose(cluster: Cluster, key: str, domain: str, waiting: set[str], before: AtRest) -> DomainLoss:
    """One domain gone; pods that were pending before the loss are no part of it."""
    gone = {node.name for node in cluster.nodes if node.metadata.labels.get(key) == domain}
    preemption, effort = before.preemption, before.effort
    after = AtRest.of(remove_nodes(cluster, f"{key}={domain}"), preemption, effort)
    left = _left(after, waiting)
    meanwhile = AtRest.of(lose_contact(cluster, f"{key}={domain}"), preemption, effort)
    more = _left(meanwhile, waiting)
    rows = tuple(_workloads(cluster, gone, after, left))
    return DomainLoss(
        domain=domain,
        nodes=len(gone),
        pods=sum(row.lost for row in rows),
        workloads=rows,
        pending=tuple(_pending(after, left)),
        meanwhile=tuple(_pending(meanwhile, more)) if len(more) > len(left) else (),
        ok=all(row.ok for row in rows),
    )


def _left(after: AtRest, waiting: set[str]) -> list[int]:
    return [pod for pod in after.left if after.problem.pods[pod].key not in waiting]


def _workloads(cluster: Cluster, gone: set[str], after: AtRest, left: list[int]) -> Iterator[WorkloadLoss]:
    """Every workload that has pods in the domain, or pods that are pending because of it."""
    problem = Problem(cluster)
    owners = Owners(cluster)
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
