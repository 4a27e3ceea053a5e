"""A workload's template -> a new pod, with the labels, owner and defaults that it would get."""

import hashlib
import uuid
from collections.abc import Iterator, Mapping

from models.admission.pods import add_default_tolerations, merge_label_keys
from models.objects.affinity import Affinity, NodeAffinity
from models.objects.base import NamespacedObject, OwnerReference
from models.objects.containers import Container
from models.objects.custom_workload import is_custom
from models.objects.pod import Pod, PodMeta, PodSpec, PodTemplateSpec

# Kubernetes leaves out vowels and what looks like another sign.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 10
_STAND_IN = uuid.UUID("6f1b7a52-6a0c-4f0e-9a53-0d6f5a2c9b11")


def usable(template: PodTemplateSpec | None) -> PodTemplateSpec | None:
    """The template if pods can be made from it: it needs a spec with containers."""
    return template if template and template.spec and template.spec.containers else None


def new_pod(
    template: PodTemplateSpec,
    owner: NamespacedObject,
    name: str,
    labels: Mapping[str, str] | None = None,
    spec: PodSpec | None = None,
) -> Pod:
    """A Pending pod from the template, or with another spec in place of the template's."""
    metadata = PodMeta(
        name=name,
        namespace=owner.namespace,
        uid=stand_in_uid("Pod", f"{owner.namespace}/{name}"),
        labels={**template.metadata.labels, **(labels or {})},
        annotations=template.metadata.annotations,
        owner_references=(owned_by(owner),),
    )
    chosen = spec or template.spec or PodSpec()
    pod = Pod(api_version="v1", metadata=metadata, spec=add_default_tolerations(chosen))
    return merge_label_keys(pod)


def made_again(pod: Pod, template: PodSpec) -> PodSpec:
    """The spec of the next pod in the place of one, before it has a node unless its template names that.

    It is as the old one was, with what admission added.  Gates and node affinity are the template's:
    they may have been taken off and narrowed while a gate held the pod, or a pin its template.  So are
    the requests of a pod that was resized in place, before admission adds to them.
    """
    old = with_requests_of(template, pod.spec) if pod.may_be_resized(template) else pod.spec
    affinity = old.affinity
    if old.node_affinity != template.node_affinity:
        affinity = with_node_affinity(affinity, template.node_affinity)
    node, gates = template.node_name or None, template.scheduling_gates
    return old.model_copy(update={"node_name": node, "scheduling_gates": gates, "affinity": affinity})


def with_node_affinity(affinity: Affinity | None, node_affinity: NodeAffinity | None) -> Affinity | None:
    """The affinity with another one for nodes; nothing where nothing is left."""
    changed = (affinity or Affinity()).model_copy(update={"node_affinity": node_affinity})
    return None if changed == Affinity() else changed


def with_requests_of(template: PodSpec, old: PodSpec) -> PodSpec:
    """The spec with the resources that its containers have in a template; others keep theirs."""
    known = {item.name: item for item in template.all_containers}

    def sized(container: Container) -> Container:
        found = known.get(container.name, container).resources
        defaulted = found.model_copy(update={"requests": found.defaulted})
        return container.model_copy(update={"resources": defaulted})

    return old.with_containers(sized).model_copy(update={"resources": template.resources})


def another(pod: Pod, name: str) -> Pod:
    """A pod like one that was just made, under another name."""
    uid = stand_in_uid("Pod", f"{pod.namespace}/{name}")
    metadata = pod.metadata.model_copy(update={"name": name, "uid": uid})
    return pod.model_copy(update={"metadata": metadata})


def owned_by(owner: NamespacedObject) -> OwnerReference:
    """The reference with which an object names the controller that recreates it."""
    return OwnerReference(
        api_version=owner.api_version,
        kind=owner.kind,
        name=owner.name,
        uid=owner.metadata.uid,
        controller=True,
    )


def free_names(prefix: str, namespace: str, taken: set[str]) -> Iterator[str]:
    """`prefix-1`, `prefix-2`, ...: names that no pod of the namespace has; each becomes taken."""
    number = 0
    while True:
        number += 1
        name = f"{prefix}-{number}"
        if f"{namespace}/{name}" not in taken:
            taken.add(f"{namespace}/{name}")
            yield name


def stand_in_hash(owner: NamespacedObject, template: PodTemplateSpec) -> str:
    """What stands for the hash that a controller would compute from a template."""
    # A Deployment on its way to become a Rollout has one of its name beside it.
    identity = f"{owner.kind} {owner.key}" if is_custom(owner) else owner.key
    digest = hashlib.sha256(f"{identity} {template!r}".encode()).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:_HASH_LENGTH])


def stand_in_uid(kind: str, key: str) -> str:
    """A uid for an object that the cluster does not know yet, always the same."""
    # What `uuid.uuid5` gives, in a fraction of the time.
    digest = bytearray(
        hashlib.sha1(_STAND_IN.bytes + f"{kind}/{key}".encode(), usedforsecurity=False).digest()
    )
    digest[6], digest[8] = digest[6] & 0x0F | 0x50, digest[8] & 0x3F | 0x80
    text = digest[:16].hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_stand_in(pod: Pod) -> bool:
    """Whether the pod was made here, where a controller would make it."""
    return pod.metadata.uid == stand_in_uid("Pod", pod.key)
