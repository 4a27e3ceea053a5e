"""Batches for `planner solve`: seeded, of any size and fill, on empty nodes or on nodes half full.

Three zones and four pools of nodes, one of them tainted; templates with node selectors, spread
over zones and hosts and, where asked for, anti-affinity, minDomains and priorities.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from batch_nodes import RESERVED, ZONES, Pool, Room, pool_node, pool_of, spoken_for, zone_of
from batch_templates import Mix, Template, draw_templates, pending_pod, running_pod
from shapes import Manifest, node_name

from models import Cluster


@dataclass(frozen=True, slots=True)
class BatchSize:
    """How many nodes (18 at least: each pool in each zone), pending pods, and templates that they are of."""

    nodes: int
    pods: int
    templates: int

    def __str__(self) -> str:
        return f"{self.nodes}x{self.pods}x{self.templates}"


SIZES = (
    BatchSize(100, 1_000, 40),
    BatchSize(500, 5_000, 100),
    BatchSize(1_000, 10_000, 200),
    BatchSize(5_000, 50_000, 500),
)


def batch(size: BatchSize, fill: float, lived_in: bool, seed: int = 0, mix: Mix | None = None) -> Cluster:
    """A cluster whose pending pods ask for `fill` of the free room, of the scarcer resource."""
    return Cluster.from_objects(objects(size, fill, lived_in, seed, mix))


def objects(
    size: BatchSize, fill: float, lived_in: bool, seed: int = 0, mix: Mix | None = None
) -> list[Manifest]:
    """The same as Kubernetes objects: nodes, running pods, pending pods."""
    dice = random.Random(seed)
    pools = [pool_of(index) for index in range(size.nodes)]
    counts = _pods_per_template(size.pods, size.templates)
    templates = draw_templates(dice, counts, Counter(pool.name for pool in pools), mix or Mix())
    running = list(_running(dice, pools, templates, counts)) if lived_in else []
    return [
        *(pool_node(index) for index in range(size.nodes)),
        *running,
        *_pending(dice, _fitted(templates, counts, _free(pools, running), fill), counts),
    ]


def _pods_per_template(pods: int, templates: int) -> list[int]:
    """How many pods each template has: as even as can be."""
    share, more = divmod(pods, templates)
    return [share + (index < more) for index in range(templates)]


def _running(
    dice: random.Random, pools: Sequence[Pool], templates: Sequence[Template], counts: Sequence[int]
) -> Iterator[Manifest]:
    """On every node a pod of a size of its own, and pods of an older revision of every template.

    A template's pods lie on consecutive eligible nodes, one each; zones alternate among those, so
    no constraint of the pending revision is violated by more than it allows.
    """
    for index, pool in enumerate(pools):
        yield spoken_for(dice, index, pool)
    eligible = {pool: _by_zone(pools, like) for pool, like in {like.pool: like for like in templates}.items()}
    for template, count in zip(templates, counts, strict=True):
        by_zone = eligible[template.pool]
        rounds = min(*map(len, by_zone), max(1, count // 12))
        starts = [dice.randrange(len(nodes)) for nodes in by_zone]
        for turn in range(rounds):
            for nodes, start in zip(by_zone, starts, strict=True):
                yield running_pod(template, node_name(nodes[(start + turn) % len(nodes)]))


def _by_zone(pools: Sequence[Pool], template: Template) -> list[list[int]]:
    """The nodes that the template's pods may go to, zone by zone."""
    by_zone: list[list[int]] = [[] for _ in ZONES]
    for index, pool in enumerate(pools):
        if template.may_use(pool):
            by_zone[zone_of(index)].append(index)
    return by_zone


def _free(pools: Sequence[Pool], running: Sequence[Manifest]) -> dict[bool, Room]:
    """The room that is left, on the reserved nodes (True) and on all others (False)."""
    free = {True: Room(0, 0), False: Room(0, 0)}
    for pool in pools:
        free[pool is RESERVED] += pool.room
    for pod in running:
        requests = pod["spec"]["containers"][0]["resources"]["requests"]
        index = int(pod["spec"]["nodeName"].rpartition("-")[2])
        free[pools[index] is RESERVED] -= Room.of(requests)
    return free


def _fitted(
    templates: Sequence[Template], counts: Sequence[int], free: dict[bool, Room], fill: float
) -> list[Template]:
    """The templates with requests scaled so that reserved and other nodes are asked for `fill` each."""
    factor = {}
    for reserved in (True, False):
        asked = Room(0, 0)
        for template, count in zip(templates, counts, strict=True):
            if template.reserved is reserved:
                asked += template.request.times(count)
        shares = (asked.cpu_milli / free[reserved].cpu_milli, asked.memory_mib / free[reserved].memory_mib)
        factor[reserved] = fill / max(shares) if asked.cpu_milli else 1.0
    return [template.scaled(factor[template.reserved]) for template in templates]


def _pending(dice: random.Random, templates: Sequence[Template], counts: Sequence[int]) -> list[Manifest]:
    """The pending pods, in the order in which owners create them: one template after the other."""
    order = list(zip(templates, counts, strict=True))
    dice.shuffle(order)
    return [pending_pod(template, index) for template, count in order for index in range(count)]
