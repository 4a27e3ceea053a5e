"""The live cluster, as the user's own kubectl shows it."""

import re
import subprocess
from collections.abc import Iterator, Sequence

from models.errors import InputError

#: The planner is of no use without these.
_NEEDED = ("nodes", "pods")
_WANTED = (
    "namespaces",
    "services",
    "replicationcontrollers",
    "persistentvolumes",
    "persistentvolumeclaims",
    "deployments.apps",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "jobs.batch",
    "cronjobs.batch",
    "poddisruptionbudgets.policy",
    "priorityclasses.scheduling.k8s.io",
    "storageclasses.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "volumeattachments.storage.k8s.io",
)
_FORBIDDEN = re.compile(r"\(Forbidden\): (?:\S+\s)*?(\S+) is forbidden")
_KLOG = re.compile(r"[IWEF]\d{4} |Warning: ")
#: An unreachable server is retried by kubectl for minutes; one that answers may take its time.
_FIRST_ANSWER_SECONDS = 60


def ask_kubectl(context: str | None, kubeconfig: str | None) -> tuple[bytes, list[str]]:
    """A List of all that the planner reads, as JSON, and remarks on what may not be read."""
    command = ["kubectl"]
    command += [] if context is None else ["--context", context]
    command += [] if kubeconfig is None else ["--kubeconfig", kubeconfig]
    _knock(command)
    answer = _run([*command, "get", ",".join((*_NEEDED, *_WANTED)), "--all-namespaces", "--output", "json"])
    if answer.returncode == 0:
        return answer.stdout, []
    return answer.stdout, list(_remarks(_told(answer)))


def _knock(command: Sequence[str]) -> None:
    """Find out within bounds whether a cluster is there at all."""
    answer = _run([*command, "get", "--raw", "/api", "--request-timeout=10s"], _FIRST_ANSWER_SECONDS)
    if answer.returncode:
        raise InputError([f"kubectl: {_told(answer)[-1]}"])


def _remarks(told: Sequence[str]) -> Iterator[str]:
    """A note for every kind that may not be listed; anything else that went wrong is an error."""
    for line in told:
        forbidden = _FORBIDDEN.search(line)
        kind = "" if forbidden is None else forbidden[1].partition(".")[0]
        if not kind or kind in _NEEDED:
            raise InputError([f"kubectl: {line}"])
        yield f"{kind} are left out: this user may not list them"


def _run(command: Sequence[str], seconds: float | None = None) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(command, capture_output=True, check=False, timeout=seconds)
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
