"""What differs between releases of kube-scheduler, as one table that families and messages ask.

A new release is a row that names what changed, and its recordings in tests/data/versions.  What a row
does not mention is as in the row above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from models.objects.kubernetes_version import KubernetesVersion
from models.objects.origin import SnapshotOrigin
from models.snapshot import Snapshot
from planner.documents.plan import Kubernetes


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one release decides by default; every field is something that some release changed."""

    version: KubernetesVersion
    recorded: bool = True
    """Whether real decisions of this release were compared, or only its release notes read."""
    names_taints: bool = True
    """The message names the untolerated taint, and counts each taint by itself."""
    scores_devices: bool = False
    """DynamicResources is one of the scores."""
    first_found_wins: bool = False
    """Of equal totals the root of a heap of the nodes found is taken; before, one was drawn."""
    copies_zone_labels: bool = False
    """A pod that is bound gets the zone and region labels of its node, and selectors can match them."""
    balance_is_change: bool = False
    """NodeResourcesBalancedAllocation rates what the pod does to the balance, not the balance itself."""
    counts_image_volumes: bool = False
    """ImageLocality counts images that are mounted as volumes."""
    image_volumes_raise_threshold: bool = False
    """... and sets the threshold by all images, not by those of containers alone."""
    matches_declared_features: bool = False
    """NodeDeclaredFeatures keeps pods from nodes that lack a feature of the kubelet."""
    stamps_allocations: bool = False
    """Reserving a claim adds the time of its allocation where there is none, which is refused."""
    device_classes_extend: bool = False
    """An extended resource that a node lacks and a DeviceClass maps is left to DynamicResources."""
    resizes_pods: bool = False
    """A resize of pod-level requests counts like one of a container."""
    updates_sets_together: bool = False
    """A StatefulSet's maxUnavailable is heeded (1.35.0 to 1.35.3 did, too, until the gate was turned off)."""
    resize_takes_sums: bool = False
    """A pod in resize counts the largest of three sums, not the sum of the largest of each container."""


_ROWS: Final[Mapping[str, Mapping[str, bool]]] = {
    "1.34": {},
    "1.34.9": {"names_taints": False},
    "1.35": {"scores_devices": True, "first_found_wins": True, "copies_zone_labels": True},
    "1.36": {
        "balance_is_change": True,
        "counts_image_volumes": True,
        "matches_declared_features": True,
        "stamps_allocations": True,
        "device_classes_extend": True,
        "resizes_pods": True,
    },
    "1.37": {
        "recorded": False,
        "image_volumes_raise_threshold": True,
        "updates_sets_together": True,
        "resize_takes_sums": True,
    },
}


def _rows() -> Iterator[Behaviour]:
    """The table, the oldest release first."""
    row = Behaviour(KubernetesVersion(1, 34))
    for name, changes in _ROWS.items():
        version = KubernetesVersion.parse(name)
        assert version is not None
        row = replace(row, version=version, **changes)
        yield row


BEHAVIOURS: Final[tuple[Behaviour, ...]] = tuple(_rows())

#: What is copied when nothing tells the release: the newest one that was compared with real decisions.
NEWEST: Final[Behaviour] = [row for row in BEHAVIOURS if row.recorded][-1]


#: What told the release: --kubernetes, the snapshot, the nodes, or nothing.
Source = Literal["asked", "server", "kubelets", "newest"]


def behaviour_of(version: KubernetesVersion) -> Behaviour:
    """The row of a release; one that is older than the table gets its first row, a newer one its last."""
    return next((row for row in reversed(BEHAVIOURS) if row.version <= version), BEHAVIOURS[0])


@dataclass(frozen=True, slots=True)
class Copied:
    """The release that is copied for a snapshot, and how it was found."""

    behaviour: Behaviour
    wanted: KubernetesVersion
    source: Source

    @property
    def document(self) -> Kubernetes:
        """The same as documents tell it."""
        return Kubernetes(version=str(self.behaviour.version), source=self.source)

    def notes(self) -> Iterator[str]:
        """What a reader has to know of it: a release that the table does not have."""
        first, last = BEHAVIOURS[0].version, BEHAVIOURS[-1].version
        if (self.wanted.major, self.wanted.minor) > (last.major, last.minor):
            yield f"Kubernetes {self.wanted} is newer than what the planner knows: decided as {last} would"
        elif self.wanted < first:
            yield f"Kubernetes {self.wanted} is older than what the planner knows: decided as {first} would"
        if not self.behaviour.recorded:
            yield (
                f"Kubernetes {self.behaviour.version} is known from its release notes alone: "
                "its decisions were not compared with the program's"
            )


def copied_for(cluster: Snapshot) -> Copied:
    """What was asked for, else the server's release, else that of the newest kubelet, else the newest."""
    origin = cluster.origin or SnapshotOrigin()
    # Thousands of nodes have a handful of versions.
    told = {node.status.node_info.kubelet_version for node in cluster.nodes}
    kubelets = map(KubernetesVersion.parse, told)
    newest_kubelet = max((version for version in kubelets if version is not None), default=None)
    found: tuple[tuple[Source, KubernetesVersion | None], ...] = (
        ("asked", cluster.kubernetes),
        ("asked", KubernetesVersion.parse(origin.kubernetes)),
        ("server", KubernetesVersion.parse(origin.server_version)),
        ("kubelets", newest_kubelet),
    )
    for source, version in found:
        if version is not None:
            return Copied(behaviour_of(version), version, source)
    return Copied(NEWEST, NEWEST.version, "newest")
