"""What controllers do about a pod that was evicted: when they make the next, and what becomes of a Job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tests.truth import manifests
from tests.truth.manifests import Object, key_of

_DEFAULT_RETRIES = 6
_FAILURES_OF_INDEX = "batch.kubernetes.io/job-index-failure-count"


class Controllers:
    """The controllers of a snapshot."""

    def __init__(self, objects: Iterable[Object]) -> None:
        found = list(objects)
        self.pods = {key_of(item): item for item in found if item["kind"] == "Pod"}
        self._owners = {
            (item["kind"], item["metadata"].get("namespace", "default"), item["metadata"]["name"]): item
            for item in found
            if item["kind"] in ("ReplicaSet", "StatefulSet", "Job")
        }

    def waits_for_the_end(self, pod: str) -> bool:
        """Whether the next pod is made only when the old one is gone."""
        owner = manifests.controller(self.pods[pod])
        if owner is None or owner["kind"] != "Job":
            return owner is not None and owner["kind"] == "StatefulSet"
        spec = (self.owner(pod) or {}).get("spec") or {}
        default = "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed"
        return bool(spec.get("podReplacementPolicy", default) == "Failed")

    def owner(self, pod: str) -> Object | None:
        """The controller of a pod, where it is in the snapshot."""
        found = manifests.controller(self.pods[pod])
        space = self.pods[pod]["metadata"]["namespace"]
        return None if found is None else self._owners.get((found["kind"], space, found["name"]))

    def needed_first(self, pod: str) -> list[str] | None:
        """The pods that have to be ready before this one is made again; None where one of them never is."""
        owner = self.owner(pod)
        if owner is None or owner["kind"] != "StatefulSet":
            return []
        if (owner["spec"].get("podManagementPolicy") or "OrderedReady") != "OrderedReady":
            return []
        name, space = owner["metadata"]["name"], self.pods[pod]["metadata"]["namespace"]
        first = int((owner["spec"].get("ordinals") or {}).get("start", 0))
        ordinal = int(pod.rpartition("-")[2])
        needed = [f"{space}/{name}-{number}" for number in range(first, ordinal)]
        return (
            needed
            if all(item in self.pods and manifests.is_ready(self.pods[item]) for item in needed)
            else None
        )

    def failed_jobs(self, evicted: Sequence[str]) -> Iterator[str]:
        """The Jobs that so many evictions end."""
        failures = Counter[str]()
        for pod in evicted:
            owner = manifests.controller(self.pods[pod])
            if owner is None or owner["kind"] != "Job":
                continue
            job, key = self.owner(pod), f"{self.pods[pod]['metadata']['namespace']}/{owner['name']}"
            spec = {} if job is None else job["spec"]
            if job is not None and ignores_disruptions(spec):
                continue
            failures[key] += 1
            if job is None:
                yield f"{pod} counts as a failure of Job {key}, which is not in the snapshot"
            elif (most := spec.get("backoffLimitPerIndex")) is not None:
                notes = self.pods[pod]["metadata"].get("annotations") or {}
                if int(notes.get(_FAILURES_OF_INDEX, 0)) + 1 > most:
                    yield f"{pod} uses up what its index in Job {key} may fail"
            else:
                before = int((job.get("status") or {}).get("failed", 0))
                if before + failures[key] > int(spec.get("backoffLimit", _DEFAULT_RETRIES)):
                    yield f"Job {key} ends with BackoffLimitExceeded when {pod} is evicted"


def ignores_disruptions(spec: Mapping[str, object]) -> bool:
    """Whether the first rule of a podFailurePolicy about the condition of an evicted pod ignores it."""
    policy = spec.get("podFailurePolicy")
    for rule in policy.get("rules", ()) if isinstance(policy, Mapping) else ():
        for condition in rule.get("onPodConditions") or ():
            if condition["type"] == "DisruptionTarget" and condition.get("status", "True") == "True":
                return bool(rule["action"] == "Ignore")
    return False
