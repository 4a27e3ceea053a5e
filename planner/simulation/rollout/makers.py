"""From a workload of the manifests to the controller that rolls it out, kind by kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from models.controllers.daemons import goes_on_running, node_meant, pods_of_daemon_set
from models.controllers.jobs import pods_of_job, succeeded_of
from models.controllers.owners import ByController, is_live
from models.controllers.replicas import newest_of, stand_in_replica_set
from models.controllers.stateful import REVISION_LABEL, pods_of_stateful_set
from models.objects.annotations import DESIRED_REPLICAS, MAX_REPLICAS
from models.objects.node import Node
from models.objects.pod import Pod
from models.objects.workload import (
    DaemonSet,
    Deployment,
    Job,
    ReplicaSet,
    ReplicationController,
    StatefulSet,
)
from planner.simulation.rollout.arithmetic import Margins
from planner.simulation.rollout.controllers import ControllerRun, RemovedRun
from planner.simulation.rollout.daemon_set import DaemonPods, DaemonSetRun
from planner.simulation.rollout.deployment import DeploymentRun
from planner.simulation.rollout.job import JobRun
from planner.simulation.rollout.replica_set import PENDING, RUNNING, UNKNOWN, DeletionRank, PlainRun, Revision
from planner.simulation.rollout.slots import Slots, same_template
from planner.simulation.rollout.stateful_set import StatefulSetRun

Rolling = Deployment | StatefulSet | DaemonSet | ReplicaSet | ReplicationController | Job
Index = Mapping[str, int]

#: A place may be needed again before the pod that had it has ended.
_TURNOVER = 2


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """What the running cluster says about pods and ReplicaSets, and when it was looked at.

    Live pods on nodes that are not there are left out: the pod garbage collector deletes them.
    """

    pods: ByController[Pod]
    sets: ByController[ReplicaSet]
    now: datetime | None
    nodes: Sequence[Node]


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes the controller of a workload anew for every draw; `sets` are ReplicaSets that it will add.

    A ReplicaSet ranks its pods by how long they are ready when it takes some: so much later than now.
    """

    owner: Rolling
    run: Callable[[Index, timedelta], ControllerRun]
    sets: tuple[ReplicaSet, ...] = ()


def maker_of(item: Rolling, before: Rolling | None, known: ClusterFacts, slots: Slots) -> Maker:
    """How a workload is rolled out; `before` is what runs under its name."""
    match item:
        case Deployment():
            return _deployment(item, known, slots)
        case StatefulSet():
            return _stateful_set(item, before, known, slots)
        case DaemonSet():
            return _daemon_set(item, before, known, slots)
        case Job():
            return _job(item, known, slots)
        case _:
            return _plain(item, known, slots)


def removed(item: Rolling, known: ClusterFacts) -> Maker:
    """A workload that is deleted: its pods are told to go, whichever of its revisions they are of."""
    owners = known.sets.of(item) if isinstance(item, Deployment) else [item]
    keys = [pod.key for owner in owners for pod in known.pods.of(owner) if is_live(pod)]
    return Maker(item, lambda index, _: RemovedRun([index[key] for key in keys]))


def _plain(item: ReplicaSet | ReplicationController, known: ClusterFacts, slots: Slots) -> Maker:
    live = [pod for pod in known.pods.of(item) if is_live(pod)]
    missing = _TURNOVER * max(0, item.spec.replicas - len(live))
    keys = slots.of_template(item.spec.template, item, missing)
    found = _ReplicaSetPods(item.key, live, keys, known.now, item.spec.min_ready_seconds)
    return Maker(item, lambda index, later: PlainRun(found.replicas(item.spec.replicas, index, later)))


def _job(item: Job, known: ClusterFacts, slots: Slots) -> Maker:
    there = known.pods.of(item)
    live, succeeded = [pod for pod in there if is_live(pod)], succeeded_of(item, there)
    ending = [pod.key for pod in there if _is_ending(pod)]
    staying = [pod for pod in there if not _is_ending(pod)]
    keys = slots.take(pods_of_job(item, staying, slots.taken), item)
    found = _ReplicaSetPods(item.key, live, keys, known.now)

    def run(index: Index, later: timedelta) -> JobRun:
        return JobRun(item, found.replicas(0, index, later), succeeded, [index[key] for key in ending])

    return Maker(item, run)


@dataclass(frozen=True, slots=True)
class _ReplicaSetPods:
    """Pods that are there and pods that may come, of one ReplicaSet."""

    name: str
    live: Sequence[Pod]
    more: Sequence[str]
    now: datetime | None
    min_ready: int = 0

    def replicas(self, number: int, index: Index, later: timedelta) -> Revision:
        then = None if self.now is None else self.now + later
        slots = [index[key] for key in (*(pod.key for pod in self.live), *self.more)]
        ranks = {index[pod.key]: _rank(pod, then) for pod in self.live}
        return Revision(self.name, slots, number, ranks=ranks, min_ready=self.min_ready)


def _rank(pod: Pod, now: datetime | None) -> DeletionRank:
    created, uid = pod.metadata.creation_timestamp, _as_number(pod.metadata.uid)
    return DeletionRank(
        _phase(pod),
        pod.deletion_cost,
        _since(pod.ready_since, now),
        max(pod.restarts),
        _since(created, now),
        uid,
    )


def _phase(pod: Pod) -> int:
    """What its phase counts; a pod that has a node and tells no phase counts as running."""
    if pod.status.phase == "Pending":
        return RUNNING if pod.node_name and not pod.is_starting else PENDING
    return UNKNOWN if pod.status.phase == "Unknown" else RUNNING


def _since(time: datetime | None, now: datetime | None) -> float:
    """A time in seconds, now being 0, where both are known."""
    return 0.0 if time is None or now is None else (time - now).total_seconds()


def _as_number(uid: str) -> float:
    """A uid as a number between 0 and 1 in the same order."""
    try:
        return UUID(uid).int / 2**128
    except ValueError:
        return 0.5


def _deployment(item: Deployment, known: ClusterFacts, slots: Slots) -> Maker:
    sets = sorted(known.sets.of(item), key=lambda found: found.metadata.created)
    alike = [found for found in sets if same_template(found.spec.template, item.spec.template)]
    new = newest_of(alike) or stand_in_replica_set(item)
    if new is None:
        new, alike = sets[-1] if sets else ReplicaSet(metadata=item.metadata), sets[-1:]
    old = [found for found in sets if found.key != new.key]
    most = item.spec.replicas + Margins.of(item.spec.strategy, item.spec.replicas).surge
    live = {found.key: [p for p in known.pods.of(found) if is_live(p)] for found in (*old, new)}
    # One that is asked for none has none on the way.
    sizes = {found.key: max(most, found.spec.replicas) if found.spec.replicas else 0 for found in old}
    more = {key: size - len(live[key]) for key, size in sizes.items()}
    # One that stays has its old size until its Deployment sizes it.
    more[new.key] = _TURNOVER * max(most, new.spec.replicas)
    exists = bool(alike)
    ending = [pod.key for found in old for pod in known.pods.of(found) if _is_ending(pod)]
    members = {}
    for found in (*old, new):
        keys = slots.of_template(found.spec.template, found, max(0, more.get(found.key, 0)))
        # The ReplicaSet that stays has what its Deployment asks; the others keep what they had.
        asked = item if found is new else found
        members[found.key] = _ReplicaSetPods(
            found.key, live[found.key], keys, known.now, asked.spec.min_ready_seconds
        )

    def revision(found: ReplicaSet, index: Index, later: timedelta) -> Revision:
        size = found.spec.replicas if found.key != new.key or exists else 0
        made = members[found.key].replicas(size, index, later)
        made.desired, made.most = _annotated(found, DESIRED_REPLICAS), _annotated(found, MAX_REPLICAS)
        return made

    def run(index: Index, later: timedelta) -> DeploymentRun:
        before = [revision(found, index, later) for found in old]
        terminating = [index[key] for key in ending]
        return DeploymentRun(
            item, before, revision(new, index, later), exists=exists, terminating=terminating
        )

    return Maker(item, run, () if exists else (new,))


def _is_ending(pod: Pod) -> bool:
    return bool(pod.node_name) and pod.is_terminating and not pod.is_finished


def _annotated(found: ReplicaSet, key: str) -> int | None:
    text = found.metadata.annotations.get(key, "")
    return int(text) if text.isascii() and text.isdigit() else None


def _stateful_set(item: StatefulSet, before: Rolling | None, known: ClusterFacts, slots: Slots) -> Maker:
    there = {pod.name: pod for pod in known.pods.of(item) if is_live(pod)}
    old_ones = _of_old_revisions(item, before, there.values())
    if not _keeps_template(item, before):
        # The revision that the status tells is of the template before.
        item = item.changed("status", update_revision="")
    wanted = {pod.name: pod for pod in pods_of_stateful_set(item, (), set())}
    names = [name for name in wanted if name not in there or there[name].key in old_ones]
    fresh = dict(zip(names, slots.take((wanted[name] for name in names), item), strict=True))
    ending = [pod for pod in known.pods.of(item) if _is_ending(pod)]

    def run(index: Index, _: timedelta) -> StatefulSetRun:
        old = {_ordinal(name): index[pod.key] for name, pod in there.items()}
        new = {_ordinal(name): index[key] for name, key in fresh.items()}
        kept = {_ordinal(name): index[pod.key] for name, pod in there.items() if pod.key not in old_ones}
        terminating = {_ordinal(pod.name): index[pod.key] for pod in ending}
        return StatefulSetRun(item, old, kept | new, terminating)

    return Maker(item, run)


def _daemon_set(item: DaemonSet, before: Rolling | None, known: ClusterFacts, slots: Slots) -> Maker:
    live = [pod for pod in known.pods.of(item) if is_live(pod)]
    old_ones = _of_old_revisions(item, before, live)
    there = DaemonPods.of(live, old_ones, surges=item.surge_of(1) > 0)
    wanted = {node_meant(pod) or "": pod for pod in pods_of_daemon_set(item, known.nodes, (), set())}
    staying = {node.name for node in known.nodes if node.name not in wanted and goes_on_running(item, node)}
    # Of the newest revision there they just go on.
    current = {node: pod for node, pod in there.current.items() if node not in staying}
    surplus = [
        *there.surplus,
        *(pod for node, pod in current.items() if node in there.old.keys() - wanted.keys()),
    ]
    nodes = [node for node in wanted if node not in current]
    fresh = dict(zip(nodes, slots.take((wanted[node] for node in nodes), item), strict=True))
    ending = defaultdict[str, list[str]](list)
    for pod in filter(_is_ending, known.pods.of(item)):
        ending[pod.node_name or ""].append(pod.key)

    def run(index: Index, _: timedelta) -> DaemonSetRun:
        old = {node: index[pod.key] for node, pod in (current | {**there.old}).items()}
        kept = {node: index[pod.key] for node, pod in current.items() if node in wanted}
        new = {node: index[key] for node, key in fresh.items()}
        terminating = {node: [index[key] for key in keys] for node, keys in ending.items()}
        too_many = [index[pod.key] for pod in surplus]
        return DaemonSetRun(item, old, kept | new, terminating, sorted(staying & old.keys()), too_many)

    return Maker(item, run)


def _of_old_revisions(
    item: StatefulSet | DaemonSet, before: Rolling | None, pods: Iterable[Pod]
) -> frozenset[str]:
    """The keys of the pods that are not of the template: all of them where it changes."""
    there = [*pods]
    return outdated(item, there) if _keeps_template(item, before) else frozenset(pod.key for pod in there)


def _keeps_template(item: Rolling, before: Rolling | None) -> bool:
    return before is not None and same_template(before.spec.template, item.spec.template)


def _ordinal(name: str) -> int:
    return int(name.rpartition("-")[2])


def outdated(owner: StatefulSet | DaemonSet, pods: Sequence[Pod]) -> frozenset[str]:
    """The keys of live pods that are of another revision than the template, as far as the snapshot tells."""
    if isinstance(owner, DaemonSet) and owner.status.updated_number_scheduled == 0:
        return frozenset(pod.key for pod in pods)
    newest = owner.status.update_revision if isinstance(owner, StatefulSet) else _newest_of(owner, pods)
    return frozenset(pod.key for pod in pods if newest and _revision(pod) not in {None, newest})


def _newest_of(owner: DaemonSet, pods: Sequence[Pod]) -> str | None:
    """The revision of as many pods as the status says are updated; of several that of the youngest pod."""
    if not owner.is_rolling:
        return None
    counts = Counter(map(_revision, pods))
    likely = [pod for pod in pods if counts[_revision(pod)] == owner.status.updated_number_scheduled]
    youngest = max(likely or pods, key=lambda pod: pod.metadata.created, default=None)
    return None if youngest is None else _revision(youngest)


def _revision(pod: Pod) -> str | None:
    return pod.metadata.labels.get(REVISION_LABEL)
