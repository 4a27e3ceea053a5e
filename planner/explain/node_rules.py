"""Cordons, taints, node affinity: what a node or a pod would need to have instead."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator
from functools import partial

import numpy as np

from models.objects.affinity import CORDON, Taint, Toleration
from models.objects.node import Node
from models.objects.pod import PodSpec
from models.objects.selectors import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, integer
from planner.audit.spread_counts import spelled_requirement
from planner.constraints.node_affinity import NodeAffinityPlugin
from planner.constraints.node_unschedulable import NodeUnschedulable
from planner.constraints.taint_toleration import TaintToleration
from planner.explain import misspelled
from planner.explain.blockers import Blocker, PendingCase, refusing
from planner.explain.change import ClusterChange, Cost, with_required
from planner.explain.node_risks import risk_of_taint, risk_without
from planner.problem.eligibility import keeps_away
from planner.problem.nodes import Mask

#: Labels that say what a node is; writing something else there would be false.
_FACTS = ("kubernetes.io/", "node.kubernetes.io/", "topology.kubernetes.io/", "beta.kubernetes.io/")


def cordon(case: PendingCase, plugin: NodeUnschedulable) -> Iterator[Blocker]:
    yield Blocker(plugin.name, plugin.reject(case.template) != 0, partial(_uncordon, case))


def taints(case: PendingCase, plugin: TaintToleration) -> Iterator[Blocker]:
    """Nodes with a taint that the pod does not tolerate."""
    yield Blocker(plugin.name, _tainted(case), partial(_tolerate, case))


def affinity(case: PendingCase, plugin: NodeAffinityPlugin) -> Iterator[Blocker]:
    """Nodes that the pod's selector, its node affinity or that of its profile leaves out."""
    return refusing(case, plugin, partial(_match, case))


def _uncordon(case: PendingCase, node: int) -> Iterator[ClusterChange]:
    name = case.problem.nodes.names[node]
    yield ClusterChange(
        "Uncordon",
        Cost.UNCORDON,
        f"uncordon node {name}",
        f"kubectl uncordon {name}",
        node=node,
        node_edit=_uncordoned,
        node_fragment={"spec": {"unschedulable": False}},
    )


def _uncordoned(node: Node) -> Node:
    # The taint that goes with a cordon is taken away by its controller.
    taints = tuple(taint for taint in node.spec.taints if taint.key != CORDON.key)
    return node.changed("spec", unschedulable=False, taints=taints)


def _tainted(case: PendingCase) -> Mask:
    """The nodes with a taint of their own; the one of a cordon goes with the cordon."""
    nodes = case.problem.nodes
    bare = nodes.by_taints(lambda taints: len(_untolerated(case, taints, cordon=False)))
    full = nodes.by_taints(lambda taints: len(_untolerated(case, taints, cordon=True)))
    found: Mask = np.where(nodes.unschedulable, bare, full) > 0
    return found


def _untolerated(case: PendingCase, taints: Iterable[Taint], *, cordon: bool) -> list[Taint]:
    found = (taint for taint in taints if cordon or taint.key != CORDON.key)
    return [taint for taint in found if keeps_away(taint, case.template.pod.spec)]


def untolerated_on(case: PendingCase, nodes: Iterable[int]) -> Iterator[str]:
    """The taints that repel the pod on some nodes, each once."""
    taints = dict.fromkeys(taint for node in nodes for taint in case.problem.nodes.nodes[node].spec.taints)
    yield from map(_spelled, _untolerated(case, taints, cordon=True))


def _tolerate(case: PendingCase, position: int) -> Iterator[ClusterChange]:
    node = case.problem.nodes.nodes[position]
    taints = _untolerated(case, node.spec.taints, cordon=not node.spec.unschedulable)
    spelled = ", ".join(_spelled(taint) for taint in taints)
    others = [
        {"key": t.key, "value": t.value, "effect": t.effect} for t in node.spec.taints if t not in taints
    ]
    risk = next(filter(None, (risk_of_taint(case, taint, node) for taint in taints)), "")
    new = tuple(Toleration(key=t.key, value=t.value, effect=t.effect) for t in taints)
    yield ClusterChange(
        "AddToleration",
        Cost.TOLERATION + len(taints) - 1,
        f"tolerate {spelled}",
        edit=lambda spec: spec.model_copy(update={"tolerations": (*spec.tolerations, *new)}),
        risk=risk,
    )
    yield ClusterChange(
        "RemoveTaint",
        Cost.REMOVE_TAINT,
        f"take {spelled} off node {node.name}",
        f"kubectl taint nodes {node.name} " + " ".join(f"{t.key}:{t.effect}-" for t in taints),
        node=position,
        node_edit=lambda found: found.changed(
            "spec", taints=tuple(t for t in found.spec.taints if t not in taints)
        ),
        node_fragment={"spec": {"taints": others}},
        risk=risk,
    )


def _spelled(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _match(case: PendingCase, position: int) -> Iterator[ClusterChange]:
    """Labels that the node lacks, or what the pod would have to stop asking for."""
    node = case.problem.nodes.nodes[position]
    given = _given_affinity(case)
    if given is None or given.matches(node.metadata.labels, node.name):
        yield from misspelled.corrections(case)
        yield from _label(case, position, node)
        yield from _drop_keys(case, node)
    if given is None:
        yield from _drop_term(case, node)


def _given_affinity(case: PendingCase) -> NodeSelector | None:
    """The required affinity that a DaemonSet's pod has from its controller: it names the pod's one node.

    It stands in place of the template's, so no change of that reaches it.
    """
    owner = case.template.owner
    is_given = owner is not None and owner.kind == "DaemonSet"
    return case.template.pod.spec.required_nodes if is_given else None


def _label(case: PendingCase, position: int, node: Node) -> Iterator[ClusterChange]:
    wanted = missing_labels(case, node)
    if wanted and not any(key.startswith(_FACTS) for key in wanted):
        yield label(node.name, position, wanted)


def label(name: str, position: int, wanted: dict[str, str], *, more: int = 0) -> ClusterChange:
    """Label a node."""
    words = [f"{key}={value}" for key, value in wanted.items()]
    return ClusterChange(
        "LabelNode",
        Cost.LABEL + len(wanted) - 1 + more,
        f"label node {name} {' '.join(words)}",
        f"kubectl label node {name} {shlex.join(words)} --overwrite",
        node=position,
        node_edit=lambda found: labelled(found, wanted),
        node_fragment={"metadata": {"labels": wanted}},
        risk="a label says what a node is: other pods and tools rely on it",
    )


def labelled(node: Node, wanted: dict[str, str]) -> Node:
    """A node with these labels."""
    return node.changed("metadata", labels={**node.metadata.labels, **wanted})


def missing_labels(case: PendingCase, node: Node) -> dict[str, str]:
    """What a node's labels would have to be; empty when labels cannot do it."""
    own, asked = node.metadata.labels, case.template.pod.spec.node_selector
    wanted = {key: value for key, value in asked.items() if own.get(key) != value}
    for selector in _required(case):
        if selector.matches({**own, **wanted}, node.name):
            continue
        offers = [found for term in selector.node_selector_terms if (found := labels_for(term, node))]
        if not offers:
            return {}
        shortest = min(offers, key=len)
        wanted |= shortest
    return wanted


def _required(case: PendingCase) -> Iterator[NodeSelector]:
    """The pod's required node affinity, and what its profile adds."""
    if (required := case.template.pod.spec.required_nodes) is not None:
        yield required
    profile = case.framework.profile
    for plugin in profile.of(NodeAffinityPlugin):
        if plugin in profile.filters and plugin.added is not None and plugin.added.required is not None:
            yield plugin.added.required


def labels_for(term: NodeSelectorTerm, node: Node) -> dict[str, str]:
    """The labels with which a node meets a term; empty when it cannot."""
    if term.empty or not all(item.matches({"metadata.name": node.name}) for item in term.match_fields):
        return {}
    own, wanted = node.metadata.labels, dict[str, str]()
    for item in (item for item in term.match_expressions if not item.matches(own)):
        # A label is added or changed, never taken away: other users of the label may rely on it.
        if (value := _value_for(item)) is None:
            return {}
        wanted[item.key] = value
    return wanted if term.matches({**own, **wanted}, node.name) else {}


def _value_for(item: NodeSelectorRequirement) -> str | None:
    match item.operator:
        case "In":
            return item.values[0]
        case "Exists":
            return "true"
        case "Gt" | "Lt":
            value = (integer(item.values[0]) or 0) + (1 if item.operator == "Gt" else -1)
            # No label begins with a minus sign.
            return str(value) if value >= 0 else None
        case _:
            return None


def _drop_keys(case: PendingCase, node: Node) -> Iterator[ClusterChange]:
    """Drop the nodeSelector's keys that a node does not match; its affinity, if any, may stay."""
    selector = case.template.pod.spec.node_selector
    keys = [key for key, value in selector.items() if node.metadata.labels.get(key) != value]
    if not case.admitted_selector.isdisjoint(keys):
        return
    what = ", ".join(f"nodeSelector {key}={selector[key]}" for key in keys)
    if keys:
        yield ClusterChange(
            "DropNodeRequirement",
            Cost.DROP_REQUIREMENT + len(keys) - 1,
            f"drop {what}",
            edit=lambda spec: without_keys(spec, keys),
            risk=risk_without(keys),
        )
        required = case.template.pod.spec.required_nodes
        if required is not None and _given_affinity(case) is None:
            yield ClusterChange(
                "DropNodeRequirement",
                Cost.DROP_REQUIREMENT + len(keys) + 1,
                f"drop {what} and the required node affinity",
                edit=lambda spec: _without_affinity(without_keys(spec, keys)),
                risk=risk_without([*keys, *_keys_of(required)]),
            )


def without_keys(spec: PodSpec, keys: Collection[str]) -> PodSpec:
    """A spec whose nodeSelector has some keys less."""
    kept = {key: value for key, value in spec.node_selector.items() if key not in keys}
    return spec.model_copy(update={"node_selector": kept})


def _drop_term(case: PendingCase, node: Node) -> Iterator[ClusterChange]:
    """Drop the expressions of one term that a node does not meet, or all of the required affinity."""
    required = case.template.pod.spec.required_nodes
    if required is None or required.matches(node.metadata.labels, node.name):
        return
    terms = required.node_selector_terms
    for number, term in enumerate(terms):
        kept = NodeSelectorTerm(
            match_expressions=tuple(i for i in term.match_expressions if i.matches(node.metadata.labels)),
            match_fields=tuple(i for i in term.match_fields if i.matches({"metadata.name": node.name})),
        )
        if not kept.empty:
            new = NodeSelector(node_selector_terms=(*terms[:number], kept, *terms[number + 1 :]))
            failing = [
                i
                for i in (*term.match_expressions, *term.match_fields)
                if i not in (*kept.match_expressions, *kept.match_fields)
            ]
            yield ClusterChange(
                "DropNodeRequirement",
                Cost.DROP_REQUIREMENT + len(failing),
                "drop node affinity "
                + ", ".join(spelled_requirement(item.key, item.operator, item.values) for item in failing),
                edit=partial(with_required, field="node_affinity", required=new),
                risk=risk_without(item.key for item in failing),
            )
    yield ClusterChange(
        "DropNodeRequirement",
        Cost.DROP_REQUIREMENT + 2,
        "drop the required node affinity",
        edit=_without_affinity,
        risk=risk_without(_keys_of(required)),
    )


def _keys_of(selector: NodeSelector) -> Iterator[str]:
    yield from (item.key for term in selector.node_selector_terms for item in term.match_expressions)


def _without_affinity(spec: PodSpec) -> PodSpec:
    return with_required(spec, "node_affinity", None)
