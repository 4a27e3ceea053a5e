"""What-if flags of scenarios carried out on manifests, and where the pods that wait then come to.

The filters are those of `tests.planner.oracle`; no plugin scores nodes, so each pod comes to the first node
by name that they leave.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.builders import (
    HOST,
    ZONE,
    Object,
    labelled,
    node,
    pod,
    profile,
    replica,
    scaled,
    scheduler,
    spread,
    term,
    tolerate,
)
from tests.planner.oracle import cluster_state, feasible, key_of

_CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
#: By workload and node how many pods came there; None for those that wait.
Places = Counter[tuple[str, str | None]]


@dataclass(frozen=True)
class ScenarioCase:
    """A cluster, and what is varied in it."""

    objects: list[Object]
    vary: tuple[str, ...]


def draw(seed: int) -> ScenarioCase:
    """The case of a seed: ReplicaSets of which some lack pods, and up to three things that are varied."""
    chance = random.Random(f"scenarios {seed}")
    nodes = [_node(chance, f"n{number}") for number in range(chance.randint(2, 5))]
    names = [item["metadata"]["name"] for item in nodes]
    unscored = scheduler(profile(plugins={"score": {"disabled": [{"name": "*"}]}}))
    bare = [pod("bare", chance.choice(names), cpu="250m", app="w0")] if chance.random() < 0.5 else []
    sets = [_replica_set(chance, number) for number in range(chance.randint(1, 3))]
    pods = [
        replica(item, f"{item['metadata']['name']}-{number}", chance.choice(names))
        for item in sets
        for number in range(item["spec"]["replicas"])
        if chance.random() < 0.85
    ]
    scaled_one = chance.choice(sets)
    wanted = scaled_one["spec"]["replicas"]
    specs = [
        f"lose={chance.choice((ZONE, 'disk'))}",
        "drain=each",
        f"add-nodes={chance.choice(names)}=0..2",
        # What goes when it is scaled down is another question.
        f"scale=replicaset/{scaled_one['metadata']['name']}={wanted}..{wanted + 2}",
    ]
    vary = tuple(chance.sample(specs, chance.randint(1, 3)))
    return ScenarioCase([*nodes, unscored, *sets, *pods, *bare], vary)


def _node(chance: random.Random, name: str) -> Object:
    return node(
        name,
        zone=chance.choice("xyz"),
        cpu=chance.choice(("1", "2", "4")),
        pods=chance.choice(("3", "5", "110")),
        labels={"disk": chance.choice(("ssd", "hdd"))},
        taints=["dedicated=x:NoSchedule"] if chance.random() < 0.15 else [],
        cordoned=chance.random() < 0.08,
    )


def _replica_set(chance: random.Random, number: int) -> Object:
    app = chance.choice((f"w{number}", "w0"))
    words: Object = {"app": app, "cpu": chance.choice(("250m", "500m", "1"))}
    if chance.random() < 0.5:
        keys = chance.choice(((ZONE,), (HOST,), (ZONE, HOST)))
        words["spread"] = [spread(key, chance.choice((1, 1, 2)), chance.choice((app, "w0"))) for key in keys]
        words["spread"][0].update(chance.choice(({}, {}, {"nodeTaintsPolicy": "Honor"})))
    if chance.random() < 0.2:
        words["apart"] = [term(chance.choice((ZONE, HOST)), app)]
    if chance.random() < 0.15:
        words["near"] = [term(ZONE, chance.choice(("w0", app)))]
    if chance.random() < 0.2:
        words["tolerations"] = [tolerate("dedicated")]
    if chance.random() < 0.2:
        words["only_on"] = [labelled("disk", "In", "ssd")]
    name = f"s{number}"
    found = scaled("ReplicaSet", name, chance.randint(1, 4), labels={"set": name}, **words)
    found["spec"]["selector"] = {"matchLabels": {"set": name}}
    return found


def places(objects: Sequence[Object], flags: Sequence[str]) -> Places:
    """Where the pods that wait come to after the flags, in the order in which they were made."""
    changed = _Manifests(copy.deepcopy([*objects]))
    changed.make_what_lacks()
    for flag, value in zip(flags[::2], flags[1::2], strict=True):
        changed.carry_out(flag, value)
        changed.make_what_lacks()
    return _scheduled(changed.objects)


def _scheduled(objects: Sequence[Object]) -> Places:
    now, found = cluster_state(objects), Places()
    for item in now.pods:
        if key_of(item) in now.placed:
            continue
        nodes = feasible(now, item)
        if nodes:
            now.placed[key_of(item)] = min(nodes)
        found[item["metadata"]["labels"].get("set", ""), min(nodes, default=None)] += 1
    return found


@dataclass
class _Manifests:
    """A cluster that is changed."""

    objects: list[Object]
    made: list[str] = field(default_factory=list)

    def _of(self, kind: str) -> list[Object]:
        return [item for item in self.objects if item["kind"] == kind]

    def make_what_lacks(self) -> None:
        """What the controllers of ReplicaSets make."""
        for owner in self._of("ReplicaSet"):
            name = owner["metadata"]["name"]
            there = sum(item["metadata"]["labels"].get("set") == name for item in self._of("Pod"))
            for _ in range(owner["spec"]["replicas"] - there):
                self.made.append(f"{name}-new{len(self.made)}")
                self.objects.append(copy.deepcopy(replica(owner, self.made[-1])))

    def carry_out(self, flag: str, value: str) -> None:
        """One flag."""
        key, _, rest = value.partition("=")
        match flag:
            case "--remove-node":
                lost = [item for item in self._of("Node") if item["metadata"]["labels"].get(key) == rest]
                self.objects = [item for item in self.objects if item not in lost]
                for item in lost:
                    self._empty(item["metadata"]["name"])
            case "--drain":
                self._drain(value)
            case "--add-nodes":
                (model,) = (item for item in self._of("Node") if item["metadata"]["name"] == rest)
                self.objects += [_like(model, f"{rest}-{number + 1}") for number in range(int(key))]
            case _:
                name = key.rpartition("/")[2]
                (owner,) = (item for item in self._of("ReplicaSet") if item["metadata"]["name"] == name)
                owner["spec"]["replicas"] = int(rest)

    def _drain(self, name: str) -> None:
        (found,) = (item for item in self._of("Node") if item["metadata"]["name"] == name)
        taints = [taint for taint in found["spec"]["taints"] if taint != _CORDON]
        found["spec"] = {"unschedulable": True, "taints": [*taints, _CORDON]}
        self._empty(name)

    def _empty(self, name: str) -> None:
        here = [item for item in self._of("Pod") if item["spec"].get("nodeName") == name]
        self.objects = [item for item in self.objects if item not in here]


def _like(model: Object, name: str) -> Object:
    """A new node, which is not cordoned."""
    found = copy.deepcopy(model)
    found["metadata"] |= {"name": name, "labels": {**found["metadata"]["labels"], HOST: name}}
    kept = [taint for taint in found["spec"]["taints"] if not taint["key"].startswith("node.kubernetes.io/")]
    found["spec"] = {"unschedulable": False, "taints": kept}
    return found
