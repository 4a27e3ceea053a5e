"""`diff`: what is different between two snapshots of a cluster."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from models import Cluster
from models.objects.affinity import CORDON
from models.objects.node import Node
from models.objects.quantity import format_quantity
from planner.audit.findings import MOST_DOMAINS, audit
from planner.audit.spread_counts import Owners, Surplus, too_much, worse_constraints
from planner.constraints.pod_topology_spread import HARD
from planner.documents.diff import (
    Diff,
    MovedPod,
    NodeChanges,
    NodeDifference,
    PendingPod,
    PlacedPod,
    WorkloadChange,
)
from planner.documents.move_plan import Balance
from planner.documents.plan import ConstraintReport, SpreadChange
from planner.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the snapshots: its constraints, and every pod's workload and node, "" while it waits."""

    constraints: Sequence[ConstraintReport]
    notes: Sequence[str]
    workloads: Mapping[str, str]
    nodes: Mapping[str, str]
    alike: Mapping[str, str]
    """For pods that nothing owns, and that stay, the first of those alike: constraints are named after it."""

    def renamed(self, names: Mapping[str, str]) -> _Side:
        """The constraints of some pods that nothing owns under the name of another one of them."""
        return replace(self, constraints=[_renamed(row, names) for row in self.constraints])

    @property
    def balance(self) -> Balance:
        """The figures that other documents have, too."""
        surpluses = ((row.when_unsatisfiable == HARD, row.excess) for row in self.constraints)
        return Balance(**too_much(surpluses), pending=sum(not node for node in self.nodes.values()))

    @property
    def surpluses(self) -> Iterator[Surplus]:
        """What each hard constraint has too much."""
        for row in self.constraints:
            if row.when_unsatisfiable == HARD:
                yield (row.namespace, row.workload, row.topology_key), sum(row.excess.values())


def diff(before: Cluster, after: Cluster, *, namespace: str | None = None) -> Diff:
    """What changed: nodes, spread, which pods moved and which wait; in one namespace or in all."""
    old, new = _under_one_name(_side(before, namespace), _side(after, namespace))
    moved, evicted = _moved(old, new)
    return Diff(
        before=old.balance,
        after=new.balance,
        nodes=node_changes(before, after),
        spread=tuple(_spread(old.constraints, new.constraints)),
        worse=tuple(worse_constraints(old.surpluses, new.surpluses)),
        moved=tuple(moved),
        pending=tuple(_pending(old, new, evicted)),
        placed=tuple(
            PlacedPod(pod=pod, workload=new.workloads[pod], node=node)
            for pod, node in new.nodes.items()
            if node and old.nodes.get(pod) == ""
        ),
        workloads=tuple(_workloads(old, new)),
        notes=tuple(dict.fromkeys((*old.notes, *new.notes))),
    )


def _side(cluster: Cluster, namespace: str | None) -> _Side:
    problem, owners = Problem(cluster), Owners(cluster)
    report = audit(problem, problem.node_of)
    chosen = [place for place, pod in enumerate(problem.pods) if namespace in (None, pod.namespace)]
    templates, nodes = problem.template_of.tolist(), problem.node_of.tolist()
    workloads, places, alike = {}, {}, {}
    for place in chosen:
        pod, template = problem.pods[place], problem.templates[templates[place]]
        if template.owner is None and not pod.is_terminating:
            alike[pod.key] = template.pod.key
        if nodes[place] < 0 and pod.is_terminating:
            # It will never have a node: it waits for its end alone.
            continue
        workloads[pod.key] = owners.of(pod)
        places[pod.key] = problem.nodes.names[nodes[place]] if nodes[place] >= 0 else ""
    return _Side(
        constraints=[row for row in report.constraints if namespace in (None, row.namespace)],
        notes=(*cluster.notes, *problem.notes),
        workloads=workloads,
        nodes=places,
        alike=alike,
    )


def _under_one_name(old: _Side, new: _Side) -> tuple[_Side, _Side]:
    """Both sides with pods that nothing owns under the name of one that both have.

    Those alike go by the first of them, which may be gone, or come before one that was there.
    """
    pairs: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pod in old.alike.keys() & new.alike.keys():
        pairs[old.alike[pod], new.alike[pod]].append(pod)
    before, after = dict[str, str](), dict[str, str]()
    for (was, now), pods in sorted(pairs.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        if was not in before and now not in after:
            before[was] = after[now] = min(pods)
    return old.renamed(before), new.renamed(after)


def _renamed(row: ConstraintReport, names: Mapping[str, str]) -> ConstraintReport:
    kind, _, name = row.workload.partition("/")
    found = names.get(f"{row.namespace}/{name}") if kind == "Pod" else None
    if found is None:
        return row
    return row.model_copy(update={"workload": f"Pod/{found.partition('/')[2]}"})


def _spread(old: Iterable[ConstraintReport], new: Iterable[ConstraintReport]) -> Iterator[SpreadChange]:
    """The constraints whose counts differ; one that is on one side only has no domains on the other."""
    for left, right in _paired(old, new):
        known = left or right
        domains = [dict(row.domains) if row else {} for row in (left, right)]
        if known is None or domains[0] == domains[1]:
            continue
        every = domains[0].keys() | domains[1].keys()
        if len(every) > MOST_DOMAINS:
            domains = _differing(*domains)
        yield SpreadChange(
            namespace=known.namespace,
            workload=known.workload,
            topology_key=known.topology_key,
            when_unsatisfiable=known.when_unsatisfiable,
            max_skew=known.max_skew,
            selector=known.selector,
            before=domains[0],
            after=domains[1],
            unlisted=len(every) - len(domains[0].keys() | domains[1].keys()),
            skew_before=left.skew if left else 0,
            skew_after=right.skew if right else 0,
        )


def _paired(
    old: Iterable[ConstraintReport], new: Iterable[ConstraintReport]
) -> Iterator[tuple[ConstraintReport | None, ConstraintReport | None]]:
    """The constraints that differ, each beside what it was; None where it is on one side only.

    A constraint may have several rows, each with nodes of its own, as of a DaemonSet one for every node: what
    is on both sides is left out, and the others go by the names of their domains.
    """
    before, after = _by_identity(old), _by_identity(new)
    for key in dict.fromkeys((*before, *after)):
        left, right = _unlike(before[key], after[key]), _unlike(after[key], before[key])
        was, now = _by_domains(left, right), _by_domains(right, left)
        for names in dict.fromkeys((*was, *now)):
            yield from zip_longest(was.get(names, ()), now.get(names, ()))


def _by_domains(
    rows: Iterable[ConstraintReport], others: Iterable[ConstraintReport]
) -> dict[frozenset[str], list[ConstraintReport]]:
    """The rows by the names of their domains; under none those whose names the other side has not."""
    there = {frozenset(row.domains) for row in others}
    found: dict[frozenset[str], list[ConstraintReport]] = defaultdict(list)
    for row in rows:
        names = frozenset(row.domains)
        found[names if names in there else frozenset()].append(row)
    return found


def _unlike(rows: Iterable[ConstraintReport], others: Iterable[ConstraintReport]) -> list[ConstraintReport]:
    """The rows without as many of the same pods by domain as the other side has."""
    there = Counter(frozenset(row.domains.items()) for row in others)
    found = []
    for row in rows:
        pods = frozenset(row.domains.items())
        if there[pods]:
            there[pods] -= 1
        else:
            found.append(row)
    return found


def _by_identity(rows: Iterable[ConstraintReport]) -> dict[Hashable, list[ConstraintReport]]:
    found: dict[Hashable, list[ConstraintReport]] = defaultdict(list)
    for row in rows:
        found[_identity(row)].append(row)
    return found


def _differing(left: Mapping[str, int], right: Mapping[str, int]) -> list[dict[str, int]]:
    """The domains of two sides that differ, as each side has them."""
    names = sorted({name for name, _ in left.items() ^ right.items()})
    return [{name: side[name] for name in names if name in side} for side in (left, right)]


def _identity(row: ConstraintReport) -> Hashable:
    terms = (row.topology_key, row.when_unsatisfiable, row.max_skew, row.min_domains, row.selector)
    return row.namespace, row.workload, terms


def _moved(old: _Side, new: _Side) -> tuple[list[MovedPod], dict[str, str]]:
    """Pods on another node; and for pods that wait the node of the pod that they stand for.

    A controller gives replacements other names: of the pods of a workload that are gone, those whose node
    has a new one stay where they were, and the others are taken for the new ones in their order.
    """
    moved = [
        MovedPod(pod=pod, workload=new.workloads[pod], source=source, node=new.nodes[pod])
        for pod, source in old.nodes.items()
        if source and new.nodes.get(pod, source) not in ("", source)
    ]
    evicted: dict[str, str] = {}
    gone, come = _by_workload(old, new), _by_workload(new, old)
    for key in gone.keys() & come.keys():
        left, right = _not_in_place(gone[key], come[key], old.nodes, new.nodes)
        for pod, replacement in zip(left, right, strict=False):
            if new.nodes[replacement]:
                moved.append(
                    MovedPod(
                        pod=pod,
                        workload=key[1],
                        source=old.nodes[pod],
                        node=new.nodes[replacement],
                        replacement=replacement,
                    )
                )
            else:
                evicted[replacement] = old.nodes[pod]
    return sorted(moved, key=lambda row: row.pod), evicted


def _by_workload(side: _Side, other: _Side) -> dict[tuple[str, str], list[str]]:
    """The pods that only this side has, by namespace and workload."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for pod, workload in side.workloads.items():
        if pod not in other.nodes:
            found[pod.partition("/")[0], workload].append(pod)
    return found


def _not_in_place(
    gone: Sequence[str], come: Sequence[str], old: Mapping[str, str], new: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """The pods that are gone from nodes and come elsewhere; those that wait come last."""
    stay = Counter(old[pod] for pod in gone) & Counter(new[pod] for pod in come)
    left = _less(sorted(pod for pod in gone if old[pod]), old, stay)
    right = _less(sorted(come, key=lambda pod: (not new[pod], pod)), new, stay)
    return left, right


def _less(pods: Sequence[str], nodes: Mapping[str, str], stay: Counter[str]) -> list[str]:
    """The pods without as many on each node as stay there."""
    rest = Counter(stay)
    kept = []
    for pod in pods:
        if nodes[pod] and rest[nodes[pod]]:
            rest[nodes[pod]] -= 1
        else:
            kept.append(pod)
    return kept


def _pending(old: _Side, new: _Side, evicted: Mapping[str, str]) -> Iterator[PendingPod]:
    """Pods that wait now and did not before."""
    for pod, node in new.nodes.items():
        if not node and old.nodes.get(pod) != "":
            was = old.nodes.get(pod) or evicted.get(pod)
            yield PendingPod(pod=pod, workload=new.workloads[pod], was=was)


def _workloads(old: _Side, new: _Side) -> Iterator[WorkloadChange]:
    """Every workload of which other pods run or wait than before, in numbers."""
    counts = [_counts(side) for side in (old, new)]
    for namespace, workload in sorted({key for found in counts for key in found}):
        (placed_before, pending_before), (placed_after, pending_after) = (
            found.get((namespace, workload), (0, 0)) for found in counts
        )
        if (placed_before, pending_before) != (placed_after, pending_after):
            yield WorkloadChange(
                namespace=namespace,
                workload=workload,
                placed_before=placed_before,
                placed_after=placed_after,
                pending_before=pending_before,
                pending_after=pending_after,
            )


def _counts(side: _Side) -> dict[tuple[str, str], tuple[int, int]]:
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for pod, workload in side.workloads.items():
        found[pod.partition("/")[0], workload][not side.nodes[pod]] += 1
    return {key: (placed, pending) for key, (placed, pending) in found.items()}


_Pair = tuple[Node, Node]


def node_changes(before: Cluster, after: Cluster) -> NodeChanges:
    """Nodes that came and went, and in what the others are not what they were."""
    old, new = ({node.name: node for node in side.nodes} for side in (before, after))
    both = [(old[name], new[name]) for name in sorted(old.keys() & new.keys())]
    uids = [(was.metadata.uid, now.metadata.uid) for was, now in both]
    cordons = [(was.spec.unschedulable, now.spec.unschedulable) for was, now in both]
    different = [*_different(both)]

    def where(changes: Iterable[object]) -> tuple[str, ...]:
        return tuple(node.name for (node, _), changed in zip(both, changes, strict=True) if changed)

    def differing(what: str) -> tuple[str, ...]:
        return tuple(sorted(name for row in different if row.what == what for name in row.nodes))

    return NodeChanges(
        added=tuple(sorted(new.keys() - old.keys())),
        removed=tuple(sorted(old.keys() - new.keys())),
        cordoned=where(now and not was for was, now in cordons),
        uncordoned=where(was and not now for was, now in cordons),
        remade=where(was and now and was != now for was, now in uids),
        tainted=differing("taints"),
        labelled=differing("labels"),
        resized=differing("allocatable"),
        different=tuple(different),
    )


def _taints(node: Node) -> Mapping[str, str]:
    taints = (taint for taint in node.spec.taints if taint != CORDON)
    return {f"{one.key}{one.value and f'={one.value}'}:{one.effect}": "" for one in taints}


_READ: Mapping[Literal["taints", "labels", "allocatable"], Callable[[Node], Mapping[str, str]]] = {
    "taints": _taints,
    "labels": lambda node: {key: f"={value}" for key, value in node.metadata.labels.items()},
    "allocatable": lambda node: {
        name: f" {format_quantity(amount)}" for name, amount in node.status.allocatable.items()
    },
}


def _different(both: Sequence[_Pair]) -> Iterator[NodeDifference]:
    """What differs, once for all nodes of which the same does; what most differ in comes first."""
    for what, read in _READ.items():
        groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
        for was, now in both:
            left, right = read(was), read(now)
            if left != right:
                groups[_only(left, right), _only(right, left)].append(was.name)
        for (gone, come), names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[1])):
            yield NodeDifference(what=what, nodes=tuple(names), before=gone, after=come)


def _only(side: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{key}{value}" for key, value in sorted(side.items()) if other.get(key) != value)
