"""The live cluster, as the user's own kubectl shows it."""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from cli.input.ended_together import ended_together, run_to_its_end
from models.errors import InputError
from models.snapshot import KUBE_SYSTEM
from planner.proof.clock import report_best

#: The planner is of no use without these.
_NEEDED = ("nodes", "pods")
_WANTED = (
    "namespaces",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "limitranges",
    "persistentvolumes",
    "persistentvolumeclaims",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "horizontalpodautoscalers.autoscaling",
    "poddisruptionbudgets.policy",
    "priorityclasses.scheduling.k8s.io",
    "runtimeclasses.node.k8s.io",
    "serviceaccounts",
    "storageclasses.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
)
#: What not all servers have, by what came together: one that says so is asked for the others alone.
_NOT_EVERYWHERE = (
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
    ),
    (
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    ),
    (
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    ),
    (
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "deviceclasses.resource.k8s.io",
    ),
)
#: Workloads of others: the server is asked for those that it says it has.
_OF_OTHERS = ("rollouts.argoproj.io", "clonesets.apps.kruise.io", "statefulsets.apps.kruise.io")
#: All that the server is asked for: what packaging/kubernetes/rbac.yaml allows.
KINDS = (*_NEEDED, *_WANTED, *chain(*_NOT_EVERYWHERE), *_OF_OTHERS)
_UNKNOWN = re.compile(r"the server doesn't have a resource type \"([^\"]*)\"")
_FORBIDDEN = re.compile(r"\(Forbidden\): (?:\S+\s)*?(\S+) is forbidden")
#: Kinds of admission by rules of others, and what they are called together.
_OF_ADMISSION = re.compile("(mutating|validating)(webhook|admission)")
_ADMISSION = "admission webhooks and policies"
_KLOG = re.compile(r"[IWEF]\d{4} |Warning: ")
#: An unreachable server is retried by kubectl for minutes; one that answers may take its time.
_FIRST_ANSWER_SECONDS = 60
#: The bytes that are read at a time.
_CHUNK = 1 << 20


def ask_kubectl(context: str | None, kubeconfig: str | None) -> tuple[bytes, list[str]]:
    """A List of all that the planner reads, as JSON, and remarks on what may not be read.

    Its first item is a SnapshotOrigin: which cluster this is, and the same remarks.
    """
    command = kubectl(context, kubeconfig)
    version = _server_version(command)
    others = tuple(_served(command, _OF_OTHERS))
    asked: tuple[str, ...] = (*_NEEDED, *_WANTED, *chain(*_NOT_EVERYWHERE), *others)
    answer, absent = _list(command, asked), list[str]()
    while lacked := _lacked(answer):
        asked = tuple(name for name in asked if name not in chain(*lacked.values()))
        absent += (name for first, group in lacked.items() if group[0] == first for name in group)
        answer = _list(command, asked)
    forbidden = list(_forbidden(_told(answer))) if answer.returncode else []
    kinds = [kind for name in (*asked, *absent) if (kind := _short(name)) not in forbidden]
    left_out = dict.fromkeys(_ADMISSION if _OF_ADMISSION.match(kind) else kind for kind in forbidden)
    remarks = [f"{', '.join(left_out)} are left out: this user may not list them"] if left_out else []
    origin = _origin(command, version, context, kubeconfig) | {"kinds": kinds, "remarks": remarks}
    return _with_first(answer.stdout, origin), remarks


def kubectl(context: str | None, kubeconfig: str | None) -> list[str]:
    """kubectl, told which cluster is meant."""
    command = ["kubectl"]
    command += [] if context is None else ["--context", context]
    return command + ([] if kubeconfig is None else ["--kubeconfig", kubeconfig])


def _served(command: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Those of these kinds that the server has; none where it may not be asked."""
    told = json.loads(_asked(command, "get", "--raw", "/apis") or "{}")
    for group in told.get("groups") or ():
        wanted = [name for name in names if name.partition(".")[2] == group["name"]]
        if wanted:
            plurals = set()
            for version in group["versions"]:
                answer = _asked(command, "get", "--raw", f"/apis/{version['groupVersion']}")
                plurals |= {item["name"] for item in json.loads(answer or "{}").get("resources") or ()}
            yield from (name for name in wanted if name.partition(".")[0] in plurals)


def _lacked(answer: "subprocess.CompletedProcess[bytes]") -> dict[str, tuple[str, ...]]:
    """The kinds that the server says it lacks, and those to leave out with each, as they came together.

    Where it lacks the first of these it has no object of the others, either.
    """
    told = _told(answer) if answer.returncode else []
    lacks = {found[1].partition(".")[0] for line in told if (found := _UNKNOWN.search(line))}
    every = ((name, group) for group in _NOT_EVERYWHERE for name in group)
    return {name: group for name, group in every if name.partition(".")[0] in lacks}


def _list(command: Sequence[str], kinds: Sequence[str]) -> "subprocess.CompletedProcess[bytes]":
    """All objects of these kinds; the progress display is told how much has come."""
    asked = [*command, "get", ",".join(kinds), "--all-namespaces", "--output", "json"]
    came, size = [], 0

    def read(run: "subprocess.Popen[bytes]") -> int:
        nonlocal size
        assert run.stdout is not None
        while chunk := os.read(run.stdout.fileno(), _CHUNK):
            came.append(chunk)
            size += len(chunk)
            report_best(f"{size / 1e6:,.0f} MB so far")
        return run.wait()

    with tempfile.TemporaryFile() as told:
        code = ended_together(lambda: subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=told), read)
        told.seek(0)
        return subprocess.CompletedProcess(asked, code, b"".join(came), told.read())


def _server_version(command: Sequence[str]) -> str:
    """The server's version; an InputError within bounds when there is no cluster at all."""
    answer = run_kubectl(
        [*command, "get", "--raw", "/version", "--request-timeout=10s"], _FIRST_ANSWER_SECONDS
    )
    if answer.returncode == 0:
        return str(json.loads(answer.stdout).get("gitVersion", ""))
    told = _told(answer)[-1]
    if "(Forbidden)" not in told:
        raise InputError(
            [f"kubectl: {told} (-f, --snapshot of rollout and --snapshots of fleet read files instead)"]
        )
    return ""


def _origin(
    command: Sequence[str], version: str, context: str | None, kubeconfig: str | None
) -> dict[str, object]:
    """Which cluster this is; whatever may not be asked stays empty."""
    uid = _asked(command, "get", "namespace", KUBE_SYSTEM, "--output", "jsonpath={.metadata.uid}")
    return {
        "apiVersion": "planner/v1alpha1",
        "kind": "SnapshotOrigin",
        "cluster": uid,
        "context": context or _asked(command, "config", "current-context"),
        "kubeconfig": str(Path(kubeconfig).absolute()) if kubeconfig else os.environ.get("KUBECONFIG", ""),
        "serverVersion": version,
    }


def _asked(command: Sequence[str], *question: str) -> str:
    answer = run_kubectl([*command, *question], _FIRST_ANSWER_SECONDS)
    return answer.stdout.decode(errors="replace").strip() if answer.returncode == 0 else ""


def _with_first(listing: bytes, item: object) -> bytes:
    """A List with one more item, before all others."""
    before, items, after = listing.partition(b'"items": [')
    comma = b"" if after.lstrip().startswith(b"]") else b","
    return before + items + json.dumps(item).encode() + comma + after


def _short(name: str) -> str:
    """A kind without its group, unless that tells it from a built-in one."""
    return name if name in _OF_OTHERS else name.partition(".")[0]


def _forbidden(told: Sequence[str]) -> Iterator[str]:
    """The kinds that may not be listed; anything else that went wrong is an error."""
    for line in told:
        forbidden = _FORBIDDEN.search(line)
        kind = "" if forbidden is None else _short(forbidden[1])
        if not kind or kind in _NEEDED:
            raise InputError([f"kubectl: {line}"])
        yield kind


def run_kubectl(
    command: Sequence[str], seconds: float | None = None, given: bytes = b""
) -> "subprocess.CompletedProcess[bytes]":
    """A command of kubectl, whatever comes of it; an InputError where it cannot be run at all."""
    try:
        return run_to_its_end(command, seconds, given)
    except FileNotFoundError:
        raise InputError(["no -f was given, and kubectl is not on the PATH to ask"]) from None
    except subprocess.TimeoutExpired:
        raise InputError([f"kubectl: no answer from the cluster in {seconds:.0f} s"]) from None
    except OSError as error:
        raise InputError([f"kubectl cannot be run: {error.strerror}"]) from None


def _told(answer: "subprocess.CompletedProcess[bytes]") -> list[str]:
    """What kubectl said to its user, without the lines of its log."""
    lines = answer.stderr.decode(errors="replace").splitlines()
    kept = [line.strip().removeprefix("error: ") for line in lines if line.strip() and not _KLOG.match(line)]
    return kept or [f"failed with exit code {answer.returncode}"]
