"""A ScaleDown as a shell script: deletion costs, the scaling, and the costs as they were."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import filterfalse

from cli.output.page import counted
from cli.output.views.scripts.frame import Frame, checked, command, script
from cli.output.views.scripts.preflight import nodes, owner_of
from models.admission.chain import is_new
from models.controllers.apply import workloads_in
from models.objects.custom_workload import is_custom, kubectl_name
from models.objects.pod import Pod
from models.objects.workload import DaemonSet, Job
from models.snapshot import Snapshot
from planner.documents.plan import ScaleDown

#: Controllers that do not look at deletion costs: they take the pods that they always take.
_DEAF = {"StatefulSet", "Job"}


def lines(document: ScaleDown, snapshot: Snapshot, again: str) -> Iterator[str]:
    """The script; `again` is the command line that plans once more."""
    going = list(_going(document, snapshot))
    title = f"{counted(len(going), 'pod')} to go, planned by `planner scale-down`."
    return script(Frame(title, ("scale_down",), again), snapshot, _plan(document, snapshot, going))


def _plan(document: ScaleDown, snapshot: Snapshot, going: list[Pod]) -> Iterator[str]:
    """Nodes, costs, which pods go and which stay, and the scaling."""
    staying, asked = _staying(snapshot, going), _asked(snapshot)
    checked(*(pod.key for pod in (*going, *staying)), *(item.workload for item in document.workloads))
    yield "# node NAME UID open|cordoned [TAINTS]"
    yield from nodes(snapshot, (pod.node_name or "" for pod in (*going, *staying)))
    yield "# goes|stays NAMESPACE POD UID"
    yield from (command("goes", pod.namespace, pod.name, pod.metadata.uid) for pod in going)
    yield from (command("stays", pod.namespace, pod.name, pod.metadata.uid) for pod in staying)
    if document.costs:
        yield "# cost NAMESPACE DELETION-COST 'POD ...'"
        yield from _costs(document)
    yield "# scale NAMESPACE KIND/NAME FROM TO"
    names = dict(_of_others(snapshot))
    for item in document.workloads:
        if not item.heeds_deletion_costs:
            yield "# deletion costs do not matter to this one"
        name = names.get((item.namespace, item.workload), item.workload)
        before = asked[item.namespace, item.workload]
        yield command("scale", item.namespace, name, str(before), str(item.replicas))


def _asked(snapshot: Snapshot) -> dict[tuple[str, str], int]:
    """The number in the spec of every workload: there may be fewer pods, or while it rolls out more."""
    found = {}
    for item in workloads_in(snapshot):
        if not isinstance(item, DaemonSet):
            number = item.spec.parallelism if isinstance(item, Job) else item.spec.replicas
            found[item.namespace, f"{item.kind}/{item.name}"] = number
    return found


def _of_others(snapshot: Snapshot) -> Iterator[tuple[tuple[str, str], str]]:
    """Workloads whose kind kubectl would take for the built-in one, and what it takes instead."""
    for item in snapshot.stateful_sets:
        if is_custom(item):
            yield (item.namespace, f"{item.kind}/{item.name}"), kubectl_name(item)


def _going(document: ScaleDown, snapshot: Snapshot) -> Iterator[Pod]:
    """The best choice where costs bring it about, else the controllers' own, of the pods that there are."""
    best, theirs = set(document.best.victims), set(document.controller.victims)
    for pod in filterfalse(is_new, snapshot.pods):
        owner = pod.metadata.controller
        if pod.key in (theirs if owner is not None and owner.kind in _DEAF else best):
            yield pod


def _staying(snapshot: Snapshot, going: list[Pod]) -> list[Pod]:
    """All other pods of the controllers that give some up."""
    gone = {pod.key for pod in going}
    owners = {(pod.namespace, owner_of(pod)) for pod in going}
    return [
        pod
        for pod in filterfalse(is_new, snapshot.pods)
        if pod.key not in gone
        and (pod.namespace, owner_of(pod)) in owners
        and not pod.metadata.deletion_timestamp
        and not pod.is_finished
    ]


def _costs(document: ScaleDown) -> Iterator[str]:
    """Pods that get the same cost together."""
    alike: dict[tuple[str, int], list[str]] = defaultdict(list)
    for item in document.costs:
        namespace, _, name = item.pod.partition("/")
        alike[namespace, item.cost].append(name)
    for (namespace, cost), names in sorted(alike.items()):
        yield command("cost", namespace, str(cost), " ".join(names))
