"""`--server-dry-run`: a pod of each template goes through the API server, which admits or refuses it.

Nothing is created.  What it says of quotas is left out: it counts what runs now, and the planner
itself counts what runs then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cli.input.live import run_kubectl
from models import InputError
from models.reading.json_split import json_values

Manifest = dict[str, Any]
#: The kinds that make pods from `spec.template`, and the owner that their pods name.
_OWNERS = {
    "CloneSet": "CloneSet",
    "DaemonSet": "DaemonSet",
    "Deployment": "ReplicaSet",
    "Job": "Job",
    "ReplicaSet": "ReplicaSet",
    "ReplicationController": "ReplicationController",
    "Rollout": "ReplicaSet",
    "StatefulSet": "StatefulSet",
}
#: What is said where one of these is missing: an apply creates it first.
_NEEDED = {
    "Namespace": 'namespaces "{}" not found',
    "PriorityClass": "no PriorityClass with name {} was found",
    "RuntimeClass": 'RuntimeClass "{}" not found',
    "ServiceAccount": 'serviceaccount "{}" not found',
}
_FAILED = re.compile(r'Error from server(?: \((\w+)\))?: (?:error when \w+ "[^"]*": )?(.*)')
_NAMED_FIRST = re.compile(
    r"(Error from server(?: \(\w+\))?: )error when (?:applying patch|retrieving current configuration of):\n"
    r".*?\n(?:from server )?for: \"[^\"]*\": ",
    re.DOTALL,
)
_NO_RIGHT = re.compile(r'cannot (?:create|get|patch) resource "')
_POD = re.compile(r'(?:pods|Pod) "([^"]+)" is ')
_LONGEST_NAME = 40
#: No namespace can have this name.  Of a single refusal kubectl makes a sentence of its own, several it
#: quotes: so there always is one more.
_NOWHERE = "no.such.namespace"
_REFUSED = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "none", "namespace": _NOWHERE}}
#: The uid of owners that the cluster does not have.
_NO_UID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class _Trial:
    """A workload, and the pod of its template that the API server is asked about."""

    kind: str
    name: str
    pod: Manifest

    @property
    def result(self) -> Manifest:
        """The object for what will be said, without that."""
        where = {key: self.pod["metadata"][key] for key in ("name", "namespace")}
        return {
            "apiVersion": "planner/v1alpha1",
            "kind": "AdmittedTemplate",
            "metadata": where,
            "workloadKind": self.kind,
            "workloadName": self.name,
            "sent": self.pod,
        }


def admitted_templates(
    command: Sequence[str], objects: Iterable[Manifest], namespace: str | None = None
) -> Iterator[Manifest]:
    """What the API server says to the templates of these workloads, as AdmittedTemplates."""
    found = list(objects)
    trials = {trial.pod["metadata"]["name"]: trial for trial in _trials(found, namespace or "default")}
    to_come = list(_missing_until_then(found))
    if not trials:
        return
    pods, refusals = _asked(command, trials)
    for name, trial in trials.items():
        if name in pods:
            yield {**trial.result, "admitted": pods[name]}
        elif (line := refusals[name]) and not _is_left_out(line, to_come):
            yield {**trial.result, "refusal": line}


def after_apply(
    command: Sequence[str], objects: Sequence[Manifest], namespace: str | None = None
) -> list[Manifest]:
    """These manifests, and in place of those that change an object that object as it would be then.

    It keeps what kubectl has not set: a number of replicas, a field that somebody else has added.  An
    InputError has what the API server has against applying them, if anything.
    """
    listing = {"apiVersion": "v1", "kind": "List", "items": [_placed(item, namespace) for item in objects]}
    asked = [*command, "apply", "--dry-run=server", "--validate=ignore", "-f", "-", "--output", "json"]
    answer = run_kubectl(asked, given=json.dumps(listing).encode())
    to_come = list(_missing_until_then(objects))
    told = _without_patches(answer.stderr.decode(errors="replace")) if answer.returncode else ""
    lines = [line.strip() for line in told.splitlines() if line.strip() and not line.startswith("Warning: ")]
    # A user who may not apply them may still ask what would come of it.
    problems = [line for line in lines if not (_NO_RIGHT.search(line) or _is_left_out(line, to_come))]
    if problems:
        raise InputError(_without_source(line) for line in problems)
    texts = json_values(answer.stdout) if answer.stdout.strip() else []
    listed = [item for found in map(json.loads, texts) for item in found.get("items", [found])]
    # What is new has no version yet, and stays as it is written.
    changed = {_identity(item): item for item in listed if item["metadata"].get("resourceVersion")}
    return [changed.get(_identity(_placed(item, namespace or "default")), item) for item in objects]


def _without_patches(told: str) -> str:
    """What kubectl says without the patches, or the objects, that it names before the reason."""
    return _NAMED_FIRST.sub(r"\1", told)


def _identity(item: Manifest) -> tuple[str, str, str]:
    metadata = item.get("metadata") or {}
    return str(item.get("kind")), str(metadata.get("namespace")), str(metadata.get("name"))


def _placed(item: Manifest, namespace: str | None) -> Manifest:
    metadata = item.get("metadata") or {}
    if namespace is None or "namespace" in metadata or item.get("kind") == "Namespace":
        return item
    return {**item, "metadata": {**metadata, "namespace": namespace}}


def _without_source(line: str) -> str:
    failed = _FAILED.match(line)
    return f"the API server would not apply this: {failed[2] if failed else line}"


def _trials(objects: Sequence[Manifest], namespace: str) -> Iterator[_Trial]:
    for number, item in enumerate(objects):
        kind, metadata = str(item.get("kind")), item.get("metadata") or {}
        template = (item.get("spec") or {}).get("template")
        owned = any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())
        if kind in _OWNERS and template and not owned:
            own = template.get("metadata") or {}
            owner = {"apiVersion": item["apiVersion"], "kind": _OWNERS[kind], "name": metadata["name"]}
            if _OWNERS[kind] != kind:
                owner["apiVersion"] = "apps/v1"
            uid = metadata.get("uid") or _NO_UID
            labelled = {
                "name": f"{metadata['name'][:_LONGEST_NAME]}-dry-run-{number}",
                "namespace": metadata.get("namespace") or namespace,
                "labels": own.get("labels") or {},
                "annotations": own.get("annotations") or {},
                "ownerReferences": [{**owner, "uid": uid, "controller": True}],
            }
            pod = {"apiVersion": "v1", "kind": "Pod", "metadata": labelled, "spec": template["spec"]}
            yield _Trial(kind, metadata["name"], pod)


def _asked(
    command: Sequence[str], trials: Mapping[str, _Trial]
) -> tuple[dict[str, Manifest], dict[str, str]]:
    """The pods as admitted, and the lines about the others, by the name that was tried."""
    pods, lines = _created(command, [trial.pod for trial in trials.values()])
    refusals = {name: line for line in lines for name in _POD.findall(line)[:1]}
    for name, trial in trials.items():
        if name not in pods and name not in refusals:
            # A webhook's words do not name the pod: it is asked about by itself.
            again, told = _created(command, [trial.pod])
            pods |= again
            refusals[name] = told[0] if told else ""
    return pods, {name: _POD.sub("", line, count=1) for name, line in refusals.items()}


def _created(command: Sequence[str], pods: Sequence[Manifest]) -> tuple[dict[str, Manifest], list[str]]:
    """The pods that the API server would create, and what it says about the others."""
    listing = {"apiVersion": "v1", "kind": "List", "items": [*pods, _REFUSED]}
    asked = [*command, "create", "--dry-run=server", "--validate=ignore", "-f", "-", "--output", "json"]
    answer = run_kubectl(asked, given=json.dumps(listing).encode())
    found = [json.loads(text) for text in json_values(answer.stdout)] if answer.stdout.strip() else []
    lines = _lines(answer.stderr.decode(errors="replace"))
    return {item["metadata"]["name"]: item for item in found}, lines


def _lines(told: str) -> list[str]:
    """A line for each object that was refused; what is no refusal is an error."""
    found: list[str] = []
    for line in filter(None, map(str.strip, told.splitlines())):
        if _NOWHERE in line:
            continue
        failed = _FAILED.match(line)
        if 'cannot create resource "pods"' in line or not (failed or found or line.startswith("Warning: ")):
            raise InputError([f"--server-dry-run: kubectl: {line}"])
        if failed:
            found.append(failed[2])
        elif not line.startswith("Warning: "):
            found[-1] += f" {line}"
    return found


def _missing_until_then(objects: Iterable[Manifest]) -> Iterator[str]:
    """What the API server says of what the same manifests create."""
    for item in objects:
        if item.get("kind") in _NEEDED:
            yield _NEEDED[item["kind"]].format(item["metadata"]["name"])


def _is_left_out(line: str, to_come: Iterable[str]) -> bool:
    """Whether it is about a quota, or about something that the same manifests create."""
    return "exceeded quota" in line or any(words in line for words in to_come)
