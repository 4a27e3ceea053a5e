"""What the API server would add to a pod: its priority, and for new pods some defaults."""

from collections.abc import Mapping

from models.objects.affinity import PodAffinity, PodAffinityTerm, Toleration
from models.objects.pod import Pod, PodSpec
from models.objects.workload import PriorityClass
from models.snapshot import Snapshot

_BUILT_IN = {
    "system-node-critical": PriorityClass.model_validate(
        {"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}
    ),
    "system-cluster-critical": PriorityClass.model_validate(
        {"metadata": {"name": "system-cluster-critical"}, "value": 2_000_000_000}
    ),
}
#: What DefaultTolerationSeconds gives to pods that do not say it themselves.
NOT_READY_TOLERATIONS = tuple(
    Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=300)
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
)


class Priorities:
    """The priority classes of a cluster, and the built-in ones."""

    def __init__(self, cluster: Snapshot) -> None:
        """Where their reader had no right to list them there may be more: what they say is unknown."""
        self._unseen = cluster.is_unseen("priorityclasses")
        self._complete = cluster.has_all_of("priorityclasses")
        self.unknown: dict[str, None] = {}
        classes = {item.name: item for item in cluster.priority_classes}
        self._by_name: Mapping[str, PriorityClass] = _BUILT_IN | classes
        defaults = [item for item in self._by_name.values() if item.global_default]
        # Of several defaults the API server takes the one with the lowest value.
        self._default = min(defaults, key=lambda item: item.value, default=None)

    def is_missing(self, spec: PodSpec) -> bool:
        """Whether a new pod like this names a class that is not there.

        Where it has a priority the API server knows its class, unless these are all that there are.
        """
        name = spec.priority_class_name
        unknown = bool(name) and name not in self._by_name and not self._unseen
        return unknown and (self._complete or spec.priority is None)

    def admit(self, pod: Pod) -> Pod:
        """The pod with the priority of its class; a KeyError when there is no such class."""
        if pod.spec.priority is not None:
            return pod
        name = pod.spec.priority_class_name
        if name and self._unseen and name not in self._by_name:
            self.unknown[name] = None
            return pod
        chosen = self._by_name[name] if name else self._default
        if chosen is None:
            return pod
        update: dict[str, object] = {"priority": chosen.value, "priority_class_name": chosen.name}
        if "preemption_policy" not in pod.spec.model_fields_set:
            update["preemption_policy"] = chosen.preemption_policy
        return pod.model_copy(update={"spec": pod.spec.model_copy(update=update)})


def add_default_tolerations(spec: PodSpec) -> PodSpec:
    """The spec as DefaultTolerationSeconds leaves it: nodes may be not ready or unreachable for a while."""
    added = tuple(
        one
        for one in NOT_READY_TOLERATIONS
        if not any(item.key in {"", one.key} and item.effect in {"", one.effect} for item in spec.tolerations)
    )
    return spec.model_copy(update={"tolerations": spec.tolerations + added}) if added else spec


def merge_label_keys(pod: Pod) -> Pod:
    """The pod with matchLabelKeys and mismatchLabelKeys merged into its affinity selectors."""
    affinity = pod.spec.affinity
    terms = affinity.pod_terms() if affinity else ()
    if affinity is None or not any(term.match_label_keys or term.mismatch_label_keys for term in terms):
        return pod
    labels = pod.metadata.labels
    merged = affinity.model_copy(
        update={
            "pod_affinity": _merge_terms(affinity.pod_affinity, labels),
            "pod_anti_affinity": _merge_terms(affinity.pod_anti_affinity, labels),
        }
    )
    return pod.model_copy(update={"spec": pod.spec.model_copy(update={"affinity": merged})})


def _merge_terms(side: PodAffinity | None, labels: Mapping[str, str]) -> PodAffinity | None:
    if side is None:
        return None
    preferred = tuple(
        item.model_copy(update={"pod_affinity_term": _merge_term(item.pod_affinity_term, labels)})
        for item in side.preferred
    )
    required = tuple(_merge_term(term, labels) for term in side.required)
    return side.model_copy(update={"required": required, "preferred": preferred})


def _merge_term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    selector = term.label_selector
    if selector is None:
        return term
    merged = selector.with_own_labels(labels, term.match_label_keys, term.mismatch_label_keys)
    return term.model_copy(update={"label_selector": merged})
