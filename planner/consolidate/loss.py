"""`--survive KEY`: whichever domain of a key is lost, kube-scheduler places every pod that is made again.

A plan is judged by the simulation that `planner check --survive` makes.  Pods that preemption evicts in it
are counted, too, where none comes in their place.  A search knows less (`loss_room`).  Pods that go with
their node, as those of DaemonSets, are not counted when they are preempted: no plan has to leave them their
room.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from models import Cluster
from models.words import value_told
from planner.consolidate.removable import goes_with_its_node
from planner.explain.at_rest import AtRest
from planner.explain.before_loss import BeforeLoss
from planner.moves.movable import Movable
from planner.problem.problem import Problem
from planner.proof.consolidation_effort import PRICE_OF_LOSS
from planner.proof.effort import DrawEffort
from planner.proof.meter import Meter
from planner.scheduler import other_ties
from planner.whatif.eviction import without_pods

UNSURVIVED = "without it pods would find no node when a domain is lost"
UNTRIED = "it is not known yet what the loss of a domain leaves without it"
NO_DOMAIN = "without it no domain that may be lost would be left"


def never_over() -> bool:
    """Of trials that are made in any case."""
    return False


class PodsWithoutNode(NamedTuple):
    """How many pods find no node when a domain is lost."""

    pods: int
    #: What those that stay pending request, by resource.
    requests: tuple[tuple[str, int], ...] = ()

    def is_worse(self, other: PodsWithoutNode) -> bool:
        """Whether more pods find no node than in another cluster."""
        return self.pods > other.pods


@dataclass(frozen=True, slots=True)
class DomainLosses:
    """How many pods find no node when a domain of a key is lost, as the cluster is now."""

    key: str
    of_domain: Mapping[str, PodsWithoutNode]
    #: How many pods preemption evicts before anything is lost.
    evicted: int
    #: Whether all pods come again together that come again one by one: some sets have too many.
    all_come_again: bool
    #: The cluster as it is now, compiled: most pods of another one are among its pods.
    problem: Problem = field(compare=False, repr=False)
    #: Whether all domains were lost before the time was over; of the others nothing is known.
    complete: bool = True

    @classmethod
    def of(
        cls, problem: Problem, movable: Movable, key: str, is_over: Callable[[], bool] = never_over
    ) -> DomainLosses:
        """The domains of a key that some node has, as far as the time goes."""
        problem.cluster.domains(key, f"--survive {key}")
        before = BeforeLoss(problem.cluster, key, known=problem)
        found = dict[str, PodsWithoutNode]()
        for domain in before.domains:
            if is_over():
                break
            found[domain] = _loss(before, before.without(domain))
        complete = len(found) == len(before.domains)
        return cls(key, found, before.evicted, _all_come_again(problem, movable), problem, complete)

    def work(self, domains: int) -> float:
        return PRICE_OF_LOSS * len(self.problem.pods) * domains

    def is_quick(self, most: float) -> bool:
        """Whether a trial of all domains is at most so much work."""
        return self.work(len(self.of_domain)) <= most

    def why_worse(self, cluster: Cluster, is_over: Callable[[], bool] = never_over) -> str:
        """Why more pods than now may find no node when a domain is lost that this cluster has; or nothing.

        Nor may preemption evict more pods before any is lost.
        """
        if not self.complete:
            return UNTRIED
        before = BeforeLoss(cluster, self.key, known=self.problem)
        if not before.domains:
            return NO_DOMAIN if cluster.nodes else ""
        if before.evicted > self.evicted:
            return UNSURVIVED
        for domain in before.domains:
            if is_over():
                return UNTRIED
            if self._more(before, domain) is not None:
                return UNSURVIVED
        return ""

    def lacking(
        self, cluster: Cluster, among: Collection[str], is_over: Callable[[], bool]
    ) -> Mapping[str, Mapping[str, int]]:
        """By domain whose loss leaves more pods over than now what these request more, as far as time goes.

        By "" nothing, where preemption evicts more pods before any domain is lost.
        """
        before = BeforeLoss(cluster, self.key, known=self.problem)
        found = dict[str, Mapping[str, int]]()
        if before.evicted > self.evicted:
            found[""] = {}
        for domain in filter(among.__contains__, before.domains):
            more = None if is_over() else self._more(before, domain)
            if more is not None:
                found[domain] = more
        return found

    def _more(self, before: BeforeLoss, domain: str) -> Mapping[str, int] | None:
        """What pods without a node request more than now once a domain is lost; None if no more are."""
        now, then = self.of_domain.get(domain, _NONE), _loss(before, before.without(domain))
        if not then.is_worse(now):
            return None
        known = dict(now.requests)
        return {name: amount - known.get(name, 0) for name, amount in then.requests}

    def failing_draws(self, cluster: Cluster, effort: DrawEffort, meter: Meter) -> Mapping[str, int] | None:
        """By domain that this cluster has in how many draws of ties more pods than now find no node.

        None where it is too large for that, or the time is over.
        """
        before = BeforeLoss(cluster, self.key, known=self.problem)
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


_NONE = PodsWithoutNode(0)


def _loss(before: BeforeLoss, after: AtRest) -> PodsWithoutNode:
    """What is without a node after a loss; pods that wait already are not counted."""
    left, requests = before.left(after), Counter[str]()
    for pods in after.problem.by_template(left).values():
        amounts = after.problem.template(pods[0]).amounts
        for name, amount in zip(after.problem.resources, amounts, strict=True):
            requests[name] += amount * len(pods)
    return PodsWithoutNode(len(left) + len(before.preempted(after)), (*requests.items(),))


def is_made_again(problem: Problem, pod: int) -> bool:
    """Whether a controller makes a pod again on another node."""
    return problem.pods[pod].metadata.controller is not None and not goes_with_its_node(problem, pod)


def is_made_alike(problem: Problem, movable: Movable, pod: int) -> bool:
    """Whether, if it alone is lost, another pod is certain to come in its place, and needs as much room."""
    alike = bool(movable.weights[pod]) or movable.controllers.takes_as_much(pod)
    return alike and is_made_again(problem, pod)


def _all_come_again(problem: Problem, movable: Movable) -> bool:
    cluster, running = problem.cluster, np.flatnonzero(problem.node_of >= 0).tolist()
    gone = [problem.pods[pod] for pod in running if is_made_alike(problem, movable, pod)]
    return len(without_pods(cluster, gone, returning=gone).pods) == len(cluster.pods)
