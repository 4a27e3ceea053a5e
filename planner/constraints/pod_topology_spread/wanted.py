"""Which constraints a pod has: its own, or the profile's defaults over the pods it belongs with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from models.objects.affinity import TopologySpreadConstraint
from models.objects.scheduler_config import PodTopologySpreadArgs
from models.objects.selectors import LabelSelector, LabelSelectorRequirement
from planner.problem.nodes import HOSTNAME, ZONE
from planner.problem.problem import Problem
from planner.problem.selection import Selection
from planner.problem.templates import Template

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"

#: What kube-scheduler does for pods without constraints unless it is configured otherwise.
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SOFT),
)

CountedConstraint = tuple[TopologySpreadConstraint, Selection]


class Wanted:
    """The constraints of every template, each with the pods that it counts."""

    def __init__(self, problem: Problem, args: PodTopologySpreadArgs) -> None:
        self._built_in = args.defaulting_type == "System"
        self._defaults = SYSTEM_DEFAULTS if self._built_in else args.default_constraints
        self._groups = _Groups(problem)

    def spelled_out(self, template: Template) -> bool:
        """Whether a manifest or a configuration asks for the constraints; kube's built-in ones are not."""
        return bool(template.pod.spec.topology_spread_constraints) or not self._built_in

    def of(self, template: Template, kind: str) -> list[CountedConstraint]:
        """The constraints of one kind, hard or soft."""
        return [*self._of(template, kind)]

    def _of(self, template: Template, kind: str) -> Iterator[CountedConstraint]:
        own = template.pod.spec.topology_spread_constraints
        wanted = [one for one in own or self._defaults if one.when_unsatisfiable == kind]
        if not wanted:
            return
        namespace = frozenset((template.namespace,))
        for constraint in wanted if own else ():
            yield constraint, Selection(namespace, _with_own_labels(constraint, template.labels))
        if not own:
            selector = self._groups.selector(template)
            if not selector.empty:
                yield from ((constraint, Selection(namespace, selector)) for constraint in wanted)


class _Groups:
    """The pods that a pod belongs with: those its Services and its controller select."""

    def __init__(self, problem: Problem) -> None:
        cluster = problem.cluster
        self._services: dict[str, list[dict[str, str]]] = defaultdict(list)
        for service in cluster.services:
            if service.spec.selector:
                self._services[service.namespace].append(service.spec.selector)
        self._plain = {found.key: found.spec.selector for found in cluster.replication_controllers}
        self._selectors = problem.workload_selectors

    def selector(self, template: Template) -> LabelSelector:
        """All their selectors in one; empty when there are none."""
        wanted: dict[str, str] = {}
        for chosen in self._services[template.namespace]:
            if chosen.items() <= template.labels.items():
                wanted.update(chosen)
        owner = template.owner
        if owner is None:
            return LabelSelector(match_labels=wanted)
        key = f"{template.namespace}/{owner.name}"
        if owner.kind == "ReplicationController":
            wanted.update(self._plain.get(key, {}))
        more = self._selectors.get((owner.kind, key))
        return LabelSelector(match_labels=wanted, match_expressions=_requirements(more))


def _with_own_labels(constraint: TopologySpreadConstraint, labels: Mapping[str, str]) -> LabelSelector | None:
    """The selector narrowed to pods that share the pod's own values of `matchLabelKeys`."""
    shared = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    selector = constraint.label_selector
    if not shared:
        return selector
    return LabelSelector(match_labels=shared, match_expressions=_requirements(selector))


def _requirements(selector: LabelSelector | None) -> tuple[LabelSelectorRequirement, ...]:
    """Everything a selector demands, as expressions."""
    if selector is None:
        return ()
    plain = tuple(
        LabelSelectorRequirement(key=key, operator="In", values=(value,))
        for key, value in selector.match_labels.items()
    )
    return (*plain, *selector.match_expressions)
