"""DaemonSets: a pod on every node that fits."""

from collections.abc import Iterator, Sequence

from models.controllers.owners import is_live
from models.controllers.stateful import REVISION_LABEL, revision_of
from models.controllers.templates import free_names, new_pod, stand_in_hash, usable
from models.objects.affinity import Affinity, NodeAffinity, Toleration
from models.objects.node import Node
from models.objects.pod import Pod, PodSpec
from models.objects.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from models.objects.workload import DaemonSet

_TOLERATED = {
    "not-ready": "NoExecute",
    "unreachable": "NoExecute",
    "disk-pressure": "NoSchedule",
    "memory-pressure": "NoSchedule",
    "pid-pressure": "NoSchedule",
    "unschedulable": "NoSchedule",
}


def pods_of_daemon_set(
    owner: DaemonSet, nodes: Sequence[Node], pods: Sequence[Pod], taken: set[str]
) -> Iterator[Pod]:
    """The pods for the nodes that should have one and have none.

    One that is Terminating has to end first, unless with `maxSurge` two may run on a node.
    """
    template = usable(owner.spec.template)
    if template is None or template.spec is None:
        return
    spec = _as_daemon(template.spec)
    labels = {REVISION_LABEL: revision_of(pods) or stand_in_hash(owner, template)}
    waits = not owner.surge_of(1)
    served = {node_meant(pod) for pod in pods if is_live(pod) or (waits and not pod.is_finished)}
    names = free_names(owner.name, owner.namespace, taken)
    for node in nodes:
        if node.name not in served and _should_run(spec, node):
            yield new_pod(template, owner, next(names), labels, _bound_to(spec, node.name))


def serves(owner: DaemonSet, node: Node) -> bool:
    """Whether a node gets a pod."""
    return _runs_on(owner, node, ("NoSchedule", "NoExecute"))


def goes_on_running(owner: DaemonSet, node: Node) -> bool:
    """Whether a pod that runs on a node stays there; a NoSchedule taint only keeps others from being made."""
    return _runs_on(owner, node, ("NoExecute",))


def _runs_on(owner: DaemonSet, node: Node, effects: Sequence[str]) -> bool:
    template = usable(owner.spec.template)
    if template is None or template.spec is None:
        return False
    return _should_run(_as_daemon(template.spec), node, effects)


def _should_run(spec: PodSpec, node: Node, effects: Sequence[str] = ("NoSchedule", "NoExecute")) -> bool:
    if spec.node_name not in {None, "", node.name}:
        return False
    if not spec.node_selector.items() <= node.metadata.labels.items():
        return False
    required = spec.required_nodes
    if required and not required.matches(node.metadata.labels, node.name):
        return False
    return all(spec.tolerates(taint) for taint in node.spec.taints if taint.effect in effects)


def _as_daemon(spec: PodSpec) -> PodSpec:
    """The spec with the tolerations that the DaemonSet controller adds."""
    host_only = {"network-unavailable": "NoSchedule"} if spec.host_network else {}
    added = tuple(
        Toleration.model_validate(
            {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
        )
        for name, effect in {**_TOLERATED, **host_only}.items()
    )
    return spec.model_copy(update={"tolerations": spec.tolerations + added})


def _bound_to(spec: PodSpec, node_name: str) -> PodSpec:
    """The spec with the affinity through which a daemon pod gets to its node, and only there."""
    only = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
    affinity = spec.affinity or Affinity()
    preferred = spec.node_affinity.preferred if spec.node_affinity else ()
    node_affinity = NodeAffinity.model_construct(required=selector, preferred=preferred)
    return spec.model_copy(update={"affinity": affinity.model_copy(update={"node_affinity": node_affinity})})


def node_meant(pod: Pod) -> str | None:
    """The node of a daemon pod: where it is bound, or where its affinity wants it."""
    if pod.spec.node_name:
        return pod.spec.node_name
    terms = pod.spec.required_nodes.node_selector_terms if pod.spec.required_nodes else ()
    wanted = (value for term in terms for field in term.match_fields for value in field.values)
    return next(wanted, None)
