"""The pods that a rollout may come to need, made beforehand: the problem is compiled once for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from models.admission.chain import Admission
from models.controllers.replicas import HASH_LABEL
from models.controllers.stateful import claims_of
from models.controllers.templates import free_names, new_pod, usable
from models.objects.base import NamespacedObject
from models.objects.pod import Pod, PodTemplateSpec
from models.objects.storage import PersistentVolumeClaim
from models.objects.workload import ReplicaSet, Workload
from models.snapshot import Snapshot

_RESTARTED = "kubectl.kubernetes.io/restartedAt"
#: No name in Kubernetes ends like this.
_MARK = "~"


class Slots:
    """Makes pods that do not exist yet, under names that are not taken."""

    def __init__(self, cluster: Snapshot) -> None:
        self._admission = Admission(cluster)
        self.notes = self._admission.notes
        self._known_claims = {claim.key for claim in cluster.persistent_volume_claims}
        self.there = frozenset(pod.key for pod in cluster.pods)
        self.taken = set(self.there)
        self.pods: list[Pod] = []
        self.claims: list[PersistentVolumeClaim] = []

    def of_template(self, template: PodTemplateSpec | None, owner: Workload, number: int) -> list[str]:
        """So many pods of a template; their keys."""
        found = usable(template)
        if found is None:
            return []
        own = owner.metadata.labels if isinstance(owner, ReplicaSet) else {}
        labels = {key: text for key, text in own.items() if key == HASH_LABEL}
        names = islice(free_names(owner.name, owner.namespace, self.taken), number)
        return self.take((new_pod(found, owner, name, labels) for name in names), owner)

    def take(self, pods: Iterable[Pod], owner: NamespacedObject) -> list[str]:
        """Let pods that a controller would make be among those that may come; their keys."""
        made = list(pods)
        for pod in made:
            self.claims += self._new_claims(claims_of(pod, owner))
        # A pod that follows one of its name is told apart from it here.
        admitted = [self._admission.admit(marked(pod) if pod.key in self.there else pod) for pod in made]
        self.pods += admitted
        return [pod.key for pod in admitted]

    def _new_claims(self, claims: Iterable[PersistentVolumeClaim]) -> Iterator[PersistentVolumeClaim]:
        for claim in claims:
            if claim.key not in self._known_claims:
                self._known_claims.add(claim.key)
                yield claim


def marked(pod: Pod) -> Pod:
    """The pod under a name that its predecessor does not have; in the cluster one follows the other."""
    return pod.changed("metadata", name=f"{pod.name}{_MARK}")


def same_template(old: PodTemplateSpec | None, new: PodTemplateSpec | None) -> bool:
    """Whether two templates make the same pods, as far as is read; the hash label is no part.

    A new one that is marked as restarted is another one, unless the old one has the very same mark.
    """
    marks = [None if item is None else item.metadata.annotations.get(_RESTARTED) for item in (old, new)]
    return _said(old) == _said(new) and marks[1] in {None, marks[0]}


def restarted(template: PodTemplateSpec) -> PodTemplateSpec:
    """The template as `kubectl rollout restart` leaves it."""
    return template.changed("metadata", annotations={**template.metadata.annotations, _RESTARTED: "now"})


def _said(template: PodTemplateSpec | None) -> Sequence[str]:
    if template is None:
        return ()
    labels = {key: text for key, text in template.metadata.labels.items() if key != HASH_LABEL}
    if template.spec is None:
        return (repr(sorted(labels.items())), "")
    # The API server fills the old field from the new one, or the other way round.
    account = {"service_account_name": template.spec.account, "service_account": ""}
    return (repr(sorted(labels.items())), template.spec.model_copy(update=account).model_dump_json())
