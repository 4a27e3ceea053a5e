"""The workloads of scheduler_perf as objects: nodes, pods that run already, pods to be measured.

scheduler_perf lets the scheduler place the running pods first. Here they are bound round robin,
which violates none of their constraints: zones are given round robin too, and where pods exclude
each other there are never more of them than nodes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pod_kinds as kinds
from shapes import Manifest, node, node_name, service

MakePod = Callable[[str, int], Manifest]

ONE_ZONE = ("zone1",)
THREE_ZONES = ("moon-1", "moon-2", "moon-3")


@dataclass(frozen=True, slots=True)
class Size:
    """How many nodes, pods of each kind that run already, and pods to be measured."""

    nodes: int
    init: int
    measured: int


@dataclass(frozen=True, slots=True)
class Workload:
    """A cluster before the measured pods are scheduled."""

    name: str
    nodes: list[Manifest]
    init_pods: list[Manifest]
    pending: list[Manifest]
    others: tuple[Manifest, ...] = ()

    @property
    def objects(self) -> list[Manifest]:
        """Everything, in the order of a dump."""
        return [*self.nodes, *self.others, *self.init_pods, *self.pending]


@dataclass(frozen=True, slots=True)
class Shape:
    """One workload at any size."""

    measured: MakePod
    sizes: tuple[Size, ...]
    init: tuple[MakePod, ...] = (kinds.plain,)
    zones: tuple[str, ...] = ()
    others: tuple[Manifest, ...] = ()
    every_fifth_tainted: bool = False

    def build(self, name: str, size: Size) -> Workload:
        """The shape at one size."""
        return Workload(
            name,
            nodes=[self._node(index) for index in range(size.nodes)],
            init_pods=[
                _bound(make(f"init-{kind}-{index:06d}", index), node_name(index % size.nodes))
                for kind, make in enumerate(self.init)
                for index in range(size.init)
            ],
            pending=[self.measured(f"pod-{index:06d}", index) for index in range(size.measured)],
            others=self.others,
        )

    def _node(self, index: int) -> Manifest:
        zone = self.zones[index % len(self.zones)] if self.zones else None
        taint = "foo" if self.every_fifth_tainted and index % 5 == 4 else None
        return node(index, zone, taint)


def _bound(pod: Manifest, to_node: str) -> Manifest:
    """The pod as it looks once it runs on the node."""
    spec = pod["spec"] | {"nodeName": to_node}
    return pod | {"spec": spec, "status": {"phase": "Running"}}


def build(name: str, size: Size) -> Workload:
    """A workload by the name that scheduler_perf gives it."""
    return SHAPES[name].build(name, size)


_SPREAD_SIZES = (
    Size(5, 10, 10),
    Size(100, 200, 1_000),
    Size(500, 1_000, 1_000),
    Size(5_000, 5_000, 2_000),
    Size(5_000, 5_000, 5_000),
)
_AFFINITY_SIZES = (Size(5, 5, 10), Size(500, 500, 1_000), Size(5_000, 5_000, 5_000))

SHAPES: dict[str, Shape] = {
    "SchedulingBasic": Shape(
        kinds.plain,
        (
            Size(5, 5, 10),
            Size(500, 500, 1_000),
            Size(5_000, 1_000, 10_000),
            Size(5_000, 5_000, 50_000),
        ),
    ),
    "TopologySpreading": Shape(kinds.zone_spread, _SPREAD_SIZES, zones=THREE_ZONES),
    # Ours: the same, but nothing learnt from one pod helps with the next.
    "TopologySpreadingAllDifferent": Shape(kinds.zone_spread_each_its_own, _SPREAD_SIZES, zones=THREE_ZONES),
    "PreferredTopologySpreading": Shape(kinds.zone_spread_soft, _SPREAD_SIZES, zones=THREE_ZONES),
    "DefaultTopologySpreading": Shape(
        kinds.served,
        (
            Size(5, 10, 10),
            Size(500, 1_000, 1_000),
            Size(5_000, 5_000, 10_000),
            Size(5_000, 5_000, 50_000),
        ),
        zones=THREE_ZONES,
        others=(service("served", {"app": "served"}),),
    ),
    "SchedulingWithNodeInclusionPolicy": Shape(
        kinds.untainted_host_spread,
        (Size(5, 0, 4), Size(500, 0, 400), Size(5_000, 0, 4_000)),
        every_fifth_tainted=True,
    ),
    "SchedulingPodAntiAffinity": Shape(
        kinds.alone_on_its_node,
        (Size(5, 1, 4), Size(500, 100, 400), Size(5_000, 1_000, 2_000)),
        init=(kinds.alone_on_its_node,),
    ),
    "SchedulingPodMatchingAntiAffinity": Shape(
        kinds.green_without_term,
        (Size(5, 1, 5), Size(500, 100, 500), Size(5_000, 1_000, 5_000)),
        init=(kinds.alone_on_its_node,),
    ),
    "SchedulingPodAffinity": Shape(
        kinds.with_its_kind, _AFFINITY_SIZES, init=(kinds.with_its_kind,), zones=ONE_ZONE
    ),
    "SchedulingPreferredPodAffinity": Shape(kinds.rather_with_its_kind, _AFFINITY_SIZES),
    "SchedulingPreferredPodAntiAffinity": Shape(kinds.rather_alone, _AFFINITY_SIZES),
    "SchedulingNodeAffinity": Shape(
        kinds.in_named_zones,
        (Size(5, 5, 10), Size(500, 500, 1_000), Size(5_000, 5_000, 10_000)),
        zones=ONE_ZONE,
    ),
    "MixedSchedulingBasePod": Shape(
        kinds.plain,
        (Size(5, 2, 10), Size(500, 200, 1_000), Size(5_000, 2_000, 5_000)),
        init=(
            kinds.plain,
            kinds.with_its_kind,
            kinds.alone_on_its_node,
            kinds.rather_with_its_kind,
            kinds.rather_alone,
        ),
        zones=ONE_ZONE,
    ),
    "PreemptionBasic": Shape(
        kinds.high_priority,
        (Size(5, 20, 5), Size(1_000, 4_000, 1_000)),
        init=(kinds.low_priority,),
    ),
}
