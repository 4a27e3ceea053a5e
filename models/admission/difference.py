"""How a pod that the API server has admitted differs from what was predicted for it, field by field."""

from collections.abc import Iterator
from dataclasses import replace

from models.admission.evidence import Mutation, added_labels, mutation
from models.objects.pod import Pod, PodSpec

#: What decides on placement and is not looked at in running pods: a template may have been changed since.
_FIELDS = (
    "affinity",
    "host_network",
    "overhead",
    "preemption_policy",
    "priority_class_name",
    "runtime_class_name",
    "scheduling_gates",
    "topology_spread_constraints",
)


def difference(sent: Pod, foretold: PodSpec, admitted: Pod) -> Mutation | None:
    """What to do to other pods of the template, so that they are as the API server will have them."""
    others = {name: (getattr(sent.spec, name), after) for name, after in _changed(foretold, admitted.spec)}
    labels = added_labels(sent.metadata.labels, admitted.metadata.labels)
    found = mutation(foretold, admitted.spec, labels, requests=True)
    if not others:
        return found
    return replace(
        found or Mutation({"containers": (), "init_containers": ()}, {}, (), {}, ""), others=others
    )


def _changed(foretold: PodSpec, admitted: PodSpec) -> Iterator[tuple[str, object]]:
    for name in _FIELDS:
        before, after = getattr(foretold, name), getattr(admitted, name)
        # The API server writes what matchLabelKeys name into the selector, by the labels of this very pod.
        by_label = name == "topology_spread_constraints" and any(item.match_label_keys for item in after)
        if before != after and not by_label:
            yield name, after
