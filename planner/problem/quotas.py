"""ResourceQuota: how much of it is used, and whether it has room for one more pod.

A quota counts the pods in its scopes that have not ended, terminating ones too.  It asks that every container
names the compute resources that it limits, unless the pod states some for itself; a new pod may not take any
of them beyond `hard`.  What has ended counts for `count/pods` alone, and so does what is Terminating where no
kubelet answers: when its grace period has passed twice, a quota takes it for stuck.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

import numpy as np

from models import Cluster
from models.admission.chain import is_new
from models.admission.limits import claim_out_of_bounds
from models.controllers.templates import stand_in_uid
from models.objects.containers import ResourceRequirements
from models.objects.pod import Pod, PodSpec, PodStatus
from models.objects.policy import LimitRangeItem, ResourceQuota, ScopeRequirement
from models.objects.storage import PersistentVolumeClaim
from planner.problem.creation_order import in_turn
from planner.problem.endings import not_ready_words
from planner.problem.nodes import Codes, Ints
from planner.problem.requests import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, in_units, in_words
from planner.problem.volume_claims import claims_of

#: What the API server says where a quota has no room for one more pod.
EXCEEDED = "exceeded quota"
_FAILED = "failed quota"
_COUNT = "count/pods"
_COMPUTE = (CPU, MEMORY)
_NAMED = frozenset(prefix + name for prefix in ("", "requests.", "limits.") for name in _COMPUTE)
Amounts = Mapping[str, int]


def is_about_quota(line: str) -> bool:
    """Whether it is a ResourceQuota that refuses a pod in these words."""
    return EXCEEDED in line or _FAILED in line


class QuotaProblem(Protocol):
    """What quotas read of a `Problem`, which asks them itself which new pods are refused."""

    cluster: Cluster
    pods: tuple[Pod, ...]
    pod_index: MutableMapping[str, int]
    node_of: Codes
    template_of: Ints

    def requests_of(self, pod: Pod) -> dict[str, int]:
        """What a pod counts by resource."""


@dataclass(slots=True)
class _Ledger:
    """One quota, with what is used of it."""

    quota: ResourceQuota
    hard: Amounts
    used: dict[str, int]

    def matches(self, spec: PodSpec) -> bool:
        """Whether a pod is in its scopes."""
        return all(_in_scope(item, spec) for item in self.quota.spec.requirements)

    def add(self, usage: Amounts, times: int = 1) -> None:
        for name in self.hard.keys() & usage.keys():
            self.used[name] += times * usage[name]

    def rooms(self, usage: Amounts) -> Iterator[int]:
        """How often there is room for so much, by each entry."""
        for name in self.hard.keys() & usage.keys():
            if usage[name]:
                yield (self.hard[name] - self.used[name]) // usage[name]

    def unnamed(self, spec: PodSpec, _: Amounts) -> str:
        """What the API server says of a pod that does not name what is limited; empty where it does."""
        missing = "; ".join(_unnamed(spec, self.hard))
        return missing and f"{_FAILED}: {self.quota.name}: must specify {missing}"

    def exceeded(self, _: PodSpec, usage: Amounts) -> str:
        """What the API server says of one more pod; empty where there is room."""
        beyond = sorted(
            item
            for item in self.hard.keys() & usage.keys()
            if usage[item] and self.used[item] + usage[item] > self.hard[item]
        )
        if not beyond:
            return ""
        told = (
            ",".join(f"{item}={in_words(_unit(item), found[item])}" for item in beyond)
            for found in (usage, self.used, self.hard)
        )
        return "{}: {}, requested: {}, used: {}, limited: {}".format(EXCEEDED, self.quota.name, *told)

    def lacking(self, usage: Amounts) -> dict[str, str]:
        """What it would have to allow if so much more is to be used, where it allows less."""
        return {
            item: in_words(_unit(item), self.used[item] + more)
            for item, more in sorted(usage.items())
            if more and self.used[item] + more > self.hard[item]
        }


class Quotas:
    """All quotas of a cluster, with the pods that are there charged to them."""

    def __init__(self, problem: QuotaProblem) -> None:
        self._problem = problem
        self._ledgers: dict[str, list[_Ledger]] = defaultdict(list)
        for quota in sorted(problem.cluster.resource_quotas, key=lambda item: item.name):
            hard = {name: in_units(_unit(name), amount) for name, amount in quota.spec.hard.items()}
            self._ledgers[quota.namespace].append(_Ledger(quota, hard, dict.fromkeys(hard, 0)))
        self._bounds: dict[str, list[LimitRangeItem]] = defaultdict(list)
        for found in problem.cluster.limit_ranges:
            bounds = [item for item in found.spec.limits if item.type == "PersistentVolumeClaim"]
            if bounds:
                self._bounds[found.namespace] += bounds
        self._coming: dict[str, PersistentVolumeClaim] = {}
        for claim in problem.cluster.persistent_volume_claims if self else ():
            if claim.metadata.uid == stand_in_uid("PersistentVolumeClaim", claim.key):
                self._coming[claim.key] = claim
            else:
                self._charge_claim(claim)
        nodes = problem.cluster.nodes if self._ledgers else ()
        self._unready = {node.name for node in nodes if not_ready_words(node)}
        self._known: dict[object, tuple[list[_Ledger], Amounts]] = {}
        for pod in problem.cluster.pods if self._ledgers else ():
            if pod.namespace in self._ledgers and not is_new(pod):
                self._charge(pod)

    def __bool__(self) -> bool:
        return bool(self._ledgers or self._bounds)

    def limits(self, pod: Pod) -> bool:
        return pod.namespace in self._ledgers

    def admit(self, pod: Pod) -> str:
        """Count one more pod; where there is no room for it, what the API server says."""
        if line := self._claims_refused(pod):
            return f"forbidden: {line}"
        line = self._objection(pod)
        if not line:
            ledgers, usage = self._concerned(pod)
            for ledger in ledgers:
                ledger.add(usage)
        return line

    def _objection(self, pod: Pod) -> str:
        """What the API server says of one more pod whose claims are there; empty where there is room."""
        ledgers, usage = self._concerned(pod)
        asked = chain((one.unnamed for one in ledgers), (one.exceeded for one in ledgers))
        line = next(filter(None, (objection(pod.spec, usage) for objection in asked)), "")
        return line and f"forbidden: {line}"

    def room(self, pod: Pod) -> tuple[int, str] | None:
        """How many pods like this one there is room for, and what the API server says of the next.

        Each brings claims as this one does.  None where there is no limit. None of them is counted.
        """
        claims = {use.key: self._coming[use.key] for use in claims_of(pod) if use.key in self._coming}
        ledgers = self._ledgers.get(pod.namespace, ())
        before = [{**ledger.used} for ledger in ledgers]
        line, number = self.admit(pod), 0
        if not line:
            each = [
                {item: ledger.used[item] - used[item] for item in used}
                for ledger, used in zip(ledgers, before, strict=True)
            ]
            rooms = [ledger.rooms(usage) for ledger, usage in zip(ledgers, each, strict=True)]
            number = 1 + min(chain.from_iterable(rooms), default=-1)
            for ledger, usage in zip(ledgers, each, strict=True):
                ledger.add(usage, number - 1)
            self._coming |= claims
            line = self.admit(pod)
        self._coming |= claims
        for ledger, used in zip(ledgers, before, strict=True):
            ledger.used.update(used)
        return (number, line) if line else None

    def has_claims_to_come(self, pod: Pod, own: Collection[str]) -> bool:
        """Whether a pod uses claims that are not made yet, beside its own."""
        return any(use.key in self._coming and use.key not in own for use in claims_of(pod))

    def _claims_refused(self, pod: Pod) -> str:
        """Count the claims that are made for a pod; where there is no room for one, what is said of it.

        They are made before the pod is, and stay when that is refused.
        """
        for use in claims_of(pod) if self._coming else ():
            claim = self._coming.get(use.key)
            if claim is None:
                continue
            usage = _usage_of_claim(claim)
            bounds = claim_out_of_bounds(claim.spec.resources.requests, self._bounds.get(claim.namespace, ()))
            beyond = (one.exceeded(pod.spec, usage) for one in self._unscoped(claim.namespace))
            if line := next(filter(None, chain(bounds, beyond)), ""):
                return line
            self._charge_claim(self._coming.pop(use.key))
        return ""

    def _charge_claim(self, claim: PersistentVolumeClaim) -> None:
        for ledger in self._unscoped(claim.namespace):
            ledger.add(_usage_of_claim(claim))

    def _unscoped(self, namespace: str) -> Iterator[_Ledger]:
        """The quotas of a namespace that count more than pods."""
        ledgers = self._ledgers.get(namespace, ())
        return (one for one in ledgers if not one.quota.spec.requirements)

    def room_for(self, pods: Iterable[Pod]) -> dict[str, dict[str, str]]:
        """For these pods of one namespace, beside all that are counted: by the name of each quota that is too
        small what it would have to allow of what."""
        asked: dict[str, Counter[str]] = defaultdict(Counter)
        known: dict[str, _Ledger] = {}
        for pod in pods:
            ledgers, usage = self._concerned(pod)
            for ledger in ledgers:
                known[ledger.quota.name] = ledger
                asked[ledger.quota.name].update(
                    {item: usage[item] for item in ledger.hard.keys() & usage.keys()}
                )
        needed = {name: known[name].lacking(more) for name, more in asked.items()}
        return {name: room for name, room in needed.items() if room}

    def refuses_again(self, pod: Pod) -> bool:
        """Whether a pod that is there could not be made again when it is gone."""
        self.release(pod)
        line = self.admit(pod)
        if line:
            self._charge(pod)
        return bool(line)

    def release(self, pod: Pod) -> None:
        """A pod that was counted is gone."""
        self._charge(pod, -1)

    def leave_stuck(self, pod: Pod) -> None:
        """A pod that was counted is told to go where no kubelet ends it: from now on it is but an object."""
        ledgers, usage = self._concerned(pod)
        for ledger in ledgers:
            ledger.add(usage, -1)
            ledger.add({_COUNT: 1})

    def _charge(self, pod: Pod, sign: int = 1) -> None:
        ledgers, usage = self._concerned(pod)
        is_stuck = pod.is_terminating and pod.node_name in self._unready
        for ledger in ledgers:
            ledger.add({_COUNT: 1} if pod.is_finished or is_stuck else usage, sign)

    def _concerned(self, pod: Pod) -> tuple[list[_Ledger], Amounts]:
        """The quotas that a pod counts for, and as how much."""
        if pod.namespace not in self._ledgers:
            return [], {}
        number = self._problem.pod_index.get(pod.key)
        template = id(pod.spec) if number is None else int(self._problem.template_of[number])
        key = (number is None, template, pod.spec.priority_class_name)
        if key not in self._known:
            ledgers = [ledger for ledger in self._ledgers[pod.namespace] if ledger.matches(pod.spec)]
            self._known[key] = ledgers, self._usage(pod)
        return self._known[key]

    def _usage(self, pod: Pod) -> Amounts:
        """What a pod counts as, under all names that a quota may have for it."""
        usage = {PODS: 1, _COUNT: 1}
        for name, amount in self._problem.requests_of(pod).items():
            usage[f"requests.{name}"] = amount
            if name in {*_COMPUTE, EPHEMERAL_STORAGE} or name.startswith("hugepages-"):
                usage[name] = amount
        for name, amount in self._problem.requests_of(_asking_for_limits(pod)).items():
            usage[f"limits.{name}"] = amount
        return usage


def refusals(problem: QuotaProblem, quotas: Quotas, apart: Collection[int] = ()) -> dict[int, str]:
    """The pods that the API server would not create, in the order in which they are asked for.

    The others are counted in `quotas`, without those `apart`, which come after all of them.
    """
    pending = np.flatnonzero(problem.node_of < 0).tolist()
    new = [pod for pod in pending if pod not in apart and is_new(problem.pods[pod])]
    new = in_turn(problem.cluster, dict(enumerate(problem.pods)), new) if quotas else new
    lines = {pod: problem.pods[pod].refusal or quotas.admit(problem.pods[pod]) for pod in new}
    return {pod: line for pod, line in lines.items() if line}


def _usage_of_claim(claim: PersistentVolumeClaim) -> Amounts:
    """What a claim counts as, also for the quota of its class."""
    storage = in_units("storage", claim.spec.resources.requests.get("storage", 0))
    usage = {"persistentvolumeclaims": 1, "count/persistentvolumeclaims": 1, "requests.storage": storage}
    if claim.spec.storage_class_name:
        prefix = f"{claim.spec.storage_class_name}.storageclass.storage.k8s.io/"
        usage |= {f"{prefix}persistentvolumeclaims": 1, f"{prefix}requests.storage": storage}
    return usage


def _unit(name: str) -> str:
    """The resource, in whose unit an entry of a quota is counted."""
    if "storageclass.storage.k8s.io/" in name:
        name = name.rpartition("/")[2]
    return name.removeprefix("requests.").removeprefix("limits.")


def _asking_for_limits(pod: Pod) -> Pod:
    """The pod with its limits for requests: they are added up in the same way."""

    def swapped(resources: ResourceRequirements) -> ResourceRequirements:
        return ResourceRequirements.model_construct(requests=resources.limits, limits={})

    spec, own = pod.spec, pod.spec.resources
    limited = {name for container in spec.all_containers for name in container.resources.limits}
    limited |= own.limits.keys() if own else set()
    update: dict[str, object] = {
        "resources": None if own is None else swapped(own),
        "overhead": {name: amount for name, amount in spec.overhead.items() if name in limited},
    }
    spec = spec.with_containers(lambda one: one.model_copy(update={"resources": swapped(one.resources)}))
    return pod.model_copy(update={"spec": spec.model_copy(update=update), "status": PodStatus()})


def _unnamed(spec: PodSpec, hard: Amounts) -> Iterator[str]:
    """The compute resources under quota that containers do not name, each with these containers."""
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        return
    for name in sorted(hard.keys() & _NAMED):
        side, resource = "limits" if name.startswith("limits.") else "defaulted", _unit(name)
        lacking = sorted(
            container.name
            for container in spec.all_containers
            if resource not in getattr(container.resources, side)
        )
        if lacking:
            yield f"{name} for: {','.join(lacking)}"


def _in_scope(item: ScopeRequirement, spec: PodSpec) -> bool:
    if item.scope_name == "PriorityClass":
        name = spec.priority_class_name
        match item.operator:
            case "In":
                return name in item.values
            case "NotIn":
                return name not in item.values
            case _:
                return bool(name) == (item.operator == "Exists")
    test = _SCOPES.get(item.scope_name)
    return test is None or test(spec)


def _is_best_effort(spec: PodSpec) -> bool:
    found = [container.resources for container in spec.all_containers]
    found += [] if spec.resources is None else [spec.resources]
    return not any(
        side.get(name) for item in found for side in (item.requests, item.limits) for name in _COMPUTE
    )


def _crosses_namespaces(spec: PodSpec) -> bool:
    terms = spec.affinity.pod_terms() if spec.affinity else ()
    return any(term.namespaces or term.namespace_selector is not None for term in terms)


_SCOPES: Mapping[str, Callable[[PodSpec], bool]] = {
    "BestEffort": _is_best_effort,
    "NotBestEffort": lambda spec: not _is_best_effort(spec),
    "CrossNamespacePodAffinity": _crosses_namespaces,
    "Terminating": lambda spec: spec.active_deadline_seconds is not None,
    "NotTerminating": lambda spec: spec.active_deadline_seconds is None,
}
