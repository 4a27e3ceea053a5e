"""Rollouts and drains on a large cluster, from objects in memory to the document.

`python benchmarks/rollouts.py [--nodes N]` prints: a workload of a tenth as many replicas as nodes
rolled out at 25 %, its first draw and each further one; a tenth of the nodes drained, ten at a time,
every workload under a budget.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections import Counter

from rebalance import HOST, ZONE, Object, Shape

from models import Cluster
from planner import drain, rollout
from planner.documents.drain import DrainPlan

_FILL = 0.8
_FURTHER = 4
_AT_ONCE = 10


def deployed(nodes: int) -> list[Object]:
    """A Deployment `web` whose replicas run on every tenth node, level over the zones."""
    labels = {"app": "web"}
    keys = ((ZONE, "DoNotSchedule"), (HOST, "ScheduleAnyway"))
    spec = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}}}],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": when,
                "labelSelector": {"matchLabels": labels},
            }
            for key, when in keys
        ],
    }
    replicas = nodes // 10
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "prod", "uid": "deployment"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "deployment"}
    hashed = {**labels, "pod-template-hash": "old"}
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-old",
            "namespace": "prod",
            "uid": "set",
            "labels": hashed,
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": hashed},
            "template": {"metadata": {"labels": hashed}, "spec": spec},
        },
    }
    of_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-old", "uid": "set"}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"web-old-{number}",
                "namespace": "prod",
                "labels": hashed,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "ownerReferences": [{**of_set, "controller": True}],
            },
            "spec": {**spec, "nodeName": f"n{number * 10:05}"},
            "status": {"phase": "Running"},
        }
        for number in range(replicas)
    ]
    return [deployment, revision, *pods]


def budgets(workloads: int) -> list[Object]:
    """A budget of one to ten for every workload."""
    return [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": f"w{number:03}", "namespace": "prod"},
            "spec": {
                "selector": {"matchLabels": {"app": f"w{number:03}"}},
                "maxUnavailable": number % 10 + 1,
            },
        }
        for number in range(workloads)
    ]


def controllers(objects: list[Object]) -> list[Object]:
    """The ReplicaSets that make the pods of a cluster again."""
    pods = [each for each in objects if each["kind"] == "Pod"]
    replicas = Counter(pod["metadata"]["labels"]["app"] for pod in pods)
    first = {pod["metadata"]["labels"]["app"]: pod for pod in reversed(pods)}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": app, "namespace": "prod"},
            "spec": {
                "replicas": replicas[app],
                "selector": {"matchLabels": {"app": app}},
                "template": {
                    "metadata": {"labels": {"app": app}},
                    "spec": {key: value for key, value in pod["spec"].items() if key != "nodeName"},
                },
            },
        }
        for app, pod in first.items()
    ]


def refused(cluster: Cluster, plan: DrainPlan) -> int:
    """How many evictions of a drain the budgets would not allow, in its order, however long one waits.

    A pod that has landed may be waited for; one that has not is away for good.
    """
    going = {*plan.nodes}
    covering = {
        pod.key: [budget for budget in cluster.pod_disruption_budgets if budget.covers(pod)]
        for pod in cluster.pods
        if pod.spec.node_name in going
    }
    left = {b.key: int(b.spec.max_unavailable or 0) for b in cluster.pod_disruption_budgets}
    coming, found = Counter[str](), 0
    for eviction in (eviction for step in plan.steps for eviction in step.evictions):
        for budget in covering[eviction.pod]:
            if not left[budget.key]:
                left[budget.key] = coming.pop(budget.key, 0)
            found += not left[budget.key]
            left[budget.key] -= 1
            coming[budget.key] += eviction.lands is not None
    return found


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    nodes = parser.parse_args().nodes
    web, objects = deployed(nodes), Shape(nodes, _FILL).objects()
    cluster = Cluster.from_objects([*objects, *controllers(objects), *budgets(nodes // 10), *web])
    changed = json.loads(json.dumps(web[0]))
    changed["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "60m"
    manifests = Cluster.from_objects([changed], partial=True)
    times = []
    for replays in (0, _FURTHER):
        start = time.perf_counter()
        found = rollout(cluster, manifests, replays=replays, fixes=False)
        times.append(time.perf_counter() - start)
        assert found.completes
    further = (times[1] - times[0]) / _FURTHER
    print(f"rollout of {nodes // 10} replicas: first draw {times[0]:.2f} s, each further {further:.2f} s")
    start = time.perf_counter()
    plan = drain(cluster, [f"n{number:05}" for number in range(nodes // 10)], at_once=_AT_ONCE, fixes=False)
    took, evictions = time.perf_counter() - start, sum(len(step.evictions) for step in plan.steps)
    print(
        f"drain of {nodes // 10} nodes, {_AT_ONCE} at a time: {took:.1f} s, {evictions} evictions, "
        f"{len(plan.blocked)} blocked, {plan.after.pending - plan.before.pending} more pending, "
        f"{refused(cluster, plan)} that a budget would refuse"
    )
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB")


if __name__ == "__main__":
    main()
