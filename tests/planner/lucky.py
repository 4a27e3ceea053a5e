"""Small clusters in which chance may decide: nodes alike, and pods that just fit, drawn from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from models import Cluster
from tests.builders import (
    HOST,
    ZONE,
    Object,
    budget,
    claim,
    cluster,
    node,
    replica,
    scaled,
    spread,
    term,
    volume,
)

#: So many other names are tried: the smallest one wins ties.
_NAMINGS = 12


@dataclass(frozen=True, slots=True)
class Lucky:
    """A cluster, and its nodes by names that say nothing of their order."""

    nodes: Sequence[str]
    objects: Sequence[Object]

    def named(self, names: Mapping[str, str]) -> Cluster:
        """The cluster with other names for its nodes; kube-scheduler never looks at them."""
        return cluster(*(_renamed(item, names) for item in self.objects))

    def namings(self, seed: int, number: int = _NAMINGS) -> Iterator[Mapping[str, str]]:
        """Names for the nodes in other orders, so that ties go elsewhere."""
        chance = Random(seed)
        for _ in range(number):
            yield dict(zip(self.nodes, chance.sample(self.nodes, len(self.nodes)), strict=True))


def _renamed(item: Object, names: Mapping[str, str]) -> Object:
    if item["kind"] == "Node":
        metadata = item["metadata"]
        name = names[metadata["name"]]
        return {**item, "metadata": {**metadata, "name": name, "labels": {**metadata["labels"], HOST: name}}}
    if item["kind"] == "Pod":
        return {**item, "spec": {**item["spec"], "nodeName": names[item["spec"]["nodeName"]]}}
    return item


def lucky(seed: int) -> Lucky:
    """Three to six nodes in two or three zones, and up to eleven pods with few and hard rules."""
    draw = Random(seed)
    zones = "abc"[: draw.choice((2, 3, 3))]
    nodes = [f"{zone}{number}" for number in range(2) for zone in zones][: draw.randint(3, 6)]
    free = dict.fromkeys(nodes, 4)
    objects = [node(name, name[0]) for name in nodes]
    sizes = draw.choice(((1, 2), (1, 1, 2, 2, 3, 4)))
    for app in ("web", "api", "db", "job")[: draw.randint(2, 4)]:
        objects += _workload(app, draw.choice(sizes), free, draw)
    return Lucky(nodes, objects)


def _workload(app: str, cpu: int, free: dict[str, int], draw: Random) -> Iterator[Object]:
    """A workload with pods on the freest nodes, each with a volume at times, and a budget."""
    kind = draw.choice(("ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet"))
    owner = scaled(kind, app, 0, cpu=str(cpu), **_rule(app, draw))
    pods = 0
    for number in range(draw.randint(1, 4)):
        on = max(free, key=lambda name: (free[name], draw.random()))
        if free[on] >= cpu:
            pods += 1
            free[on] -= cpu
            made = replica(owner, f"{app}-{number}", on)
            if kind == "StatefulSet" and draw.random() < 0.5:
                name = f"{app}-{number}"
                yield volume(f"pv-{name}", draw.choice(((), (on[0],))))
                yield claim(f"claim-{name}", f"pv-{name}")
                uses = [{"name": "data", "persistentVolumeClaim": {"claimName": f"claim-{name}"}}]
                made["spec"] = {**made["spec"], "volumes": uses}
            yield made
    owner["spec"] |= {"replicas": pods}
    yield owner
    if pods and draw.random() < 0.3:
        yield budget(f"{app}-budget", app, draw.choice((1, 2)))


def _rule(app: str, draw: Random) -> Object:
    rule = draw.random()
    if rule < 0.35:
        return {"spread": [spread(draw.choice((ZONE, HOST)), draw.choice((1, 1, 2)), app)]}
    if rule < 0.6:
        return {"apart": [term(draw.choice((HOST, ZONE, HOST)), draw.choice((app, "web")))]}
    return {"near": [term(ZONE, app)]} if rule < 0.7 else {}
