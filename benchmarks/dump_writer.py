"""A seeded large cluster, written out object by object."""

import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from typing import TextIO

from dump_pods import pod_shape
from dump_shapes import (
    DIGEST,
    HOST_IP,
    IP,
    NAME,
    NODE,
    TOKEN,
    UID,
    VERSION,
    ZONE_WORD,
    App,
    Manifest,
    Pool,
    node_shape,
)

POOLS = (
    Pool("general", 0.75, "m6.2xlarge", cpu=8, memory_gib=32),
    Pool("memory", 0.15, "r6.2xlarge", cpu=8, memory_gib=64),
    Pool("batch", 0.10, "c6.4xlarge", cpu=16, memory_gib=32, taint="batch"),
)
ZONES = ("north-1a", "north-1b", "north-1c")

# Kubernetes draws its random suffixes from these: no vowels, so no words.
LETTERS = "bcdfghjklmnpqrstvwxz2456789"

Place = tuple[Pool, str]


class Dump:
    """Nodes, then the pods of Deployments; the same seed gives the same bytes."""

    def __init__(self, nodes: int, pods: int, apps: int, seed: int, managed_fields: bool) -> None:
        self.names = node_names(nodes)
        self.pods = pods
        self.apps = apps
        self.managed_fields = managed_fields
        self.random = random.Random(seed)
        self.serial = itertools.count(1)

    def write(self, out: TextIO) -> None:
        """The whole List, indented by four as kubectl does."""
        out.write('{\n    "apiVersion": "v1",\n    "items": [\n        ')
        for index, text in enumerate(itertools.chain(self._nodes(), self._pods())):
            out.write(",\n        " if index else "")
            out.write(text)
        out.write('\n    ],\n    "kind": "List",\n')
        out.write('    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')

    def _nodes(self) -> Iterator[str]:
        for pool in POOLS:
            shape = render(node_shape(pool))
            for zone in ZONES:
                for name in self.names[pool, zone]:
                    words = {NAME: name, ZONE_WORD: zone, HOST_IP: host_ip(name)}
                    yield fill(shape, words | self._identity(name))

    def _pods(self) -> Iterator[str]:
        """Each Deployment's replicas zone by zone, each zone's over its nodes in turn."""
        turns = {
            place: itertools.cycle(self.random.sample(names, len(names)))
            for place, names in self.names.items()
        }
        for app in self._apps():
            shape = render(pod_shape(app, self.managed_fields))
            first_zone = self.random.randrange(len(ZONES))
            suffixes = self.random.sample(range(len(LETTERS) ** 5), app.replicas)
            for index, suffix in enumerate(suffixes):
                zone = ZONES[(first_zone + index) % len(ZONES)]
                name = f"{app.name}-{app.template_hash}-{spell(suffix, 5)}"
                yield fill(shape, self._pod_words(name, next(turns[app.pool, zone])))

    def _pod_words(self, name: str, node: str) -> dict[str, str]:
        words = {
            NAME: name,
            NODE: node,
            HOST_IP: host_ip(node),
            IP: host_ip(name),
            TOKEN: f"kube-api-access-{self._letters(5)}",
            DIGEST: hashlib.sha256(name.encode()).hexdigest(),
        }
        return words | self._identity(name)

    def _apps(self) -> Iterator[App]:
        """Sizes drawn at random, a few large and many small, adding up to the wanted pods."""
        weights = [self.random.paretovariate(1.5) for _ in range(self.apps)]
        left, left_weight = self.pods, sum(weights)
        for index, weight in enumerate(weights):
            replicas = round(left * weight / left_weight)
            left, left_weight = left - replicas, left_weight - weight
            name = f"app-{index:03d}"
            yield App(
                name,
                namespace=f"team-{index % 40:02d}",
                pool=self.random.choices(POOLS, [pool.share for pool in POOLS])[0],
                replicas=replicas,
                template_hash=self._letters(10),
                cpu_milli=self.random.choice((50, 100, 100, 200, 250, 500)),
                memory_mib=self.random.choice((128, 256, 512, 1024)),
                spread=self._spread(name),
            )

    def _spread(self, name: str) -> list[Manifest]:
        """Half of the Deployments spread over zones by force, a fifth by preference."""
        kind = self.random.choices(("DoNotSchedule", "ScheduleAnyway", ""), (5, 2, 3))[0]
        constraint = {
            "labelSelector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": kind,
        }
        return [constraint] if kind else []

    def _identity(self, name: str) -> dict[str, str]:
        digits = hashlib.md5(name.encode()).hexdigest()
        uid = f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
        return {UID: uid, VERSION: str(10_000_000 + next(self.serial))}

    def _letters(self, count: int) -> str:
        return "".join(self.random.choices(LETTERS, k=count))


def node_names(count: int) -> dict[Place, list[str]]:
    """The nodes by pool and zone, each pool over the zones in turn."""
    numbers = {pool: range(round(count * pool.share)) for pool in POOLS}
    return {
        (pool, zone): [f"{pool.name}-{n:05d}" for n in numbers[pool][turn :: len(ZONES)]]
        for pool in POOLS
        for turn, zone in enumerate(ZONES)
    }


def spell(number: int, length: int) -> str:
    """The number in letters; different numbers never spell the same."""
    letters = []
    for _ in range(length):
        number, digit = divmod(number, len(LETTERS))
        letters.append(LETTERS[digit])
    return "".join(letters)


def render(shape: Manifest) -> str:
    """The object as it stands inside the items of a List."""
    return json.dumps(shape, indent=4, sort_keys=True).replace("\n", "\n        ")


def fill(shape: str, words: dict[str, str]) -> str:
    """The text with its placeholders replaced."""
    for word, value in words.items():
        shape = shape.replace(word, value)
    return shape


def host_ip(name: str) -> str:
    """An address that stays with the name."""
    first, second, third = hashlib.md5(name.encode()).digest()[:3]
    return f"10.{first}.{second}.{third}"
