"""kube-scheduler's filters once more, as the documentation words them: loops over pods and nodes.

Works on manifests, shares no line with the planner, and knows nothing of arrays, templates or caches.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.builders import HARD, REQUIRED, Object

Placement = dict[str, str]
_CORDON = {"key": "node.kubernetes.io/unschedulable", "value": "", "effect": "NoSchedule"}


def key_of(pod: Object) -> str:
    """namespace/name."""
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


@dataclass
class ClusterState:
    """A cluster as manifests, and where each pod is; what is not in `placed` is pending."""

    nodes: list[Object]
    pods: list[Object]
    placed: Placement
    namespaces: dict[str, Mapping[str, str]]
    services: list[Object] = field(default_factory=list)
    plugins: Object = field(default_factory=dict)
    off: frozenset[str] = frozenset()

    def on(self, name: str) -> list[Object]:
        """The pods on a node."""
        return [pod for pod in self.pods if self.placed.get(key_of(pod)) == name]

    def node_of(self, pod: Object) -> Object | None:
        """The node a pod is on."""
        name = self.placed.get(key_of(pod))
        return next((node for node in self.nodes if node["metadata"]["name"] == name), None)


def cluster_state(objects: Iterable[Object]) -> ClusterState:
    """The cluster that the manifests describe, as it stands; configured by its first profile."""
    found = list(objects)
    by_kind = {kind: [item for item in found if item["kind"] == kind] for kind in {o["kind"] for o in found}}
    pods = by_kind.get("Pod", [])
    config: Object = next(iter(by_kind.get("KubeSchedulerConfiguration", ())), {"profiles": [{}]})[
        "profiles"
    ][0]
    disabled = config.get("plugins", {}).get("filter", {}).get("disabled", [])
    return ClusterState(
        nodes=by_kind.get("Node", []),
        pods=pods,
        placed={key_of(pod): pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")},
        namespaces={
            item["metadata"]["name"]: item["metadata"]["labels"] for item in by_kind.get("Namespace", [])
        },
        services=by_kind.get("Service", []),
        plugins={item["name"]: item["args"] for item in config.get("pluginConfig", [])},
        off=frozenset(item["name"] for item in disabled),
    )


def feasible(now: ClusterState, pod: Object) -> set[str]:
    """The nodes that every filter lets the pod on."""
    rules = {
        "NodeResourcesFit": has_room,
        "NodePorts": ports_free,
        "TaintToleration": taints_tolerated,
        "NodeUnschedulable": not_cordoned,
        "NodeAffinity": chosen_by_pod,
        "PodTopologySpread": evenly_spread,
        "InterPodAffinity": company_right,
    }
    asked = [rule for name, rule in rules.items() if name not in now.off]
    return {node["metadata"]["name"] for node in now.nodes if all(rule(now, pod, node) for rule in asked)}


# Resources and ports


def amount(text: str) -> int:
    """Thousandths; enough of the quantity grammar for the random clusters."""
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


def asks(pod: Object) -> dict[str, int]:
    """What the pod's containers request together."""
    total: dict[str, int] = {}
    for container in pod["spec"]["containers"]:
        for name, text in container["resources"]["requests"].items():
            total[name] = total.get(name, 0) + amount(text)
    return total


def has_room(now: ClusterState, pod: Object, node: Object) -> bool:
    """A slot for one more pod, and enough of everything requested."""
    there, offered = now.on(node["metadata"]["name"]), node["status"]["allocatable"]
    if len(there) + 1 > int(offered.get("pods", "0")):
        return False
    for name, wanted in asks(pod).items():
        used = sum(asks(other).get(name, 0) for other in there)
        if wanted and used + wanted > amount(offered.get(name, "0")):
            return False
    return True


def host_ports(pod: Object) -> Iterator[tuple[str, str, int]]:
    """(IP, protocol, port) of what the pod opens on its host."""
    for container in pod["spec"]["containers"]:
        for port in container["ports"]:
            yield port.get("hostIP", "0.0.0.0"), port.get("protocol", "TCP"), port["hostPort"]


def ports_free(now: ClusterState, pod: Object, node: Object) -> bool:
    """No pod on the node has the same protocol and port, on the same IP or on any."""
    return not any(
        one[1:] == other[1:] and (one[0] == other[0] or "0.0.0.0" in (one[0], other[0]))
        for there in now.on(node["metadata"]["name"])
        for one in host_ports(pod)
        for other in host_ports(there)
    )


# What a pod says about nodes


def tolerates(pod: Object, taint: Object) -> bool:
    """Whether a toleration of the pod matches the taint."""
    for found in pod["spec"].get("tolerations", ()):
        same_effect = found.get("effect", "") in ("", taint["effect"])
        same_key = found.get("key", "") in ("", taint["key"])
        if same_effect and same_key and (found["operator"] == "Exists" or found["value"] == taint["value"]):
            return True
    return False


def taints_tolerated(_: ClusterState, pod: Object, node: Object) -> bool:
    """Every NoSchedule and NoExecute taint is tolerated."""
    hard = [taint for taint in node["spec"]["taints"] if taint["effect"] in ("NoSchedule", "NoExecute")]
    return all(tolerates(pod, taint) for taint in hard)


def not_cordoned(_: ClusterState, pod: Object, node: Object) -> bool:
    """The node is not cordoned, or the pod puts up with that."""
    return not node["spec"]["unschedulable"] or tolerates(pod, _CORDON)


def holds(requirement: Object, labels: Mapping[str, str]) -> bool:
    """One requirement of a selector."""
    value, wanted = labels.get(requirement["key"]), requirement.get("values", [])
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(wanted[0])
        case _:
            return value is not None and value.isdigit() and int(value) < int(wanted[0])


def term_matches(term: Object, node: Object) -> bool:
    """One node selector term: everything in it holds, and there is something in it."""
    name, labels = node["metadata"]["name"], node["metadata"]["labels"]
    expressions, fields = term.get("matchExpressions", []), term.get("matchFields", [])
    if not expressions and not fields:
        return False
    by_name = {"metadata.name": name}
    return all(holds(item, labels) for item in expressions) and all(holds(item, by_name) for item in fields)


def wanted_by_pod(pod: Object, node: Object) -> bool:
    """The pod's own nodeSelector and required node affinity."""
    labels = node["metadata"]["labels"]
    chosen = pod["spec"].get("nodeSelector", {})
    if any(labels.get(key) != value for key, value in chosen.items()):
        return False
    required = pod["spec"].get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED)
    return required is None or any(term_matches(term, node) for term in required["nodeSelectorTerms"])


def chosen_by_pod(now: ClusterState, pod: Object, node: Object) -> bool:
    """The pod's own node affinity, and the affinity that the scheduler adds."""
    added = now.plugins.get("NodeAffinity", {}).get("addedAffinity")
    terms = [] if added is None else added[REQUIRED]["nodeSelectorTerms"]
    return wanted_by_pod(pod, node) and (not terms or any(term_matches(term, node) for term in terms))


# Topology spread


def selects(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """A label selector; a missing one selects nothing, an empty one everything."""
    if selector is None:
        return False
    plain = selector.get("matchLabels", {})
    return all(labels.get(key) == value for key, value in plain.items()) and all(
        holds(item, labels) for item in selector.get("matchExpressions", [])
    )


def is_empty(selector: Object | None) -> bool:
    """Whether a selector has no condition at all."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def constraints_of(now: ClusterState, pod: Object) -> list[Object]:
    """The pod's own constraints, matchLabelKeys merged, or else the defaults over its Services' pods."""
    labels = pod["metadata"]["labels"]
    own = pod["spec"].get("topologySpreadConstraints")
    if own:
        return [{**item, "labelSelector": merged(item, labels)} for item in own]
    defaults = now.plugins.get("PodTopologySpread", {}).get("defaultConstraints", [])
    wanted: dict[str, str] = {}
    for service in now.services:
        chosen = service["spec"]["selector"]
        if (
            service["metadata"]["namespace"] == pod["metadata"]["namespace"]
            and chosen.items() <= labels.items()
        ):
            wanted |= chosen
    return [{**item, "labelSelector": {"matchLabels": wanted}} for item in defaults] if wanted else []


def merged(constraint: Object, labels: Mapping[str, str]) -> Object | None:
    """The selector, narrowed to the pod's own values of `matchLabelKeys`."""
    chosen: Object | None = constraint["labelSelector"]
    same = {key: labels[key] for key in constraint.get("matchLabelKeys", []) if key in labels}
    if not same:
        return chosen
    more = [{"key": key, "operator": "In", "values": [value]} for key, value in same.items()]
    found = chosen or {}
    return {**found, "matchExpressions": [*found.get("matchExpressions", []), *more]}


def counts(now: ClusterState, pod: Object, constraint: Object, keys: Iterable[str]) -> dict[str, int]:
    """Matching pods per domain, over the nodes that carry all keys and pass the inclusion policies."""
    found: dict[str, int] = {}
    wanted = list(keys)
    for node in now.nodes:
        labels = node["metadata"]["labels"]
        if any(key not in labels for key in wanted):
            continue
        if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not wanted_by_pod(pod, node):
            continue
        honor_taints = constraint.get("nodeTaintsPolicy", "Ignore") == "Honor"
        if honor_taints and not taints_tolerated(now, pod, node):
            continue
        domain = labels[constraint["topologyKey"]]
        found[domain] = found.get(domain, 0) + matching_on(now, pod, constraint, node)
    return found


def matching_on(now: ClusterState, pod: Object, constraint: Object, node: Object) -> int:
    """The live pods of the pod's namespace on a node that the selector selects."""
    chosen = constraint["labelSelector"]
    if is_empty(chosen):
        return 0
    return sum(
        selects(chosen, other["metadata"]["labels"])
        for other in now.on(node["metadata"]["name"])
        if other["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and "deletionTimestamp" not in other["metadata"]
    )


def global_minimum(constraint: Object, found: Mapping[str, int]) -> int:
    """The fewest in any domain; 0 while there are fewer domains than minDomains."""
    enough = len(found) >= constraint.get("minDomains", 1)
    return min(found.values()) if enough else 0


def evenly_spread(now: ClusterState, pod: Object, node: Object) -> bool:
    """Every DoNotSchedule constraint would hold with the pod on the node."""
    hard = [item for item in constraints_of(now, pod) if item["whenUnsatisfiable"] == HARD]
    keys = [item["topologyKey"] for item in hard]
    labels = node["metadata"]["labels"]
    for constraint in hard:
        if constraint["topologyKey"] not in labels:
            return False
        found = counts(now, pod, constraint, keys)
        itself = int(selects(constraint["labelSelector"], pod["metadata"]["labels"]))
        here = found.get(labels[constraint["topologyKey"]], 0)
        if here + itself - global_minimum(constraint, found) > constraint["maxSkew"]:
            return False
    return True


# Inter-pod affinity


def terms_of(pod: Object, kind: str) -> list[Object]:
    """The required terms of `podAffinity` or `podAntiAffinity`."""
    found: list[Object] = pod["spec"].get("affinity", {}).get(kind, {}).get(REQUIRED, [])
    return found


def means(now: ClusterState, owner: Object, term: Object, other: Object) -> bool:
    """Whether a term of one pod means another pod."""
    home, place = owner["metadata"]["namespace"], other["metadata"]["namespace"]
    named, chosen = term.get("namespaces", []), term.get("namespaceSelector")
    if chosen is None:
        inside = place in named if named else place == home
    else:
        inside = place in named or selects(chosen, now.namespaces.get(place, {}))
    return inside and selects(term["labelSelector"], other["metadata"]["labels"])


def placed_pods(now: ClusterState) -> Iterator[tuple[Object, Mapping[str, str]]]:
    """Every pod that is on a node, with the node's labels."""
    for pod in now.pods:
        node = now.node_of(pod)
        if node is not None:
            yield pod, node["metadata"]["labels"]


def company_right(now: ClusterState, pod: Object, node: Object) -> bool:
    """Required affinity has its peers, and no anti-affinity is broken in a shared domain."""
    here = node["metadata"]["labels"]
    for other, there in placed_pods(now):
        for owner, seen in ((pod, other), (other, pod)):
            for term in terms_of(owner, "podAntiAffinity"):
                key = term["topologyKey"]
                together = key in here and key in there and here[key] == there[key]
                if together and means(now, owner, term, seen):
                    return False
    return has_company(now, pod, here)


def has_company(now: ClusterState, pod: Object, here: Mapping[str, str]) -> bool:
    """Each term's domain holds a pod that all terms mean; the first of its kind needs only the labels."""
    terms = terms_of(pod, "podAffinity")
    if any(term["topologyKey"] not in here for term in terms):
        return False
    meant = [labels for other, labels in placed_pods(now) if all(means(now, pod, t, other) for t in terms)]
    keys = [term["topologyKey"] for term in terms]
    if all(any(labels.get(key) == here[key] for labels in meant) for key in keys):
        return True
    none_there = not any(key in labels for labels in meant for key in keys)
    return none_there and all(means(now, pod, term, pod) for term in terms)


# The audit


def spread_excess(now: ClusterState) -> dict[tuple[object, ...], int]:
    """The surplus of every hard constraint and domain that holds one of its pods and is too full.

    A constraint counts once for each namespace, workload and set of terms, counted over the same nodes.
    """
    found: dict[tuple[object, ...], int] = {}
    for pod in now.pods:
        node = now.node_of(pod)
        hard = [item for item in constraints_of(now, pod) if item["whenUnsatisfiable"] == HARD]
        if node is None or "deletionTimestamp" in pod["metadata"]:
            continue
        for constraint in hard:
            key = constraint["topologyKey"]
            domain = node["metadata"]["labels"].get(key)
            if domain is None:
                continue
            everywhere = counts(now, pod, constraint, [item["topologyKey"] for item in hard])
            least = global_minimum(constraint, everywhere)
            surplus = everywhere.get(domain, 0) - least - constraint["maxSkew"]
            if surplus > 0:
                owner = pod["metadata"]["ownerReferences"][0]["name"]
                found[pod["metadata"]["namespace"], owner, repr(sorted(constraint.items())), domain] = surplus
    return found


def findings(now: ClusterState) -> Iterator[tuple[str, str]]:
    """The plugin of every rule but spread that is broken, and the pod or node that breaks it."""
    for node in now.nodes:
        name, offered = node["metadata"]["name"], node["status"]["allocatable"]
        there = now.on(name)
        wanted = sum((Counter(asks(pod)) for pod in there), Counter({"pods": 1000 * len(there)}))
        short = sum(used > amount(offered.get(kind, "0")) for kind, used in wanted.items())
        yield from [("NodeResourcesFit", name)] * short
        for place, pod in enumerate(there):
            if not ports_free(replace(now, pods=there[:place]), pod, node):
                yield "NodePorts", key_of(pod)
    for pod, here in placed_pods(now):
        broken = sum(is_broken(now, pod, here, term) for term in terms_of(pod, "podAntiAffinity"))
        yield from [("InterPodAffinity", key_of(pod))] * (broken + (not has_company(now, pod, here)))


def is_broken(now: ClusterState, pod: Object, here: Mapping[str, str], term: Object) -> bool:
    """Whether another pod that a term of anti-affinity means is in the pod's domain."""
    key = term["topologyKey"]
    return key in here and any(
        other is not pod and there.get(key) == here[key] and means(now, pod, term, other)
        for other, there in placed_pods(now)
    )
