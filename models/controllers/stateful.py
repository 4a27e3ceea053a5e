"""StatefulSets: numbered pods, each with claims of its own."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from models.controllers.owners import is_live
from models.controllers.templates import new_pod, stand_in_hash, stand_in_uid, usable
from models.objects.base import NamespacedObject, ObjectMeta
from models.objects.custom_workload import CloneSet
from models.objects.pod import Pod, PodSpec, PodTemplateSpec
from models.objects.storage import PersistentVolumeClaim
from models.objects.volumes import PersistentVolumeClaimSource, Volume
from models.objects.workload import StatefulSet

REVISION_LABEL = "controller-revision-hash"
_POD_NAME = "statefulset.kubernetes.io/pod-name"
_POD_INDEX = "apps.kubernetes.io/pod-index"
#: In these labels the pods of a set differ.
NUMBERED_LABELS = frozenset({_POD_NAME, _POD_INDEX})


def pods_of_stateful_set(owner: StatefulSet, pods: Sequence[Pod], taken: set[str]) -> Iterator[Pod]:
    """The missing ordinals, lowest first; one whose old pod is still there has to wait for it."""
    template = usable(owner.spec.template)
    if template is None or template.spec is None:
        return
    known, status = revision_of(pods) or f"{owner.name}-{stand_in_hash(owner, template)}", owner.status
    for ordinal in wanted_ordinals(owner, pods):
        name = f"{owner.name}-{ordinal}"
        key = f"{owner.namespace}/{name}"
        if key not in taken:
            taken.add(key)
            told = status.current_revision if is_kept(owner, ordinal) else status.update_revision
            yield pod_of_template(owner, template, name, told or known)


def wanted_ordinals(owner: StatefulSet, pods: Iterable[Pod]) -> Sequence[int]:
    """The ordinals that a set is to have, whose pods these are, in the order in which they come.

    Pods of other ordinals than it asks for change nothing: the controller makes the missing ones before it
    deletes those.  Where no controller has numbered the pods it keeps them all, and lacks the lowest others.
    """
    wanted, there = owner.spec.wanted_ordinals, _numbered_freely(owner, pods)
    if there.issubset(wanted[: len(there)]):
        return wanted
    lacking = (ordinal for ordinal in wanted if ordinal not in there)
    return [*sorted(there), *islice(lacking, len(wanted) - len(there))]


def numbered_freely(owner: StatefulSet, pods: Iterable[Pod]) -> Iterator[str]:
    """A note where pods of other ordinals than a set asks for stand for missing ones."""
    others = sorted(_numbered_freely(owner, pods).difference(owner.spec.wanted_ordinals))
    if others:
        these = f"{owner.name}-{others[0]}" + (f" and {len(others) - 1} more" if len(others) > 1 else "")
        yield (
            f"StatefulSet {owner.key} has no status, and pods of other ordinals than it asks for ({these}): "
            "they are taken for those that are missing"
        )


def _numbered_freely(owner: StatefulSet, pods: Iterable[Pod]) -> set[int]:
    """The ordinals of its live pods, if no controller has numbered them and they are not too many."""
    spec = owner.spec
    if not never_seen(owner) or spec.ordinals.start or spec.reserve_ordinals:
        return set()
    there = {number for pod in pods if is_live(pod) and (number := own_ordinal(owner, pod)) is not None}
    return there if len(there) <= spec.replicas else set()


def never_seen(owner: StatefulSet) -> bool:
    """Whether a set was never on an API server: its snapshot is generated, or made by hand."""
    return "status" not in owner.model_fields_set


def pod_of_template(owner: StatefulSet, template: PodTemplateSpec, name: str, revision: str) -> Pod:
    """The pod of an ordinal as the set makes it from its template, which is of this revision."""
    labels = {_POD_NAME: name, _POD_INDEX: name.rpartition("-")[2], REVISION_LABEL: revision}
    return new_pod(template, owner, name, labels, with_claims(template.spec, owner, name))


def next_revision(owner: StatefulSet, pod: Pod) -> str:
    """The revision of the template, where the next pod of this one's ordinal is of it and this one is not.

    `partition` keeps an ordinal at the revision before; with `OnDelete` none is kept.
    """
    running, newest = pod.metadata.labels.get(REVISION_LABEL), owner.status.update_revision
    ordinal = ordinal_of(pod)
    if not (running and newest) or running == newest or ordinal is None or is_kept(owner, ordinal):
        return ""
    return newest


def is_kept(owner: StatefulSet, ordinal: int) -> bool:
    """Whether `partition` keeps an ordinal at the revision before."""
    strategy = owner.spec.update_strategy
    first_updated = owner.spec.ordinals.start + strategy.rolling_update.partition
    return strategy.type == "RollingUpdate" and ordinal < first_updated


def set_key(pod: Pod) -> tuple[str, str] | None:
    """The namespace and name of the StatefulSet that the pod names as its controller."""
    owner = pod.metadata.controller
    return (pod.namespace, owner.name) if owner is not None and owner.kind == "StatefulSet" else None


def ordinal_of(pod: Pod) -> int | None:
    """The number at the end of the pod's name."""
    digits = pod.name.rpartition("-")[2]
    return int(digits) if digits.isascii() and digits.isdigit() else None


def own_ordinal(owner: StatefulSet, pod: Pod) -> int | None:
    """The pod's ordinal, where its name is that of a pod of the set: the controller heeds no others."""
    return ordinal_of(pod) if pod.name.rpartition("-")[0] == owner.name else None


def revision_of(pods: Sequence[Pod]) -> str | None:
    """The revision label of the youngest pod that has one."""
    labels = [pod.metadata.labels.get(REVISION_LABEL) for pod in pods]
    return next((label for label in reversed(labels) if label), None)


def claims_of(pod: Pod, workload: NamespacedObject) -> Iterator[PersistentVolumeClaim]:
    """The claims that the controllers make for a new pod, not bound to anything yet."""
    if isinstance(workload, StatefulSet | CloneSet):
        for template in workload.spec.volume_claim_templates:
            yield _claim(f"{template.name}-{pod.name}", pod, template.metadata, template)
    for volume in pod.spec.volumes:
        made_from = volume.ephemeral and volume.ephemeral.volume_claim_template
        if made_from:
            unnamed = PersistentVolumeClaim(metadata=made_from.metadata, spec=made_from.spec)
            yield _claim(f"{pod.name}-{volume.name}", pod, made_from.metadata, unnamed)


def _claim(name: str, pod: Pod, like: ObjectMeta, template: PersistentVolumeClaim) -> PersistentVolumeClaim:
    metadata = ObjectMeta(
        name=name,
        namespace=pod.namespace,
        uid=stand_in_uid("PersistentVolumeClaim", f"{pod.namespace}/{name}"),
        labels=like.labels,
        annotations=like.annotations,
    )
    return PersistentVolumeClaim(api_version="v1", metadata=metadata, spec=template.spec)


def with_claims(spec: PodSpec | None, owner: NamespacedObject, pod_name: str) -> PodSpec | None:
    """The spec whose volumes of a claim template's name are the pod's own claims."""
    if spec is None or not isinstance(owner, StatefulSet | CloneSet) or not owner.spec.volume_claim_templates:
        return spec
    claimed = tuple(
        Volume(
            name=item.name,
            persistent_volume_claim=PersistentVolumeClaimSource(claim_name=f"{item.name}-{pod_name}"),
        )
        for item in owner.spec.volume_claim_templates
    )
    names = {volume.name for volume in claimed}
    kept = tuple(volume for volume in spec.volumes if volume.name not in names)
    return spec.model_copy(update={"volumes": claimed + kept})
