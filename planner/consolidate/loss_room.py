"""The room that nodes keep for the loss of a domain, as a search counts it: in sum of every resource.

The nodes outside each domain that may be lost have room for the pods that controllers make again, beside
those that are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from planner.consolidate.layout import Reserve, thousand_for
from planner.consolidate.loss import DomainLosses, PodsWithoutNode, is_made_again, is_made_alike
from planner.consolidate.removable import goes_with_its_node
from planner.consolidate.setting import Setting
from planner.constraints.family import PLENTY
from planner.eviction.jobs import LOST, JobDisruptions
from planner.moves.movable import Movable
from planner.moves.trial_cluster import TrialCluster
from planner.problem.nodes import Codes, Ints, Mask
from planner.problem.problem import Problem
from planner.proof import consolidation_effort as effort
from planner.scheduler.profile import profiles_of
from planner.state.state import State
from planner.whatif.eviction import failing


def room_for_losses(losses: DomainLosses, setting: Setting, to_spare: int | None) -> Reserve | None:
    """For each domain that may be lost now what may go of the nodes outside it, with so much to spare.

    None is what every plan keeps to: as many pods as now may be without a node, the largest ones.  Else, with
    thousandths, those that preemption may evict have room, too, and pods need none that find no node now.
    Machines that are not added yet are none that have to stay.  With any to spare, each of few domains also
    has room for an equal share of what is made again, beside those that can be nowhere else: so much spread
    over domains asks for, and pods of no domain do not fill the emptiest one.
    """
    if not losses.all_come_again or (to_spare is None and losses.evicted) or not losses.of_domain:
        return None
    column = setting.problem.nodes.column(losses.key)
    room = _RoomAfterLoss(setting.trial, setting.movable, to_spare)
    lost = [column.codes == column.code_of[domain] for domain in losses.of_domain]
    kept = [room.outside(inside, now) for inside, now in zip(lost, losses.of_domain.values(), strict=True)]
    if to_spare and len(lost) <= effort.SURVIVAL_SHARED:
        kept += room.shares(lost)
    # More than all that is there is never asked for: the machines may not come.
    spare = [
        np.maximum(one.brings.sum(axis=1) - one.needed, one.brings[:, setting.added].sum(axis=1))
        for one in kept
    ]
    return Reserve(np.concatenate(spare), np.concatenate([one.brings for one in kept]))


class _Kept(NamedTuple):
    """What some nodes have for pods that are made again, of each resource, and what these need of it."""

    brings: Ints
    needed: Ints


class _RoomAfterLoss:
    """Counts room and requests of a cluster in exact thousandths."""

    def __init__(self, trial: TrialCluster, movable: Movable, to_spare: int | None) -> None:
        problem, state = trial.problem, State(trial.problem)
        self._trial, self._movable, self._to_spare = trial, movable, to_spare
        self._thousand = thousand_for(state)
        self._pods = pods = _by_loss(problem, movable)
        # What pods request beyond what their node has they may keep.
        usable = np.maximum(
            (self._thousand - (to_spare or 0)) * problem.allocatable, self._thousand * state.used
        )
        usable[trial.left_to_devices] = 1000 * PLENTY
        keep_room = pods.going if to_spare is not None else _not_outranked(problem, pods.going)
        self._brings: Ints = usable - self._thousand * state.load_of(keep_room)
        self._stays = state.load_of(pods.staying)
        self._made_again = trial.wanted_on(pods.made_again, problem.node_of[pods.made_again])

    def outside(self, lost: Mask, now: PodsWithoutNode) -> _Kept:
        """What the nodes outside a domain have for all pods but those without a node `now`."""
        requests = (self._made_again + np.where(lost, 0, self._stays)).sum(axis=1)
        without = self._requests(now) if self._to_spare is not None else self._largest(lost, now.pods)
        return _Kept(np.where(lost, 0, self._brings), self._thousand * (requests - without))

    def _requests(self, now: PodsWithoutNode) -> Ints:
        requests = dict(now.requests)
        return np.array([requests.get(name, 0) for name in self._trial.problem.resources], np.int64)

    def _largest(self, lost: Mask, number: int) -> Ints:
        """What so many pods request at most, of each resource: tied ones, and the largest others."""
        tied = self._tied_to(lost)
        largest = self._each[tied].sum(axis=0)
        if number > len(tied):
            others = np.sort(np.delete(self._each, tied, axis=0), axis=0)[::-1]
            largest = largest + others[: number - len(tied)].sum(axis=0)
        return np.asarray(largest)

    def shares(self, domains: Sequence[Mask]) -> list[_Kept]:
        """What the nodes of each domain have for the pods tied to it, and for an equal share of others."""
        tied = [self._tied_to(inside) for inside in domains]
        made_again = self._each[: len(self._pods.made_again)]
        anywhere = np.delete(made_again, np.concatenate(tied), axis=0).sum(axis=0)
        share = anywhere // max(1, len(domains) - 1)
        return [
            _Kept(np.where(inside, self._brings, 0), self._thousand * (share + self._each[there].sum(axis=0)))
            for inside, there in zip(domains, tied, strict=True)
        ]

    @cached_property
    def _each(self) -> Ints:
        """A row of requests for every pod that is made again, then for every one that ends with its node."""
        again, stays = (self._trial.problem.template_of[pods] for pods in self._pods[1:])
        return np.concatenate((self._trial.room_needed[again], self._trial.taken[stays]))

    def _tied_to(self, domain: Mask) -> Codes:
        """The places among the pods made again of those in a domain that can be in no other.

        Their volumes are there.  Claims that are made with a pod, as those of ephemeral volumes, tie nothing
        that comes in its place, nor does a node affinity that its controller's template does not have, as
        that of a pin.
        """
        trial, problem, pods = self._trial, self._trial.problem, self._pods.made_again
        there = np.flatnonzero(domain[problem.node_of[pods]])
        tied = {
            template: not (trial.leaves_open(template) or (trial.ever_open(template) & ~domain).any())
            for template in np.unique(problem.template_of[pods[there]]).tolist()
        }
        controllers = self._movable.controllers
        found = [
            place
            for place, pod in zip(there.tolist(), pods[there].tolist(), strict=True)
            if tied[trial.template(pod)] and not controllers.why_not(pod)
        ]
        others = controllers.others(pods[found].tolist())
        return np.array([place for place in found if pods[place] not in others], np.intp)


def may_need_less(losses: DomainLosses, problem: Problem) -> bool:
    """Whether plans may do with less room than all running pods take: preemption evicts some of them."""
    going = _going(problem)
    return bool(losses.evicted) or len(_not_outranked(problem, going)) < len(going)


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
        and (problem.node_of[number] < 0 or is_made_again(problem, number))
    ]
    if not waiting:
        return pods
    ends = np.array([problem.pods[pod].is_terminating for pod in pods.tolist()], bool)
    return pods[ends | (problem.priorities[pods] >= max(waiting))]


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
        if placed and is_made_alike(problem, movable, pod):
            again.append(pod)
        elif goes_with_its_node(problem, pod):
            going.append(pod)
        elif not movable.weights[pod]:
            stays.append(pod)
    found = _PodsByLoss(*(np.array(pods, np.intp) for pods in (going, again, stays)))
    bare = [problem.pods[pod].metadata.controller is None for pod in stays]
    return found._replace(staying=np.union1d(found.staying[bare], _not_outranked(problem, found.staying)))
