"""What `consolidate` says of a catalogue, beside the cluster with one of its machines in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from models import Cluster
from planner.consolidate.catalogue import Catalogue, MachineType
from planner.documents.consolidation import ConsolidationPlan
from tests.truth import wide_controllers
from tests.truth.emptying import NodeSetSearch
from tests.truth.findings import Finding
from tests.truth.generator import Case
from tests.truth.manifests import Object

_NAME = "machine"
#: More moves than any set of nodes takes.
_MOST_MOVES = 30


def refuted_by_machines(
    case: Case, cluster: Cluster, plan: ConsolidationPlan, prices: Mapping[str, int]
) -> Iterator[Finding]:
    """A bound that is higher than what the cluster costs with one machine of some type and fewer nodes."""
    types = Catalogue.of(cluster, case.options["catalogue"], case.options["price_label"]).types
    for machine in types:
        objects = [*case.objects, *_with(machine, case.objects)]
        if fills_a_quota(objects):
            continue
        search = NodeSetSearch(
            objects,
            {**prices, _NAME: Fraction(machine.price)},
            plan.max_moves,
            case.options.get("reserve", 0.0),
        )
        for found in search.found(lambda cost: _MOST_MOVES if cost < plan.cost.bound else None):
            yield Finding("false", f"bound {plan.cost.bound}, with {machine.name} less", found.told)
            return


def _with(machine: MachineType, objects: Sequence[Object]) -> Iterator[Object]:
    """A machine, and a pod of every DaemonSet on it."""
    made = machine.node(_NAME)
    room = dict(machine.allocatable)
    yield {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": _NAME, "labels": dict(made.metadata.labels)},
        "spec": {},
        "status": {"allocatable": room, "capacity": room},
    }
    for item in objects:
        if item["kind"] == "DaemonSet":
            yield wide_controllers.daemon_pod(item, _NAME)


def fills_a_quota(objects: Sequence[Object]) -> bool:
    """Whether a namespace has more pods than its quota allows."""
    return any(
        int(item["spec"]["hard"]["pods"]) < sum(_is_in(pod, item["metadata"]["namespace"]) for pod in objects)
        for item in objects
        if item["kind"] == "ResourceQuota"
    )


def _is_in(item: Object, namespace: str) -> bool:
    return bool(item["kind"] == "Pod" and item["metadata"]["namespace"] == namespace)
