"""VolumeRestrictions: disks and claims that only one pod may use.

Kubernetes 1.34: a claim with access mode ReadWriteOncePod that any pod uses keeps every other pod
away.  A GCE disk, EBS volume, RBD image or iSCSI target named in the pod itself cannot be mounted by
a second pod on the node unless both mount it read-only (EBS: never).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from models.objects.pod import Pod
from planner.constraints.family import Filter, Rejects, Verdict, where_accepted
from planner.problem.nodes import ALL, Codes, Ints, Where
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.problem.volume_claims import claims_of
from planner.state.pod_counts import PodCounts
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
    "another pod"
)
_NO_DISK = "node(s) had no available disk"
_CLAIM_TAKEN, _DISK_TAKEN = 1, 2
_ONE_POD = "ReadWriteOncePod"


class VolumeRestrictions(Filter):
    """Refuses nodes where an exclusive disk or claim of the pod is in use."""

    name = "VolumeRestrictions"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._disks = [{} if template.plain else dict(_disks(template.pod)) for template in problem.templates]
        self._users: dict[tuple[Hashable, bool], dict[int, int]] = defaultdict(dict)
        self._holders: dict[str, dict[int, int]] = defaultdict(dict)
        for number, template in enumerate(problem.templates):
            if template.plain:
                continue
            for disk, shared in self._disks[number].items():
                self._users[disk, shared][number] = 1
            for use in claims_of(template.pod):
                self._holders[use.key][number] = 1

    def concerns(self, template: Template) -> bool:
        return bool(self._disks[template.index]) or any(claims_of(template.pod))

    def refusal(self, template: Template) -> str | None:
        for use in claims_of(template.pod):
            if not use.ephemeral and use.key not in self.state.claims.by_key:
                return self.state.claims.missing(use.key.partition("/")[2])
        return None

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        codes = np.zeros(self.nodes.size, np.int64)[where]
        for disk, shared in self._disks[template.index].items():
            conflicting = (
                [self._disk(disk, False)] if shared else [self._disk(disk, True), self._disk(disk, False)]
            )
            for tally in conflicting:
                codes[tally.counts[where] > 0] = _DISK_TAKEN
        if any(self._claim(key).total > 0 for key in self._exclusive(template)):
            codes[codes == 0] = _CLAIM_TAKEN
        return codes

    def accepts_again(self, template: Template, pods: Codes) -> bool:
        may_keep_away = bool(self._disks[template.index]) or any(True for _ in self._exclusive(template))
        return not may_keep_away or super().accepts_again(template, pods)

    def wants_pods(self, template: Template) -> bool:
        return False

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        return where_accepted(self.reject(template))

    def takes(self, template: Template) -> Ints | None:
        may_keep_away = bool(self._disks[template.index]) or any(True for _ in self._exclusive(template))
        return None if may_keep_away else self.most(template, {})

    def encode(self, x: Counts) -> None:
        """Of the pods that use an exclusive claim one comes, of those that clash over a disk one a node.

        Pods that share one all the same may stay, and keep others away.
        """
        users: dict[str, dict[int, int]] = defaultdict(dict)
        for template in x.judged():
            for key in self._exclusive(template):
                users[key][template.index] = 1
        for key, amounts in users.items():
            everywhere = range(x.cells.size)
            if x.running(amounts).sum() <= 1:
                x.require(x.total(amounts, everywhere) <= 1)
            elif (comes := x.any_of((self.name, key), amounts, everywhere)) is not None:
                x.require_if(comes, x.total(amounts, everywhere) <= 1)
        self._encode_disks(x)

    def _encode_disks(self, x: Counts) -> None:
        free = np.ones(self.nodes.size, np.int64)
        holders = [template.index for template in x.judged() if self._disks[template.index]]
        for position, one in enumerate(holders):
            for other in holders[position:]:
                if self._clash(one, other):
                    x.limit((self.name, one, other), {one: 1, other: 1}, free)

    def _clash(self, one: int, other: int) -> bool:
        """Whether pods of two templates cannot share a node because of a disk."""
        mine, theirs = self._disks[one], self._disks[other]
        return any(not (mine[disk] and theirs[disk]) for disk in mine.keys() & theirs.keys())

    def _exclusive(self, template: Template) -> Iterator[str]:
        for claim in self.state.claims.mounted_by(template.pod):
            if _ONE_POD in claim.spec.access_modes and claim.key not in self.problem.own_claims:
                yield claim.key

    def _disk(self, disk: Hashable, shared: bool) -> PodCounts:
        key = (disk, shared)
        return self.state.tally((self.name, key), lambda: self._users.get(key, {}))

    def _claim(self, key: str) -> PodCounts:
        return self.state.tally((self.name, key), lambda: self._holders[key])

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_NO_DISK if code == _DISK_TAKEN else _IN_USE,), unresolvable=False)


def _disks(pod: Pod) -> Iterator[tuple[Hashable, bool]]:
    """The disks a pod names itself, and whether other pods may mount them beside it."""
    for volume in pod.spec.volumes:
        if (gce := volume.gce_persistent_disk) is not None:
            yield ("gce", gce.pd_name), gce.read_only
        elif (ebs := volume.aws_elastic_block_store) is not None:
            yield ("ebs", ebs.volume_id), False
        elif (iscsi := volume.iscsi) is not None:
            yield ("iscsi", iscsi.iqn), iscsi.read_only
        elif (rbd := volume.rbd) is not None:
            for monitor in rbd.monitors:
                yield ("rbd", monitor, rbd.pool, rbd.image), rbd.read_only
