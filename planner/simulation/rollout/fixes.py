"""What would let a rollout complete, or end as its constraints ask: each change tried out in every draw.

Two sources: what is known to go wrong with rollouts themselves (old pods that are counted, surge where
there is no room for it), and what `explain` finds for the pod that waits, made in the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from models import Cluster
from models.controllers.apply import with_workload
from models.controllers.daemons import node_meant
from models.controllers.reconcile import reconcile
from models.controllers.replicas import HASH_LABEL
from models.errors import InputError
from models.objects.affinity import TopologySpreadConstraint
from models.objects.node import Node
from models.objects.pod import PodSpec
from models.objects.workload import Deployment, UpdateStrategy
from models.snapshot import Snapshot
from planner.audit.spread_counts import Owners
from planner.documents.explanation import Fix, FixChange
from planner.documents.rollout import Rollout
from planner.explain.at_rest import AtRest
from planner.explain.blockers import PendingCase
from planner.explain.change import edited
from planner.explain.patches import spec_patch, wrapped
from planner.explain.report import fix_of
from planner.explain.search import FixSearch
from planner.explain.trials import changed_nodes
from planner.problem.problem import Problem
from planner.simulation.rollout.before import Before
from planner.simulation.rollout.draw import Ended, play
from planner.simulation.rollout.makers import Rolling
from planner.simulation.rollout.prepare import Prepared, prepare
from planner.simulation.rollout.report import counts_at

_HARD = "DoNotSchedule"


@dataclass(frozen=True, slots=True)
class Trial:
    """A changed manifest or cluster, and how its user makes the change."""

    cluster: Cluster
    manifests: Snapshot
    fix: Fix


def fixes_of(  # noqa: PLR0913 - what was played, what came of it, and what it is compared with
    cluster: Cluster,
    manifests: Snapshot,
    prepared: Prepared,
    draws: Sequence[Ended],
    found: Rollout,
    *,
    before: Before,
    preemption: bool,
) -> Iterator[Fix]:
    """Changes with which every draw completes and no constraint ends more broken than it was."""
    told = 0
    for trial in _trials(cluster, manifests, prepared, draws, found, preemption=preemption):
        if _works(trial, prepared, len(draws), before, preemption=preemption):
            yield trial.fix
            told += 1
        if told == prepared.effort.rollout.fixes_told:
            return


def _works(trial: Trial, asked: Prepared, draws: int, before: Before, *, preemption: bool) -> bool:
    """Whether it completes and holds, whatever is drawn."""
    try:
        prepared = prepare(trial.cluster, trial.manifests, asked.gone, asked.effort)
    except InputError:
        # The API server would refuse the change: the template of a Job that is there, for one.
        return False
    for seed in (None, *range(1, draws)):
        ended = play(prepared, seed, preemption=preemption)
        if not before.completes(ended, prepared.workloads):
            return False
        if any(before.worse(counts_at(prepared.problem, ended.simulation.scheduler.state))):
            return False
    return True


def _trials(  # noqa: PLR0913 - the same
    cluster: Cluster,
    manifests: Snapshot,
    prepared: Prepared,
    draws: Sequence[Ended],
    found: Rollout,
    *,
    preemption: bool,
) -> Iterator[Trial]:
    stuck = {(row.namespace, row.workload) for row in found.workloads if not (row.completes or row.as_before)}
    broken = {(row.namespace, row.workload) for row in found.broken}
    for owner in prepared.workloads:
        if (owner.namespace, f"{owner.kind}/{owner.name}") in stuck | broken:
            yield from _own(cluster, manifests, owner)
    yield from _together(cluster, manifests, prepared.workloads, broken)
    for place, owner in enumerate(prepared.workloads):
        if (owner.namespace, f"{owner.kind}/{owner.name}") in stuck:
            stopped = next(draw for draw in draws if not draw.completes(place))
            yield from _explained(cluster, manifests, prepared, stopped, place, preemption=preemption)


def _own(cluster: Cluster, manifests: Snapshot, owner: Rolling) -> Iterator[Trial]:
    """What is the matter with rollouts themselves."""
    counted = _counting_one_revision(owner)
    if counted is not None:
        yield Trial(cluster, _with_spec(manifests, owner, _by_revision), Fix(changes=(counted,), node=""))
    if isinstance(owner, Deployment) and owner.spec.strategy.type == "RollingUpdate":
        calm = UpdateStrategy.model_validate({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
        patch = {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}}}
        text = "let an old pod go before its replacement comes: maxSurge 0, maxUnavailable 1"
        change = _told(owner, "strategy", text, patch)
        changed = owner.changed("spec", strategy=calm)
        yield Trial(cluster, with_workload(manifests, changed), Fix(changes=(change,), node=""))


def _together(
    cluster: Cluster, manifests: Snapshot, workloads: Sequence[Rolling], broken: Set[tuple[str, str]]
) -> Iterator[Trial]:
    """All that end more broken count pods of one revision: one change does not repair several workloads."""
    changed, changes = manifests, []
    for owner in workloads:
        change = _counting_one_revision(owner)
        if change is not None and (owner.namespace, change.target) in broken:
            changed = _with_spec(changed, owner, _by_revision)
            changes.append(change.model_copy(update={"summary": f"{change.summary} in {change.target}"}))
    if len(changes) > 1:
        yield Trial(cluster, changed, Fix(changes=tuple(changes), node=""))


def _counting_one_revision(owner: Rolling) -> FixChange | None:
    """What makes hard constraints count pods of one revision; None where none counts others."""
    if not isinstance(owner, Deployment) or owner.spec.template is None or owner.spec.template.spec is None:
        return None
    spec = owner.spec.template.spec
    counted = [item.topology_key for item in spec.topology_spread_constraints if _counts_old_pods(item)]
    keys = ", ".join(dict.fromkeys(counted))
    return (
        _change(owner, _by_revision(spec), f"count only pods of one revision over {keys}")
        if counted
        else None
    )


def _counts_old_pods(constraint: TopologySpreadConstraint) -> bool:
    return constraint.when_unsatisfiable == _HARD and HASH_LABEL not in constraint.match_label_keys


def _by_revision(spec: PodSpec) -> PodSpec:
    """The spec whose hard spread constraints count only pods of the pod's own revision."""
    constraints = tuple(
        item.model_copy(update={"match_label_keys": (*item.match_label_keys, HASH_LABEL)})
        if _counts_old_pods(item)
        else item
        for item in spec.topology_spread_constraints
    )
    return spec.model_copy(update={"topology_spread_constraints": constraints})


def _change(owner: Rolling, spec: PodSpec, summary: str) -> FixChange:
    old = owner.spec.template.spec if owner.spec.template else None
    patch = wrapped(f"{owner.kind}/{owner.name}", spec_patch(old or PodSpec(), spec))
    return _told(owner, "matchLabelKeys", summary, patch)


def _told(owner: Rolling, action: str, summary: str, patch: dict[str, Any]) -> FixChange:
    target = f"{owner.kind}/{owner.name}"
    return FixChange(action=action, target=target, namespace=owner.namespace, summary=summary, patch=patch)


def _with_spec(manifests: Snapshot, owner: Rolling, edit: Callable[[PodSpec], PodSpec]) -> Snapshot:
    """The manifests with another pod spec in one workload's template."""
    template = owner.spec.template
    if template is None or template.spec is None:
        return manifests
    template = template.model_copy(update={"spec": edit(template.spec)})
    return with_workload(manifests, owner.changed("spec", template=template))


def _explained(  # noqa: PLR0913 - the same
    cluster: Cluster, manifests: Snapshot, prepared: Prepared, ended: Ended, place: int, *, preemption: bool
) -> Iterator[Trial]:
    """What explain finds for the first pod that waits where the rollout stopped."""
    mine = set(ended.runs[place].pods)
    waiting = next((pod for pod in ended.simulation.waiting if pod in mine), None)
    if waiting is None:
        return
    stopped = _cluster_of(prepared, ended)
    static = AtRest(Problem(stopped), preemption, prepared.effort.explain)
    pod = static.problem.pod_index.get(prepared.problem.pods[waiting].key)
    if pod is None or pod not in static.left:
        return
    case, owner = PendingCase.of(static, pod), prepared.workloads[place]
    for fix in FixSearch(case).run().fixes[: prepared.effort.rollout.fixes_tried]:
        if any(change.gone or change.peer is not None for change in fix.changes):
            continue
        there = sorted(stopped.nodes, key=lambda node: node.name)
        of_cluster = any(change.of_cluster for change in fix.changes)
        changed = _with_spec(manifests, owner, lambda spec, fix=fix: edited(spec, fix.changes))  # type: ignore[misc]
        told = fix_of(case, fix, Owners(stopped)).model_copy(update={"node": ""})
        around = _with_nodes(cluster, changed_nodes(there, fix.changes)) if of_cluster else cluster
        yield Trial(around, changed, told)


def _with_nodes(cluster: Cluster, nodes: Sequence[Node]) -> Cluster:
    """The cluster with other nodes, and on them what DaemonSets make there first."""
    made, known = reconcile(replace(cluster, nodes=tuple(nodes))), len(cluster.pods)
    placed = ((pod, node_meant(pod)) for pod in made.pods[known:] if not pod.refusal)
    daemons = (pod.on(node, running=True) for pod, node in placed if node)
    return replace(made, pods=(*cluster.pods, *daemons))


def _cluster_of(prepared: Prepared, ended: Ended) -> Cluster:
    problem, simulation = prepared.problem, ended.simulation
    names, node_of = problem.nodes.names, simulation.scheduler.state.node_of.tolist()
    there = []
    for number, pod in enumerate(problem.pods[: len(problem.pods) - len(prepared.doubles)]):
        if simulation.alive[number]:
            node = names[node_of[number]] if node_of[number] >= 0 else None
            there.append(pod if pod.node_name == node else pod.changed("spec", node_name=node))
    return replace(prepared.cluster, pods=tuple(there))
