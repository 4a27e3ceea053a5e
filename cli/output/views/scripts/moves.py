"""A MovePlan as a shell script that evicts wave by wave, and is content with every node of a landing set."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from cli.output.page import counted
from cli.output.views.scripts.affinity import narrowed, plain
from cli.output.views.scripts.frame import Frame, checked, command, one_line, script
from cli.output.views.scripts.preflight import budgets, nodes, owner_of, owners
from models.errors import InputError
from models.objects.affinity import Affinity
from models.objects.pod import Pod
from models.objects.workload import ReplicaSet, ReplicationController
from models.snapshot import Snapshot
from planner.documents.move_plan import MovePlan, MoveStep, OnNodes, Place

#: Sets of more nodes than these get a name, and are written down once.
_MOST_NAMES = 6
_NOTHING_WAS_LEFT, _NOTHING_HELPS = 0, 2


def lines(document: MovePlan, snapshot: Snapshot, again: str) -> Iterator[str]:
    """The script; `again` is the command line that plans once more."""
    steps = _before_any_again(document.steps)
    waves, later = steps[-1].wave if steps else 0, len(document.steps) - len(steps)
    title = f"{counted(len(steps), 'move')} in {counted(waves, 'wave')}, planned by `planner rebalance`."
    if later:
        title += f" A pod moves again in the next wave: plan again then for {counted(later, 'move')} more."
    parts = ("pins", "cordons", "moves")
    left = _NOTHING_HELPS if document.after.hard_violations else _NOTHING_WAS_LEFT
    settings = (
        f"NOTHING_TO_MOVE={left} # how it ends when the plan is empty",
        f"LATER={later} # moves that are still to be planned when these are done",
    )
    return script(Frame(title, parts, again), snapshot, rows(steps, snapshot), settings)


def _before_any_again(steps: Sequence[MoveStep]) -> Sequence[MoveStep]:
    """The waves before the first one that moves a pod again: its replacement has no name yet."""
    seen = set[str]()
    for step in steps:
        if step.pod in seen:
            return [one for one in steps if one.wave < step.wave]
        seen.add(step.pod)
    return steps


def rows(steps: Sequence[MoveStep], snapshot: Snapshot, more: Iterable[str] = ()) -> Iterator[str]:
    """Nodes (and `more` of them), budgets and controllers as they were, then the waves."""
    names = [*_names(steps), *more]
    if names:
        yield "# node NAME UID open|cordoned [TAINTS]"
        yield from nodes(snapshot, names)
    if not steps:
        return
    pods = {pod.key: pod for pod in snapshot.pods}
    moved = [pods[step.pod] for step in steps]
    sets = _named("@", (step.lands.nodes for step in steps if isinstance(step.lands, OnNodes)))
    cordons = _named("@c", (step.cordon for step in steps))
    checked(*(pod.key for pod in moved), *(step.owner for step in steps))
    yield from budgets(snapshot, moved)
    if sets:
        yield "# nodes_of SET 'NODE ...'"
        yield from (command("nodes_of", name, " ".join(found)) for found, name in sets.items())
    if cordons:
        yield "# cordon_of CORDON 'NODE ...'"
        yield from (command("cordon_of", name, " ".join(found)) for found, name in cordons.items())
    yield "# owner NAMESPACE KIND/NAME UID 'POD@NODE ...'"
    yield from owners(moved, snapshot)
    unready = [pod for pod in moved if pod.is_starting or pod.is_unready]
    if unready:
        yield "# not_ready NAMESPACE POD: its replacement has to have a node, and need not become ready"
        yield from (command("not_ready", pod.namespace, pod.name) for pod in unready)
    yield "# move NAMESPACE POD UID FROM OWNER TO [PATCH THAT PINS, OR cordon:NODE,NODE... OR cordon:CORDON]"
    for wave, together in groupby(steps, key=lambda step: step.wave):
        yield command("wave", str(wave))
        for step in together:
            yield from _move(step, pods[step.pod], snapshot, sets, cordons)


def _move(
    step: MoveStep,
    pod: Pod,
    snapshot: Snapshot,
    sets: Mapping[tuple[str, ...], str],
    cordons: Mapping[tuple[str, ...], str],
) -> Iterator[str]:
    yield f"# {one_line(step.why)}"
    held = () if step.pin is None else (pinning(step.pin, pod, snapshot),)
    if step.cordon:
        held = (f"cordon:{cordons.get(step.cordon) or ','.join(step.cordon)}",)
    where = (pod.namespace, pod.name, pod.metadata.uid, step.source, step.owner, _to(step.lands, sets))
    yield command("move", *where, *held)


def _to(place: Place, sets: Mapping[tuple[str, ...], str]) -> str:
    """A set of nodes: a label selector, the name of a set, or names."""
    if not isinstance(place, OnNodes):
        return ",".join(f"{key} in ({','.join(values)})" for key, values in place.labels.items())
    return sets.get(place.nodes) or ",".join(place.nodes)


def _named(prefix: str, several: Iterable[tuple[str, ...]]) -> Mapping[tuple[str, ...], str]:
    """The names of large sets of nodes, each with a number."""
    large = dict.fromkeys(names for names in several if len(names) > _MOST_NAMES)
    return {names: f"{prefix}{number}" for number, names in enumerate(large, start=1)}


def _names(steps: Iterable[MoveStep]) -> Iterator[str]:
    """The nodes that the plan names."""
    for step in steps:
        yield from (step.source, step.node, *step.cordon)
        if isinstance(step.lands, OnNodes):
            yield from step.lands.nodes


def pinning(place: Place, pod: Pod, snapshot: Snapshot, *, first: bool = True) -> str:
    """A JSON patch that narrows the template of the pod's controller.

    The `first` one of a controller looks whether the template is what the snapshot has.
    """
    before = _template_affinity(pod, snapshot)
    path = "/spec/template/spec/affinity"
    test = {"op": "test", "path": path, "value": plain(before)}
    change = {"op": "add", "path": path, "value": narrowed(before, place)}
    return json.dumps([test, change] if first else [change], separators=(",", ":"))


def _template_affinity(pod: Pod, snapshot: Snapshot) -> Affinity | None:
    """What the template of a pod's ReplicaSet or ReplicationController says now."""
    owner = owner_of(pod)
    controllers: tuple[ReplicaSet | ReplicationController, ...] = (
        *snapshot.replica_sets,
        *snapshot.replication_controllers,
    )
    for item in controllers:
        if (item.namespace, f"{item.kind}/{item.name}") == (pod.namespace, owner):
            spec = None if item.spec.template is None else item.spec.template.spec
            return None if spec is None else spec.affinity
    if owner.partition("/")[0] in {"ReplicaSet", "ReplicationController"}:
        raise InputError([f"{pod.key} is to be pinned, and its {owner} was not read"])
    change = f"a change to the template of its {owner or 'owner'} would be rolled out"
    raise InputError([f"{pod.key} would have to be pinned, and {change}: plan with --evict-only"])
