"""RuntimeClass: the overhead of a way to run containers, and the nodes where it is installed."""

from models.objects.pod import PodSpec
from models.objects.policy import RuntimeClass, RuntimeScheduling


def with_runtime(spec: PodSpec, found: RuntimeClass | None) -> tuple[PodSpec, str]:
    """The spec with what its class adds, or the words with which the plugin refuses it."""
    overhead = found.overhead.pod_fixed if found and found.overhead else {}
    if spec.overhead and spec.overhead != overhead:
        if overhead:
            return spec, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
        return spec, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    if found is None:
        return spec, ""
    rules = found.scheduling or RuntimeScheduling()
    for key, value in rules.node_selector.items():
        if spec.node_selector.get(key, value) != value:
            return spec, (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {spec.node_selector[key]}"
            )
    added = tuple(item for item in rules.tolerations if item not in spec.tolerations)
    update = {
        "overhead": overhead,
        "node_selector": {**spec.node_selector, **rules.node_selector},
        "tolerations": spec.tolerations + added,
    }
    return spec.model_copy(update=update), ""
