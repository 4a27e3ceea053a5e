"""VolumeZone: a pod stays in the zone and region that its bound volumes are labelled with.

Kubernetes 1.34: a node that has any zone or region label must have the volume's value of each such
label; a volume may list several zones separated by two underscores.  The old failure-domain labels
and today's topology labels stand for each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.constraints.family import NodeFilter, Rejects, Verdict
from planner.problem.nodes import Column, Mask
from planner.problem.templates import Template
from planner.problem.volume_claims import claims_of

_REASON = "node(s) had no available volume zone"
_NO_NAME = "PersistentVolume had no name"
_TODAY = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_KEYS = (*_TODAY, *_TODAY.values())


class VolumeZone(NodeFilter):
    """Refuses nodes outside the zone of a volume the pod already has."""

    name = "VolumeZone"

    def concerns(self, template: Template) -> bool:
        return any(claims_of(template.pod))

    def part(self, template: Template) -> tuple[tuple[str, str], ...]:
        return tuple(sorted(set(self._labels(template))))

    def _labels(self, template: Template) -> Iterator[tuple[str, str]]:
        claims = self.state.claims
        for claim in claims.mounted_by(template.pod):
            volume = claims.volumes.get(claim.spec.volume_name)
            if volume is not None:
                labels = volume.metadata.labels
                yield from ((key, labels[key]) for key in _KEYS if key in labels)

    def refusal(self, template: Template) -> str | None:
        claims = self.state.claims
        unnamed = (claim for claim in claims.mounted_by(template.pod) if not claim.spec.volume_name)
        homeless = (not (claims.waits(claim) or claims.is_served_at_once(claim)) for claim in unnamed)
        return _NO_NAME if any(homeless) else None

    def judge(self, template: Template) -> Rejects:
        refused = np.zeros(self.nodes.size, np.bool_)
        for key, value in self.part(template):
            zones = set(value.split("__"))
            refused |= ~self._lies_in(key, zones)
        zoned = np.zeros(self.nodes.size, np.bool_)
        for key in _KEYS:
            zoned |= self.nodes.column(key).present
        return (refused & zoned).astype(np.int64)

    def _lies_in(self, key: str, zones: set[str]) -> Mask:
        column = self.nodes.column(key)
        inside = _has_one_of(column, zones)
        if key in _TODAY:
            inside = inside | (~column.present & _has_one_of(self.nodes.column(_TODAY[key]), zones))
        return inside

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASON,), unresolvable=True)


def _has_one_of(column: Column, zones: set[str]) -> Mask:
    return column.where(lambda value: value in zones)
