"""LimitRanger: defaults for containers, and bounds for containers and pods.

A container without a limit gets the `default`, one without a request the `defaultRequest`; a limit without a
request is a request.  Then minimum, maximum and ratio are checked, for every container and for their sum.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from models.objects.containers import Container, ResourceRequirements
from models.objects.pod import PodSpec
from models.objects.policy import LimitRangeItem
from models.objects.quantity import ResourceList, format_quantity, parse_quantity

HUGE_PAGES = "hugepages-"
_NATIVE = "kubernetes.io/"
#: A quantity of one, in its nano units.
_ONE = 10**9


def is_exact(name: str) -> bool:
    """Whether request and limit have to be equal: nothing of it is ever overcommitted."""
    return name.startswith(HUGE_PAGES) or ("/" in name and _NATIVE not in name)


def page_size(name: str) -> int:
    """The size of the pages of this resource, in nano units; 0 where its name has none."""
    try:
        return max(parse_quantity(name.removeprefix(HUGE_PAGES)), 0)
    except ValueError:
        return 0


def defaulted(spec: PodSpec, items: Sequence[LimitRangeItem]) -> PodSpec:
    """The spec with all defaults; a container that asks for more than its limit then is told by `invalid`."""
    return spec.with_containers(partial(_with_defaults, items=items))


def _with_defaults(container: Container, items: Iterable[LimitRangeItem]) -> Container:
    limits, requests = dict(container.resources.limits), container.resources.defaulted
    for item in items:
        if item.type == "Container":
            limits = {**item.default, **limits}
            requests = {**item.default_request, **requests}
    if limits == container.resources.limits and requests == container.resources.requests:
        return container
    update = {"limits": limits, "requests": requests}
    return container.model_copy(update={"resources": container.resources.model_copy(update=update)})


def invalid(spec: PodSpec) -> Iterator[str]:
    """What the API server says of requests beyond a limit, or below it where nothing may be overcommitted.

    And of a pod that asks for less, or is allowed less, than its containers.
    """
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for number, container in enumerate(containers):
            limits = container.resources.limits
            for name, amount in sorted(container.resources.requests.items()):
                limit, exact = limits.get(name, amount), is_exact(name)
                if amount > limit or (exact and amount < limit):
                    bound = "equal to" if exact else "less than or equal to"
                    where = f"spec.{field}[{number}].resources.requests"
                    yield _told_invalid(where, amount, f"{bound} {name} limit", limit)
    if spec.resources is not None:
        yield from _invalid_together(spec, spec.resources)


def _invalid_together(spec: PodSpec, stated: ResourceRequirements) -> Iterator[str]:
    # A container that has a limit only asks for as much.
    asked = [{**one.resources.limits, **one.resources.requests} for one in spec.containers]
    of_containers = _sum(asked, spec, "requests")
    for name, most in sorted(stated.limits.items()):
        # What the pod does not ask for itself is what its containers ask for.
        if name not in stated.requests and (amount := of_containers.get(name, 0)) > most:
            yield _told_invalid(
                "spec.resources.requests", amount, f"less than or equal to {name} limit", most
            )
    for name, amount in sorted(stated.requests.items()):
        if amount < (least := of_containers.get(name, amount)):
            where = f"spec.resources.requests[{name}]"
            yield _told_invalid(where, amount, "greater than or equal to aggregate container requests", least)
    # The limits of init containers are not looked at.
    for number, container in enumerate(spec.containers):
        for name, most in sorted(stated.limits.items()):
            if (limit := container.resources.limits.get(name, most)) > most:
                where = f"spec.resources.containers[{number}][{name}].limits"
                yield _told_invalid(where, limit, "less than or equal to pod limits", most)


def _told_invalid(where: str, amount: int, than: str, bound: int) -> str:
    return f'{where}: Invalid value: "{format_quantity(amount)}": must be {than} of {format_quantity(bound)}'


def out_of_bounds(spec: PodSpec, items: Iterable[LimitRangeItem]) -> Iterator[str]:
    """What LimitRanger objects to."""
    for item in items:
        if item.type == "Container":
            for container in spec.all_containers:
                yield from _against(item, container.resources)
        elif item.type == "Pod":
            yield from _against(item, _of_pod(spec))


def claim_out_of_bounds(requests: ResourceList, items: Iterable[LimitRangeItem]) -> Iterator[str]:
    """What LimitRanger objects to in a claim, of which it looks at the request alone."""
    for item in items:
        for what, sign, bounds in (("minimum", -1, item.min), ("maximum", 1, item.max)):
            for name, bound in sorted(bounds.items()):
                amount = requests.get(name)
                if amount is not None and sign * amount > sign * bound:
                    text = f"{what} {name} usage per {item.type} is {format_quantity(bound)}"
                    yield f"{text}, but request is {format_quantity(amount)}"


def _against(item: LimitRangeItem, found: ResourceRequirements) -> Iterator[str]:
    usage = f"usage per {item.type} is"
    for name, least in sorted(item.min.items()):
        yield from _beyond(
            f"minimum {name} {usage}", least, -1, found.requests.get(name), found.limits.get(name)
        )
    for name, most in sorted(item.max.items()):
        yield from _beyond(
            f"maximum {name} {usage}", most, 1, found.limits.get(name), found.requests.get(name)
        )
    for name, ratio in sorted(item.max_limit_request_ratio.items()):
        bound = f"{name} max limit to request ratio per {item.type} is {format_quantity(ratio)}"
        request, limit = found.requests.get(name), found.limits.get(name)
        if not request or not limit:
            yield f"{bound}, but no {(what := 'limit' if request else 'request')} is specified or {what} is 0"
        elif limit * _ONE > ratio * request:
            yield f"{bound}, but provided ratio is {limit / request:f}"


def _beyond(what: str, bound: int, sign: int, first: int | None, second: int | None) -> Iterator[str]:
    """A minimum (sign -1) is for the request, then the limit; a maximum (sign 1) the other way round."""
    names = ("request", "limit")[::-sign]
    text = f"{what} {format_quantity(bound)}"
    if first is None:
        yield f"{text}.  No {names[0]} is specified"
    elif sign * first > sign * bound:
        yield f"{text}, but {names[0]} is {format_quantity(first)}"
    elif second is not None and sign * second > sign * bound:
        yield f"{text}, but {names[1]} is {format_quantity(second)}"


def _of_pod(spec: PodSpec) -> ResourceRequirements:
    """The containers' sum, or the largest init container; what the pod states for itself comes first."""
    found = ResourceRequirements.model_construct(
        requests=_sum([c.resources.requests for c in spec.containers], spec, "requests"),
        limits=_sum([c.resources.limits for c in spec.containers], spec, "limits"),
    )
    if spec.resources is None:
        return found
    return ResourceRequirements.model_construct(
        requests={**found.requests, **spec.resources.defaulted},
        limits={**found.limits, **spec.resources.limits},
    )


def _sum(amounts: Iterable[ResourceList], spec: PodSpec, side: str) -> dict[str, int]:
    total: dict[str, int] = {}
    for asked in amounts:
        for name, amount in asked.items():
            total[name] = total.get(name, 0) + amount
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in spec.init_containers:
        asked = getattr(container.resources, side)
        for name, amount in asked.items():
            if container.is_sidecar:
                sidecars[name] = sidecars.get(name, 0) + amount
            starting[name] = max(
                starting.get(name, 0), sidecars.get(name, 0) + (0 if container.is_sidecar else amount)
            )
    for name, amount in sidecars.items():
        total[name] = total.get(name, 0) + amount
    return {name: max(total.get(name, 0), starting.get(name, 0)) for name in {*total, *starting}}
