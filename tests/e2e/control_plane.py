"""A real Kubernetes control plane for one test: found, started on ports of its own, spoken to, stopped.

It runs as a child whose standard input is a pipe from here.  When this process ends, however it ends,
the pipe closes, and the control plane takes all its programs down: nothing is ever left running.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cli import main
from tests.control_plane import api

Manifest = api.Manifest
Answer = TypeVar("Answer")

_ROOT = Path(__file__).resolve().parents[2]
#: cluster.py takes so many ports in a row; they are sought below those that the kernel hands out.
_PORTS, _LOWEST, _HIGHEST = 5, 20_000, 32_000
_ATTEMPTS = 5
_START_SECONDS = 120
#: How long a story waits for what is to come.  On a machine with other work it takes much longer than on a
#: quiet one, and a longer wait costs nothing when it comes.
PATIENCE_SECONDS = 240
#: Looks at a cluster take processors from it: the longer it has been waited, the longer until the next one.
_SHORTEST_PAUSE, _LONGEST_PAUSE, _PAUSE_SHARE = 0.05, 1.0, 0.1
#: What has a controller that says up to which change it has seen them.
_OBSERVED = "deployments,replicasets,statefulsets,daemonsets,poddisruptionbudgets"
#: For programs written in Go, which take a sixth of their time to look for garbage otherwise.
_SELDOM_COLLECTED = {"GOGC": "400"}
#: kubectl has answered before it has any garbage, and is sooner at it without threads that look for some.
_NEVER_COLLECTED = {"GOGC": "off", "GOMAXPROCS": "1"}
#: Says where everything is, and stays until its standard input ends.
_TENANT = 'printf "%s\\n%s\\n" "$KUBECONFIG" "$(command -v kubectl)"; exec cat >/dev/null'


def location() -> Path | None:
    """`cluster.py` beside the repository, or beside the main work tree of a git worktree."""
    for root in (_ROOT, _main_work_tree()):
        if root is not None and (found := root.parent / "shared/control-plane/cluster.py").exists():
            return found
    return None


def _main_work_tree() -> Path | None:
    asked = ["git", "-C", str(_ROOT), "rev-parse", "--path-format=absolute", "--git-common-dir"]
    try:
        told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return Path(told.strip()).parent


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running cluster and its kubectl; `home` is a folder of its own."""

    home: Path
    kubeconfig: Path
    programs: Path

    @property
    def environment(self) -> dict[str, str]:
        """What kubectl and its callers need: nothing of the user of this machine."""
        path = f"{self.programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {"PATH": path, "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), **_NEVER_COLLECTED}

    def run(self, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command with this cluster as its own, whatever comes of it."""
        return subprocess.run(
            command, input=given, env=self.environment, capture_output=True, text=True, check=False
        )

    def kubectl(self, *arguments: str, given: str = "") -> str:
        """What kubectl prints; an AssertionError with its words when it fails."""
        ended = self.run("kubectl", *arguments, given=given)
        assert ended.returncode == 0, f"kubectl {' '.join(arguments)}: {ended.stderr}"
        return ended.stdout

    def planner(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A command of the planner, in this process: one of its own takes longer to load than to answer."""
        written, said = io.StringIO(), io.StringIO()
        with self._as_environment(), redirect_stdout(written), redirect_stderr(said):
            code = main.run(arguments)
        return subprocess.CompletedProcess(arguments, code, written.getvalue(), said.getvalue())

    @contextlib.contextmanager
    def _as_environment(self) -> Iterator[None]:
        before, inside = dict(os.environ), self.environment
        os.environ.clear()
        os.environ.update(inside)
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    @staticmethod
    def command(*arguments: str) -> Sequence[str]:
        """How a command of the planner is run."""
        return sys.executable, "-c", "from cli.main import main; main()", *arguments

    def create(self, *objects: Manifest) -> None:
        """Objects as they are, status included where the API takes it at creation."""
        listing = {"apiVersion": "v1", "kind": "List", "items": objects}
        self.kubectl("create", "-f", "-", given=json.dumps(listing))

    def get(self, kinds: str, *, labels: str = "", fields: str = "") -> list[Manifest]:
        """All objects of these kinds, by their plurals, that the selectors choose.

        kubectl takes ten times as long to say the same.
        """
        chosen = {"labelSelector": labels, "fieldSelector": fields}
        with api.Api(self.kubeconfig) as line:
            return [item for kind in kinds.split(",") for item in line.list(api.KIND_OF[kind], **chosen)]

    def pods(self, *, labels: str = "", fields: str = "") -> list[Manifest]:
        """The pods that are not on their way out."""
        found = self.get("pods", labels=labels, fields=fields)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def at_rest(self, pods: int, seconds: float = PATIENCE_SECONDS) -> list[Manifest]:
        """So many pods, all of them ready, nothing terminating, and controllers know it."""

        def ready() -> tuple[list[Manifest]] | None:
            found = self.get("pods")
            is_done = len(found) == pods and all(map(is_ready, found)) and self.is_seen(found)
            return (found,) if is_done else None

        return wait_for(f"{pods} ready pods", ready, seconds)[0]

    def is_seen(self, pods: Sequence[Manifest]) -> bool:
        """Whether kube-scheduler has looked at all pods, and controllers at the newest of what is theirs.

        Budgets are counted, and ReplicaSets have made their pods, or said why they cannot.
        """
        looked_at = all(pod["spec"].get("nodeName") or pod["status"].get("conditions") for pod in pods)
        return looked_at and all(_is_seen(item, pods) for item in self.get(_OBSERVED))

    def unchanged(self, read: Callable[[], Answer], seconds: float) -> Answer:
        """What is read when it has been the same for so long, and nobody has more to look at."""
        now, since = read(), time.monotonic()

        def is_still() -> bool:
            nonlocal now, since
            if (found := read()) != now:
                now, since = found, time.monotonic()
            return time.monotonic() - since > seconds and self.is_seen(self.get("pods"))

        wait_for("rest", is_still)
        return now


def _is_seen(item: Manifest, pods: Sequence[Manifest]) -> bool:
    meta, spec, status = item["metadata"], item["spec"], item.get("status", {})
    if status.get("observedGeneration") != meta["generation"]:
        return False
    ready = [pod["metadata"] for pod in pods if is_ready(pod)]
    if item["kind"] == "PodDisruptionBudget":
        labels = spec["selector"].get("matchLabels", {}).items()
        own = [
            pod
            for pod in ready
            if pod["namespace"] == meta["namespace"] and labels <= pod.get("labels", {}).items()
        ]
        return not labels or bool(status.get("currentHealthy") == len(own))
    if item["kind"] == "ReplicaSet":
        own = [pod for pod in ready if meta["uid"] in {o["uid"] for o in pod.get("ownerReferences", ())}]
        is_refused = any(c["type"] == "ReplicaFailure" for c in status.get("conditions", ()))
        has_made = is_refused or status.get("replicas", 0) == spec["replicas"]
        return bool(has_made and status.get("readyReplicas", 0) == len(own))
    return True


def is_ready(pod: Manifest) -> bool:
    """Whether a pod runs, is ready and is not on its way out."""
    conditions = {c["type"]: c["status"] for c in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def wait_for(what: str, found: Callable[[], Answer | None], seconds: float = PATIENCE_SECONDS) -> Answer:
    """The first answer that is neither None nor False nor empty; an AssertionError if none comes in time."""
    began = time.monotonic()
    while (waited := time.monotonic() - began) < seconds:
        if answer := found():
            return answer
        time.sleep(min(max(_PAUSE_SHARE * waited, _SHORTEST_PAUSE), _LONGEST_PAUSE))
    raise AssertionError(f"no {what} within {seconds:.0f} s")


@contextlib.contextmanager
def running(home: Path, settings: Mapping[str, str] | None = None) -> Iterator[ControlPlane]:
    """A control plane, gone at the end; `settings` are cluster.py's own, such as SCHEDULER_CONFIG."""
    script = location()
    assert script is not None, "there is no ../shared/control-plane"
    with contextlib.ExitStack() as stack:
        environment = {**os.environ, **_SELDOM_COLLECTED, **(settings or {})}
        process, told = _started(script, home, environment, stack)
        stack.callback(_end, process)
        plane = ControlPlane(home, Path(told[0]), Path(told[1]).parent)
        stack.callback(_end, _kubelets(plane))
        yield plane


def _kubelets(plane: ControlPlane) -> subprocess.Popen[str]:
    """Kubelets that watch, in place of those of cluster.py, which are halted until the end."""
    told = (plane.kubeconfig.parent / "pids").read_text().split()
    os.kill(int(told[told.index("kubelets") - 1]), signal.SIGSTOP)
    command = [sys.executable, "-m", "tests.e2e.kubelets", str(plane.kubeconfig)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd=_ROOT, start_new_session=True)


def _started(
    script: Path, home: Path, environment: Mapping[str, str], claims: contextlib.ExitStack
) -> tuple[subprocess.Popen[str], Sequence[str]]:
    """The process and the two lines that it says; other ports when another process was faster."""
    for _ in range(_ATTEMPTS):
        where = ("--dir", str(home / "control-plane"), "--port", str(_free_ports(claims)))
        process = subprocess.Popen(
            [sys.executable, str(script), "run", *where, "--", "sh", "-c", _TENANT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        told = list(_lines(process, 2))
        if len(told) == 2:
            return process, told
        _end(process)
    raise AssertionError("no control plane came up; its folder has the logs")


def _lines(process: subprocess.Popen[str], number: int) -> Iterator[str]:
    """So many lines of its standard output, fewer if it ends or takes too long."""
    assert process.stdout is not None
    if select.select([process.stdout], [], [], _START_SECONDS)[0]:
        for _ in range(number):
            if line := process.stdout.readline():
                yield line.rstrip("\n")


def _end(process: subprocess.Popen[str]) -> None:
    """Close the pipe that the control plane lives by, and wait until it is down."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_ports(claims: contextlib.ExitStack) -> int:
    """The first of enough ports in a row on which nothing listens, and on which no other test starts."""
    while True:
        first = random.randrange(_LOWEST, _HIGHEST, _PORTS)
        if (claim := claimed(first)) is not None:
            claims.enter_context(claim)
            if all(map(_is_free, range(first, first + _PORTS))):
                return first


def claimed(first: int) -> socket.socket | None:
    """A claim to the ports from this one on, None where another test has it.

    Programs take their ports seconds after a look whether they are free; a scheduler that does
    not get its own ends, and pods wait for ever.  A name in the abstract namespace belongs to one socket, and
    is free again when its process ends, however it does.
    """
    claim = socket.socket(socket.AF_UNIX)
    try:
        claim.bind(f"\0planner-control-plane-{first}")
    except OSError:
        claim.close()
        return None
    return claim


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
