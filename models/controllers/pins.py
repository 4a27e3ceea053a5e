"""Pods that keep the pin of an earlier move count as the template of their controller has them.

A script of moves narrows the node affinity of a template, and widens it when the replacement has landed.
That pod keeps what it was made with, and the next one is made from the template.  Of a pod that has a node
kube-scheduler does not read the node affinity, so nothing else is changed by that.

A webhook may have narrowed a pod, too, and then narrows the next one.  So a pod is taken for pinned only if
its affinity is its template's with more asked for in every term, as a pin leaves it, and

- the API server was asked about the template, and added nothing; or
- no mutating webhook or policy is asked about such pods, in a snapshot that has all of them; or
- a pod of the same template has the template's own affinity, and all that are narrowed are to names of nodes.
  Webhooks that narrow some pods of a template, such as that of OpenKruise's WorkloadSpread, name labels.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from models.admission.evidence import workload_of
from models.admission.policies import AdmissionCheck, checks_in_force, labels_of_namespace
from models.controllers.owners import ByController
from models.controllers.templates import usable, with_node_affinity
from models.objects.affinity import NodeAffinity
from models.objects.custom_workload import CloneSet
from models.objects.pod import Pod, PodSpec
from models.objects.selectors import NodeSelectorTerm
from models.objects.workload import ReplicaSet, ReplicationController
from models.snapshot import Snapshot

_S = TypeVar("_S", bound=Snapshot)
#: What may narrow a pod before it is created.
_CHANGING = ("mutatingwebhookconfigurations", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
_ANY_NODE = NodeSelectorTerm()


def without_pins(found: _S) -> _S:
    """The snapshot in which pods that a pin has narrowed have the node affinity of their template."""
    bound = [pod for pod in found.pods if pod.spec.node_name]
    narrowed = ByController(pod for pod in bound if pod.spec.required_nodes is not None)
    owners = [
        (owner, template)
        for owner, template in _templates(found)
        if any(one != template.node_affinity for one in _affinities(narrowed.of(owner)))
    ]
    if not owners:
        return found
    siblings, evidence = ByController(bound), _Evidence(found)
    instead = {
        id(pod): _unpinned(pod, template)
        for owner, template in owners
        for pod in evidence.pinned(template, siblings.of(owner))
    }
    return replace(found, pods=tuple(instead.get(id(pod), pod) for pod in found.pods)) if instead else found


def _templates(found: Snapshot) -> Iterator[tuple[ReplicaSet | ReplicationController, PodSpec]]:
    """The controllers whose templates may be pinned, as a change rolls nothing out there."""
    owners: tuple[ReplicaSet | ReplicationController, ...] = (
        *found.replica_sets,
        *found.replication_controllers,
    )
    for owner in owners:
        template = usable(owner.spec.template)
        if not isinstance(owner, CloneSet) and template is not None and template.spec is not None:
            yield owner, template.spec


def _affinities(pods: Iterable[Pod]) -> Iterable[NodeAffinity | None]:
    """The node affinities of some pods, those that are one object once."""
    return {id(one): one for one in (pod.spec.node_affinity for pod in pods)}.values()


class _Evidence:
    """What tells a pin from the work of a webhook."""

    def __init__(self, found: Snapshot) -> None:
        self._found = found
        self._tried = {
            (one.namespace, one.workload_kind, one.workload_name): one for one in found.admitted_templates
        }
        self._checks: Sequence[AdmissionCheck] | None = None
        if all(map(found.has_all_of, _CHANGING)):
            self._checks = [
                one
                for one in checks_in_force(found)
                if one.kind.startswith("Mutating") and one.covers("", "pods", "CREATE")
            ]

    def pinned(self, template: PodSpec, pods: Iterable[Pod]) -> Iterator[Pod]:
        """Those of the pods with a node of one controller that a pin has narrowed."""
        found = defaultdict[NodeAffinity | None, list[Pod]](list)
        for pod in pods:
            found[pod.spec.node_affinity].append(pod)
        own = found.pop(template.node_affinity, [])
        asked = {one: _asked_beyond(template.node_affinity, one) for one in found if one is not None}
        let_be = bool(own) and len(asked) == len(found) and all(map(_is_by_name, asked.values()))
        for one, more in asked.items():
            if more:
                yield from (pod for pod in found[one] if self._is_pinned(pod, let_be))

    def _is_pinned(self, pod: Pod, let_be: bool) -> bool:
        """Whether nothing but a pin can have narrowed a pod; where nothing else tells, another was let be."""
        changed = self._is_changed(pod)
        return let_be if changed is None else not changed

    def _is_changed(self, pod: Pod) -> bool | None:
        """Whether others change the node affinity of such pods before they are created; None if not known."""
        if (tried := self._tried.get(workload_of(pod))) is not None and tried.admitted is not None:
            return tried.admitted.spec.node_affinity != tried.sent.spec.node_affinity
        if self._checks is None:
            return None
        namespace = labels_of_namespace(pod.namespace, self._found)
        return None if any(one.reads(namespace, pod.metadata.labels) for one in self._checks) else False


def _asked_beyond(template: NodeAffinity | None, pod: NodeAffinity) -> Sequence[NodeSelectorTerm]:
    """What every term asks for beyond a term of the template; nothing where that is not all that differs."""
    expected = template or NodeAffinity()
    if pod.required is None or pod.preferred != expected.preferred:
        return ()
    before = [_ANY_NODE]
    if expected.required is not None:
        before = [term for term in expected.required.node_selector_terms if not term.empty]
    more = [_rest(term, before) for term in pod.required.node_selector_terms]
    return [] if None in more else [term for term in more if term is not None]


def _rest(term: NodeSelectorTerm, before: Iterable[NodeSelectorTerm]) -> NodeSelectorTerm | None:
    """What a term asks for behind all that one of those before does; None where no pin makes it of one."""
    for one in before:
        expressions, fields = len(one.match_expressions), len(one.match_fields)
        begin = term.match_expressions[:expressions], term.match_fields[:fields]
        rest = term.match_expressions[expressions:], term.match_fields[fields:]
        operators = {item.operator for items in rest for item in items}
        if begin == (one.match_expressions, one.match_fields) and operators == {"In"}:
            return NodeSelectorTerm.model_construct(match_expressions=rest[0], match_fields=rest[1])
    return None


def _is_by_name(more: Sequence[NodeSelectorTerm]) -> bool:
    return bool(more) and all(term.match_fields and not term.match_expressions for term in more)


def _unpinned(pod: Pod, template: PodSpec) -> Pod:
    affinity = with_node_affinity(pod.spec.affinity, template.node_affinity)
    return pod.model_copy(update={"spec": pod.spec.model_copy(update={"affinity": affinity})})
