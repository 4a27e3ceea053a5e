"""What controllers make of a changed cluster: what is lacking comes, and what went comes back."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from models.admission.chain import Admission
from models.collector import collector_paused
from models.controllers.expand import NewPod, expand, new_claims
from models.controllers.jobs import index_of
from models.controllers.owners import Workloads, is_live
from models.controllers.stateful import next_revision
from models.controllers.templates import free_names, made_again, stand_in_uid, usable
from models.objects.annotations import DELETION_COST
from models.objects.base import NamespacedObject
from models.objects.pod import Pod, PodSpec, PodStatus
from models.objects.workload import DaemonSet, Job, StatefulSet, Workload
from models.snapshot import Snapshot

_S = TypeVar("_S", bound=Snapshot)

#: The status of a pod that was made just now.
_NEW = PodStatus()


def reconcile(cluster: _S, gone: Iterable[Pod] = ()) -> _S:
    """The cluster with the pods that its controllers make next.

    `gone` are pods that have just left it: as many of them as their controllers want come back, as
    they were, and not as the template has them. What admission added to them would be added again.
    Gates and node affinity, which may have changed since, are the template's, and so are the requests of
    pods that were resized in place. What a StatefulSet makes from a newer revision is as its template has it.
    """
    with collector_paused():
        added = expand(cluster)
        returning = _Returning(cluster, gone)
        pods = [returning.instead_of(new) for new in added.pods]
        pods += returning.of_unknown_workloads(pods)
        return replace(
            cluster,
            pods=cluster.pods + tuple(map(Admission(cluster).admit, (new.pod for new in pods))),
            replica_sets=cluster.replica_sets + added.replica_sets,
            persistent_volume_claims=cluster.persistent_volume_claims + tuple(new_claims(cluster, pods)),
        )


def workloads_of(cluster: Snapshot) -> Workloads:
    """Whatever in the cluster makes pods."""
    return Workloads(
        (
            *cluster.deployments,
            *cluster.replica_sets,
            *cluster.replication_controllers,
            *cluster.stateful_sets,
            *cluster.daemon_sets,
            *cluster.jobs,
        )
    )


class _Returning:
    """Pods that have left, each to be made again once at most."""

    def __init__(self, cluster: Snapshot, gone: Iterable[Pod]) -> None:
        self._workloads = workloads_of(cluster)
        self._taken = {pod.key for pod in cluster.pods}
        self._waiting: dict[object, deque[Pod]] = defaultdict(deque)
        self._strangers: list[Pod] = []
        self._names: dict[tuple[str, str], Iterator[str]] = {}
        self._specs: dict[object, PodSpec] = {}
        self._deciding: dict[object, Workload | None] = {}
        for pod in gone:
            workload = self._decides_on(pod)
            if workload is not None:
                self._waiting[_place(pod, workload)].append(pod)
            elif pod.metadata.controller is not None and is_live(pod):
                self._strangers.append(pod)

    def instead_of(self, new: NewPod) -> NewPod:
        """The pod that left for which the new one is made; the new one itself where there is none."""
        left = self._waiting.get(_place(new.pod, new.workload))
        if not left or isinstance(new.workload, DaemonSet) or _is_outdated(left[0], new.workload):
            self._taken.add(new.pod.key)
            return new
        old = left.popleft()
        name = new.pod.name if _same_owner(old, new.pod) else self._name(old)
        self._taken.add(f"{old.namespace}/{name}")
        uid = new.pod.metadata.uid if name == new.pod.name else stand_in_uid("Pod", f"{old.namespace}/{name}")
        return NewPod(_again(old, name, uid, self._spec_of(old, new.pod.spec)), new.workload)

    def of_unknown_workloads(self, made: Iterable[NewPod]) -> Iterator[NewPod]:
        """The pods whose workload the snapshot lacks: it is taken to want them back."""
        self._taken.update(new.pod.key for new in made)
        for old in self._strangers:
            name = self._name(old)
            uid = stand_in_uid("Pod", f"{old.namespace}/{name}")
            pod = _again(old, name, uid, self._spec_of(old, None))
            yield NewPod(pod, self._workloads.controller_of(old) or pod)

    def _spec_of(self, old: Pod, template: PodSpec | None) -> PodSpec:
        """The spec before the pod had a node; pods that share all its parts share the whole."""
        parts = tuple(map(id, {**old.spec.__dict__, "node_name": None}.values()))
        of_template: object = None
        if template is not None:
            resized = id(template.containers) if old.may_be_resized(template) else None
            of_template = template.node_name, template.scheduling_gates, id(template.affinity), resized
        found = self._specs.get((of_template, parts))
        if found is None:
            ungated = old.spec.model_copy(update={"scheduling_gates": (), "node_name": None})
            found = self._specs[of_template, parts] = made_again(old, template or ungated)
        return found

    def _decides_on(self, pod: Pod) -> Workload | None:
        """The workload in the snapshot that decides on the pod's return: it needs a template for that."""
        owner = pod.metadata.controller
        whose = None if owner is None else (pod.namespace, owner.kind, owner.name, owner.uid)
        if whose not in self._deciding:
            workload, below = self._workloads.above(pod), self._workloads.controller_of(pod)
            makes = any(item is not None and usable(item.spec.template) for item in (workload, below))
            self._deciding[whose] = workload if makes else None
        return self._deciding[whose]

    def _name(self, old: Pod) -> str:
        owner = old.metadata.controller
        if owner is None or owner.kind == "StatefulSet":
            return old.name
        place = (old.namespace, owner.name)
        names = self._names.setdefault(place, free_names(owner.name, old.namespace, self._taken))
        return next(names)


def _place(pod: Pod, workload: NamespacedObject) -> object:
    """Equal for pods of a workload that can stand for each other."""
    where: object = None
    if isinstance(workload, StatefulSet):
        where = pod.name
    elif isinstance(workload, Job) and workload.spec.completion_mode == "Indexed":
        where = index_of(pod)
    return workload.kind, workload.key, where


def _is_outdated(old: Pod, workload: NamespacedObject) -> bool:
    return isinstance(workload, StatefulSet) and bool(next_revision(workload, old))


def _same_owner(one: Pod, other: Pod) -> bool:
    first, second = one.metadata.controller, other.metadata.controller
    return first is not None and second is not None and first.name == second.name


def _again(old: Pod, name: str, uid: str, spec: PodSpec) -> Pod:
    """The pod as it is made anew: without a time, a status, or what was noted on the old one alone."""
    annotations = old.metadata.annotations
    if DELETION_COST in annotations:
        annotations = {key: text for key, text in annotations.items() if key != DELETION_COST}
    metadata = old.metadata.model_copy(
        update={
            "name": name,
            "uid": uid,
            "annotations": annotations,
            "creation_timestamp": None,
            "generation": 0,
            "deletion_timestamp": None,
        }
    )
    return old.model_copy(update={"metadata": metadata, "spec": spec, "status": _NEW})
