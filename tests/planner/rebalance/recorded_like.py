"""Clusters like the nine recorded ones, drawn afresh: scaled down, a zone full, a zone that was away, mixed.

The first three have 18 to 20 nodes of 16 cpu in three zones, about half full, and workloads that were
spread well once.  Mixed ones have odd nodes, taints and pools, and constraints of every kind.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from models import Cluster
from tests.builders import HARD, HOST, SOFT, ZONE, cluster, node, pod, tolerate

Object = dict[str, Any]
KINDS = ("rebalance", "tight", "outage", "mixed")
_CPU, _ZONES = 16_000, 3
_SIZES = (100, 250, 500, 1000)


def recorded_like(seed: int, kind: str) -> Cluster:
    """The cluster of a kind that a seed leads to."""
    draw = random.Random(f"{kind} {seed}")
    return _mixed(draw) if kind == "mixed" else _Plain(draw, kind).cluster()


class _Plain:
    """A cluster of alike nodes in three zones."""

    def __init__(self, draw: random.Random, kind: str) -> None:
        self._draw, self._kind = draw, kind
        self._nodes = 20 if kind == "rebalance" else 18
        self._free = [_CPU] * self._nodes
        self._away = draw.randrange(_ZONES) if kind == "outage" else -1

    def cluster(self) -> Cluster:
        """Its nodes and pods."""
        pods: list[Object] = []
        number, least = 0, sum(self._free) * (0.63 if self._kind == "outage" else 0.5)
        while sum(self._free) > least:
            pods += self._workload(number)
            number += 1
        if self._kind == "tight":
            pods += self._filling()
        return cluster(*(self._node(number) for number in range(self._nodes)), *pods)

    def _workload(self, number: int) -> list[Object]:
        draw, app = self._draw, f"a{number}"
        constraints = [_spread(ZONE, draw.choice((1, 2)), HARD, app)]
        host = draw.choice((None, SOFT) if self._kind == "outage" else (None, SOFT, HARD, HARD))
        if host is not None:
            constraints.append(_spread(HOST, 1 if host == SOFT else draw.choice((1, 2)), host, app))
        size, replicas = draw.choice(_SIZES), draw.randint(3, 24)
        hosts = Counter[int]()
        for _ in range(replicas):
            here = [n for n in range(self._nodes) if n % _ZONES != self._away and self._free[n] >= size]
            zones = Counter(
                {zone: 0 for zone in range(_ZONES)} | Counter(n % _ZONES for n in hosts.elements())
            )
            place = min(here, key=lambda n: (zones[n % _ZONES], hosts[n], -self._free[n], draw.random()))
            hosts[place] += 1
            self._free[place] -= size
        kept = [*hosts.elements()]
        if self._kind != "outage" and draw.random() < 0.7:
            draw.shuffle(kept)
            for place in kept[round(replicas * draw.uniform(0.5, 0.8)) :]:
                self._free[place] += size
            kept = kept[: round(replicas * draw.uniform(0.5, 0.8))]
        return [
            pod(
                f"{app}-{n:02}",
                _name(p),
                app=app,
                owner=f"ReplicaSet/{app}",
                cpu=f"{size}m",
                spread=constraints,
            )
            for n, p in enumerate(kept)
        ]

    def _filling(self) -> list[Object]:
        """Other pods, without constraints, that leave one zone next to no room."""
        full, found = self._draw.randrange(_ZONES), list[Object]()
        for place in range(full, self._nodes, _ZONES):
            while self._free[place] >= 100:
                size = min(2000, self._free[place] // 50 * 50)
                self._free[place] -= size
                name = f"filler-{len(found):03}"
                found.append(pod(name, _name(place), app="filler", owner="ReplicaSet/filler", cpu=f"{size}m"))
        return found

    @staticmethod
    def _node(number: int) -> Object:
        return node(_name(number), zone=f"z{number % _ZONES}", cpu="16", memory="64Gi")


def _mixed(draw: random.Random) -> Cluster:
    """Some fifteen different nodes and a few workloads on arbitrary nodes."""
    nodes = [_odd_node(draw, number) for number in range(draw.randint(12, 15))]
    pods: list[Object] = []
    for number in range(draw.randint(3, 5)):
        pods += _odd_workload(draw, nodes, f"app{number}")
    return cluster(*nodes, *pods)


def _odd_node(draw: random.Random, number: int) -> Object:
    labels = {"pool": draw.choice("abc"), "disk": draw.choice(("ssd", "hdd"))}
    labels |= {"rack": draw.choice(("rk1", "rk2", "rk3"))} if draw.random() < 0.4 else {}
    labels |= {"topology.kubernetes.io/region": draw.choice(("r1", "r2"))} if draw.random() < 0.4 else {}
    taints = [f"{key}:NoSchedule" for key in ("gpu", "flaky", "dedicated") if draw.random() < 0.08]
    return node(
        _name(number),
        zone=draw.choice(("za", "zb", "zc")),
        cpu=draw.choice(("8", "16", "32")),
        labels=labels,
        taints=taints,
        cordoned=draw.random() < 0.06,
    )


def _odd_workload(draw: random.Random, nodes: list[Object], app: str) -> list[Object]:
    owner = draw.choice(("ReplicaSet", "ReplicaSet", "ReplicationController", "StatefulSet"))
    labels = {
        "pod-template-hash": f"h{app}",
        **({"tier": draw.choice(("front", "back"))} if draw.random() < 0.6 else {}),
    }
    pool = draw.choice("abc") if draw.random() < 0.25 else None
    tolerated = draw.sample(("gpu", "flaky", "dedicated"), draw.randint(0, 2))
    words: Object = {
        "app": app,
        "labels": labels,
        "owner": f"{owner}/{app}",
        "cpu": draw.choice(("50m", "250m", "1", "1500m")),
        "spread": _odd_spreads(draw, app),
        "tolerations": [tolerate(key) for key in tolerated],
    }
    if pool is not None:
        words["node_selector"] = {"pool": pool}
    if draw.random() < 0.15:
        words["apart"] = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}]
    if draw.random() < 0.3:
        term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"app": "app0"}}}
        words["dislikes"] = [{"weight": 10, "podAffinityTerm": term}]
    open_to = [
        found["metadata"]["name"]
        for found in nodes
        if pool in (None, found["metadata"]["labels"]["pool"])
        and not found["spec"]["unschedulable"]
        and all(taint["key"] in tolerated for taint in found["spec"]["taints"])
    ]
    replicas = draw.randint(2, 10)
    places = draw.sample(open_to, min(len(open_to), replicas)) if "apart" in words else []
    places = places or [draw.choice(open_to) for _ in range(replicas if open_to else 0)]
    return [pod(f"{app}-{number}", place, **words) for number, place in enumerate(places)]


def _odd_spreads(draw: random.Random, app: str) -> list[Object]:
    """Up to three constraints; a pod may name a key once with each of the two actions."""
    found = [_odd_spread(draw, app) for _ in range(draw.randint(1, 3))]
    return [*{(one["topologyKey"], one["whenUnsatisfiable"]): one for one in found}.values()]


def _odd_spread(draw: random.Random, app: str) -> Object:
    key = draw.choice((ZONE, ZONE, HOST, HOST, "rack", "pool", "topology.kubernetes.io/region"))
    when = HARD if draw.random() < 0.8 else SOFT
    found = _spread(key, draw.choice((1, 1, 2, 3)), when, app)
    if draw.random() < 0.15:
        found["labelSelector"] = {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    if draw.random() < 0.3:
        found["matchLabelKeys"] = draw.sample(("pod-template-hash", "absent", "tier"), 2)
    if draw.random() < 0.2 and when == HARD:
        found["minDomains"] = draw.randint(1, 4)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if draw.random() < 0.4:
            found[policy] = draw.choice(("Honor", "Ignore"))
    return found


def _spread(key: str, skew: int, when: str, app: str) -> Object:
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": app}},
    }


def _name(number: int) -> str:
    return f"n{number:02}"
