"""One thing that a user could do so that a pod gets a node, ready to be tried out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from models.objects.node import Node
from models.objects.pod import Pod, PodSpec

SpecEdit = Callable[[PodSpec], PodSpec]
NodeEdit = Callable[[Node], Node]


class Cost(IntEnum):
    """What a change costs its user: first one's own manifest, then nodes, then other people's pods."""

    GATE = 5
    CORRECTION = 6
    CREATE_CLAIM = 7
    TAINTS_POLICY = 9
    SKEW = 10
    MIN_DOMAINS = 12
    AFFINITY_POLICY = 13
    TOLERATION = 15
    UNCORDON = 20
    LABEL = 25
    ANYWAY = 30
    REMOVE_TAINT = 35
    LOWER_REQUEST = 40
    DROP_REQUIREMENT = 45
    DROP_PORT = 48
    PEER = 50
    POD_SLOTS = 55
    POD = 60
    NODE = 70
    OTHER_NODE = 75


@dataclass(frozen=True, slots=True)
class ClusterChange:
    """A change to the pod's spec, to a node, or to other pods; `command` is how kubectl does it."""

    action: str
    cost: int
    summary: str
    command: str = ""
    subject: str = ""
    """Of changes with the same action and subject one is enough, the smallest."""
    dropped: tuple[str, ...] = ()
    """The requirements that it gives up, where another change may give up some of them."""
    edit: SpecEdit | None = None
    node: int | None = None
    node_edit: NodeEdit | None = None
    node_fragment: dict[str, object] | None = None
    new_nodes: tuple[Node, ...] = ()
    like: int | None = None
    gone: tuple[int, ...] = ()
    peer: Pod | None = None
    claims: tuple[str, ...] = ()
    """Names of PersistentVolumeClaims to create; tried as volumes that every node can reach."""
    requests: Mapping[str, int] = field(default_factory=dict)
    """Where the pod is to ask for less, what it asks for then, by resource."""
    risk: str = ""
    """Why it is not safe to apply without a second thought, though it gives the pod a node."""

    @property
    def of_cluster(self) -> bool:
        """Whether nodes are others afterwards, or pods are added."""
        return self.node_edit is not None or bool(self.new_nodes) or self.peer is not None


Candidate = tuple[ClusterChange, ...]


def without_repetition(candidate: Candidate) -> Candidate:
    """The changes without those that delete only pods that another one deletes anyway."""
    kept: list[ClusterChange] = []
    for change in sorted(candidate, key=lambda change: -len(change.gone)):
        others = {pod for other in kept for pod in other.gone}
        if not change.gone or not others.issuperset(change.gone):
            kept.append(change)
    return tuple(change for change in candidate if any(change is other for other in kept))


def parts_of(candidate: Candidate) -> set[str]:
    """What the changes consist of: a candidate with some of these parts contains no more than this one."""
    return {part for change in candidate for part in (change.dropped or (change.summary,))}


def asks_for_less(candidate: Candidate, other: Candidate) -> bool:
    """Whether it has all changes of another one, but for less that is requested than there."""
    own, more = ([change for change in one if change.requests] for one in (candidate, other))
    if len(own) != 1 or len(more) != 1 or own[0].requests == more[0].requests:
        return False
    asked, rest = own[0].requests, [change for change in other if not change.requests]
    is_less = all(name in asked and asked[name] <= amount for name, amount in more[0].requests.items())
    return is_less and parts_of(tuple(rest)) <= parts_of(candidate)


def cost_of(candidate: Candidate) -> tuple[int, int]:
    """How many changes, then how dear they are."""
    return len(candidate), sum(change.cost for change in candidate)


def with_required(spec: PodSpec, field: str, required: object) -> PodSpec:
    """A spec that requires something else of an affinity, such as `pod_affinity`, where it has that one."""
    known = getattr(spec.affinity, field, None)
    if known is None:
        return spec
    return spec.changed("affinity", **{field: known.model_copy(update={"required": required})})


def edited(spec: PodSpec, candidate: Candidate) -> PodSpec:
    """The pod's spec after all changes to it."""
    for change in candidate:
        if change.edit is not None:
            spec = change.edit(spec)
    return spec
