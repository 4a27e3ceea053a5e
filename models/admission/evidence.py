"""Running pods that are not what their template makes: something else changes pods that are created.

Mutating webhooks and policies leave no other trace that is read here.  What they do to the pods of a workload
is taken from the youngest pod that its present template has made, and done to the next one, too: containers,
requests and limits, tolerations, node selector, scheduler.  A request that the new template changes is kept.
Labels that all pods of the template have and the template has not are taken for the work of a mutating
webhook or policy where one is asked about such pods; others label pods, too.
The requests of a pod that was resized in place say nothing about those of the next one.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from models.objects.affinity import Toleration
from models.objects.base import kubernetes_name
from models.objects.containers import Container, ResourceRequirements
from models.objects.custom_workload import ARGO, KRUISE, CloneSet, Rollout
from models.objects.pod import Pod, PodSpec, PodTemplateSpec
from models.objects.quantity import format_quantity
from models.objects.workload import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet
from models.snapshot import Snapshot

_HASHED = {owner.hash_label: owner.__name__ for owner in (Deployment, Rollout)}
_REVISION = "controller-revision-hash"
#: Controllers and plugins add tolerations of these keys by rules of their own.
_OF_NODES = "node.kubernetes.io/"
#: Labels that controllers give to pods, each pod its own or all of a revision, and those of nodes.
_GIVEN = {*_HASHED, _REVISION, "pod-template-generation", "job-name", "controller-uid"}
_GIVEN_IN = {f"{owner}.kubernetes.io" for owner in ("apps", "batch", "statefulset", "topology")} | {
    KRUISE,
    ARGO,
}
_MOST_NAMES = 3
_SIDES = ("containers", "init_containers")
#: Namespace, kind and name of the workload that decides on a pod's template.
Whose = tuple[str, str, str]
Resources = Mapping[str, tuple[ResourceRequirements, ResourceRequirements]]


def workload_of(pod: Pod) -> Whose:
    """The workload of a pod; of one of a ReplicaSet its Deployment or Rollout."""
    owner = pod.metadata.controller
    if owner is None:
        return pod.namespace, "Pod", pod.name
    for label, kind in _HASHED.items() if owner.kind == "ReplicaSet" else ():
        mark = pod.metadata.labels.get(label)
        if mark and owner.name.endswith(f"-{mark}"):
            return pod.namespace, kind, owner.name.removesuffix(f"-{mark}")
    return pod.namespace, owner.kind, owner.name


def described(whose: Whose) -> str:
    """The workload in words."""
    return f"{whose[1]} {whose[0]}/{whose[2]}"


@dataclass(frozen=True, slots=True)
class Mutation:
    """What was added to a pod or changed in it, beside what is known to be."""

    added: Mapping[str, tuple[Container, ...]]
    resources: Resources
    """Of containers that ask for something else: what was expected, and what was seen."""
    tolerations: tuple[Toleration, ...]
    node_selector: Mapping[str, str]
    scheduler_name: str
    others: Mapping[str, tuple[object, object]] = field(default_factory=dict)
    """Other fields of the spec, as they were asked for and as they became."""
    labels: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        fields = self.resources, self.tolerations, self.node_selector, self.scheduler_name, self.others
        return any(fields) or bool(self.labels) or any(self.added.values())

    def __str__(self) -> str:
        return f"{'; '.join(self._parts())}; the next pod is made as they are"

    def _parts(self) -> Iterator[str]:
        yield from (f"container {item.name} is added" for side in _SIDES for item in self.added[side])
        for name, (expected, seen) in self.resources.items():
            yield from _other_requests(name, expected, seen)
            for resource, before, now in _changes(expected.limits, seen.limits):
                yield f"the {resource} limit of {name} is {now or 'none'} instead of {before or 'none'}"
        yield from (f"{item.key or 'everything'} is tolerated" for item in self.tolerations)
        yield from (f"node selector {key}={value}" for key, value in self.node_selector.items())
        if self.scheduler_name:
            yield f"scheduler {self.scheduler_name}"
        yield from (f"another {kubernetes_name(name)}" for name in self.others)
        yield from (f"label {key}={value} is added" for key, value in self.labels.items())

    def labelled(self, pod: Pod) -> Pod:
        """Another pod of the workload with the labels that are added; those of its template are kept."""
        if not self.labels:
            return pod
        metadata = pod.metadata.model_copy(update={"labels": {**self.labels, **pod.metadata.labels}})
        return pod.model_copy(update={"metadata": metadata})

    def applied(self, spec: PodSpec) -> PodSpec:
        """The same done to another pod of the workload."""
        update: dict[str, object] = {
            "tolerations": spec.tolerations + tuple(t for t in self.tolerations if t not in spec.tolerations),
            "node_selector": {**spec.node_selector, **self.node_selector},
        }
        for side in _SIDES:
            found = [self._resized(item) for item in getattr(spec, side)]
            names = {item.name for item in found}
            update[side] = (*found, *(item for item in self.added[side] if item.name not in names))
        if self.scheduler_name:
            update["scheduler_name"] = self.scheduler_name
        for name, (before, after) in self.others.items():
            if getattr(spec, name) == before:
                update[name] = after
        return spec.model_copy(update=update)

    def _resized(self, container: Container) -> Container:
        if container.name not in self.resources:
            return container
        expected, seen = self.resources[container.name]
        update = {
            side: _moved(getattr(container.resources, side), getattr(expected, side), getattr(seen, side))
            for side in ("requests", "limits")
        }
        return container.model_copy(update={"resources": container.resources.model_copy(update=update)})


def noted_as_seen(mutations: Mapping[Whose, Mutation]) -> Iterator[str]:
    """A note for every way in which running pods are not as their template has them."""
    for found, workloads in _by_words(mutations):
        whose = "templates have" if len(workloads) > 1 else "template has"
        yield f"pods of {_few(workloads)} are not as their {whose} them: {found}"


def noted_of_server(mutations: Mapping[Whose, Mutation]) -> Iterator[str]:
    """A note for every way in which the API server changes pods that were sent to it."""
    for found, workloads in _by_words(mutations):
        yield f"the API server changes pods of {_few(workloads)}: {found}"


def _by_words(mutations: Mapping[Whose, Mutation]) -> Iterator[tuple[str, list[str]]]:
    workloads: dict[str, list[str]] = defaultdict(list)
    for whose, found in mutations.items():
        workloads[str(found)].append(described(whose))
    yield from workloads.items()


def _few(workloads: Sequence[str]) -> str:
    if len(workloads) <= _MOST_NAMES:
        return " and ".join(filter(None, (", ".join(workloads[:-1]), workloads[-1])))
    return f"{len(workloads)} workloads ({', '.join(workloads[:_MOST_NAMES])}, ...)"


def _other_requests(name: str, expected: ResourceRequirements, seen: ResourceRequirements) -> Iterator[str]:
    for resource, before, now in _changes(expected.defaulted, seen.defaulted):
        yield f"{name} requests {now or 'nothing'} of {resource} instead of {before or 'nothing'}"


def _changes(expected: Mapping[str, int], seen: Mapping[str, int]) -> Iterator[tuple[str, str, str]]:
    """Every resource of which the amounts differ, with both in words, empty where there is none."""
    for name in sorted({*expected, *seen}):
        if expected.get(name) != seen.get(name):
            before, now = (format_quantity(side[name]) if name in side else "" for side in (expected, seen))
            yield name, before, now


def _moved(own: Mapping[str, int], expected: Mapping[str, int], seen: Mapping[str, int]) -> dict[str, int]:
    """The amounts as seen, but for those that the template has changed."""
    found = dict(own)
    for name in {*expected, *seen}:
        if own.get(name) == expected.get(name):
            found.pop(name, None)
            if name in seen:
                found[name] = seen[name]
    return found


def mutation(
    expected: PodSpec, seen: PodSpec, labels: Mapping[str, str], *, requests: bool
) -> Mutation | None:
    """How a pod differs from what was expected, `labels` added; without `requests` these are not compared."""
    if not labels and expected.containers is seen.containers and expected.tolerations is seen.tolerations:
        return None
    known = {item.name: item for side in _SIDES for item in getattr(expected, side)}
    now = {item.name: item for side in _SIDES for item in getattr(seen, side)}
    both = known.keys() & now.keys()
    found = Mutation(
        {side: tuple(c for c in getattr(seen, side) if c.name not in known) for side in _SIDES},
        {
            name: (known[name].resources, now[name].resources)
            for name in sorted(both if requests else ())
            if _asked(known[name].resources) != _asked(now[name].resources)
        },
        tuple(
            item
            for item in seen.tolerations
            if item not in expected.tolerations and not item.key.startswith(_OF_NODES)
        ),
        dict(seen.node_selector.items() - expected.node_selector.items()),
        "" if seen.scheduler_name == expected.scheduler_name else seen.scheduler_name,
        labels=labels,
    )
    return found or None


def _asked(resources: ResourceRequirements) -> object:
    return resources.defaulted, resources.limits


def resized_to(expected: PodSpec, pod: Pod) -> str:
    """In words what the containers of a resized pod request instead of what the next pod will."""
    known = {item.name: item.resources for side in _SIDES for item in getattr(expected, side)}
    now = (item for side in _SIDES for item in getattr(pod.spec, side) if item.name in known)
    return "; ".join(
        words for item in now for words in _other_requests(item.name, known[item.name], item.resources)
    )


def same_requests(one: PodSpec, other: PodSpec) -> bool:
    """Whether two specs ask for the same of a node."""
    return _requests(one) == _requests(other)


def _requests(spec: PodSpec) -> object:
    asked = [{item.name: item.resources.defaulted for item in getattr(spec, side)} for side in _SIDES]
    return asked, spec.overhead, spec.resources


@dataclass(slots=True)
class Example:
    """The spec of a workload's template, and pods that it has made."""

    template: PodSpec
    labels: dict[str, str]
    """Those that all of these pods have, and the template has not."""
    pod: Pod
    """The youngest; where some are known not to be resized in place, the youngest of these."""
    is_resized: bool
    """Whether that one may be."""
    resized: list[Pod] = field(default_factory=list)
    """All that may be."""

    def add(self, pod: Pod, *, is_resized: bool) -> None:
        """Take another pod of the template into account."""
        if self.labels:
            self.labels = dict(self.labels.items() & pod.metadata.labels.items())
        if is_resized:
            self.resized.append(pod)
        if (not is_resized, pod.metadata.created) > (not self.is_resized, self.pod.metadata.created):
            self.pod, self.is_resized = pod, is_resized


def examples(cluster: Snapshot) -> dict[Whose, Example]:
    """For every workload its template's spec, and what pods this template has made."""
    templates = dict(_templates(cluster))
    found: dict[Whose, Example] = {}
    for pod in cluster.pods:
        owner = pod.metadata.controller
        if owner is None or pod.metadata.creation_timestamp is None or pod.is_finished:
            continue
        template, revision = templates.get((pod.namespace, owner.kind, owner.name), (None, ""))
        spec = None if template is None else template.spec
        if template is None or spec is None or (revision and pod.metadata.labels.get(_REVISION) != revision):
            continue
        whose, is_resized = workload_of(pod), pod.may_be_resized(spec)
        known = found.get(whose)
        if known is None:
            labels = added_labels(template.metadata.labels, pod.metadata.labels)
            found[whose] = Example(spec, labels, pod, is_resized, [pod] if is_resized else [])
        else:
            known.add(pod, is_resized=is_resized)
    return found


def added_labels(expected: Mapping[str, str], seen: Mapping[str, str]) -> dict[str, str]:
    """The labels that a pod has beside its template's, but for those of controllers and nodes."""
    more = sorted(seen.keys() - expected.keys() - _GIVEN)
    return {key: seen[key] for key in more if key.partition("/")[0] not in _GIVEN_IN}


def _templates(cluster: Snapshot) -> Iterator[tuple[Whose, tuple[PodTemplateSpec, str]]]:
    """By controller the template of its pods, and the revision that tells these from older ones.

    Left out is a template of which it is not known which pods are made from it.
    """
    plain: list[tuple[ReplicaSet | Job | StatefulSet | DaemonSet, str]] = []
    plain += [(item, "") for item in cluster.replica_sets if not isinstance(item, CloneSet)]
    plain += [(item, "") for item in cluster.jobs]
    plain += [
        (item, item.status.update_revision)
        for item in (*cluster.stateful_sets, *cluster.replica_sets)
        if isinstance(item, StatefulSet | CloneSet) and item.status.update_revision
    ]
    plain += [(item, "") for item in cluster.daemon_sets if not item.is_rolling]
    for owner, revision in plain:
        if owner.spec.template is not None and owner.spec.template.spec is not None:
            yield (owner.namespace, owner.kind, owner.name), (owner.spec.template, revision)
