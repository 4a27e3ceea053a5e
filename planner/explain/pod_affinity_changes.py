"""Inter-pod affinity: affinity peers that are missing, and pods of an anti-affinity that are in the way."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from models.controllers.replicas import HASH_LABEL
from models.controllers.stateful import REVISION_LABEL
from models.objects.affinity import PodAffinity, PodAffinityTerm
from models.objects.containers import Container
from models.objects.pod import Pod, PodMeta, PodSpec
from models.objects.selectors import LabelSelector
from planner.audit.spread_counts import spelled
from planner.constraints.inter_pod_affinity import InterPodAffinity
from planner.constraints.inter_pod_affinity.plugin import Around
from planner.explain.blockers import Blocker, PendingCase
from planner.explain.change import ClusterChange, Cost, with_required
from planner.explain.room_changes import delete
from planner.problem.nodes import ALL, Column

#: Labels whose value changes with every template.
REVISIONS = {HASH_LABEL, REVISION_LABEL}


def terms(case: PendingCase, plugin: InterPodAffinity) -> Iterator[Blocker]:
    """Missing affinity peers as one blocker, every anti-affinity term as another."""
    if not plugin.concerns(case.template):
        return
    rules = plugin.rules(case.template)
    if rules.needs:
        yield Blocker(plugin.name, plugin.lacks_peers(case.template), partial(_bring_together, case))
    for number, around in enumerate(rules.anti_affinity):
        propose = partial(_anti_affinity, case, number, around)
        yield Blocker(plugin.name, around.here(ALL), propose, _pods_in_domain(around))
    for around in rules.kept_out_by:
        yield Blocker(
            plugin.name, around.here(ALL), partial(_delete_peers, case, around), _pods_in_domain(around)
        )


def without_open_domains(case: PendingCase) -> Iterator[Column]:
    """The labels of anti-affinities that keep the pod out of every domain."""
    for plugin in case.framework.profile.of(InterPodAffinity):
        rules = plugin.rules(case.template)
        for around in (*rules.anti_affinity, *rules.kept_out_by):
            if around.anywhere() and around.counts.sums().all():
                yield around.column


def _pods_in_domain(around: Around) -> np.ndarray:
    return around.counts.padded()[around.column.codes]


def _delete_peers(case: PendingCase, around: Around, node: int) -> Iterator[ClusterChange]:
    code = int(around.column.codes[node])
    if code < 0 or int(around.counts.sums()[code]) > case.static.effort.most_victims:
        return
    inside = around.column.codes == code
    pods = case.pods_on(inside, lambda number: number in around.counts.tally.members)
    if 0 < len(pods) <= case.static.effort.most_victims:
        yield delete(case, pods)


def _anti_affinity(case: PendingCase, number: int, around: Around, node: int) -> Iterator[ClusterChange]:
    yield from _delete_peers(case, around, node)
    terms = _required(case.template.pod.spec, "pod_anti_affinity")
    if terms:
        yield _without(terms[number])


def dropped(case: PendingCase) -> Iterator[ClusterChange]:
    """Every required anti-affinity given up, whether it is in the way now or will be later."""
    yield from map(_without, _required(case.template.pod.spec, "pod_anti_affinity"))


def _required(spec: PodSpec, field: str) -> tuple[PodAffinityTerm, ...]:
    known: PodAffinity | None = getattr(spec.affinity, field, None)
    return known.required if known else ()


def _without_terms(spec: PodSpec, field: str, dropped: tuple[PodAffinityTerm, ...]) -> PodSpec:
    return with_required(spec, field, tuple(term for term in _required(spec, field) if term not in dropped))


def _without(term: PodAffinityTerm) -> ClusterChange:
    return ClusterChange(
        "DropAffinityTerm",
        Cost.DROP_REQUIREMENT,
        f"drop the anti-affinity to {_told(term)}",
        edit=partial(_without_terms, field="pod_anti_affinity", dropped=(term,)),
    )


def _bring_together(case: PendingCase, node: int) -> Iterator[ClusterChange]:
    terms = _required(case.template.pod.spec, "pod_affinity")
    if not terms:
        return
    for term in terms if len(terms) > 1 else ():
        yield _drop_needs((term,))
    yield _drop_needs(terms)
    peer = _peer(case, terms, node)
    if peer is not None:
        labels = ",".join(f"{key}={value}" for key, value in peer.metadata.labels.items())
        yield ClusterChange(
            "StartPeer",
            Cost.PEER,
            f"start a pod with {labels or 'any labels'} in namespace {peer.namespace} "
            f"on node {case.problem.nodes.names[node]}",
            peer=peer,
            risk="its labels name one revision" if REVISIONS & peer.metadata.labels.keys() else "",
        )


def _drop_needs(terms: tuple[PodAffinityTerm, ...]) -> ClusterChange:
    told = tuple(map(_told, terms))
    return ClusterChange(
        "DropAffinityTerm",
        Cost.DROP_REQUIREMENT + len(terms) - 1,
        f"drop the affinity to {' and to '.join(told)}",
        dropped=tuple(f"affinity to {one}" for one in told),
        edit=partial(_without_terms, field="pod_affinity", dropped=terms),
    )


def _peer(case: PendingCase, terms: tuple[PodAffinityTerm, ...], node: int) -> Pod | None:
    """A pod that all terms mean, on a node; None where labels alone cannot make one."""
    labels: dict[str, str] = {}
    for term in terms:
        if term.label_selector is None:
            return None
        for key, operator, values in term.label_selector.requirements:
            if operator in {"In", "Exists"}:
                labels.setdefault(key, values[0] if values else "true")
        own = case.template.pod.metadata.labels
        labels |= {key: own[key] for key in term.match_label_keys if key in own}
    namespaces = [name for term in terms for name in term.namespaces] or [case.template.namespace]
    name = "peer"
    while f"{namespaces[0]}/{name}" in case.problem.pod_index:
        name += "-2"
    return Pod(
        api_version="v1",
        metadata=PodMeta(name=name, namespace=namespaces[0], labels=labels),
        spec=PodSpec(containers=(Container(name="main"),), node_name=case.problem.nodes.names[node]),
    )


def _told(term: PodAffinityTerm) -> str:
    return f"{told_selector(term.label_selector)} per {term.topology_key}"


def told_selector(selector: LabelSelector | None) -> str:
    """Pods by their labels, in a few words."""
    if selector is None:
        return "no pods"
    return "any pods" if selector.empty else f"pods with {spelled(selector)}"
