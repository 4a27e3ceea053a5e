"""Notes about what was read: nothing of a kind that every answer needs, or what is not modelled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from models import Cluster
from models.objects.pod import Pod
from planner.problem.undecided import undecided_notes
from planner.problem.volume_claims import class_notes

if TYPE_CHECKING:
    from planner.problem.problem import Problem


def input_notes(problem: Problem) -> Iterator[str]:
    """All notes about a snapshot, in their order."""
    pending = [pod for pod in problem.pods if not pod.spec.node_name]
    yield from problem.kubernetes.notes()
    yield from problem.devices.notes(pending)
    if problem.behaviour.stamps_allocations:
        yield from problem.devices.without_timestamp(pending)
    yield from group_notes(pending)
    yield from class_notes(problem.cluster, pending)
    yield from undecided_notes(problem, pending)
    yield from problem.endings.notes()
    yield from nothing_read(problem.cluster)


def nothing_read(cluster: Cluster) -> Iterator[str]:
    """That an answer is about no nodes, or no pods: it looks as if all were well."""
    if not cluster.nodes:
        yield (
            "there are no nodes: no pod can run, and no constraint be judged "
            "(with -f only these files are read, not the live cluster)"
        )
    elif not cluster.pods:
        yield "no pods were read: whatever runs on these nodes is not in the answer"


def group_notes(pending: Iterable[Pod]) -> Iterator[str]:
    """One note about all pods that ask to be scheduled as a group, which is alpha."""
    grouped = [pod.key for pod in pending if pod.spec.scheduling_group or pod.spec.workload_ref]
    if grouped:
        pods = "1 pending pod asks" if len(grouped) == 1 else f"{len(grouped)} pending pods ask"
        yield (
            f"{pods} to be scheduled as part of a group ({grouped[0]}): gang scheduling and placement of "
            "groups by topology are alpha and not modelled, every pod is decided by itself"
        )
