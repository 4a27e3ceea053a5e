"""Generated rollouts on a real control plane: what it ends with is among what the planner drew."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from models import Cluster
from planner.documents.rollout import Rollout, WorkloadRollout
from planner.simulation.rollout import rollout
from tests.e2e.contact_record import Event, Recorder
from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.generated import cleared, static
from tests.e2e.manifests import HOSTNAME, ZONE, node, spread, workload

#: So many are drawn: `ROLLOUTS=60 make e2e E2E=tests/e2e/test_rollouts.py`, some twelve seconds each, from
#: `ROLLOUT_SEED` on where one is to be looked at again.
_CASES = int(os.environ.get("ROLLOUTS", "0"))
_SEED = os.environ.get("ROLLOUT_SEED")
_DRAWS = 200
_KINDS = (
    "deployments,replicasets,statefulsets,daemonsets,nodes,pods,namespaces,priorityclasses,"
    "resourcequotas,limitranges"
)


def case(chance: random.Random) -> tuple[list[Manifest], list[Manifest], list[Manifest]]:
    """Nodes, workloads as they run, and workloads as they are applied."""
    zones = chance.choice(("ab", "abc", "aabbc"))
    size = chance.choice(("1", "2", "4"))
    nodes = [node(f"n{number}{zone}", zone=zone, cpu=size) for number, zone in enumerate(zones * 2)]
    before, after = [], []
    for number in range(chance.choice((1, 1, 2))):
        old, new = _workload(chance, f"w{number}")
        before.append(old)
        after.append(new)
    rules = _rules(chance, after) if chance.random() < 0.5 else []
    return [*nodes, *rules], before, after


def _rules(chance: random.Random, after: list[Manifest]) -> list[Manifest]:
    """A quota that is tight or not, and limits that change what pods ask for, or refuse them."""
    pods = sum(item["spec"].get("replicas", 4) for item in after)
    hard = chance.choice(
        (
            {"requests.cpu": f"{pods * chance.choice((150, 400, 700, 1200))}m"},
            {"pods": str(pods + chance.choice((-1, 0, 1, 3)))},
        )
    )
    limits = chance.choice(({"max": {"cpu": "1"}}, {"min": {"cpu": "200m"}}, {"default": {"cpu": "2"}}))
    quota = {"kind": "ResourceQuota", "spec": {"hard": hard}}
    bounds = {"kind": "LimitRange", "spec": {"limits": [{"type": "Container", **limits}]}}
    some = chance.choice(([quota], [quota], [bounds], [quota, bounds]))
    return [{"apiVersion": "v1", "metadata": {"name": "r", "namespace": "default"}, **rule} for rule in some]


def _workload(chance: random.Random, name: str) -> tuple[Manifest, Manifest]:
    kind = chance.choice(("Deployment", "Deployment", "Deployment", "StatefulSet", "DaemonSet"))
    constraint = spread(name, skew=chance.choice((1, 1, 2)), soft=chance.random() < 0.2)
    if chance.random() < 0.3 and kind == "Deployment":
        constraint["matchLabelKeys"] = ["pod-template-hash"]
    constraints = (constraint,) if kind != "DaemonSet" and chance.random() < 0.8 else ()
    replicas = chance.randint(1, 6)
    old = workload(name, replicas, *constraints, kind=kind, cpu=chance.choice(("100m", "400m")))
    if kind == "DaemonSet":
        del old["spec"]["replicas"]
    if kind == "StatefulSet":
        old["spec"]["podManagementPolicy"] = chance.choice(("OrderedReady", "Parallel"))
    new = json.loads(json.dumps(old))
    template = new["spec"]["template"]["spec"]
    template["containers"][0]["resources"]["requests"]["cpu"] = chance.choice(
        ("150m", "600m", "900m", "1500m")
    )
    if kind != "DaemonSet" and chance.random() < 0.3:
        new["spec"]["replicas"] = max(1, replicas + chance.randint(-2, 2))
    _strategy(chance, kind, new)
    return old, new


def _strategy(chance: random.Random, kind: str, new: Manifest) -> None:
    if kind == "Deployment":
        share = ("0", "1", "2", "25%", "50%")
        surge, unavailable = chance.choice(share), chance.choice(share)
        if {surge, unavailable} == {"0"}:
            unavailable = "1"
        found = {"maxSurge": _share(surge), "maxUnavailable": _share(unavailable)}
        new["spec"]["strategy"] = chance.choice(
            ({"rollingUpdate": found}, {"rollingUpdate": found}, {"type": "Recreate"}, {})
        )


def _share(text: str) -> int | str:
    return text if text.endswith("%") else int(text)


def _by_zone(live: ControlPlane, name: str) -> dict[str, int]:
    zones = {n["metadata"]["name"]: n["metadata"]["labels"][ZONE] for n in live.get("nodes")}
    pods = [
        p for p in live.pods() if p["metadata"]["labels"].get("app") == name and p["spec"].get("nodeName")
    ]
    found = Counter(zones[p["spec"]["nodeName"]] for p in pods)
    return {zone: found[zone] for zone in sorted(set(zones.values()))}


def _line(live: ControlPlane, name: str) -> str:
    """Why the workload's first pod without a node has none."""
    for pod in live.pods():
        if pod["metadata"]["labels"].get("app") == name and not pod["spec"].get("nodeName"):
            for found in pod["status"].get("conditions", ()):
                if found["type"] == "PodScheduled":
                    return str(found.get("message", ""))
    return ""


def _play(live: ControlPlane, seed: int) -> list[str]:
    """One case on the real thing and in the planner; what differs."""
    nodes, before, after = case(random.Random(seed))
    live.create(*nodes)
    live.create(*before)
    static(live)
    dump = json.loads(live.kubectl("get", _KINDS, "--all-namespaces", "-o", "json"))
    cluster = Cluster.from_objects(dump["items"])
    foreseen = rollout(cluster, Cluster.from_objects(after, partial=True), replays=_DRAWS, fixes=False)
    events = _watched(live, after)
    wrong = [line for item in after for line in _differences(live, item, foreseen)]
    wrong += [line for item in after for line in _beyond(item, foreseen, dump["items"], events)]
    if wrong:
        (live.home.parent / f"rollout-{seed}.json").write_text(json.dumps({"dump": dump, "after": after}))
    cleared(live)
    return wrong


def _watched(live: ControlPlane, after: list[Manifest]) -> list[Event]:
    """What happens to pods while the manifests are applied, event by event."""
    with Recorder(live) as recorder:
        live.kubectl(
            "apply", "-f", "-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": after})
        )
        static(live)
    return recorder.events


def _beyond(item: Manifest, foreseen: Rollout, before: list[Manifest], events: list[Event]) -> Iterator[str]:
    """Where fewer pods were ready than in the worst draw, or more than in the best."""
    name, row = item["metadata"]["name"], _row(foreseen, item)
    pods = [found for found in before if found["kind"] == "Pod"]
    ready = {
        p["metadata"]["name"] for p in pods if p["metadata"]["labels"].get("app") == name and is_ready(p)
    }
    least = len(ready)
    for event in events:
        meta = event.item["metadata"]
        if meta.get("labels", {}).get("app") == name:
            (ready.add if event.ready else ready.discard)(meta["name"])
            least = min(least, len(ready))
    if not row.least_ready <= least <= row.least_ready_best:
        yield f"{name}: {least} ready, foreseen {row.least_ready} to {row.least_ready_best}"


def _row(foreseen: Rollout, item: Manifest) -> WorkloadRollout:
    workload = f"{item['kind']}/{item['metadata']['name']}"
    return next(row for row in foreseen.workloads if row.workload == workload)


def _is_complete(live: ControlPlane, item: Manifest) -> bool:
    """Whether there are all pods that are asked for, all of the template that was applied."""
    asked = item["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]
    pods = live.pods(labels=f"app={item['metadata']['name']}")
    wanted = item["spec"].get("replicas", len(live.get("nodes")))
    made = [pod["spec"]["containers"][0]["resources"]["requests"] for pod in pods]
    return len(pods) == wanted and all(found.items() >= asked.items() for found in made)


def _differences(live: ControlPlane, item: Manifest, foreseen: Rollout) -> list[str]:
    name, kind = item["metadata"]["name"], item["kind"]
    row = _row(foreseen, item)
    zones, line = _by_zone(live, name), _line(live, name)
    ends = [(end.completes, dict(end.domains[ZONE])) for end in row.ends]
    wrong = []
    if (not line and _is_complete(live, item), zones) not in ends:
        wrong.append(f"{kind}/{name} ended {zones} {line!r}, foreseen {ends}")
    drawn = {told for end in row.ends for told in end.messages}
    if line and line not in drawn and drawn:
        wrong.append(f"{kind}/{name} says {line!r}, foreseen {sorted(drawn)}")
    return wrong


def test_a_rollout_that_stops(live: ControlPlane) -> None:
    """It stops where it was foreseen, after the same sizes and with the same line to the letter."""
    live.create(*(node(f"n{zone}", zone=zone, cpu="2") for zone in "abc"))
    before = workload("web", 3, spread("web"), cpu="400m")
    live.create(before)
    live.at_rest(3)
    dump = json.loads(live.kubectl("get", _KINDS, "--all-namespaces", "-o", "json"))
    after = json.loads(json.dumps(before))
    after["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "3"
    cluster = Cluster.from_objects(dump["items"])
    foreseen = rollout(cluster, Cluster.from_objects([after], partial=True), fixes=False).workloads[0]
    live.kubectl("apply", "-f", "-", given=json.dumps(after))
    last = sorted((foreseen.steps[-1].old, foreseen.steps[-1].new))
    wait_for("the last sizes", lambda: _sizes(live) == last)
    static(live)
    assert not foreseen.completes
    assert _line(live, "web") == foreseen.message
    assert _sizes(live) == last
    assert _by_zone(live, "web") == foreseen.ends[0].domains[ZONE]


def _sizes(live: ControlPlane) -> list[int]:
    return sorted(item["spec"]["replicas"] for item in live.get("replicasets"))


@pytest.mark.parametrize(
    ("kind", "rolling", "stays"),
    [
        ("StatefulSet", {}, True),
        ("DaemonSet", {}, True),
        ("DaemonSet", {"maxSurge": 1, "maxUnavailable": 0}, False),
    ],
)
def test_a_pod_that_is_terminating_before(
    live: ControlPlane, kind: str, rolling: dict[str, int], stays: bool
) -> None:
    """What follows it is made when it has ended, and evicts none; beside it where a DaemonSet may surge."""
    named = {"metadata": {"name": "important"}, "value": 1000}
    important = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **named}
    lingers: Manifest = {"annotations": {"stand-in/linger": "5"}, "terminationGracePeriodSeconds": 30}
    web = workload("web", 1, kind=kind, cpu="2", priorityClassName="important", **lingers)
    web["spec"]["updateStrategy"] = {"rollingUpdate": rolling}
    if kind == "DaemonSet":
        del web["spec"]["replicas"]
    filler = workload("filler", 1, kind="ReplicaSet", cpu="2")
    live.create(important, node("a1"), web, filler)
    uids = {item["metadata"]["labels"]["app"]: item["metadata"]["uid"] for item in live.at_rest(2)}
    dump = json.loads(live.kubectl("get", _KINDS, "--all-namespaces", "-o", "json"))["items"]
    (leaving,) = (item for item in dump if item["metadata"]["uid"] == uids["web"])
    leaving["metadata"]["deletionTimestamp"] = leaving["metadata"]["creationTimestamp"]
    foreseen = rollout(Cluster.from_objects(dump), Cluster.from_objects([web, filler], partial=True))
    live.kubectl("delete", "pod", leaving["metadata"]["name"], "--wait=false")
    wait_for("another pod", lambda: [item for item in live.pods(labels="app=web") if is_ready(item)])
    static(live)
    (after,) = live.pods(labels="app=filler")
    assert (after["metadata"]["uid"] == uids["filler"]) is stays
    assert (_row(foreseen, filler).least_ready == 1) is stays


_EVERYWHERE: Manifest = {"tolerations": [{"operator": "Exists"}]}


@pytest.mark.parametrize(
    ("kind", "spec", "more"),
    [
        ("DaemonSet", {}, {}),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}, {}),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": 2}}}, _EVERYWHERE),
        ("StatefulSet", {"podManagementPolicy": "Parallel"}, {}),
        ("Deployment", {"strategy": {"type": "Recreate"}}, {}),
    ],
)
def test_a_node_that_is_lost(live: ControlPlane, kind: str, spec: Manifest, more: Manifest) -> None:
    """Its pod is told to go and stays: as many pods are rolled out elsewhere as was said before."""
    live.create(*(node(f"n{zone}", zone=zone) for zone in "abc"))
    apart = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    before = workload("web", 3, kind=kind, terminationGracePeriodSeconds=30, affinity=affinity, **more)
    before["spec"] |= spec
    if kind == "DaemonSet":
        del before["spec"]["replicas"]
    live.create(before)
    (lost,) = (pod for pod in live.at_rest(3) if pod["spec"]["nodeName"] == "nc")
    live.kubectl("annotate", "pod", lost["metadata"]["name"], "stand-in/linger=100000")
    for effect in ("NoSchedule", "NoExecute"):
        live.kubectl("taint", "node", "nc", f"node.kubernetes.io/unreachable:{effect}")
    unready = json.dumps({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    patched = ("patch", "pod", lost["metadata"]["name"], "--subresource=status", "-p", unready)
    live.kubectl(*patched)
    after = json.loads(json.dumps(before))
    after["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "200m"
    dump = json.loads(live.kubectl("get", _KINDS, "--all-namespaces", "-o", "json"))
    foreseen = rollout(Cluster.from_objects(dump["items"]), Cluster.from_objects([after], partial=True))
    live.kubectl("apply", "-f", "-", given=json.dumps(after))
    row = _row(foreseen, after)
    new = row.steps[-1].new if row.steps else 0
    wait_for("as many as were said", lambda: _new(live) == new)
    static(live)
    assert _new(live) == new
    assert row.completes is (new == (2 if kind == "DaemonSet" and not more else 3))


def _new(live: ControlPlane) -> int:
    requests = [pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] for pod in live.pods()]
    return requests.count("200m")


@pytest.mark.skipif(not _CASES, reason="ROLLOUTS=N says how many are drawn")
def test_generated_rollouts(start: Callable[..., ControlPlane]) -> None:
    """The end is among 200 draws, and where it stops so is the scheduler's line, to the letter."""
    first = random.SystemRandom().randrange(1_000_000) if _SEED is None else int(_SEED)
    live = start()
    wrong = {seed: found for seed in range(first, first + _CASES) if (found := _play(live, seed))}
    assert not wrong, wrong
