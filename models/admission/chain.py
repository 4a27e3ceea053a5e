"""The admission plugins that change or refuse a new pod, in the order of the API server, without quotas.

LimitRanger's defaults, the namespace's node selector and tolerations, Priority, RuntimeClass, and what
mutating admission was seen to do; then everything is checked.
DefaultTolerationSeconds is done where pods are made.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from models.admission.difference import difference
from models.admission.evidence import (
    Example,
    Mutation,
    Whose,
    described,
    examples,
    mutation,
    noted_as_seen,
    noted_of_server,
    resized_to,
    workload_of,
)
from models.admission.limits import defaulted, invalid, out_of_bounds
from models.admission.namespaces import shown_selectors, shown_tolerations
from models.admission.pod_security import violations
from models.admission.pods import Priorities, add_default_tolerations, merge_label_keys
from models.admission.policies import checks_in_force, labels_of_namespace
from models.admission.runtime import with_runtime
from models.objects.admitted import AdmittedTemplate
from models.objects.base import LONG_AGO
from models.objects.pod import Pod, PodCondition, PodSpec
from models.objects.policy import LimitRangeItem, RuntimeClass
from models.objects.workload import ReplicaSet, ReplicationController
from models.snapshot import Snapshot

#: What the API server's words begin with: the name of the one pod that was tried.
_POD = re.compile(r'^(?:pods|Pod) "[^"]*" is ')


class Admission:
    """The API server of a cluster, as it meets pods that are created."""

    def __init__(self, cluster: Snapshot) -> None:
        self._priorities = Priorities(cluster)
        self._runtimes: dict[str, RuntimeClass] = {item.name: item for item in cluster.runtime_classes}
        self._runtimes_known = cluster.has_all_of("runtimeclasses")
        self._accounts = accounts_of(cluster)
        self._limits: dict[str, list[LimitRangeItem]] = defaultdict(list)
        for item in sorted(cluster.limit_ranges, key=lambda found: found.name):
            self._limits[item.namespace] += item.spec.limits
        self._ending = {item.name for item in cluster.namespaces if item.metadata.deletion_timestamp}
        self._enforcing = {item.name: item.metadata.labels for item in cluster.namespaces}
        self._told = dict(told_by_sets(cluster))
        self._selectors = dict(shown_selectors(cluster))
        self._tolerations = dict(shown_tolerations(cluster))
        self._mutations: dict[Whose, Mutation] = {}
        self._server: dict[Whose, Mutation] = {}
        self._resizes: list[str] = []
        self._changing = [
            one
            for one in checks_in_force(cluster)
            if one.kind.startswith("Mutating") and one.covers("", "pods", "CREATE")
        ]
        by_age = sorted(cluster.limit_ranges, key=lambda item: item.metadata.created)
        self._newest = {item.namespace: item.metadata.created for item in by_age}
        known = examples(cluster)
        for whose, example in known.items():
            pod, template = example.pod, example.template
            if self._insecure(pod.namespace, template) and not self._insecure(pod.namespace, pod.spec):
                # Something makes pods of this namespace secure that are not so by their template.
                self._enforcing.pop(pod.namespace, None)
            older = self._is_older_than_limits(pod)
            expected, _ = self._filled(pod.namespace, template)
            labels = example.labels if example.labels and self._is_changed(cluster, pod) else {}
            if found := mutation(expected, pod.spec, labels, requests=not (older or example.is_resized)):
                self._mutations[whose] = found
        self._refusals: dict[Whose, str] = {}
        self._admitted: set[Whose] = set()
        for tried in cluster.admitted_templates:
            self._learn(tried)
        for whose, example in known.items():
            self._resizes += self._resized(whose, example)

    @property
    def notes(self) -> list[str]:
        """What is done to pods beyond their templates, told once for all workloads alike."""
        seen = {whose: found for whose, found in self._mutations.items() if whose not in self._server}
        return [*noted_as_seen(seen), *noted_of_server(self._server), *self._resizes]

    def _is_older_than_limits(self, pod: Pod) -> bool:
        """Whether the LimitRanges were another way when the pod was made: newer, or they would refuse it.

        A LimitRange that is edited keeps its creationTimestamp.
        """
        if pod.metadata.created < self._newest.get(pod.namespace, LONG_AGO):
            return True
        return any(out_of_bounds(pod.spec, self._limits.get(pod.namespace, ())))

    def _resized(self, whose: Whose, example: Example) -> Iterator[str]:
        """A note where pods of a workload do not ask for what the next one will, as they were resized."""
        if not example.resized:
            return
        spec, _ = self._filled(whose[0], example.template)
        if (seen := self._mutations.get(whose)) is not None:
            spec = seen.applied(spec)
        for pod in example.resized:
            if not self._is_older_than_limits(pod) and (found := resized_to(spec, pod)):
                yield (
                    f"pods of {described(whose)} were resized in place, by their generation "
                    f"({pod.name}: {found}): their replacements are made from the template"
                )
                return

    def _is_changed(self, cluster: Snapshot, pod: Pod) -> bool:
        """Whether a mutating webhook or policy was asked about a pod when it was made."""
        namespace = labels_of_namespace(pod.namespace, cluster)
        return any(
            one.since <= pod.metadata.created and one.reads(namespace, pod.metadata.labels)
            for one in self._changing
        )

    def _learn(self, item: AdmittedTemplate) -> None:
        """Take what the API server itself has said for what it will say to all pods of a template."""
        whose = item.namespace, item.workload_kind, item.workload_name
        self._mutations.pop(whose, None)
        if item.admitted is None:
            self._refusals[whose] = item.refusal
            return
        self._admitted.add(whose)
        if found := difference(item.sent, self._predicted(item.sent), item.admitted):
            self._mutations[whose] = self._server[whose] = found

    def _predicted(self, pod: Pod) -> PodSpec:
        """The spec that the pod would have if nothing changed it but what is known here."""
        spec, _ = self._filled(pod.namespace, add_default_tolerations(pod.spec))
        made = merge_label_keys(pod.model_copy(update={"spec": spec}))
        try:
            return self._priorities.admit(made).spec
        except KeyError:
            return made.spec

    def admit(self, pod: Pod) -> Pod:
        """The pod as it is stored; if it is not, its `refusal` says why."""
        spec, forbidden = self._filled(pod.namespace, pod.spec)
        whose = workload_of(pod)
        if (seen := self._mutations.get(whose)) is not None:
            pod, spec = seen.labelled(pod), seen.applied(spec)
        line = self._refusals.get(whose) or self._by_namespace(pod) or self._without_account(pod)
        if self._priorities.is_missing(spec):
            return refused(
                pod, line or f"forbidden: no PriorityClass with name {spec.priority_class_name} was found"
            )
        if line is not None:
            return refused(self._priorities.admit(pod), line)
        insecure = "" if whose in self._admitted else self._insecure(pod.namespace, spec)
        if spec is pod.spec and not (self._told or insecure):
            return self._priorities.admit(pod)
        admitted = self._priorities.admit(pod.model_copy(update={"spec": spec}))
        line = forbidden or objections(spec, self._limits.get(pod.namespace, ())) or self._by_its_set(pod)
        line = line or (insecure and f"forbidden: {insecure}")
        return refused(admitted, line) if line else admitted

    def _insecure(self, namespace: str, spec: PodSpec) -> str:
        return violations(self._enforcing.get(namespace, {}), spec)

    def _by_namespace(self, pod: Pod) -> str | None:
        if pod.namespace not in self._ending:
            return None
        where = f"in namespace {pod.namespace} because it is being terminated"
        return f"forbidden: unable to create new content {where}"

    def _without_account(self, pod: Pod) -> str | None:
        """The API server's words where there is none; the controller makes `default` in every namespace."""
        name = pod.spec.account
        if not name or name == "default" or self._accounts is None or (pod.namespace, name) in self._accounts:
            return None
        where = f"error looking up service account {pod.namespace}/{name}"
        return f'forbidden: {where}: serviceaccount "{name}" not found'

    def _by_its_set(self, pod: Pod) -> str:
        """What the pod's controller was told when it last tried to make one."""
        owner = pod.metadata.controller
        return "" if owner is None else self._told.get((pod.namespace, owner.kind, owner.name), "")

    def _filled(self, namespace: str, spec: PodSpec) -> tuple[PodSpec, str]:
        """The spec with what is known to be added to it, or the words with which it is refused."""
        limits, selector = self._limits.get(namespace, ()), self._selectors.get(namespace, {})
        tolerated = self._tolerations.get(namespace, ())
        if not (limits or selector or tolerated or spec.runtime_class_name or spec.overhead):
            return spec, ""
        update: dict[str, object] = {
            "node_selector": {**spec.node_selector, **selector},
            "tolerations": spec.tolerations + tuple(one for one in tolerated if one not in spec.tolerations),
        }
        return self._with_runtime(defaulted(spec, limits).model_copy(update=update))

    def unknowns(self) -> Iterator[str]:
        """A note about what admission would have looked at and may not be listed."""
        if self._priorities.unknown:
            names = ", ".join(self._priorities.unknown)
            yield f"priorityclasses may not be listed: the priority of new pods of {names} is unknown, here 0"

    def prioritize(self, pod: Pod) -> Pod:
        """A pod that is there, with the priority of its class; a KeyError when there is no such class."""
        return self._priorities.admit(pod)

    def _with_runtime(self, spec: PodSpec) -> tuple[PodSpec, str]:
        name = spec.runtime_class_name
        found = self._runtimes.get(name or "")
        if name and found is None and self._runtimes_known:
            return spec, f'forbidden: pod rejected: RuntimeClass "{name}" not found'
        if name and found is None:
            return spec, ""
        spec, problem = with_runtime(spec, found)
        return spec, problem and f"forbidden: {problem}"


def accounts_of(cluster: Snapshot) -> set[tuple[str, str]] | None:
    """All ServiceAccounts; None where they are not known, or no pod shows that their plugin is on.

    The plugin gives every pod an account but static ones.
    """
    running = [pod for pod in cluster.pods if pod.metadata.creation_timestamp and not pod.is_mirror]
    shown = bool(running) and all(pod.spec.account for pod in running)
    if not (shown and cluster.has_all_of("serviceaccounts")):
        return None
    return {(item.namespace, item.name) for item in cluster.service_accounts}


def told_by_sets(cluster: Snapshot) -> Iterator[tuple[Whose, str]]:
    """The controllers that say why the API server makes no pods for them; quotas are counted here."""
    known: tuple[ReplicaSet | ReplicationController, ...] = (
        *cluster.replica_sets,
        *cluster.replication_controllers,
    )
    for item in known:
        for condition in item.status.conditions:
            failed = condition.type == "ReplicaFailure" and condition.status == "True"
            if failed and condition.reason == "FailedCreate" and "exceeded quota" not in condition.message:
                yield (item.namespace, item.kind, item.name), _POD.sub("", condition.message, count=1)


def refused(pod: Pod, line: str) -> Pod:
    """The pod that was not created, with the API server's words in a condition as its owner shows it."""
    told = PodCondition(type="ReplicaFailure", status="True", reason="FailedCreate", message=line)
    return pod.model_copy(update={"status": pod.status.model_copy(update={"conditions": (told,)})})


def is_new(pod: Pod) -> bool:
    """Whether the API server is yet to see the pod: a manifest has it, or a controller played here."""
    return pod.metadata.creation_timestamp is None and pod.is_waiting


def objections(spec: PodSpec, limits: Iterable[LimitRangeItem]) -> str:
    """What the API server says of a pod's requests and limits; nothing where it accepts them."""
    for word, found in (("invalid", [*invalid(spec)]), ("forbidden", [*out_of_bounds(spec, limits)])):
        if found:
            return f"{word}: {found[0]}" if len(found) == 1 else f"{word}: [{', '.join(found)}]"
    return ""
