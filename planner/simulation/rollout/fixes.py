"""What would let a rollout complete, or end as its constraints ask: each change tried out in every draw.

Two sources: what is known to go wrong with rollouts themselves (old pods that are counted, surge where
there is no room for it), and what `explain` finds for the pod that waits, made in the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
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
from planner.simulation.rollout.before import Before, name_of
from planner.simulation.rollout.draw import RolloutDraw, play
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


@dataclass(frozen=True, slots=True)
class RolloutFixes:
    """Changes to what was played, each tried out in every draw."""

    cluster: Cluster
    manifests: Snapshot
    prepared: Prepared
    draws: Sequence[RolloutDraw]
    found: Rollout
    before: Before
    preemption: bool

    def helpful(self) -> Iterator[Fix]:
        """Those with which every draw completes and no constraint ends more broken than it was."""
        helpful = (trial.fix for trial in self._trials() if self._works(trial))
        return islice(helpful, self.prepared.effort.rollout.fixes_told)

    def _works(self, trial: Trial) -> bool:
        """Whether it completes and holds, whatever is drawn."""
        try:
            prepared = prepare(trial.cluster, trial.manifests, self.prepared.gone, self.prepared.effort)
        except InputError:
            # The API server would refuse the change: the template of a Job that is there, for one.
            return False
        for seed in (None, *range(1, len(self.draws))):
            draw = play(prepared, seed, preemption=self.preemption)
            if not self.before.completes(draw, prepared.workloads):
                return False
            if any(self.before.worse(counts_at(prepared.problem, draw.simulation.scheduler.state))):
                return False
        return True

    def _trials(self) -> Iterator[Trial]:
        rows, owners = self.found.workloads, self.prepared.workloads
        stuck = {(row.namespace, row.workload) for row in rows if not (row.completes or row.as_before)}
        broken = {(row.namespace, row.workload) for row in self.found.broken}
        for owner in owners:
            if name_of(owner) in stuck | broken:
                yield from self._own(owner)
        yield from self._together(broken)
        for place, owner in enumerate(owners):
            if name_of(owner) in stuck:
                yield from self._explained(place)

    def _own(self, owner: Rolling) -> Iterator[Trial]:
        """What is the matter with rollouts themselves."""
        counted = _counting_one_revision(owner)
        if counted is not None:
            changed = _with_spec(self.manifests, owner, _by_revision)
            yield Trial(self.cluster, changed, Fix(changes=(counted,), node=""))
        if isinstance(owner, Deployment) and owner.spec.strategy.type == "RollingUpdate":
            calm = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
            text = "let an old pod go before its replacement comes: maxSurge 0, maxUnavailable 1"
            change = _told(owner, "strategy", text, {"spec": {"strategy": calm}})
            slower = owner.changed("spec", strategy=UpdateStrategy.model_validate(calm))
            yield Trial(self.cluster, with_workload(self.manifests, slower), Fix(changes=(change,), node=""))

    def _together(self, broken: Set[tuple[str, str]]) -> Iterator[Trial]:
        """All that end more broken count pods of one revision: a change repairs one workload alone."""
        changed, changes = self.manifests, []
        for owner in self.prepared.workloads:
            change = _counting_one_revision(owner)
            if change is not None and name_of(owner) in broken:
                changed = _with_spec(changed, owner, _by_revision)
                changes.append(change.model_copy(update={"summary": f"{change.summary} in {change.target}"}))
        if len(changes) > 1:
            yield Trial(self.cluster, changed, Fix(changes=tuple(changes), node=""))

    def _explained(self, place: int) -> Iterator[Trial]:
        """What explain finds for the first pod of a workload that waits where its rollout stopped."""
        prepared, draw = self.prepared, next(draw for draw in self.draws if not draw.completes(place))
        mine = set(draw.runs[place].pods)
        waiting = next((pod for pod in draw.simulation.waiting if pod in mine), None)
        if waiting is None:
            return
        stopped = _cluster_of(prepared, draw)
        static = AtRest(Problem(stopped), self.preemption, prepared.effort.explain)
        pod = static.problem.pod_index.get(prepared.problem.pods[waiting].key)
        if pod is None or pod not in static.left:
            return
        case, there = PendingCase.of(static, pod), sorted(stopped.nodes, key=lambda node: node.name)
        for fix in FixSearch(case).run().fixes[: prepared.effort.rollout.fixes_tried]:
            if any(change.gone or change.peer is not None for change in fix.changes):
                continue
            changed = _with_spec(
                self.manifests, prepared.workloads[place], partial(edited, candidate=fix.changes)
            )
            around = self.cluster
            if any(change.of_cluster for change in fix.changes):
                around = _with_nodes(around, changed_nodes(there, fix.changes))
            told = fix_of(case, fix, Owners(stopped)).model_copy(update={"node": ""})
            yield Trial(around, changed, told)


def _counting_one_revision(owner: Rolling) -> FixChange | None:
    """What makes hard constraints count pods of one revision; None where none counts others."""
    if not isinstance(owner, Deployment) or owner.spec.template is None or owner.spec.template.spec is None:
        return None
    spec = owner.spec.template.spec
    counted = [item.topology_key for item in spec.topology_spread_constraints if _counts_old_pods(item)]
    if not counted:
        return None
    patch = wrapped(name_of(owner)[1], spec_patch(spec, _by_revision(spec)))
    text = f"count only pods of one revision over {', '.join(dict.fromkeys(counted))}"
    return _told(owner, "matchLabelKeys", text, patch)


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


def _told(owner: Rolling, action: str, summary: str, patch: dict[str, Any]) -> FixChange:
    namespace, target = name_of(owner)
    return FixChange(action=action, target=target, namespace=namespace, summary=summary, patch=patch)


def _with_spec(manifests: Snapshot, owner: Rolling, edit: Callable[[PodSpec], PodSpec]) -> Snapshot:
    """The manifests with another pod spec in one workload's template."""
    template = owner.spec.template
    if template is None or template.spec is None:
        return manifests
    template = template.model_copy(update={"spec": edit(template.spec)})
    return with_workload(manifests, owner.changed("spec", template=template))


def _with_nodes(cluster: Cluster, nodes: Sequence[Node]) -> Cluster:
    """The cluster with other nodes, and on them what DaemonSets make there first."""
    made, known = reconcile(replace(cluster, nodes=tuple(nodes))), len(cluster.pods)
    placed = ((pod, node_meant(pod)) for pod in made.pods[known:] if not pod.refusal)
    daemons = (pod.on(node, running=True) for pod, node in placed if node)
    return replace(made, pods=(*cluster.pods, *daemons))


def _cluster_of(prepared: Prepared, draw: RolloutDraw) -> Cluster:
    problem, simulation = prepared.problem, draw.simulation
    names, node_of = problem.nodes.names, simulation.scheduler.state.node_of.tolist()
    there = []
    for number, pod in enumerate(problem.pods[: len(problem.pods) - len(prepared.doubles)]):
        if simulation.alive[number]:
            node = names[node_of[number]] if node_of[number] >= 0 else None
            there.append(pod if pod.node_name == node else pod.changed("spec", node_name=node))
    return replace(prepared.cluster, pods=tuple(there))
