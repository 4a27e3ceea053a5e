"""Why a batch cannot be placed together: a minimal set of pods and fields that exclude each other.

Deletion by deletion: whatever can be left out while the rest still cannot be placed is no part of the
conflict. Each question is a whole `solve`; only what it proved counts, so the set is called minimal only
when every answer was proved in time. A pod that another one's required podAffinity or hard spread counts
stays: without it the other one may fail for a reason that is not there; then the set may not be minimal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from models import Cluster
from models.objects.affinity import PodAffinity
from models.objects.containers import Container
from models.objects.pod import Pod, PodSpec
from planner.audit.spread_counts import spelled
from planner.batch.solve import solve_as_part
from planner.constraints.pod_topology_spread import HARD
from planner.documents.explanation import Conflict, ConflictField
from planner.explain.at_rest import AtRest
from planner.explain.change import SpecEdit
from planner.explain.node_rules import without_keys
from planner.explain.smaller_requests import without_request
from planner.explain.trials import counts
from planner.proof.meter import Meter


@dataclass(frozen=True, slots=True)
class _Field:
    """Something that some pods ask for, and their specs without it."""

    pods: frozenset[str]
    field: str
    value: str
    edit: SpecEdit


class _Question:
    """Asks whether pods can be placed together, as long as there is time."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self.proved = True

    def fails(self, cluster: Cluster, *, decisive: bool = True) -> bool:
        """Whether it is proved that not all pods can be placed; if decisive and open, nothing is minimal."""
        if self._meter.over():
            self.proved = self.proved and not decisive
            return False
        plan = solve_as_part(cluster, self._meter)
        known = not plan.unplaced or plan.status == "Optimal"
        self.proved = self.proved and (known or not decisive)
        return bool(plan.unplaced) and known


def conflict(static: AtRest, kinds: Sequence[Sequence[str]], meter: Meter) -> Conflict | None:
    """A set of pods and fields that cannot be had together beside the pods that run.

    Pods alike come together, and those named first are left out first. None where all fit or nothing is
    proved.
    """
    problem = static.problem
    question, cluster, batch = _Question(meter), problem.cluster, [*kinds]
    first = [problem.pod_index[kind[0]] for kind in kinds]
    if not question.fails(_only(cluster, chain(*batch))):
        return None
    for place in range(len(batch)):
        kind = batch[place]
        template = int(problem.template_of[first[place]])
        others = (pod for other, pod in enumerate(first) if other != place and batch[other])
        if any(counts(static.scheduler, pod, template) for pod in others):
            question.proved = False
            continue
        # Where one pod cannot be left out, no other one alike can.
        less = len(kind)
        while less:
            batch[place] = kind[less:]
            if any(batch) and question.fails(_only(cluster, chain(*batch)), decisive=less == 1):
                kind = kind[less:]
            else:
                less //= 2
            less = min(less, len(kind))
        batch[place] = kind
    pods = sorted(chain(*batch))
    smallest = _only(cluster, pods)
    fields = [*_fields([pod for pod in smallest.pods if pod.key in set(pods)])]
    return Conflict(
        pods=tuple(pods),
        fields=tuple(
            ConflictField(pods=tuple(sorted(f.pods)), field=f.field, value=f.value)
            for f in _needed(question, smallest, fields)
        ),
        minimal=question.proved,
    )


def _needed(question: _Question, cluster: Cluster, fields: list[_Field]) -> list[_Field]:
    """Fields of which none can be left out any more: without any one of them all pods could be placed.

    All are tried again after some were left out: without a nodeSelector, say, a spread constraint has more
    domains, and may do alone what took two before.
    """
    while True:
        kept: list[_Field] = []
        for field in fields:
            relaxed = _without(cluster, field)
            if question.fails(relaxed):
                cluster = relaxed
            else:
                kept.append(field)
        if len(kept) == len(fields):
            return kept
        fields = kept


def _only(cluster: Cluster, pending: Iterable[str]) -> Cluster:
    chosen = set(pending)
    return replace(cluster, pods=tuple(p for p in cluster.pods if p.node_name or p.key in chosen))


def _without(cluster: Cluster, field: _Field) -> Cluster:
    """The cluster with some requirements removed from its pending pods."""
    pods = (
        pod.model_copy(update={"spec": field.edit(pod.spec)}) if pod.key in field.pods else pod
        for pod in cluster.pods
    )
    return replace(cluster, pods=tuple(pods))


def _fields(pods: list[Pod]) -> Iterator[_Field]:
    """What the pods ask for, the same for pods that ask for the same."""
    seen: dict[tuple[str, str], tuple[set[str], SpecEdit]] = {}
    for pod in pods:
        for field, value, edit in _asked(pod):
            seen.setdefault((field, value), (set(), edit))[0].add(pod.key)
    for (field, value), (names, edit) in seen.items():
        yield _Field(frozenset(names), field, value, edit)


def _asked(pod: Pod) -> Iterator[tuple[str, str, SpecEdit]]:
    spec = pod.spec
    for constraint in spec.topology_spread_constraints:
        if constraint.when_unsatisfiable == HARD:
            value = f"{constraint.topology_key}, maxSkew {constraint.max_skew}"
            yield "spec.topologySpreadConstraints", value, partial(_unspread, key=constraint.topology_key)
    for key, wanted in spec.node_selector.items():
        yield "spec.nodeSelector", f"{key}={wanted}", partial(without_keys, keys=(key,))
    if spec.required_nodes is not None:
        yield "spec.affinity.nodeAffinity", "required", partial(_unbound, name="node_affinity")
    for name, spelling in (("pod_affinity", "podAffinity"), ("pod_anti_affinity", "podAntiAffinity")):
        side: PodAffinity | None = getattr(spec.affinity, name, None)
        if side is not None and side.required:
            value = "; ".join(
                f"{'' if t.label_selector is None else spelled(t.label_selector)} per {t.topology_key}"
                for t in side.required
            )
            yield f"spec.affinity.{spelling}", value, partial(_unbound, name=name)
    for protocol, port in sorted({(protocol, port) for _, protocol, port in spec.host_ports()}):
        edit = partial(_without_port, protocol=protocol, port=port)
        yield "spec.containers[].ports[].hostPort", f"{protocol} {port}", edit
    resources = {name for c in spec.all_containers for name in c.resources.defaulted}
    for name in sorted(resources):
        yield f"spec.containers[].resources.requests.{name}", "", partial(without_request, name=name)


def _unspread(spec: PodSpec, key: str) -> PodSpec:
    own = spec.topology_spread_constraints
    kept = tuple(item for item in own if (item.topology_key, item.when_unsatisfiable) != (key, HARD))
    return spec.model_copy(update={"topology_spread_constraints": kept})


def _without_port(spec: PodSpec, protocol: str, port: int) -> PodSpec:
    """The spec without a port of the host; with hostNetwork every container port is one."""

    def without(container: Container) -> Container:
        kept = (
            item
            for item in container.ports
            if (item.protocol, item.host_port or item.container_port) != (protocol, port)
        )
        return container.model_copy(update={"ports": tuple(kept)})

    return spec.with_containers(without)


def _unbound(spec: PodSpec, name: str) -> PodSpec:
    return spec.changed("affinity", **{name: None}) if spec.affinity else spec
