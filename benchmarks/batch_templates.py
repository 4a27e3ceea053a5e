"""The templates of a batch: what their pods ask for and where they may go."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from batch_nodes import COMPUTE, GENERAL, MEMORY, RESERVED, TAINT, Pool, Room
from shapes import HOSTNAME, ZONE, Manifest, pod, required_pod_term, spread

# What a pod of an older revision asks for.
OLDER = Room(100, 256)


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of the templates with each kind of constraint, and the priorities shared among them."""

    selector: float = 0.20
    hard_zone: float = 0.50
    soft_zone: float = 0.20
    hard_host: float = 0.25
    anti_affinity: float = 0.0
    min_domains: float = 0.0
    priorities: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Template:
    """Pods that are alike: their app's name, requests, pool (if they name one) and the rest of the spec."""

    app: str
    request: Room
    pool: Pool | None
    spec: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reserved(self) -> bool:
        """Whether the pods go to the tainted pool, and only there."""
        return self.pool is RESERVED

    def may_use(self, pool: Pool) -> bool:
        """Whether the pods may go to nodes of the pool."""
        return pool is self.pool or (self.pool is None and pool is not RESERVED)

    def scaled(self, factor: float) -> "Template":
        """The same with other requests."""
        return replace(self, request=self.request.times(factor))


def draw_templates(
    dice: random.Random, counts: Sequence[int], nodes: Mapping[str, int], mix: Mix
) -> list[Template]:
    """As many templates as counts, each constraint on its share of them."""
    hand = _Hand.draw(dice, len(counts), mix)
    templates = []
    for index, count in enumerate(counts):
        labels = {"app": f"app-{index:03d}"}
        pool = hand.pools.get(index)
        # One pod a node, so there must be nodes enough for a batch that could be placed.
        roomy = count * 2 <= (nodes[pool.name] if pool else sum(nodes.values()) - nodes[RESERVED.name])
        spec: dict[str, Any] = {}
        if constraints := hand.constraints(dice, index, labels, roomy):
            spec["topologySpreadConstraints"] = constraints
        if index in hand.apart and roomy:
            spec["affinity"] = _apart(labels)
        if pool:
            spec["nodeSelector"] = {"pool": pool.name}
        if pool is RESERVED:
            spec["tolerations"] = [{"key": TAINT, "operator": "Exists", "effect": "NoSchedule"}]
        if len(mix.priorities) > 1:
            spec["priority"] = dice.choice(mix.priorities)
        templates.append(Template(labels["app"], _request(dice), pool, spec))
    return templates


@dataclass(frozen=True, slots=True)
class _Hand:
    """Which templates got which kind of constraint, by their numbers."""

    pools: Mapping[int, Pool]
    hard_zone: set[int]
    min_domains: set[int]
    soft_zone: set[int]
    hard_host: set[int]
    apart: set[int]

    @staticmethod
    def draw(dice: random.Random, total: int, mix: Mix) -> "_Hand":
        selecting = _chosen(dice, total, mix.selector)
        hard_host = _chosen(dice, total, mix.hard_host)
        apart = _chosen(dice, total, mix.anti_affinity)
        hard_zone = _chosen(dice, total, mix.hard_zone)
        others = [index for index in range(total) if index not in hard_zone]
        soft_zone = set(dice.sample(others, round(total * mix.soft_zone)))
        min_domains = _chosen(dice, total, mix.min_domains, hard_zone)
        return _Hand(_pools(dice, selecting), hard_zone, min_domains, soft_zone, hard_host, apart)

    def constraints(
        self, dice: random.Random, index: int, labels: dict[str, str], roomy: bool
    ) -> list[Manifest]:
        """The template's topology spread constraints."""
        found = []
        if index in self.hard_zone:
            more = {"minDomains": 3} if index in self.min_domains else {}
            found += spread(ZONE, dice.randint(1, 2), "DoNotSchedule", labels, **more)
        if index in self.soft_zone:
            found += spread(ZONE, 1, "ScheduleAnyway", labels)
        if index in self.hard_host and roomy:
            found += spread(HOSTNAME, dice.randint(1, 2), "DoNotSchedule", labels)
        return found


def _request(dice: random.Random) -> Room:
    """Between half a core and four, with one to six GiB a core; later scaled to the batch's fill."""
    cpu = dice.choice((500, 750, 1_000, 1_500, 2_000, 3_000, 4_000))
    return Room(cpu, int(cpu / 1_000 * dice.choice((1, 2, 3, 4, 6)) * 1024))


def _apart(labels: dict[str, str]) -> Manifest:
    return required_pod_term("podAntiAffinity", HOSTNAME, labels)


def _chosen(dice: random.Random, total: int, share: float, among: set[int] | None = None) -> set[int]:
    """That share of the numbers, of `among` only if it is given."""
    numbers = range(total) if among is None else sorted(among)
    return set(dice.sample(numbers, round(len(numbers) * share)))


def _pools(dice: random.Random, selecting: set[int]) -> dict[int, Pool]:
    """A pool for each template that selects; two in six of them the tainted one."""
    order = sorted(selecting)
    dice.shuffle(order)
    cycle = (RESERVED, COMPUTE, MEMORY, RESERVED, GENERAL, COMPUTE)
    return {index: cycle[turn % len(cycle)] for turn, index in enumerate(order)}


def pending_pod(template: Template, index: int) -> Manifest:
    """The pod with this number among its template's, as the API server returns it."""
    manifest = pod(
        f"{template.app}-{index:05d}",
        labels={"app": template.app},
        **template.request.requests,
        **template.spec,
    )
    return manifest | {"status": {"phase": "Pending"}}


def running_pod(template: Template, node: str) -> Manifest:
    """A pod of an older, smaller revision that runs on the node."""
    manifest = pod(
        f"{template.app}-old-{node}", labels={"app": template.app}, **OLDER.requests, **template.spec
    )
    return manifest | {"spec": manifest["spec"] | {"nodeName": node}, "status": {"phase": "Running"}}
