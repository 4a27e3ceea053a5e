"""The document of `planner explain`: why pods are pending, and what would help."""

from __future__ import annotations

from typing import Any, Literal

from planner.documents.plan import Document, DocumentPart, PendingReason, SearchDocument


class BlockedNodes(DocumentPart):
    """The nodes that one plugin refused first for the same reasons."""

    plugin: str
    """The plugin that refused them first."""
    reasons: tuple[str, ...]
    """Its reasons, in kube-scheduler's words."""
    count: int
    """How many nodes."""
    nodes: tuple[str, ...]
    """Their names."""
    pods: tuple[str, ...] = ()
    """Up to ten pods that are in the way there."""
    taints: tuple[str, ...] = ()
    """Up to ten taints that refuse the pod there, `KEY=VALUE:EFFECT`."""


class SpreadDomains(DocumentPart):
    """One DoNotSchedule constraint of the pod with its counts per domain."""

    topology_key: str
    """As in the manifest."""
    max_skew: int
    """As in the manifest."""
    min_domains: int | None = None
    """As in the manifest."""
    selector: str = ""
    """The pods that are counted, in kubectl's notation."""
    domains: dict[str, int]
    """By domain, matching pods."""
    global_minimum: int
    """What the domains are compared with."""
    minimum_from: str
    """Where that comes from, in a sentence."""
    limit: int
    """A domain with more pods than that does not take the pod."""


class VolumePlace(DocumentPart):
    """A volume that a claim of the pod is bound to, and from where it can be used."""

    claim: str
    """The claim, in the pod's namespace."""
    volume: str
    """Its volume."""
    where: str
    """The labels of the nodes that reach it, by the volume's node affinity."""
    nodes: int
    """How many nodes do."""


class FixChange(DocumentPart):
    """One change: to which object, how kubectl makes it, and the fragment of the manifest."""

    action: str
    """What is done; [promises.md](promises.md#what-explain-tries) lists all."""
    target: str
    """The object, `Kind/name`."""
    namespace: str = ""
    """Its namespace."""
    summary: str
    """The change in words."""
    command: str = ""
    """Lines for kubectl; empty where there are none."""
    patch: dict[str, Any] | None = None
    """A strategic merge patch of the target as `kubectl patch` takes it, for new objects what matters of
    them; null where there is none."""


class Fix(DocumentPart):
    """Changes that were tried out together, and what came of it."""

    changes: tuple[FixChange, ...]
    """Made together; empty when the pod needs only to be tried again."""
    node: str
    """Where the pod goes then."""
    victims: tuple[str, ...] = ()
    """The pods that it preempts there."""
    replaced: tuple[str, ...] = ()
    """The deleted pods that their controllers make again."""
    replacements: tuple[str | None, ...] = ()
    """Where the replacements of these go, in the same order; null when they stay pending."""
    places: int = 1
    """Of the pods alike, how many get a node when all of them are tried with it."""
    risk: str = ""
    """Why it is not safe to apply; empty where it is."""


class Explanation(Document):
    """Why a pod is pending and what would help."""

    kind: Literal["Explanation"] = "Explanation"
    pod: str
    """The pod that is pending."""
    workload: str
    """Its workload."""
    alike: tuple[str, ...] = ()
    """Other pending pods of which the same is true; a fix is about the first alone."""
    message: str
    """The scheduler's line when it was last tried."""
    nodes: tuple[BlockedNodes, ...] = ()
    """Which plugin refused which nodes first."""
    domains: tuple[SpreadDomains, ...] = ()
    """Each DoNotSchedule constraint of the pod."""
    volumes: tuple[VolumePlace, ...] = ()
    """Each bound volume of the pod that some node does not reach."""
    fixes: tuple[Fix, ...] = ()
    """What helps, the cheapest first; empty when no change was found that does and is safe to apply."""
    risky: tuple[Fix, ...] = ()
    """Changes that place the pod, too, each with `risk`."""
    tried: int
    """How many changes were tried out."""
    exhausted: bool
    """Whether, should no fix be found, those changes were tried for every node that its refusals ask for."""


class ConflictField(DocumentPart):
    """Something that some of the pods ask for, by field."""

    pods: tuple[str, ...]
    """The pods that ask for it."""
    field: str
    """The field of their manifest."""
    value: str = ""
    """What it says."""


class Conflict(DocumentPart):
    """Pods that cannot be placed beside those that run: without any one of these fields they could."""

    pods: tuple[str, ...]
    """Pods that cannot be placed together."""
    fields: tuple[ConflictField, ...]
    """The fields without any one of which they could."""
    minimal: bool
    """Whether each of that is proved; false when the time was up before."""


class ExplanationList(SearchDocument):
    """The explanations of several pods, in the order of the queue."""

    kind: Literal["ExplanationList"] = "ExplanationList"
    items: tuple[Explanation, ...]
    """Pods that are alike are explained once, for the first in the queue."""
    conflict: Conflict | None = None
    """With --batch, pods that cannot be placed together; else null."""
    contradicted: tuple[PendingReason, ...] = ()
    """Lines that kube-scheduler left on pending pods and that are not found here."""
