"""DynamicResources: a pod goes where the devices that it claims can be used.

Kubernetes: a node must match the node selector of every allocated claim.  A claim that is not allocated
yet needs devices of the node; which ones there are is not judged here, so such nodes are neither taken
nor called unfit: the pod is left undecided.  The same holds for an extended resource that a node lacks
and a DeviceClass stands behind (from 1.36 on).  When nothing fits, the plugin is asked before preemption
whether an idle claim could be given back, and what it says is part of the message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from models.objects.device import ResourceClaim
from planner.constraints.family import Filter, Rejects, Score, Verdict, where_accepted
from planner.problem.device_claims import MOST_RESERVATIONS
from planner.problem.nodes import ALL, Feasible, Ints, Mask, Where
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.pod_counts import PodCounts
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

_ELSEWHERE = "resourceclaim not available on the node"
NOTHING_TO_GIVE_BACK = "no new claims to deallocate"
_NO_HELP = "still not schedulable"
GIVEN_BACK = "deallocation of ResourceClaim completed"
_TOO_MANY = (
    'running PreBind plugin "DynamicResources": add reservation to claim {claim.key}: '
    'ResourceClaim.resource.k8s.io "{claim.metadata.name}" is invalid: '
    f"status.reservedFor: Too many: {MOST_RESERVATIONS + 1}: must have at most {MOST_RESERVATIONS} items"
)
#: What begins the reason for a node that is neither taken nor called unfit.
UNDECIDED = "undecided: "
_AWAY, _UNDECIDED, _FULL = 1, 2, 3


class DynamicResources(Filter, Score):
    """Refuses nodes on which a claimed device cannot be used, and leaves open what is not allocated."""

    name = "DynamicResources"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        #: Whether a claim that can be reserved for no pod more counts as a refusal.
        self.reserves = True
        self._devices = problem.devices
        self._extended = problem.extended_rows
        self._users: dict[str, dict[int, int]] = {}
        for template in problem.templates:
            for claim in () if template.plain else self._claims(template):
                if template.pod.metadata.uid not in {user.uid for user in claim.status.reserved_for}:
                    self._users.setdefault(claim.key, {})[template.index] = 1

    def _claims(self, template: Template) -> list[ResourceClaim]:
        return self._devices.claims(template.pod) if template.pod.spec.resource_claims else []

    def concerns(self, template: Template) -> bool:
        return bool(template.pod.spec.resource_claims) or self._lacking(template) is not None

    def waits_for(self, template: Template) -> str | None:
        """Why the pod is not even looked at before something else happens, if so."""
        return self._devices.waits_for(template.pod) if template.pod.spec.resource_claims else None

    def refusal(self, template: Template) -> str | None:
        if not template.pod.spec.resource_claims:
            return None
        waits = self.waits_for(template)
        if waits is not None:
            return waits
        unallocated = (claim for claim in self._claims(template) if claim.status.allocation is None)
        problems = (self._devices.missing_class(claim) for claim in unallocated)
        return next((problem for problem in problems if problem is not None), None)

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        codes = np.zeros(self.nodes.size, np.int64)
        for claim in self._claims(template):
            codes[~self._usable(claim)] = _AWAY
            if self.reserves and self._is_full(claim, template):
                codes[codes == 0] = _FULL
        if any(self._devices.unallocated(template.pod)):
            codes[:] = _UNDECIDED
        lacking = self._lacking(template)
        if lacking is not None:
            codes[lacking & (codes == 0)] = _UNDECIDED
        return codes[where]

    def _usable(self, claim: ResourceClaim) -> Mask:
        """The nodes where the devices of an allocated claim can be used."""
        allocation = claim.status.allocation
        if allocation is None or allocation.node_selector is None:
            return self.nodes.every
        return self.nodes.matching(allocation.node_selector)

    def _is_full(self, claim: ResourceClaim, template: Template) -> bool:
        """Whether the API server would refuse to reserve a claim for one pod more."""
        users = self._users.get(claim.key, {})
        if template.index not in users:
            return False
        return claim.status.allocation is not None and self._reservations(claim) >= MOST_RESERVATIONS

    def _reservations(self, claim: ResourceClaim) -> int:
        """The pods that a claim is reserved for, and those placed that it will be."""
        return len(claim.status.reserved_for) + self._unlisted_users(claim.key).total

    def bind_failure(self, template: Template) -> str | None:
        """What the program prints when it has chosen a node and a claim takes no pod more, if so."""
        full = (claim for claim in self._claims(template) if self._is_full(claim, template))
        return next((_TOO_MANY.format(claim=claim) for claim in full), None)

    def _unlisted_users(self, key: str) -> PodCounts:
        """The placed pods that use a claim and are not in its `reservedFor` list."""
        return self.state.tally((self.name, key), lambda: self._users[key])

    def _lacking(self, template: Template) -> Mask | None:
        """The nodes without a resource that a DeviceClass could give them; None when no class could."""
        if not self._extended:
            return None
        rows = [row for row in self._extended if template.amounts[row]]
        if not rows:
            return None
        lacking: Mask = (self.problem.allocatable[rows] == 0).any(axis=0)
        return lacking

    def reads(self, template: Template) -> Iterator[PodCounts]:
        yield from (
            self._unlisted_users(claim.key) for claim in self._claims(template) if claim.key in self._users
        )

    def wants_pods(self, template: Template) -> bool:
        return False

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        return where_accepted(self.reject(template))

    def encode(self, x: Counts) -> None:
        """No pod comes for which a claim can be reserved no more; with moves this is seen at its turn alone.

        In a final state those count, too, whose profile does not ask.
        """
        asked: dict[str, list[int]] = {}
        claims: dict[str, ResourceClaim] = {}
        for template in x.judged() if not x.batch.running else ():
            for claim in self._claims(template):
                if template.index in self._users.get(claim.key, ()):
                    claims[claim.key] = claim
                    asked.setdefault(claim.key, []).append(template.index)
        for key, own in asked.items():
            counted = {t: 1 for t in (x.batch.wanted if x.is_final_state else own) if t in self._users[key]}
            free = max(0, MOST_RESERVATIONS - self._reservations(claims[key]))
            everywhere = range(x.cells.size)
            if sum(x.batch.wanted[number] for number in counted) > free:
                comes = x.any_of((self.name, key), own, everywhere)
                if comes is not None:
                    x.require_if(comes, x.total(counted, everywhere) <= free)

    def undecided(self, template: Template) -> Mask | None:
        if not self.concerns(template) or self.refusal(template) is not None:
            return None
        return np.asarray(self.reject(template) == _UNDECIDED)

    def verdict(self, template: Template, code: int) -> Verdict:
        if code == _AWAY:
            return Verdict((_ELSEWHERE,), unresolvable=True)
        if code == _FULL:
            reason = f"resourceclaim is reserved for {MOST_RESERVATIONS} pods, and takes no more"
            return Verdict((reason,), unresolvable=True)
        return Verdict((f"{UNDECIDED}{self._unknown(template)}",), unresolvable=True)

    def _unknown(self, template: Template) -> str:
        """What would have to be known to judge a node."""
        lacking = "a DeviceClass stands behind a resource that the node lacks"
        return next(self._devices.unallocated(template.pod), lacking)

    def prefers(self, template: Template) -> bool:
        return self.problem.behaviour.scores_devices

    def is_of_node(self, template: Template) -> bool:
        return True

    def score(self, template: Template, feasible: Feasible) -> int:
        # Only what is allocated in the same cycle tells nodes apart, and that is left undecided.
        return 0

    def before_preemption(self, template: Template, first: Mapping[str, Mask]) -> str:
        """What the plugin says of a pod that fits nowhere; `first` has the nodes it refused, by reason."""
        claims = self._claims(template)
        if not claims and self._lacking(template) is None:
            return NOTHING_TO_GIVE_BACK
        refused = first.get(_ELSEWHERE, self.nodes.none)
        # Given back is one that no other pod holds.
        idle = (claim for claim in claims if (refused & ~self._usable(claim)).any())
        holders = ({user.uid for user in claim.status.reserved_for} for claim in idle)
        return GIVEN_BACK if any(held <= {template.pod.metadata.uid} for held in holders) else _NO_HELP
