"""NodeVolumeLimits: a node can attach only so many volumes of a CSI driver.

Kubernetes 1.34: for every driver, the volumes attached for pods on the node, each counted once,
plus the pod's new ones must not exceed what the node's CSINode says is allocatable.  A claim that is
not bound yet counts as one volume of its class's provisioner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.constraints.family import PLENTY, Filter, Rejects, Verdict
from planner.problem.nodes import ALL, Ints, Where
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.pod_counts import PodCounts
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

#: The limit of a node that sets none.
_NO_LIMIT = -1
_REASON = "node(s) exceed max volume count"

#: A driver and what it attaches: a volume, or a claim that has none yet.
Attached = tuple[str, str]


class NodeVolumeLimits(Filter):
    """Refuses nodes whose drivers cannot attach the pod's volumes too."""

    name = "NodeVolumeLimits"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._limits = self._read_limits()
        self._attached: list[frozenset[Attached]] = [
            frozenset(self._volumes(template)) if self._limits else frozenset()
            for template in problem.templates
        ]
        self._users: dict[Attached, dict[int, int]] = defaultdict(dict)
        self._sizes: dict[str, dict[int, int]] = defaultdict(dict)
        for number, attached in enumerate(self._attached):
            for driver, volume in attached:
                self._users[driver, volume][number] = 1
                self._sizes[driver][number] = self._sizes[driver].get(number, 0) + 1
        #: What more than one pod uses.
        self._shared = {
            attached
            for attached, users in self._users.items()
            if not self._is_own(attached) and problem.pods_per_template[[*users]].sum() > 1
        }

    def _read_limits(self) -> dict[str, Ints]:
        """For every driver, how many volumes each node takes; -1 where it sets no limit."""
        limits: dict[str, Ints] = {}
        for node in self.problem.cluster.csi_nodes:
            position = self.nodes.index.get(node.name)
            for driver in node.spec.drivers if position is not None else ():
                if driver.allocatable is not None and driver.allocatable.count is not None:
                    none = np.full(self.nodes.size, _NO_LIMIT)
                    limits.setdefault(driver.name, none)[position] = driver.allocatable.count
        return limits

    def _volumes(self, template: Template) -> Iterator[Attached]:
        claims = self.state.claims
        for claim in claims.mounted_by(template.pod):
            volume = claims.volumes.get(claim.spec.volume_name)
            if volume is not None and volume.spec.csi is not None:
                yield volume.spec.csi.driver, volume.spec.csi.volume_handle or volume.name
            elif volume is None and (found := claims.storage_class(claim)) is not None:
                yield found.provisioner, claim.key

    def concerns(self, template: Template) -> bool:
        return any(driver in self._limits for driver, _ in self._attached[template.index])

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        refused = np.zeros(self.nodes.size, np.bool_)[where]
        for driver in {driver for driver, _ in self._attached[template.index]} & self._limits.keys():
            new = sum(
                (self._is_own(attached) | (self._tally(attached).counts[where] == 0)).astype(np.int64)
                for attached in self._attached[template.index]
                if attached[0] == driver
            )
            most = self._limits[driver][where]
            refused |= (new > 0) & (most != _NO_LIMIT) & (self._in_use(driver)[where] + new > most)
        return refused.astype(np.int64)

    def wants_pods(self, template: Template) -> bool:
        """A node with more volumes than its limit takes a pod only beside others that share its volumes."""
        return any(
            attached[0] in self._limits and attached in self._shared
            for attached in self._attached[template.index]
        )

    def is_local(self, template: Template) -> bool:
        return True

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        limit = np.full(self.nodes.size, PLENTY)
        for driver, attachable in self._limits.items():
            size = self._own_volumes(template, driver)
            if size:
                fitting = np.maximum(attachable - self._in_use(driver), 0) // size
                limit = np.where(attachable == _NO_LIMIT, limit, np.minimum(limit, fitting))
        return limit

    def takes(self, template: Template) -> Ints | None:
        return None if self.wants_pods(template) else self.most(template, {})

    def encode(self, x: Counts) -> None:
        """On every node, the volumes that come, but for shared ones, fit beside those in use.

        Where too many are attached already they may stay, and keep others away.  Shared volumes are counted
        in a final state, where no order of binds is checked afterwards.
        """
        for driver, limit in self._limits.items():
            sizes = {template.index: self._own_volumes(template, driver) for template in x.judged()}
            sizes = {number: size for number, size in sizes.items() if size}
            free = np.maximum(limit - self._in_use(driver), 0)
            if sizes:
                all_of_them = sum(size * x.batch.wanted[number] for number, size in sizes.items())
                x.limit((self.name, driver), sizes, np.where(limit == _NO_LIMIT, all_of_them, free))
            if x.final and not x.batch.running:
                self._encode_shared(x, driver, sizes, np.where(limit == _NO_LIMIT, PLENTY, free))

    def _encode_shared(self, x: Counts, driver: str, sizes: Mapping[int, int], free: Ints) -> None:
        """The same with the shared volumes that come: each once on every node that does not have it."""
        asked = {template.index for template in x.judged()}
        new: dict[int, list[Any]] = defaultdict(list)
        for attached, users in self._users.items():
            if attached[0] == driver and attached in self._shared:
                there, coming = x.summed(self._tally(attached).counts), asked & users.keys()
                for cell in x.reached(coming):
                    if not there[cell]:
                        new[cell].append(x.any_there((self.name, attached, cell), coming, (cell,)))
        room = x.summed(free)
        for cell, volumes in new.items():
            x.require(x.total(sizes, (cell,)) + sum(volumes) <= room[cell])

    def is_overattached(self, before: NodeVolumeLimits) -> bool:
        """Whether some node has more volumes than its limit, and more than it had."""
        return any(
            bool(
                (
                    (most != _NO_LIMIT) & (self._in_use(driver) > np.maximum(most, before._in_use(driver)))
                ).any()
            )
            for driver, most in self._limits.items()
        )

    def _own_volumes(self, template: Template, driver: str) -> int:
        """The volumes that only this pod uses; one that others share may be on the node without it."""
        return sum(
            attached[0] == driver and attached not in self._shared
            for attached in self._attached[template.index]
        )

    def _in_use(self, driver: str) -> Ints:
        """How many different volumes of a driver each node has: all uses, less the repeated ones."""
        sizes = self._sizes[driver]
        used = self.state.tally((self.name, driver), lambda: sizes).counts.copy()
        for attached in self._shared:
            if attached[0] == driver:
                used -= np.maximum(self._tally(attached).counts - 1, 0)
        return used

    def _is_own(self, attached: Attached) -> bool:
        """Whether each pod that mounts a claim has another one, with a volume for itself."""
        return attached[1] in self.problem.own_claims

    def _tally(self, attached: Attached) -> PodCounts:
        return self.state.tally((self.name, attached), lambda: self._users[attached])

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASON,), unresolvable=False)
