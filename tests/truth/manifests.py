"""What manifests ask for, in plain words: quantities, selectors, tolerations, node choices, budgets.

Written from the Kubernetes documentation for the exhaustive search; shares no line with the planner.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

Object = dict[str, Any]
Labels = Mapping[str, str]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HARD = "DoNotSchedule"
CORDON = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}
_SUFFIXES = {
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "Ei": 2**60,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "E": 10**18,
}
_SYSTEM = 2_000_000_000
_STAYING = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
#: Volumes that every node has.
ANYWHERE = {"emptyDir", "hostPath"}


def complete(objects: Iterable[Object]) -> list[Object]:
    """The same objects with what the API server would have filled in: namespaces, labels, specs."""
    return [_complete(item) if item["kind"] != "KubeSchedulerConfiguration" else item for item in objects]


def _complete(item: Object) -> Object:
    metadata = dict(item["metadata"]) if "metadata" in item else {}
    if item["kind"] in ("Pod", "PodDisruptionBudget", "ReplicaSet", "StatefulSet", "Job"):
        metadata.setdefault("namespace", "default")
    if item["kind"] in ("Pod", "Node"):
        return {**item, "metadata": {"labels": {}, **metadata}, "spec": item.get("spec") or {}}
    return {**item, "metadata": metadata}


def spelled(part: object) -> str:
    """A part of a manifest as text, equal for equal parts."""
    return json.dumps(part, sort_keys=True)


@cache
def amount(text: str) -> int:
    """A quantity in thousandths."""
    for suffix, factor in _SUFFIXES.items():
        if text.endswith(suffix):
            return 1000 * factor * int(text.removesuffix(suffix))
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


def asks(pod: Object) -> dict[str, int]:
    """What a pod requests: containers and sidecars together, or more while it starts; overhead on top.

    What is requested for the pod as a whole stands for cpu and memory of its containers.
    """
    total: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        total = _together(total, _requests(container))
    starting: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for container in pod["spec"].get("initContainers") or ():
        now = _together(sidecars, _requests(container))
        starting = _most(starting, now)
        if container.get("restartPolicy") == "Always":
            sidecars = now
    total = _most(_together(total, sidecars), starting)
    whole = _requests(pod["spec"])
    total |= {name: value for name, value in whole.items() if name in ("cpu", "memory")}
    over = {name: amount(str(text)) for name, text in (pod["spec"].get("overhead") or {}).items()}
    return _together(total, over)


def _requests(part: Object) -> dict[str, int]:
    found = (part.get("resources") or {}).get("requests") or {}
    return {name: amount(str(text)) for name, text in found.items()}


def _together(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def ports(pod: Object) -> Iterator[tuple[str, str, int]]:
    """(IP, protocol, port) of what a pod opens on its host."""
    for container in pod["spec"]["containers"]:
        for port in container.get("ports", ()):
            if port.get("hostPort"):
                yield port.get("hostIP") or "0.0.0.0", port.get("protocol", "TCP"), port["hostPort"]


def ports_clash(one: Object, other: Object) -> bool:
    """Whether two pods want the same port of one host."""
    return any(
        first[1:] == second[1:] and (first[0] == second[0] or "0.0.0.0" in (first[0], second[0]))
        for first in ports(one)
        for second in ports(other)
    )


def holds(requirement: Object, labels: Labels) -> bool:
    """One requirement of a selector."""
    value, wanted = labels.get(requirement["key"]), requirement.get("values") or []
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case operator:
            raise ValueError(f"operator {operator}")


def selects(selector: Object | None, labels: Labels) -> bool:
    """A label selector: without one nothing is selected, by an empty one everything."""
    if selector is None:
        return False
    plain = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in plain.items()) and all(
        holds(item, labels) for item in selector.get("matchExpressions") or []
    )


def requirements(selector: Object | None) -> str | None:
    """What a selector asks for, the same for selectors that say it in another order."""
    if selector is None:
        return None
    asked = [(key, "In", [value]) for key, value in (selector.get("matchLabels") or {}).items()]
    asked += [
        (item["key"], item["operator"], sorted(item.get("values") or []))
        for item in selector.get("matchExpressions") or []
    ]
    return spelled(sorted(asked))


def narrowed(constraint: Object, labels: Labels) -> Object | None:
    """The selector of a spread constraint with the pod's own values of `matchLabelKeys`."""
    selector: Object | None = constraint.get("labelSelector")
    keys = [key for key in constraint.get("matchLabelKeys") or [] if key in labels]
    if not keys:
        return selector
    more = [{"key": key, "operator": "In", "values": [labels[key]]} for key in keys]
    found = selector or {}
    return {**found, "matchExpressions": [*(found.get("matchExpressions") or []), *more]}


def tolerates(pod: Object, taint: Object) -> bool:
    """Whether a toleration of the pod matches the taint."""
    for found in pod["spec"].get("tolerations") or ():
        if found.get("effect", "") not in ("", taint["effect"]):
            continue
        if found.get("key", "") not in ("", taint["key"]):
            continue
        if found.get("operator", "Equal") == "Exists" or found.get("value", "") == taint.get("value", ""):
            return True
    return False


def taints_tolerated(pod: Object, node: Object) -> bool:
    """Every NoSchedule and NoExecute taint is tolerated."""
    return all(
        tolerates(pod, taint)
        for taint in (node.get("spec") or {}).get("taints") or ()
        if taint["effect"] in ("NoSchedule", "NoExecute")
    )


def chosen(pod: Object, node: Object) -> bool:
    """The pod's nodeSelector and required node affinity match the node."""
    labels = node["metadata"].get("labels", {})
    wanted = pod["spec"].get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return matches(node_affinity(pod), node)


def node_affinity(pod: Object) -> Object | None:
    """The required node affinity of a pod."""
    found: Object | None = affinity(pod, "nodeAffinity").get(REQUIRED)
    return found


def affinity(pod: Object, kind: str) -> Object:
    """One of the three affinities of a pod, empty where there is none."""
    return (pod["spec"].get("affinity") or {}).get(kind) or {}


def _term_matches(term: Object, node: Object) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    name, labels = {"metadata.name": node["metadata"]["name"]}, node["metadata"].get("labels", {})
    return all(holds(item, labels) for item in expressions) and all(holds(item, name) for item in fields)


def is_closed(pod: Object, node: Object) -> bool:
    """Whether a node is cordoned for a pod."""
    return bool((node.get("spec") or {}).get("unschedulable")) and not tolerates(pod, CORDON)


def matches(rule: Object | None, node: Object) -> bool:
    """Whether one of the terms of a node selector holds; without one there is nothing to hold."""
    return rule is None or any(_term_matches(term, node) for term in rule["nodeSelectorTerms"])


def controller(pod: Object) -> Object | None:
    """The owner that makes the pod anew."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def workload(pod: Object, alike: Mapping[str, str]) -> str:
    """Whose constraints a pod's are in the eyes of `check`, without Deployments above.

    Bare pods that are alike count as one, under the name of the first.
    """
    owner = controller(pod)
    return f"Pod/{alike[key_of(pod)]}" if owner is None else f"{owner['kind']}/{owner['name']}"


def key_of(pod: Object) -> str:
    """namespace/name."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def is_live(pod: Object) -> bool:
    """Whether it was not told to stop."""
    return "deletionTimestamp" not in pod["metadata"]


def may_be_evicted(pod: Object) -> bool:
    """The usual protections, without budgets; an eviction is a failure of a Job, so its pods stay."""
    owner, notes = controller(pod), pod["metadata"].get("annotations") or {}
    volumes = pod["spec"].get("volumes") or ()
    return not (
        owner is None
        or owner["kind"] in ("DaemonSet", "Node", "Job")
        or "kubernetes.io/config.mirror" in notes
        or not is_live(pod)
        or (pod["spec"].get("priority") or 0) >= _SYSTEM
        or any({"emptyDir", "hostPath", "ephemeral"} & volume.keys() for volume in volumes)
        or notes.get("cluster-autoscaler.kubernetes.io/safe-to-evict") == "false"
        or _STAYING in notes
    )


def stateful_set(pod: Object) -> tuple[str, str] | None:
    """The StatefulSet that makes the pod again, by namespace and name."""
    owner = controller(pod)
    if owner is None or owner["kind"] != "StatefulSet":
        return None
    return pod["metadata"]["namespace"], owner["name"]


def waits_for(pod: Object, other: Object) -> bool:
    """Whether a pod would not be made again as long as another one of its set is as it is."""
    name, lower = stateful_set(pod), other["metadata"]["name"].rpartition("-")[2]
    if name is None or stateful_set(other) != name or not lower.isdigit():
        return False
    above = int(lower) < int(pod["metadata"]["name"].rpartition("-")[2])
    conditions = other.get("status", {}).get("conditions") or ()
    unready = any(item["type"] == "Ready" and item["status"] != "True" for item in conditions)
    starting = other.get("status", {}).get("phase") == "Pending"
    return above and (not other["spec"].get("nodeName") or not is_live(other) or unready or starting)


def covers(budget: Object, pod: Object) -> bool:
    """Whether a PodDisruptionBudget is about a pod."""
    same = budget["metadata"]["namespace"] == pod["metadata"]["namespace"]
    return same and selects(budget["spec"].get("selector"), pod["metadata"].get("labels", {}))


def is_ready(pod: Object) -> bool:
    """Whether it runs, was not told to stop, and nothing says that it is not ready."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    said = next((item["status"] for item in conditions if item["type"] == "Ready"), "True")
    return bool(pod["spec"].get("nodeName")) and is_live(pod) and not is_starting(pod) and said == "True"


def healthy_and_desired(budget: Object, pods: Iterable[Object], objects: Sequence[Object]) -> tuple[int, int]:
    """What the status says, or what the disruption controller would count."""
    status, spec = budget.get("status"), budget["spec"]
    if status is not None:
        # The API server leaves none of these out; what a manifest leaves out is 0.
        return int(status.get("currentHealthy", 0)), int(status.get("desiredHealthy", 0))
    covered = [pod for pod in pods if covers(budget, pod)]
    healthy, expected = sum(map(is_ready, covered)), _expected(covered, objects)
    if (unavailable := spec.get("maxUnavailable")) is not None:
        return healthy, max(0, expected - _scaled(unavailable, expected))
    return healthy, _scaled(spec.get("minAvailable", 0), expected)


def _expected(covered: Iterable[Object], objects: Sequence[Object]) -> int:
    """The replicas that the controllers of some pods ask for; pods of no such controller count themselves."""
    scaled = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")
    there = {
        (item["metadata"]["namespace"], item["kind"], item["metadata"]["name"]): item
        for item in objects
        if item["kind"] in scaled
    }
    asked, others = dict[tuple[str, str, str], int](), 0
    for pod in covered:
        key, replicas = ("", "", ""), None
        owner, namespace = controller(pod), pod["metadata"]["namespace"]
        while owner is not None and (namespace, owner["kind"], owner["name"]) in there:
            found = there[namespace, owner["kind"], owner["name"]]
            own = found["spec"].get("replicas")
            if own is not None:
                key, replicas = (namespace, owner["kind"], owner["name"]), own
            owner = controller(found)
            if owner is not None and owner["kind"] != "Deployment":
                break
        if replicas is None:
            others += is_live(pod)
        else:
            asked[key] = replicas
    return sum(asked.values()) + others


def allowed_disruptions(budget: Object, pods: Iterable[Object], objects: Sequence[Object]) -> int:
    """What the status says, or what the disruption controller would write there."""
    if "status" in budget:
        return int(budget["status"].get("disruptionsAllowed", 0))
    healthy, desired = healthy_and_desired(budget, pods, objects)
    return max(0, healthy - desired)


def is_starting(pod: Object) -> bool:
    """Whether it has a node and does not run yet: no budget is asked about it."""
    return (pod.get("status") or {}).get("phase") == "Pending"


def draws_on(budget: Object, pod: Object, pods: Iterable[Object], objects: Sequence[Object]) -> bool:
    """Whether the eviction of a covered pod takes one of the disruptions that a budget allows."""
    if is_ready(pod):
        return True
    if is_starting(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return False
    healthy, desired = healthy_and_desired(budget, pods, objects)
    return not healthy >= desired > 0


def _scaled(text: int | str, pods: int) -> int:
    return text if isinstance(text, int) else math.ceil(pods * int(text.removesuffix("%")) / 100)


def is_number(text: str) -> bool:
    """Whether a text is a whole number as annotations spell it."""
    return text.removeprefix("-").isdigit()
