"""Requests made smaller: a pod that asks for less, or for none of something."""

from __future__ import annotations

from functools import partial

from models.admission.limits import HUGE_PAGES, is_exact, page_size
from models.objects.containers import Container, ResourceRequirements
from models.objects.pod import Pod, PodSpec
from planner.explain.blockers import PendingCase
from planner.explain.change import ClusterChange, Cost
from planner.problem.requests import CPU, in_words, pod_requests

_NANO = {CPU: 10**6}


def lower(case: PendingCase, short: dict[str, int]) -> ClusterChange | None:
    """Ask for no more than fits; None when that would be nothing at all."""
    pod = case.template.pod
    wanted = pod_requests(pod)
    goals = {name: _whole_pages(name, wanted[name] - amount) for name, amount in short.items()}
    if not goals or any(goal <= 0 for goal in goals.values()):
        return None
    spec = pod.spec
    for name, goal in goals.items():
        lowered = _lowered(pod, spec, name, goal)
        if lowered is None:
            return None
        spec = lowered
    what = ", ".join(f"{in_words(n, g)} {n} instead of {in_words(n, wanted[n])}" for n, g in goals.items())
    fraction = any(2 * goal < wanted[name] for name, goal in goals.items())
    return ClusterChange(
        "LowerRequest",
        Cost.LOWER_REQUEST,
        f"request {what}",
        edit=partial(_with_requests, lowered=spec),
        requests=goals,
        risk="less than half of what the pod asks for" if fraction else "",
    )


def _whole_pages(name: str, amount: int) -> int:
    """As much of a resource as can be asked for, at most an amount."""
    if not name.startswith(HUGE_PAGES):
        return amount
    page = page_size(name) // 10**9
    return amount // page * page if page else 0


def _with_requests(spec: PodSpec, lowered: PodSpec) -> PodSpec:
    """A spec with the resources of another one, its ports kept; a template may lack containers of its pod."""
    found = {item.name: item.resources for item in lowered.all_containers}
    merged = spec.with_containers(lambda item: item.model_copy(update={"resources": found[item.name]}))
    return merged.model_copy(update={"resources": lowered.resources})


def _lowered(pod: Pod, spec: PodSpec, name: str, goal: int) -> PodSpec | None:
    """A spec whose effective request is the goal or less: the largest containers give way first."""
    for _ in range(1 + len(spec.all_containers)):
        over = pod_requests(pod.model_copy(update={"spec": spec})).get(name, 0) - goal
        if over <= 0:
            return spec
        smaller = _one_smaller(pod, spec, name, over)
        if smaller is None:
            return None
        spec = smaller
    return None


def _one_smaller(pod: Pod, spec: PodSpec, name: str, over: int) -> PodSpec | None:
    """The same with one request made smaller, by what is over or as far as it goes."""
    unit = _NANO.get(name, 10**9)
    if spec.resources is not None and name in spec.resources.requests:
        least = spec.resources.requests[name] - over * unit
        return (
            spec.model_copy(update={"resources": _with_request(spec.resources, name, least)})
            if least > 0
            else None
        )
    before = pod_requests(pod.model_copy(update={"spec": spec})).get(name, 0)
    places = [("containers", i, c) for i, c in enumerate(spec.containers)]
    places += [("init_containers", i, c) for i, c in enumerate(spec.init_containers)]
    for field, i, container in sorted(places, key=lambda place: -_asked(pod, place[2].resources, name)):
        asked = _asked(pod, container.resources, name)
        less = max(asked - over * unit, 0)
        if less == asked:
            continue
        new = container.model_copy(update={"resources": _with_request(container.resources, name, less)})
        listed = list(getattr(spec, field))
        listed[i] = new
        found = spec.model_copy(update={field: tuple(listed)})
        if pod_requests(pod.model_copy(update={"spec": found})).get(name, 0) < before:
            return found
    return None


def _asked(pod: Pod, resources: ResourceRequirements, name: str) -> int:
    own = resources.requests if pod.metadata.creation_timestamp else resources.defaulted
    return own.get(name, 0)


def _with_request(resources: ResourceRequirements, name: str, nano: int) -> ResourceRequirements:
    """Another request; what cannot be asked for beyond its request, such as GPUs, gets its limit too."""
    unit = _NANO.get(name, 10**9)
    amount = nano // unit * unit
    update: dict[str, object] = {"requests": {**resources.requests, name: amount}}
    if is_exact(name) and name in resources.limits:
        update["limits"] = {**resources.limits, name: amount}
    return resources.model_copy(update=update)


def without_request(spec: PodSpec, name: str) -> PodSpec:
    """A spec that asks for none of a resource."""

    def without(container: Container) -> Container:
        asked = container.resources
        requests = {other: amount for other, amount in asked.requests.items() if other != name}
        limits = {other: amount for other, amount in asked.limits.items() if other != name}
        return container.changed("resources", requests=requests, limits=limits)

    return spec.with_containers(without)
