"""A pod's case in a document: which plugins refused which nodes, the counts per domain, and the fixes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from models.objects.custom_workload import is_of_others
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.quantity import format_quantity
from models.words import listed
from planner.audit.spread_counts import Owners, spelled
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.node_ports import NodePorts
from planner.constraints.pod_topology_spread import Rule
from planner.constraints.taint_toleration import TaintToleration
from planner.documents.explanation import BlockedNodes, Explanation, FixChange, SpreadDomains
from planner.documents.explanation import Fix as FixDocument
from planner.explain import patches
from planner.explain.blockers import PendingCase
from planner.explain.change import Candidate, ClusterChange
from planner.explain.node_rules import untolerated_on
from planner.explain.room_changes import port_holders
from planner.explain.search import FoundFixes, TestedFix
from planner.explain.spread_rules import rules_of
from planner.explain.volume_places import volume_places
from planner.problem.nodes import Mask

_MOST_NAMED = 10


def explanation(case: PendingCase, found: FoundFixes, alike: list[int], owners: Owners) -> Explanation:
    pods = case.problem.pods
    return Explanation(
        pod=pods[case.pod].key,
        workload=owners.of(pods[case.pod]),
        alike=tuple(pods[other].key for other in alike),
        message=case.static.messages[case.pod],
        nodes=tuple(_blocked(case)),
        domains=tuple(_domains(case, rule) for rule in rules_of(case)),
        volumes=tuple(volume_places(case)),
        fixes=tuple(fix_of(case, fix, owners) for fix in found.fixes),
        risky=tuple(fix_of(case, fix, owners) for fix in found.risky),
        tried=found.tried,
        exhausted=found.exhausted,
    )


def _blocked(case: PendingCase) -> Iterator[BlockedNodes]:
    """The nodes by the plugin that refused them first and why, the largest group first."""
    diagnosis, names = case.static.scheduler.diagnose(case.pod), case.problem.nodes.names
    groups: dict[tuple[str, tuple[str, ...]], list[int]] = {}
    for number, rejection in enumerate(diagnosis.rejections):
        where = np.flatnonzero(diagnosis.first == number).tolist()
        if where:
            groups.setdefault((rejection.plugin, rejection.verdict.reasons), []).extend(where)
    for (plugin, reasons), where in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        yield BlockedNodes(
            plugin=plugin,
            reasons=reasons,
            count=len(where),
            nodes=tuple(names[node] for node in sorted(where)),
            pods=tuple(_in_the_way(case, plugin, case.problem.nodes.mask_of(where))),
            taints=tuple(untolerated_on(case, where))[:_MOST_NAMED] if plugin == TaintToleration.name else (),
        )


def _in_the_way(case: PendingCase, plugin: str, nodes: Mask) -> Iterator[str]:
    """The pods that hold a port, or with which an affinity term conflicts, a few of them."""
    found: list[int] = []
    if plugin == NodePorts.name:
        found = [pod for node in np.flatnonzero(nodes).tolist() for pod in port_holders(case, node)]
    elif plugin == InterPodAffinity.name:
        for family in case.framework.profile.of(InterPodAffinity):
            rules = family.rules(case.template)
            for around in (*rules.anti_affinity, *rules.kept_out_by):
                inside = np.isin(around.column.codes, around.column.codes[nodes & around.column.present])
                members = around.counts.tally.members
                found += case.pods_on(inside, lambda number, members=members: number in members)  # type: ignore[misc]
    yield from dict.fromkeys(case.problem.pods[pod].key for pod in found[:_MOST_NAMED])


def _domains(case: PendingCase, rule: Rule) -> SpreadDomains:
    constraint, values, sums = rule.constraint, rule.column.values, rule.counts.sums()
    selector = rule.counted.selection.selector
    counts = {values[code]: int(sums[code]) for code in np.flatnonzero(rule.counts.domains).tolist()}
    return SpreadDomains(
        topology_key=constraint.topology_key,
        max_skew=constraint.max_skew,
        min_domains=constraint.min_domains,
        selector="" if selector is None else spelled(selector),
        domains=dict(sorted(counts.items())),
        global_minimum=rule.minimum(),
        minimum_from=_minimum_from(case, rule, counts),
        limit=rule.minimum() + constraint.max_skew - rule.own,
    )


def _minimum_from(case: PendingCase, rule: Rule, counts: dict[str, int]) -> str:
    """Why the global minimum is what it is."""
    if not counts:
        return "no domain: no node counts for it"
    if rule.few_domains:
        there = len(counts)
        are = "is" if there == 1 else "are"
        return f"minDomains {rule.constraint.min_domains or 1}: there {are} only {there}"
    lowest = sorted(value for value, pods in counts.items() if pods == rule.minimum())
    if len(lowest) > 1:
        return f"the fewest pods, in {len(lowest)} domains ({listed(lowest)})"
    return f"{lowest[0]}, {_state_of(case, rule, lowest[0])}"


def _state_of(case: PendingCase, rule: Rule, value: str) -> str:
    """What is special about the emptiest domain: that the pod can go to none of its nodes, or nothing."""
    inside = (rule.column.codes == rule.column.code_of[value]) & rule.counts.eligible
    open_to = case.problem.eligibility.by_taints(case.template)
    wanted = case.problem.eligibility.by_affinity(case.template)
    if not (inside & open_to).any():
        return "which is tainted and counts all the same (nodeTaintsPolicy Ignore)"
    if not (inside & wanted).any():
        return (
            "which the pod's node affinity excludes and which counts all the same (nodeAffinityPolicy Ignore)"
        )
    if not (inside & ~case.problem.nodes.unschedulable).any():
        return "which is cordoned and counts all the same"
    if rule.minimum() == 0:
        return "which has none"
    return "which has the fewest"


def fix_of(case: PendingCase, fix: TestedFix, owners: Owners) -> FixDocument:
    return FixDocument(
        changes=tuple(_changes(case, fix.changes, owners)),
        node=fix.landing.node,
        victims=fix.landing.victims,
        replaced=tuple(fix.landing.replaced),
        replacements=tuple(fix.landing.replaced.values()),
        places=fix.places,
        risk=fix.risk,
    )


def _changes(case: PendingCase, changes: Candidate, owners: Owners) -> Iterator[FixChange]:
    """Changes as their user makes them, one after the other.

    A patch keeps what those before it changed, also where it replaces a whole list; no pod is deleted twice.
    """
    spec, deleted = case.problem.pods[case.pod].spec, set[int]()
    for change in changes:
        if change.gone:
            yield from _deletion(case, change, [pod for pod in change.gone if pod not in deleted])
            deleted.update(change.gone)
        elif change.edit is None or change.claims:
            yield from _other_objects(case, change)
        else:
            before, spec = spec, change.edit(spec)
            yield _in_manifest(case, change, patches.spec_patch(before, spec), owners)


def _other_objects(case: PendingCase, change: ClusterChange) -> Iterator[FixChange]:
    """A change to other objects than the pod, to several where there are several new nodes or claims."""
    if change.claims:
        for name in change.claims:
            yield _plain(change, f"PersistentVolumeClaim/{name}", case.template.namespace)
    elif change.peer is not None:
        yield _plain(change, f"Pod/{change.peer.name}", change.peer.namespace, _peer(change.peer))
    elif change.new_nodes:
        for node in change.new_nodes:
            yield _plain(change, f"Node/{node.name}", "", _node(node))
    elif change.node is not None:
        name = case.problem.nodes.names[change.node]
        yield _plain(change, f"Node/{name}", "", change.node_fragment)


def _deletion(case: PendingCase, change: ClusterChange, numbers: Sequence[int]) -> Iterator[FixChange]:
    """The deletion of some pods; nothing where none is left to delete."""
    pods = [case.problem.pods[number] for number in numbers]
    if pods:
        told = _plain(change, f"Pod/{pods[0].name}", pods[0].namespace)
        lines = [f"kubectl delete pod {pod.name} -n {pod.namespace}" for pod in pods]
        yield told.model_copy(update={"command": "\n".join(lines)})


def _in_manifest(
    case: PendingCase, change: ClusterChange, patch: patches.Fragment, owners: Owners
) -> FixChange:
    namespace, owner = case.template.namespace, case.template.owner
    of_others = owner is not None and is_of_others(owner.api_version)
    workload = owners.of(case.problem.pods[case.pod])
    return FixChange(
        action=change.action,
        target=workload,
        namespace=namespace,
        summary=change.summary,
        # What is not built in takes no strategic merge patch.
        command="" if of_others else patches.command(workload, namespace, patch),
        patch=patches.wrapped(workload, patch),
    )


def _peer(pod: Pod) -> dict[str, Any]:
    """What matters of a pod to be started."""
    return {"metadata": {"labels": dict(pod.metadata.labels)}, "spec": {"nodeName": pod.spec.node_name}}


def _node(node: Node) -> dict[str, Any]:
    """What matters of a node to be added."""
    taints = [taint.model_dump(mode="json", exclude_defaults=True) for taint in node.spec.taints]
    room = {name: format_quantity(amount) for name, amount in node.status.allocatable.items()}
    return {
        "metadata": {"labels": dict(node.metadata.labels)},
        "spec": {"taints": taints},
        "status": {"allocatable": room},
    }


def _plain(
    change: ClusterChange, target: str, namespace: str, patch: dict[str, object] | None = None
) -> FixChange:
    return FixChange(
        action=change.action,
        target=target,
        namespace=namespace,
        summary=change.summary,
        command=change.command,
        patch=None if patch is None else dict(patch),
    )
