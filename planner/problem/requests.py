"""What a pod asks of a node, as the scheduler adds it up.

Kubernetes: the effective request is the larger of the app containers' sum and the largest init
container, sidecars (restartable init containers) counting beside both; pod-level requests replace
that sum for cpu, memory and huge pages; overhead comes on top.  Quantities are added exactly and
rounded up once at the end.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.objects.containers import ResourceRequirements
from models.objects.pod import Pod
from models.objects.quantity import format_quantity, milli, parse_quantity, whole

CPU = "cpu"
MEMORY = "memory"
EPHEMERAL_STORAGE = "ephemeral-storage"
PODS = "pods"

#: Containers without a request count this much when nodes are scored (never when they are filtered).
SCORING_DEFAULTS: Mapping[str, int] = {CPU: parse_quantity("100m"), MEMORY: parse_quantity("200Mi")}

#: More of anything than there is anywhere; a hundred times as much still fits into 64 bits.
_MOST = 1 << 56

_NANO_IN_MILLI, _NANO_IN_ONE = 10**6, 10**9
_POD_LEVEL = (CPU, MEMORY)


def in_units(resource: str, nano: int) -> int:
    """A quantity in the unit the scheduler counts it in: cpu in milli, the rest in whole units."""
    return min(milli(nano) if resource == CPU else whole(nano), _MOST)


def in_words(resource: str, amount: int) -> str:
    """An amount in those units as a manifest would spell it."""
    return format_quantity(amount * (_NANO_IN_MILLI if resource == CPU else _NANO_IN_ONE))


def pod_requests(
    pod: Pod, defaults: Mapping[str, int] | None = None, *, pod_level: bool = True
) -> dict[str, int]:
    """The requests of a pod by resource; `defaults` stand in where a container has none."""
    spec = pod.spec
    running: dict[str, int] = {}
    for container in spec.containers:
        _add(running, _wanted(pod, container.resources, defaults))
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in spec.init_containers:
        wanted = _wanted(pod, container.resources, defaults)
        if container.restart_policy == "Always":
            _add(running, wanted)
            _add(sidecars, wanted)
            _raise_to(starting, sidecars)
        else:
            step = dict(wanted)
            _add(step, sidecars)
            _raise_to(starting, step)
    _raise_to(running, starting)
    if pod_level and spec.resources is not None:
        wanted = _wanted(pod, spec.resources)
        # A limit for the pod stands in for a request only where no container requests anything.
        stated = {n: a for n, a in wanted.items() if n in spec.resources.requests or n not in running}
        running.update((n, a) for n, a in stated.items() if n in _POD_LEVEL or n.startswith("hugepages-"))
    _add(running, spec.overhead)
    return {name: in_units(name, amount) for name, amount in running.items()}


def _wanted(
    pod: Pod, resources: ResourceRequirements, defaults: Mapping[str, int] | None = None
) -> Mapping[str, int]:
    # What has a creation time has been through the API server: a request it lacks, it lacks for good.
    own = resources.requests if pod.metadata.creation_timestamp else resources.defaulted
    return own if defaults is None else {**defaults, **own}


def _add(total: dict[str, int], more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        if amount > total.get(name, 0):
            total[name] = amount
