"""Small rollouts drawn at random: Deployments on one node, with next to no room to spare."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.builders import Object, node, replica, revision, scaled

_SURGE = (0, 1, 2, "25%", "34%", "50%", "100%")
_UNAVAILABLE = (0, 0, 1, 2, "25%", "34%", "50%", "99%")
_DESIRED = "deployment.kubernetes.io/desired-replicas"


@dataclass(frozen=True)
class Rolling:
    """A Deployment: what runs, and what it is to be. Each pod takes so many cpus."""

    name: str
    #: Replicas asked for before, how many of them run, and how many are asked for now.
    before: int
    running: int
    replicas: int
    cpu: tuple[int, int]
    priority: tuple[int, int]
    surge: int | str
    unavailable: int | str
    recreate: bool

    @property
    def most(self) -> int:
        """As many pods as there may be at once: the surge is rounded up."""
        return self.replicas + _pods(self.surge, self.replicas, math.ceil)

    @property
    def least(self) -> int:
        """As many as have to be available: what may be missing is rounded down; one where both are 0."""
        missing = _pods(self.unavailable, self.replicas, math.floor)
        return self.replicas - min(self.replicas, missing if missing or self.most > self.replicas else 1)


@dataclass(frozen=True)
class RolloutCase:
    """Deployments on a node with so many cpus, in a namespace with a quota of so many pods or none."""

    cpus: int
    quota: int | None
    deployments: tuple[Rolling, ...]

    def objects(self) -> list[Object]:
        """The cluster before the apply."""
        found = [node("a1", cpu=str(self.cpus))]
        for item in self.deployments:
            owner = self._manifest(item, 0)
            below = revision(owner)
            below["metadata"]["annotations"][_DESIRED] = str(item.before)
            ready = [{"type": "Ready", "status": "True"}]
            on = ["a1"] * item.running + [""] * (item.before - item.running)
            pods = [
                replica(below, f"{item.name}-{number}", place, conditions=ready if place else [])
                for number, place in enumerate(on)
            ]
            found += [owner, below, *pods]
        if self.quota is not None:
            meta = {"name": "most", "namespace": "default"}
            spec = {"hard": {"pods": str(self.quota)}}
            found.append({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": spec})
        return found

    def manifests(self) -> list[Object]:
        """What is applied."""
        return [self._manifest(item, 1) for item in self.deployments]

    @staticmethod
    def _manifest(item: Rolling, new: int) -> Object:
        words: Object = {"cpu": str(item.cpu[new]), "priority": item.priority[new]}
        replicas = item.replicas if new else item.before
        found = scaled("Deployment", item.name, replicas, labels={"version": str(new)}, **words)
        found["spec"]["selector"] = {"matchLabels": {"app": item.name}}
        rolling = {"maxSurge": item.surge, "maxUnavailable": item.unavailable}
        found["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
        if item.recreate:
            found["spec"]["strategy"] = {"type": "Recreate"}
        return found


def _pods(share: int | str, replicas: int, rounded: Callable[[float], int]) -> int:
    return share if isinstance(share, int) else rounded(replicas * int(share.removesuffix("%")) / 100)


def draw(seed: int) -> RolloutCase:
    """The case of a seed: a node with little room to spare, or none."""
    chance = random.Random(f"rollout {seed}")
    number = chance.choice((1, 1, 2))
    found = tuple(_deployment(chance, f"w{place}", 5 - number) for place in range(number))
    used = sum(item.running * item.cpu[0] for item in found)
    pods = sum(max(item.before, item.replicas) for item in found)
    return RolloutCase(max(used, chance.randint(2, 8)), chance.choice((None, None, pods, pods + 1)), found)


def _deployment(chance: random.Random, name: str, most: int) -> Rolling:
    replicas = chance.randint(1, most)
    before = chance.choice((replicas, replicas, chance.randint(0, most)))
    surge, unavailable = chance.choice(_SURGE), chance.choice(_UNAVAILABLE)
    priority = chance.choice(((0, 0), (0, 5), (5, 0), (5, 5)))
    return Rolling(
        name,
        before,
        chance.choice((before, before, chance.randint(0, before))),
        replicas,
        (chance.choice((1, 1, 2)), chance.choice((1, 1, 2))),
        priority,
        # Both 0 is refused.
        surge,
        "25%" if (surge, unavailable) == (0, 0) else unavailable,
        chance.random() < 0.15,
    )
