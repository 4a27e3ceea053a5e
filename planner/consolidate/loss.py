"""`--survive KEY`: whichever domain of a key is lost, kube-scheduler places every pod that is made again.

A plan is judged by the simulation that `planner check --survive` makes.  Pods that preemption evicts in it
are counted, too: what is made in their place finds no node.  A search knows less: that the nodes outside
each domain have room for all pods that are made again, in sum of every resource.  Pods that go with their
node, as those of DaemonSets, are not counted when they are preempted: no plan has to leave them their room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from models import Cluster
from models.words import value_told
from planner.consolidate.layout import Reserve, thousand_for
from planner.consolidate.removable import goes_with_its_node
from planner.constraints.family import PLENTY
from planner.eviction.jobs import LOST, JobDisruptions
from planner.explain.at_rest import AtRest
from planner.explain.before_loss import BeforeLoss
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Ints, Mask
from planner.problem.problem import Problem
from planner.proof.effort import DrawEffort
from planner.proof.meter import Meter
from planner.scheduler import other_ties
from planner.scheduler.profile import profiles_of
from planner.state.state import State
from planner.whatif.eviction import without_pods
from planner.whatif.jobs import failing

UNSURVIVED = "without it pods would find no node when a domain is lost"
UNTRIED = "it is not known yet what the loss of a domain leaves without it"


class PodsWithoutNode(NamedTuple):
    """How many pods stay pending when a domain is lost, and how many of those that preemption evicts then."""

    pending: int
    evicted: int
    #: What those that stay pending request, by resource.
    requests: tuple[tuple[str, int], ...] = ()

    @property
    def pods(self) -> int:
        """All that find no node."""
        return self.pending + self.evicted

    def is_worse(self, other: PodsWithoutNode) -> bool:
        """Whether more pods stay pending than in another cluster, or find no node at all."""
        return self.pending > other.pending or self.pods > other.pods


@dataclass(frozen=True, slots=True)
class DomainLosses:
    """How many pods find no node when a domain of a key is lost, as the cluster is now."""

    key: str
    of_domain: Mapping[str, PodsWithoutNode]
    #: How many pods preemption evicts before anything is lost.
    evicted: int
    #: Whether controllers make every pod again that may move: some do not where there are too many.
    all_come_again: bool
    #: Whether all domains were lost before the time was over; of the others nothing is known.
    complete: bool = True

    @classmethod
    def of(
        cls, problem: Problem, movable: Movable, key: str, is_over: Callable[[], bool] = lambda: False
    ) -> DomainLosses:
        """The domains of a key that some node has, as far as the time goes."""
        problem.cluster.domains(key, f"--survive {key}")
        before = BeforeLoss(problem.cluster, key)
        found = dict[str, PodsWithoutNode]()
        for domain in before.domains:
            if is_over():
                break
            found[domain] = _loss(before, before.without(domain))
        complete = len(found) == len(before.domains)
        return cls(key, found, before.evicted, _all_come_again(problem, movable), complete)

    def why_worse(self, cluster: Cluster, is_over: Callable[[], bool] = lambda: False) -> str:
        """Why more pods than now may find no node when a domain is lost that this cluster has; or nothing.

        Nor may preemption evict more pods before any is lost.
        """
        if not self.complete:
            return UNTRIED
        before = BeforeLoss(cluster, self.key)
        if before.evicted > self.evicted:
            return UNSURVIVED
        for domain in before.domains:
            if is_over():
                return UNTRIED
            if _loss(before, before.without(domain)).is_worse(self.of_domain.get(domain, _NONE)):
                return UNSURVIVED
        return ""

    def failing_draws(self, cluster: Cluster, effort: DrawEffort, meter: Meter) -> Mapping[str, int] | None:
        """By domain that this cluster has in how many draws of ties more pods than now find no node.

        None where it is too large for that, or the time is over.
        """
        before = BeforeLoss(cluster, self.key)
        seeds = other_ties.seeds(before.problem, effort)
        found = dict[str, int]()
        for domain in before.domains if seeds else ():
            if meter.over():
                return None
            now = self.of_domain.get(domain, _NONE)
            found[domain] = sum(_loss(before, drawn).is_worse(now) for drawn in before.drawn(domain, seeds))
        return found if seeds else None

    def notes(self) -> Iterator[str]:
        """The domains whose loss leaves pods without a node already."""
        for domain, loss in self.of_domain.items():
            if loss.pods:
                pods = "1 pod finds" if loss.pods == 1 else f"{loss.pods} pods find"
                lost = f"{self.key} {value_told(domain)} is lost"
                yield f"when {lost} {pods} no node as the cluster is now; no more will"

    def room(
        self,
        trial: TrialCluster,
        movable: Movable,
        added: Mask,
        thousandths: int | None,
        *,
        shared: bool = False,
    ) -> Reserve | None:
        """For each domain that may be lost now what may go of the nodes outside it, with so much to spare.

        None is what every plan keeps to: as many pods as now may be without a node, the largest ones.  Else
        those that preemption may evict have room, too, and pods need none that find no node now.
        Machines that are not added yet are none that have to stay.  If it is `shared`, each domain also has
        room for an equal share of what is made again, beside those that can be nowhere else: so much spread
        over domains asks for, and pods of no domain do not fill the emptiest one.
        """
        problem = trial.problem
        column = problem.nodes.column(self.key)
        counted = [
            domain
            for domain in self.of_domain
            if self.all_come_again and (thousandths is not None or not self.evicted)
        ]
        if not counted:
            return None
        lost = [column.codes == column.code_of[domain] for domain in counted]
        state = State(problem)
        thousand = thousand_for(state)
        # What pods request beyond what their node has they may keep.
        usable = np.maximum((thousand - (thousandths or 0)) * problem.allocatable, thousand * state.used)
        usable[trial.left_to_devices] = 1000 * PLENTY
        pods = _by_loss(problem, movable)
        keep_room = pods.going if thousandths is not None else _not_outranked(problem, pods.going)
        going, stays = state.load_of(keep_room), state.load_of(pods.staying)
        again = trial.wanted_on(pods.made_again, problem.node_of[pods.made_again])
        made_again, staying = (problem.template_of[some] for some in (pods.made_again, pods.staying))
        each = np.concatenate((trial.room_needed[made_again], trial.taken[staying]))
        tied = [_tied_to(trial, movable, pods.made_again, inside) for inside in lost]
        rows = [np.where(inside, 0, usable - thousand * going) for inside in lost]
        needs = [
            thousand
            * (
                (again + np.where(inside, 0, stays)).sum(axis=1)
                - (
                    self._without_node(problem, domain)
                    if thousandths is not None
                    else _largest(each, there, self.of_domain[domain].pods)
                )
            )
            for domain, inside, there in zip(counted, lost, tied, strict=True)
        ]
        if shared:
            anywhere = np.delete(each[: len(made_again)], np.concatenate(tied), axis=0).sum(axis=0)
            rows += [np.where(inside, usable - thousand * going, 0) for inside in lost]
            needs += [
                thousand * (anywhere // max(1, len(lost) - 1) + each[there].sum(axis=0)) for there in tied
            ]
        spare = [
            np.maximum(row.sum(axis=1) - need, row[:, added].sum(axis=1))
            for row, need in zip(rows, needs, strict=True)
        ]
        return Reserve(np.concatenate(spare), np.concatenate(rows))

    def _without_node(self, problem: Problem, domain: str) -> Ints:
        """What the pods request that find no node now when a domain is lost."""
        requests = dict(self.of_domain[domain].requests)
        return np.array([requests.get(name, 0) for name in problem.resources], np.int64)

    def may_need_less(self, problem: Problem) -> bool:
        """Whether plans may do with less room than all running pods take: preemption evicts some of them."""
        going = _going(problem)
        return bool(self.evicted) or len(_not_outranked(problem, going)) < len(going)


_NONE = PodsWithoutNode(0, 0)


def _loss(before: BeforeLoss, after: AtRest) -> PodsWithoutNode:
    """What is without a node after a loss; pods that wait already are not counted."""
    left, requests = before.left(after), Counter[str]()
    for pods in after.problem.by_template(left).values():
        amounts = after.problem.template(pods[0]).amounts
        for name, amount in zip(after.problem.resources, amounts, strict=True):
            requests[name] += amount * len(pods)
    return PodsWithoutNode(len(left), len(before.preempted(after)), (*requests.items(),))


def _tied_to(trial: TrialCluster, movable: Movable, pods: Codes, domain: Mask) -> Codes:
    """The places of those pods that are in a domain and can be in no other, as their volumes are there.

    Claims that are made with a pod, as those of ephemeral volumes, tie nothing that comes in its place, nor
    does a node affinity that its controller's template does not have, as that of a pin.
    """
    problem, there = trial.problem, np.flatnonzero(domain[trial.problem.node_of[pods]])
    tied = {
        template: not (trial.leaves_open(template) or (trial.ever_open(template) & ~domain).any())
        for template in np.unique(problem.template_of[pods[there]]).tolist()
    }
    found = [
        place
        for place, pod in zip(there.tolist(), pods[there].tolist(), strict=True)
        if tied[trial.template(pod)] and not movable.controllers.why_not(pod)
    ]
    others = movable.controllers.others(pods[found].tolist())
    return np.array([place for place in found if pods[place] not in others], np.intp)


def _largest(each: Ints, tied: Codes, number: int) -> Ints:
    """What so many pods request at most, of each resource: those that are tied, and the largest others."""
    largest = each[tied].sum(axis=0)
    if number > len(tied):
        others = np.sort(np.delete(each, tied, axis=0), axis=0)[::-1]
        largest = largest + others[: number - len(tied)].sum(axis=0)
    return np.asarray(largest)


def _all_come_again(problem: Problem, movable: Movable) -> bool:
    cluster = problem.cluster
    gone = [problem.pods[pod] for pod in np.flatnonzero(movable.weights).tolist()]
    return len(without_pods(cluster, gone, returning=gone).pods) == len(cluster.pods)


def room_with_preemption(problem: Problem) -> Ints:
    """What every node has beside those pods that go with it and that no pod preempts."""
    return problem.allocatable - State(problem).load_of(_not_outranked(problem, _going(problem)))


def _going(problem: Problem) -> Codes:
    running = np.flatnonzero(problem.node_of >= 0).tolist()
    return np.array([pod for pod in running if goes_with_its_node(problem, pod)], np.intp)


def _not_outranked(problem: Problem, pods: Codes) -> Codes:
    """Those of some running pods that no pod preempts: a terminating pod has its room until it has ended."""
    waiting = [
        pod.priority
        for number, pod in enumerate(problem.pods)
        if pod.spec.preemption_policy != "Never"
        and (problem.node_of[number] < 0 or _is_made_again(problem, number))
    ]
    if not waiting:
        return pods
    ends = np.array([problem.pods[pod].is_terminating for pod in pods.tolist()], bool)
    return pods[ends | (problem.priorities[pods] >= max(waiting))]


def _is_made_again(problem: Problem, pod: int) -> bool:
    """Whether a controller makes a pod again on another node."""
    return problem.pods[pod].metadata.controller is not None and not goes_with_its_node(problem, pod)


def _is_made_alike(movable: Movable, pod: int) -> bool:
    """Whether what a controller makes in place of a lost pod is certain to come, and needs as much room."""
    return bool(movable.weights[pod]) or movable.controllers.takes_as_much(pod)


class _PodsByLoss(NamedTuple):
    """The pods that go with their node, those that controllers make again, and those that end with theirs."""

    going: Codes
    made_again: Codes
    staying: Codes


def _by_loss(problem: Problem, movable: Movable) -> _PodsByLoss:
    """What becomes of running pods when a domain is lost; of others none may be left, or made again.

    Pods of a scheduler that has no profile are not placed here, and ask for no room.  Neither do lost pods
    that their controller might not make again, or not as large, as where it has more than it wants.
    """
    schedulers = profiles_of(problem.cluster.scheduler_config)
    going, again, stays = list[int](), list[int](), list[int]()
    jobs = JobDisruptions(problem.cluster, LOST)
    running = np.flatnonzero(problem.node_of >= 0).tolist()
    # Pods that wait may be on a lost node, too, when they have one.
    may_fail = {job.key for job, _ in failing(jobs, problem.pods)}
    for pod in running:
        job = jobs.job_of(problem.pods[pod])
        if job is not None and job.key in may_fail:
            # It may end with its Job, wherever it is.
            continue
        placed = problem.pods[pod].spec.scheduler_name in schedulers
        if placed and _is_made_again(problem, pod) and _is_made_alike(movable, pod):
            again.append(pod)
        elif not movable.weights[pod]:
            (going if goes_with_its_node(problem, pod) else stays).append(pod)
    return _PodsByLoss(*(np.array(pods, np.intp) for pods in (going, again, stays)))
