"""The pods of a DaemonSet at the beginning of a rollout, by the node that each is meant for.

A pod without a node is meant for the one that its affinity names.  While a rollout with maxSurge goes on, a
node has a pod of an old revision and one of the newest; of more of them the controller keeps the oldest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from models.controllers.daemons import node_meant
from models.objects.pod import Pod


@dataclass(frozen=True, slots=True)
class DaemonPods:
    """For each node the pod of an old revision and the one of the newest; the others are too many."""

    old: Mapping[str, Pod]
    current: Mapping[str, Pod]
    surplus: Sequence[Pod]

    @classmethod
    def of(cls, pods: Iterable[Pod], old_ones: Collection[str], *, surges: bool) -> DaemonPods:
        """The pods; `old_ones` are keys of those of old revisions, and only with `surges` two may stay."""
        old, current, surplus = dict[str, Pod](), dict[str, Pod](), list[Pod]()
        for node, several in _by_node(pods).items():
            for pod in several:
                table = old if pod.key in old_ones else current
                is_full = node in table if surges else node in old or node in current
                if is_full:
                    surplus.append(pod)
                else:
                    table[node] = pod
        return cls(old, current, surplus)


def _by_node(pods: Iterable[Pod]) -> Mapping[str, Sequence[Pod]]:
    """The pods of each node, bound ones first, then the oldest."""
    found: dict[str, list[Pod]] = defaultdict(list)
    for pod in sorted(pods, key=_place_in_line):
        found[node_meant(pod) or ""].append(pod)
    return found


def _place_in_line(pod: Pod) -> tuple[bool, float, str]:
    created = pod.metadata.creation_timestamp
    return not pod.node_name, 0.0 if created is None else created.timestamp(), pod.name
