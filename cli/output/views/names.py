"""The names that `-o name` prints: words that kubectl takes, and the planner's own commands and flags."""

from __future__ import annotations


def pod_line(pod: str) -> str:
    """`pod/web-0 -n shop` of `shop/web-0`."""
    namespace, _, name = pod.rpartition("/")
    return f"pod/{name} -n {namespace}"


def workload_line(namespace: str, workload: str) -> str:
    """`deployment/web -n shop` of `Deployment/web`."""
    kind, _, name = workload.partition("/")
    return f"{kind.lower()}/{name} -n {namespace}"
