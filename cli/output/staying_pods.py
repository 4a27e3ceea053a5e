"""The pods that stay on nodes that are drained, in words: those with one cause together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from cli.output.page import counted, some
from planner.documents.drain import BlockedNode, StayingPod

#: Causes whose words, those of kubectl drain, end with the names of the pods of a node.
_NAMING = {"NoController", "LocalStorage"}


@dataclass(frozen=True)
class Cause:
    """Why pods stay, each with its node: pods of one workload, or all that kubectl drain refuses alike."""

    staying: tuple[tuple[BlockedNode, StayingPod], ...]

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """The nodes that they stay on."""
        return tuple(dict.fromkeys(row.node for row, _ in self.staying))

    @property
    def pods(self) -> tuple[StayingPod, ...]:
        """The pods."""
        return tuple(pod for _, pod in self.staying)

    @property
    def subject(self) -> str:
        """`shop/web-1 stays on a1`, or `3 pods of shop Deployment/web stay on 2 nodes: a1, a2`."""
        first = self.pods[0]
        where = self.nodes[0] if len(self.nodes) == 1 else counted(len(self.nodes), "node")
        listed = f": {some(self.nodes)}" if len(self.nodes) > 1 else ""
        if len(self.pods) == 1:
            return f"{first.pod} stays on {where}"
        owned = first.reason not in _NAMING and not first.workload.startswith("Pod/")
        of = f" of {first.pod.partition('/')[0]} {first.workload}" if owned and first.workload else ""
        return f"{counted(len(self.pods), 'pod')}{of} stay on {where}{listed}"

    @property
    def message(self) -> str:
        """Why, in the words of Kubernetes."""
        first = self.pods[0]
        if first.reason not in _NAMING or len(self.nodes) == 1:
            return first.message
        return f"{first.message.partition(': ')[0]}: {some([pod.pod for pod in self.pods])}"


def causes(blocked: Iterable[BlockedNode]) -> list[Cause]:
    """What keeps nodes from becoming empty, each cause once."""
    found: dict[Hashable, list[tuple[BlockedNode, StayingPod]]] = {}
    for row in blocked:
        for pod in row.pods:
            found.setdefault(_key(pod), []).append((row, pod))
    return [Cause(tuple(staying)) for staying in found.values()]


def _key(pod: StayingPod) -> Hashable:
    if pod.reason in _NAMING:
        return pod.reason
    workload = "" if pod.workload.startswith("Pod/") else pod.workload
    return pod.pod.partition("/")[0], workload, pod.reason, pod.message


def on_node(row: BlockedNode) -> Iterator[str]:
    """A line for each cause on one node: which pods stay, and why."""
    for cause in causes([row]):
        naming = cause.pods[0].reason in _NAMING
        yield cause.message if naming else f"{some([pod.pod for pod in cause.pods])}: {cause.message}"
