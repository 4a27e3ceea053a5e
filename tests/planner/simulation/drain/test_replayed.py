"""What a drain comes to is what comes of it step by step."""

import random
from collections import Counter

from models import Cluster
from planner import drain
from tests import seeds
from tests.builders import HOST, ZONE, Object, node, spread, term
from tests.draws import nothing_drawn
from tests.planner.simulation.drain.replayed import App, Replay

NAMES = ("a1", "a2", "b1", "b2", "c1")
KINDS = ("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "DaemonSet")


def _drawn(chance: random.Random) -> tuple[list[Object], list[App]]:
    """Nodes of three zones, and workloads: some with a quota, a budget, pods that wait or are lacking."""
    room = {name: chance.randint(1, 4) for name in NAMES}
    nodes = [node(name, name[0], cpu=str(cpu)) for name, cpu in room.items()]
    return nodes, [_app(name, chance, room) for name in "uvwx"[: chance.randint(2, 4)]]


def _app(name: str, chance: random.Random, room: dict[str, int]) -> App:
    kind, places = chance.choice(KINDS), list[str]()
    for _ in range(chance.randint(1, 4)):
        if free := [on for on in NAMES if room[on] and not (kind == "DaemonSet" and on in places)]:
            places.append(chance.choice(free))
            room[places[-1]] -= 1
    there = len(places)
    rules: list[Object] = [{"apart": [term(HOST, name)]}, {"apart": [term(ZONE, name)]}]
    rules += [{}, {}, {"spread": [spread(app=name)]}, {"node_selector": {ZONE: chance.choice("abc")}}]
    words: Object = {"cpu": "1", "terminationGracePeriodSeconds": chance.choice((0, 30, 30))}
    words["priority"] = chance.choice((0, 0, 10))
    if kind == "DaemonSet":
        others = sorted({*NAMES}.difference(places))
        wanted = [f"{name}-{on}" for on in (*places, *others)]
    else:
        words |= chance.choice(rules) | ({"restartPolicy": "Never"} if kind == "Job" else {})
        if kind != "StatefulSet":
            places += [""] * chance.choice((0, 0, 0, 1, 2))
        more = chance.choice((0, 0, 0, 1)) * (kind != "StatefulSet")
        wanted = [f"{name}-{n}" for n in range(len(places) + more)]
    policy = chance.choice(("OrderedReady", "Parallel")) if kind == "StatefulSet" else ""
    most = chance.choice((None, None, there, there + 1, max(1, there - 1)))
    away = chance.choice((None, None, 0, 1, 2)) if kind in {"ReplicaSet", "StatefulSet"} else None
    return App(name, kind, wanted, words, places, policy, most, away)


def _refuted(chance: random.Random) -> None:
    """Raise where a drain of a random cluster is not as it goes step by step."""
    nodes, apps = _drawn(chance)
    going, at_once = chance.sample(NAMES, chance.randint(1, 3)), chance.randint(1, 2)
    found = Cluster.from_objects([*nodes, *(item for app in apps for item in app.manifests())])
    preemption = chance.random() < 0.5
    plan = drain(found, going, at_once=at_once, fixes=False, preemption=preemption)
    replay = Replay(nodes, apps, preemption).run(going, at_once)
    assert {row.node for row in plan.blocked} == replay.blocked
    pending = plan.before.pending, plan.after.pending, plan.new_pending
    added = replay.after - replay.before
    assert pending == (replay.before.total(), replay.after.total(), added.total())
    evictions = [row for step in plan.steps for row in step.evictions]
    assert sorted(row.pod.partition("/")[2] for row in evictions) == sorted(replay.evicted)
    for app in apps:
        lands = Counter(row.lands for row in evictions if row.pod.startswith(f"{app.name}/") and row.lands)
        assert lands <= replay.on(app), app


@nothing_drawn()
def test_a_drain_comes_to_what_comes_of_it_step_by_step() -> None:
    """The nodes that are emptied, the pods that wait before and after, and where replacements land."""
    for seed in seeds.seeds(15):
        try:
            _refuted(random.Random(seed))
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error
