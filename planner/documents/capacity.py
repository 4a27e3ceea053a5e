"""The document of `planner capacity`: how many more replicas of each workload find a node."""

from __future__ import annotations

from typing import Literal

from planner.documents.plan import DocumentPart, SearchDocument, WorkloadPart


class WorkloadCapacity(WorkloadPart):
    """How many more replicas of a workload are placed one after the other, and what stops the next."""

    replicas: int
    """The replicas that it asks for now; those of them that are pending take their room first."""
    more: int
    """So many more are placed without evicting a pod; of one more than that, one is left without a node,
    unless `message` says that no limit was found. A replica of a StatefulSet is not made, nor left, while a
    pod has its name, as one that is terminating."""
    fewest: int | None = None
    """How many more are placed in the worst of eight draws of ties, and of which lost pod comes back first,
    if that is less than `more`. Null where it is not, or none are drawn, as on large clusters."""
    message: str
    """The scheduler's line about the next one, or `not created:` and the API server's."""
    limited_by: tuple[str, ...] = ()
    """The plugins that refuse nodes to the next one, those with the most nodes first; ResourceQuota or
    Admission where the API server does not create it; Preemption where it gets a node by evicting others."""
    lost: str | None = None
    """With --survive, the domain whose loss leaves the least; `best` and `bound` are without it, too."""
    best: int | None = None
    """With --best, how many a plan places in the best order on the best nodes; null without it, where
    pods have the names of replicas of a StatefulSet, where several ReplicaSets of a paused Deployment make
    the replicas, and where it is undecided for some node whether it accepts one, or a pod before them."""
    bound: int | None = None
    """With --best, how many no plan can beat; null where nothing is known."""


class AutoscalerCapacity(DocumentPart):
    """A HorizontalPodAutoscaler whose workload is at its maximum, together with all others."""

    namespace: str
    """The namespace of the autoscaler."""
    name: str
    """The autoscaler."""
    workload: str
    """What it scales."""
    max_replicas: int
    """As in the manifest."""
    pending: int
    """Pods of the workload that stay pending when all autoscalers are at their maximum at once, also those
    that are preempted and find no other node."""
    alone: int
    """The same when it is at its maximum alone: above 0 it can get there only with more room, as another
    autoscaler that takes pods away makes it, or only beside pods that others bring."""
    lost: str | None = None
    """With --survive, the domain whose loss leaves the most pods pending."""
    message: str = ""
    """The scheduler's line about the first of them when all are at their maximum."""
    failing_draws: int | None = None
    """Where none is pending: in how many of eight draws of ties, and of which pod comes first, one is. Null
    where none are drawn, as on large clusters."""


class SetCapacity(DocumentPart):
    """How many times a whole set of manifests fits, every copy in namespaces of its own."""

    pods: int
    """The pods that one copy makes."""
    more: int
    """So many copies are placed one after the other without evicting a pod; of one more a pod is left without
    a node."""
    fewest: int | None = None
    """How many of these are placed in the worst of eight draws of ties, and of which lost pod comes back
    first. Null where none are drawn, as on large clusters."""
    exact: bool = True
    """Whether one more was tried. False after Ctrl-C, and where more than 200,000 pods would have to be made:
    `more` copies fit at least."""
    lost: str | None = None
    """With --survive, the domain whose loss leaves the least."""
    pod: str = ""
    """The first pod that is left."""
    message: str = ""
    """The scheduler's line about it."""
    limited_by: tuple[str, ...] = ()
    """The plugins that refuse nodes to it, those with the most nodes first; Preemption where it gets a node
    by evicting others."""


class Capacity(SearchDocument):
    """How many more replicas of each workload kube-scheduler would place, each workload for itself."""

    kind: Literal["Capacity"] = "Capacity"
    survive: str | None = None
    """The topology key of which any one domain may be lost; null without --survive."""
    workloads: tuple[WorkloadCapacity, ...] = ()
    """Those with the least room first."""
    autoscalers: tuple[AutoscalerCapacity, ...] = ()
    """With --autoscalers: every HorizontalPodAutoscaler whose workload is in the snapshot."""
    sets: SetCapacity | None = None
    """With --set, how many times the manifests fit together; null without it."""
