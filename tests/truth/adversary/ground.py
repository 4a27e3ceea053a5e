"""A cluster with the replacements of planned moves: where pods are, what the scheduler does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from models import Cluster
from models.objects.affinity import Affinity
from models.objects.base import ObjectMeta
from models.objects.pod import Pod
from models.objects.volumes import Volume
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.truth import manifests
from tests.truth.adversary.moves import PlannedMove, narrowed
from tests.truth.digits import Digits, whereabouts
from tests.truth.manifests import Object
from tests.truth.spread import Spread

_LEFT_AT = datetime(2026, 1, 2, tzinfo=UTC)


@dataclass(frozen=True)
class Answer:
    """What the scheduler says about a pod: where it may go, and what it evicts where it finds no node."""

    nodes: frozenset[str]
    victims: tuple[str, ...] = ()
    nominated: str | None = None


class Ground:
    """The snapshot with two pods more for every move: its replacement, and itself as it terminates."""

    def __init__(
        self, objects: Sequence[Object], moves: Iterable[PlannedMove], cordoned: Iterable[str] = ()
    ) -> None:
        moves = list(moves)
        whole = [*with_cordons(objects, frozenset(cordoned)), *_fresh_claims(objects, moves)]
        cluster = Cluster.from_objects(whole)
        by_key = {pod.key: pod for pod in cluster.pods}
        more = [pod for move in moves for pod in (_replacement(by_key, move), _leaving(by_key, move))]
        problem = Problem(replace(cluster, pods=(*cluster.pods, *more)))
        self._scheduler = Scheduler(problem)
        self._problem, self._state = problem, self._scheduler.state
        for pod in more:
            if self._state.node_of[problem.pod_index[pod.key]] >= 0:
                self._state.unbind(problem.pod_index[pod.key])
        self._mark = self._state.mark()
        self._known: dict[tuple[object, ...], Answer] = {}

    def answer(self, positions: Mapping[str, str | None], move: PlannedMove, nominated: str | None) -> Answer:
        """What the scheduler says about a replacement with these pods elsewhere than in the snapshot."""
        key = (move.number, nominated, tuple(positions.items()))
        if key not in self._known:
            self._place(positions)
            self._known[key] = self._answer(move, nominated)
        return self._known[key]

    def _place(self, positions: Mapping[str, str | None]) -> None:
        self._state.rollback(self._mark)
        for name in positions:
            pod = self._problem.pod_index[name]
            if self._state.node_of[pod] >= 0:
                self._state.unbind(pod)
        for name, node in positions.items():
            if node is not None:
                self._state.bind(self._problem.pod_index[name], self._problem.nodes.index[node])

    def _answer(self, move: PlannedMove, nominated: str | None) -> Answer:
        pod = self._problem.pod_index[replacement_of(move)]
        framework = self._scheduler.framework_of(pod)
        plan = framework.plan(self._problem.template(pod))
        feasible = framework.feasible(plan)
        mask = feasible.mask
        names = self._problem.nodes.names
        if not feasible.count:
            return self._without_node(pod)
        if nominated is not None and mask[self._problem.nodes.index[nominated]]:
            return Answer(frozenset((nominated,)))
        if move.choice == "best" and feasible.count > 1:
            totals = framework.totals(plan, feasible)
            mask = mask & (totals == totals[mask].max())
        return Answer(frozenset(names[node] for node in np.flatnonzero(mask).tolist()))

    def _without_node(self, pod: int) -> Answer:
        """Preemption, tried and taken back."""
        mark = self._state.mark()
        decision = self._scheduler.decide(pod)
        self._state.rollback(mark)
        self._scheduler.forget_nominations([pod])
        names = self._problem.nodes.names
        return Answer(
            frozenset(),
            tuple(self._problem.pods[victim].key for victim in decision.victims),
            None if decision.nominated is None else names[decision.nominated],
        )


class _Constraints(Digits):
    """A cluster with its spread constraints alone."""

    def __init__(self, objects: Iterable[Object]) -> None:
        super().__init__(objects)
        self.rows = list(Spread(self).rows())


class Excess:
    """What each hard, and each soft, constraint has too much, counted by the search."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._tiny = _Constraints(objects)
        self._kind_of, node_of = whereabouts(self._tiny)
        self._nodes = {name: number for number, name in enumerate(self._tiny.names)}
        self._at = {pod: self._tiny.names[node] for pod, node in node_of.items()}
        self._known: dict[tuple[tuple[str, str | None], ...], tuple[int, ...]] = {}

    def hard(self, positions: Mapping[str, str | None]) -> tuple[int, ...]:
        """Constraint by constraint with pods of the snapshot at these nodes, None for nowhere."""
        key = tuple(positions.items())
        found = self._known.get(key)
        if found is None:
            state = self._state(positions)
            found = self._known[key] = tuple(row.excess(state) for row in self._tiny.rows if row.hard)
        return found

    def soft(self, positions: Mapping[str, str | None]) -> int:
        """All soft constraints together."""
        state = self._state(positions)
        return sum(row.excess(state) for row in self._tiny.rows if not row.hard)

    def names(self) -> list[str]:
        """The hard constraints, as the rows of `check`."""
        return [f"{row.namespace} {'/'.join(row.owner)}" for row in self._tiny.rows if row.hard]

    def _state(self, positions: Mapping[str, str | None]) -> int:
        state = self._tiny.start
        for pod, node in positions.items():
            delta = self._tiny.delta[self._kind_of[pod]]
            state -= delta[self._nodes[self._at[pod]]]
            if node is not None:
                state += delta[self._nodes[node]]
        return state


def replacement_of(move: PlannedMove) -> str:
    """The name under which the replacement is known here."""
    return f"{move.pod}.{move.number}.new"


def leaving_of(move: PlannedMove) -> str:
    """The name of the pod that goes, while it terminates."""
    return f"{move.pod}.{move.number}.old"


def _replacement(pods: Mapping[str, Pod], move: PlannedMove) -> Pod:
    """A pod like the one that goes, without a node; narrowed to the pin where there is one."""
    pod = pods[move.pod]
    volumes = _claimed(pod, replacement_of(move).partition("/")[2])
    spec = pod.spec.model_copy(update={"node_name": None, "volumes": volumes})
    if move.pin is not None:
        whole = {} if spec.affinity is None else spec.affinity.model_dump(mode="json", by_alias=True)
        held = narrowed({"affinity": whole}, move.pin)["affinity"]
        spec = spec.model_copy(update={"affinity": Affinity.model_validate(held)})
    status = pod.status.model_copy(update={"phase": "Pending", "conditions": ()})
    return pod.model_copy(
        update={"metadata": _named(pod, replacement_of(move)), "spec": spec, "status": status}
    )


def _leaving(pods: Mapping[str, Pod], move: PlannedMove) -> Pod:
    pod = pods[move.pod]
    metadata = _named(pod, leaving_of(move)).model_copy(update={"deletion_timestamp": _LEFT_AT})
    spec = pod.spec.model_copy(update={"volumes": _claimed(pod, pod.name)})
    return pod.model_copy(update={"metadata": metadata, "spec": spec})


def _claimed(pod: Pod, name: str) -> tuple[Volume, ...]:
    """A pod's volumes with the claims that are made for ephemeral ones of a pod of this name."""
    return tuple(
        volume
        if volume.ephemeral is None
        else Volume.model_validate(
            {"name": volume.name, "persistentVolumeClaim": {"claimName": f"{name}-{volume.name}"}}
        )
        for volume in pod.spec.volumes
    )


def _fresh_claims(objects: Iterable[Object], moves: Sequence[PlannedMove]) -> Iterator[Object]:
    """The claims that are made for the ephemeral volumes of replacements: bound to nothing so far."""
    pods = {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": item
        for item in objects
        if item["kind"] == "Pod"
    }
    for move in moves:
        space, _, name = replacement_of(move).partition("/")
        for volume in pods[move.pod]["spec"].get("volumes") or () if move.pod in pods else ():
            if "ephemeral" in volume:
                yield {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": f"{name}-{volume['name']}", "namespace": space},
                    "spec": volume["ephemeral"]["volumeClaimTemplate"]["spec"],
                    "status": {"phase": "Pending"},
                }


def _named(pod: Pod, key: str) -> ObjectMeta:
    return pod.metadata.model_copy(update={"name": key.partition("/")[2]})


def with_cordons(objects: Sequence[Object], names: frozenset[str]) -> list[Object]:
    """The same with some nodes cordoned."""
    return [
        {**item, "spec": _closed(item.get("spec") or {})}
        if item["kind"] == "Node" and item["metadata"]["name"] in names
        else item
        for item in objects
    ]


def _closed(spec: Object) -> Object:
    """Closed, with the taint that the node controller adds."""
    return {**spec, "unschedulable": True, "taints": [*(spec.get("taints") or ()), manifests.CORDON]}
