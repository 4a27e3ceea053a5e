"""The templates of a batch: what their pods ask for and where they may go."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from batch_nodes import COMPUTE, GENERAL, MEMORY, RESERVED, TAINT, Pool, Room, zone_of
from shapes import HOSTNAME, ZONE, Manifest, pod, required_pod_term, spread

# What a pod of an older revision asks for.
OLDER = Room(100, 256)


@dataclass(frozen=True, slots=True)
class Mix:
    """Shares of the templates with each kind of constraint, and the priorities dealt among them."""

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

    def eligible(self, pools: Sequence[Pool], zone: int) -> list[int]:
        """The nodes of one zone that the pods may go to."""
        return [
            index
            for index, pool in enumerate(pools)
            if zone_of(index) == zone and (pool is self.pool or (self.pool is None and pool is not RESERVED))
        ]

    def scaled(self, factor: float) -> "Template":
        """The same with other requests."""
        return replace(self, request=self.request.times(factor))


def draw_templates(
    dice: random.Random, counts: Sequence[int], nodes: Mapping[str, int], mix: Mix
) -> list[Template]:
    """As many templates as counts, each constraint on its share of them."""
    drawn = [_deal(dice, len(counts), share) for share in (mix.selector, mix.hard_host, mix.anti_affinity)]
    selecting, by_host, apart = drawn
    hard = _deal(dice, len(counts), mix.hard_zone)
    soft = set(dice.sample([i for i in range(len(counts)) if i not in hard], _share(counts, mix.soft_zone)))
    fussy = _deal(dice, len(counts), mix.min_domains, hard)
    pools = _pools(dice, selecting)
    templates = []
    for index, count in enumerate(counts):
        labels = {"app": f"app-{index:03d}"}
        pool = pools.get(index)
        # One pod a node, so there must be nodes enough for a batch that could be placed.
        roomy = count * 2 <= (nodes[pool.name] if pool else sum(nodes.values()) - nodes[RESERVED.name])
        constraints = []
        if index in hard:
            more = {"minDomains": 3} if index in fussy else {}
            constraints += spread(ZONE, dice.randint(1, 2), "DoNotSchedule", labels, **more)
        if index in soft:
            constraints += spread(ZONE, 1, "ScheduleAnyway", labels)
        if index in by_host and roomy:
            constraints += spread(HOSTNAME, dice.randint(1, 2), "DoNotSchedule", labels)
        spec: dict[str, Any] = {"topologySpreadConstraints": constraints} if constraints else {}
        if index in apart and roomy:
            spec["affinity"] = _apart(labels)
        if pool:
            spec["nodeSelector"] = {"pool": pool.name}
        if pool is RESERVED:
            spec["tolerations"] = [{"key": TAINT, "operator": "Exists", "effect": "NoSchedule"}]
        if len(mix.priorities) > 1:
            spec["priority"] = dice.choice(mix.priorities)
        templates.append(Template(labels["app"], _request(dice), pool, spec))
    return templates


def _request(dice: random.Random) -> Room:
    """Between half a core and four, with one to six GiB a core; later scaled to the batch's fill."""
    cpu = dice.choice((500, 750, 1_000, 1_500, 2_000, 3_000, 4_000))
    return Room(cpu, int(cpu / 1_000 * dice.choice((1, 2, 3, 4, 6)) * 1024))


def _apart(labels: dict[str, str]) -> Manifest:
    return required_pod_term("podAntiAffinity", HOSTNAME, labels)


def _share(counts: Sequence[int], share: float) -> int:
    return round(len(counts) * share)


def _deal(dice: random.Random, total: int, share: float, among: set[int] | None = None) -> set[int]:
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
    """The pod with this number among its template's."""
    return pod(
        f"{template.app}-{index:05d}",
        labels={"app": template.app},
        **template.request.requests,
        **template.spec,
    )


def running_pod(template: Template, node: str) -> Manifest:
    """A pod of an older, smaller revision that runs on the node."""
    manifest = pod(
        f"{template.app}-old-{node}", labels={"app": template.app}, **OLDER.requests, **template.spec
    )
    return manifest | {"spec": manifest["spec"] | {"nodeName": node}, "status": {"phase": "Running"}}
