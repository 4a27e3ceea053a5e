"""The pods of each workload: a name and a running number in, a pod out."""

from shapes import (
    HOSTNAME,
    ZONE,
    Manifest,
    node_name,
    pod,
    preferred_node_values,
    preferred_pod_term,
    required_node_values,
    required_pod_term,
    spread,
)


def plain(name: str, _: int) -> Manifest:
    """Nothing but its requests."""
    return pod(name)


def zone_spread(name: str, _: int) -> Manifest:
    """Hard spread over zones, maxSkew 5."""
    blue = {"color": "blue"}
    constraints = spread(ZONE, 5, "DoNotSchedule", blue)
    return pod(name, labels=blue, topologySpreadConstraints=constraints)


def zone_spread_each_its_own(name: str, index: int) -> Manifest:
    """The same spread, but no two pods alike in labels, requests, affinity or tolerations."""
    blue = {"color": "blue"}
    return pod(
        name,
        labels=blue | {"unique": str(index)},
        # Bytes stay apart in the scheduler's integers; it would round micro-cores up to millis.
        memory=str(500 * 1024**2 + index),
        topologySpreadConstraints=spread(ZONE, 5, "DoNotSchedule", blue),
        affinity=preferred_node_values(HOSTNAME, [node_name(index)]),
        tolerations=[{"key": f"unique-{index}", "operator": "Exists", "effect": "PreferNoSchedule"}],
    )


def zone_spread_soft(name: str, _: int) -> Manifest:
    """Soft spread over zones, maxSkew 5."""
    blue = {"color": "blue"}
    constraints = spread(ZONE, 5, "ScheduleAnyway", blue)
    return pod(name, labels=blue, topologySpreadConstraints=constraints)


def served(name: str, _: int) -> Manifest:
    """No constraint of its own; a Service selects it, so the cluster's defaults apply."""
    return pod(name, labels={"app": "served"})


def untainted_host_spread(name: str, _: int) -> Manifest:
    """Hard spread over the nodes that it tolerates, maxSkew 1."""
    honor = {"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Honor"}
    constraints = spread(HOSTNAME, 1, "DoNotSchedule", {"foo": "bar"}, **honor)
    return pod(name, labels={"foo": "bar"}, topologySpreadConstraints=constraints)


def alone_on_its_node(name: str, index: int) -> Manifest:
    """Required anti-affinity to its own kind, in two namespaces."""
    green = {"color": "green"}
    affinity = required_pod_term("podAntiAffinity", HOSTNAME, green)
    return pod(name, namespace=f"sched-{index % 2}", labels=green, affinity=affinity)


def green_without_term(name: str, _: int) -> Manifest:
    """Asks for nothing, but the running pods' anti-affinity is about it."""
    return pod(name, namespace="sched-1", labels={"color": "green"})


def with_its_kind(name: str, _: int) -> Manifest:
    """Required affinity to its own kind's zone."""
    blue = {"color": "blue"}
    return pod(name, labels=blue, affinity=required_pod_term("podAffinity", ZONE, blue))


def rather_with_its_kind(name: str, _: int) -> Manifest:
    """Preferred affinity to its own kind's node."""
    red = {"color": "red"}
    return pod(name, labels=red, affinity=preferred_pod_term("podAffinity", HOSTNAME, red))


def rather_alone(name: str, _: int) -> Manifest:
    """Preferred anti-affinity to its own kind's node."""
    yellow = {"color": "yellow"}
    affinity = preferred_pod_term("podAntiAffinity", HOSTNAME, yellow)
    return pod(name, labels=yellow, affinity=affinity)


def in_named_zones(name: str, _: int) -> Manifest:
    """Required node affinity for one of two zones."""
    return pod(name, affinity=required_node_values(ZONE, ["zone1", "zone2"]))


def low_priority(name: str, _: int) -> Manifest:
    """Four of these leave no room for more on a node."""
    return pod(name, cpu="900m", priority=0)


def high_priority(name: str, _: int) -> Manifest:
    """Fits only where three of the others go."""
    return pod(name, cpu="3", priority=10)
