"""The document of `planner explain`: why pods are pending, and what would help."""

from __future__ import annotations

from typing import Any, Literal

from planner.documents.plan import Document, DocumentPart, PendingReason, SearchDocument


class BlockedNodes(DocumentPart):
    """The nodes that one plugin refused first for the same reasons; `pods` are those in the way there."""

    plugin: str
    reasons: tuple[str, ...]
    count: int
    nodes: tuple[str, ...]
    pods: tuple[str, ...] = ()


class SpreadDomains(DocumentPart):
    """One DoNotSchedule constraint of the pod with its counts per domain, and where the minimum is from.

    A domain takes the pod while it holds no more than `limit` matching pods.
    """

    topology_key: str
    max_skew: int
    min_domains: int | None = None
    selector: str = ""
    domains: dict[str, int]
    global_minimum: int
    minimum_from: str
    limit: int


class FixChange(DocumentPart):
    """One change: to which object, how kubectl makes it, and the fragment of the manifest."""

    action: str
    target: str
    namespace: str = ""
    summary: str
    command: str = ""
    patch: dict[str, Any] | None = None


class Fix(DocumentPart):
    """Changes that were tried out together: the pod got `node`, and which pods it evicted for that.

    `replacements` are the places of the pods that controllers make for deleted ones; null is Pending.
    `places` counts the pods alike that get a node when all of them are tried with it; `risk` says why it is
    not to be applied without a second thought.
    """

    changes: tuple[FixChange, ...]
    node: str
    victims: tuple[str, ...] = ()
    replacements: tuple[str | None, ...] = ()
    places: int = 1
    risk: str = ""


class Explanation(Document):
    """Why a pod is pending and what would help; `alike` are pending pods of which all the same is true.

    `risky` are changes that give it a node, too, and that break something else or hide what is wrong.
    """

    kind: Literal["Explanation"] = "Explanation"
    pod: str
    workload: str
    alike: tuple[str, ...] = ()
    message: str
    nodes: tuple[BlockedNodes, ...] = ()
    domains: tuple[SpreadDomains, ...] = ()
    fixes: tuple[Fix, ...] = ()
    risky: tuple[Fix, ...] = ()
    tried: int
    exhausted: bool


class ConflictField(DocumentPart):
    """Something that some of the pods ask for, by field."""

    pods: tuple[str, ...]
    field: str
    value: str = ""


class Conflict(DocumentPart):
    """Pods that cannot be placed together because of these fields: without any one of them they could.

    `minimal` when each of that was proved in time.
    """

    pods: tuple[str, ...]
    fields: tuple[ConflictField, ...]
    minimal: bool


class ExplanationList(SearchDocument):
    """The explanations of several pods, in the order of the queue."""

    kind: Literal["ExplanationList"] = "ExplanationList"
    items: tuple[Explanation, ...]
    conflict: Conflict | None = None
    contradicted: tuple[PendingReason, ...] = ()
