"""What a pod asks of a node, as the scheduler adds it up.

Kubernetes: the effective request is the larger of the app containers' sum and the largest init
container, sidecars (restartable init containers) counting beside both; pod-level requests replace
that sum for cpu, memory and huge pages; overhead comes on top.  Quantities are added exactly and
rounded up once at the end.  A container in an in-place resize counts the most of what it asks for, was
allocated and has in use, without what it asks for when its node has said that this cannot be.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import NamedTuple

from models.objects.containers import Container, ResourceRequirements, ResourcesInUse
from models.objects.pod import ContainerStatus, Pod
from models.objects.quantity import format_quantity, milli, parse_quantity, whole
from models.words import counted

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

#: Containers without a request count this much when nodes are scored (never when they are filtered).
SCORING_DEFAULTS: Mapping[str, int] = {CPU: parse_quantity("100m"), MEMORY: parse_quantity("200Mi")}

#: What is counted of a resource at most: a hundred times as much, as scores have it, still fits into 64 bits.
MOST = 1 << 56

_NANO_IN_MILLI, _NANO_IN_ONE = 10**6, 10**9
_POD_LEVEL = (CPU, MEMORY)

#: What containers hold, by the container's name.
Held = dict[str, Mapping[str, int]]


class Resize(NamedTuple):
    """How a release counts pods that are being resized in place."""

    of_pods: bool = False
    """Whether pod-level requests are counted like those of a container."""
    sums: bool = False
    """Whether the largest of three sums counts, not the sum of the largest of each container."""


_CONTAINERS = Resize()


def in_units(resource: str, nano: int) -> int:
    """A quantity in the unit the scheduler counts it in: cpu in milli, the rest in whole units."""
    return milli(nano) if resource == CPU else whole(nano)


def in_words(resource: str, amount: int) -> str:
    """An amount in those units as a manifest would spell it."""
    return format_quantity(amount * (_NANO_IN_MILLI if resource == CPU else _NANO_IN_ONE))


def room_words(name: str, amount: int) -> str:
    """An amount of a resource: `500m cpu`, `1 pod slot`."""
    return counted(amount, "pod slot") if name == PODS else f"{in_words(name, amount)} {name}"


def pod_requests(
    pod: Pod,
    defaults: Mapping[str, int] | None = None,
    *,
    pod_level: bool = True,
    resize: Resize = _CONTAINERS,
) -> dict[str, int]:
    """The requests of a pod by resource; `defaults` stand in where a container has none."""
    whole = pod_level and pod.spec.resources is not None
    total: dict[str, int] = {}
    for held in held_by_containers(pod, resize):
        running = _by_containers(pod, held, defaults)
        if whole:
            running.update(_of_the_pod(pod, running, resize))
        _raise_to(running, total)
        total = running
    _add(total, pod.spec.overhead)
    # A request for more than any node is counted with is one for just more: it fits nowhere.
    return {name: min(in_units(name, amount), MOST + 1) for name, amount in total.items()}


def _by_containers(pod: Pod, held: Held, defaults: Mapping[str, int] | None) -> dict[str, int]:
    """What the containers of a pod need together, with what some of them hold in a resize."""
    running: dict[str, int] = {}
    for container in pod.spec.containers:
        _add(running, _wanted(pod, container.resources, defaults, held.get(container.name)))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in pod.spec.init_containers:
        if container.restart_policy == "Always":
            wanted = _wanted(pod, container.resources, defaults, held.get(container.name))
            _add(running, wanted)
            _add(sidecars, wanted)
            _raise_to(starting, sidecars)
        else:
            step = dict(_wanted(pod, container.resources, defaults))
            _add(step, sidecars)
            _raise_to(starting, step)
    _raise_to(running, starting)
    return running


def _of_the_pod(pod: Pod, running: Mapping[str, int], resize: Resize) -> dict[str, int]:
    """The pod-level requests that stand for what the containers need."""
    resources = pod.spec.resources or ResourceRequirements()
    wanted = dict(_wanted(pod, resources))
    # A limit for the pod stands in for a request only where no container requests anything.
    stated = {n: a for n, a in wanted.items() if n in resources.requests or n not in running}
    if resize.of_pods:
        held = dict(stated)
        _resized(held, pod, pod.status.resources, pod.status.allocated_resources)
        # Up to 1.36 what the pod itself does not request is left to its containers, whatever it holds.
        stated = held if resize.sums else {name: held.get(name, 0) for name in stated}
    return {n: a for n, a in stated.items() if n in _POD_LEVEL or n.startswith("hugepages-")}


def resize_key(pod: Pod) -> Hashable:
    """What of a pod's status counts among its requests: nothing, unless it is being resized in place."""
    status = pod.status
    if status.resources is None and not (status.container_statuses or status.init_container_statuses):
        return ()
    held: list[Hashable] = [
        (container.name, _items(status.resources), tuple(sorted(status.allocated_resources.items())))
        for container, status in _in_resize(pod)
    ]
    if pod.spec.resources is not None and pod.status.resources is not None:
        held += [_items(pod.status.resources), *sorted(pod.status.allocated_resources.items())]
    return (pod.is_resize_infeasible, *held) if held else ()


def _items(found: ResourcesInUse | None) -> Hashable:
    return None if found is None else tuple(sorted(found.requests.items()))


def held_by_containers(pod: Pod, resize: Resize = _CONTAINERS) -> list[Held]:
    """What containers count as, by name, where their pod is being resized in place.

    One entry; or three of which the largest sum counts: by the specs, by what is allocated, by what is
    in use.
    """
    in_resize = _in_resize(pod)
    if not in_resize:
        return [{}]
    if not resize.sums:
        return [{container.name: _largest(pod, container, held) for container, held in in_resize}]
    allocated: Held = {container.name: held.allocated_resources for container, held in in_resize}
    in_use: Held = {c.name: held.resources.requests for c, held in in_resize if held.resources is not None}
    return [allocated, in_use] if pod.is_resize_infeasible else [{}, allocated, in_use]


def _in_resize(pod: Pod) -> list[tuple[Container, ContainerStatus]]:
    """The containers that hold anything else than their spec asks for."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    if not statuses:
        return []
    found = {status.name: status for status in statuses}
    pairs = ((one, found[one.name]) for one in pod.spec.all_containers if one.name in found)
    return [pair for pair in pairs if _differs(*pair)]


def _differs(container: Container, status: ContainerStatus) -> bool:
    """Whether a container holds anything else than its spec asks for."""
    if status.resources is None:
        return False
    asked = container.resources.requests
    allocated = status.allocated_resources
    return status.resources.requests != asked or bool(allocated and allocated != asked)


def _largest(pod: Pod, container: Container, status: ContainerStatus) -> Mapping[str, int]:
    """Of each resource the most of what a container asks for, was allocated and has in use."""
    total = dict(container.resources.requests)
    _resized(total, pod, status.resources, status.allocated_resources)
    return total


def _resized(
    total: dict[str, int], pod: Pod, in_use: ResourcesInUse | None, allocated: Mapping[str, int]
) -> None:
    """Raise what the spec says to what is held; what the node will not give does not count."""
    if in_use is None:
        return
    if pod.is_resize_infeasible:
        total.clear()
    _raise_to(total, in_use.requests)
    _raise_to(total, allocated)


def _wanted(
    pod: Pod,
    resources: ResourceRequirements,
    defaults: Mapping[str, int] | None = None,
    held: Mapping[str, int] | None = None,
) -> Mapping[str, int]:
    # What has a creation time has been through the API server: a request it lacks, it lacks for good.
    asked = resources.requests if pod.metadata.creation_timestamp else resources.defaulted
    own: Mapping[str, int] = asked if held is None else held
    return own if defaults is None else {**defaults, **own}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(amount, total.get(name, 0))
