"""Tiny clusters with DaemonSets whose pods a workload may preempt, and sets of nodes that refute a bound."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, product

from models import Cluster
from planner.consolidate.loss import DomainLosses
from planner.consolidate.setting import ConsolidationQuestion, Setting, in_the_end
from planner.documents.consolidation import ConsolidationPlan
from tests.builders import HOST, ZONE, Object, cluster, node, pod


@dataclass(frozen=True, slots=True)
class Outranked:
    """Nodes with their cpu, what DaemonSets take of each, and pods: name, cpu, node, whether it stays."""

    key: str
    objects: Sequence[Object]
    cpu: Sequence[int]
    daemons: Sequence[int]
    pods: Sequence[tuple[str, int, int, bool]]

    @property
    def found(self) -> Cluster:
        """The cluster."""
        return cluster(*self.objects)

    @property
    def prices(self) -> list[int]:
        """What each node costs."""
        return [1 + cpu // 3 for cpu in self.cpu]

    def refutes(self, plan: ConsolidationPlan) -> object:
        """A layout below the bound, or with fewer moves than are proved, that survives no less."""
        found, setting = self.found, Setting.of(ConsolidationQuestion(self.found), {})
        losses = DomainLosses.of(setting.problem, setting.movable, self.key)
        moves = len(plan.steps) if plan.status == "Optimal" else 0
        for kept, places in self._layouts(plan.cost.bound, moves):
            gone = frozenset(f"n{number}" for number in range(len(self.cpu)) if number not in kept)
            end = in_the_end(
                found,
                {f"default/{one[0]}": f"n{on}" for one, on in zip(self.pods, places, strict=True)},
                gone,
            )
            if not losses.why_worse(end):
                return kept, places
        return None

    def _layouts(self, bound: float, moves: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Nodes that are kept for less than the bound, or for it with fewer moves, and where pods are."""
        every = range(len(self.cpu))
        for kept in chain.from_iterable(combinations(every, number) for number in every[1:]):
            cost = sum(self.prices[number] for number in kept)
            for places in product(*((on,) if stays else kept for _, _, on, stays in self.pods)):
                moved_on = sum(on != one[2] for one, on in zip(self.pods, places, strict=True))
                better = cost < bound or (cost == bound and moved_on < moves)
                if better and {*places} <= {*kept} and self._has_room(places):
                    yield kept, places

    def _has_room(self, places: Sequence[int]) -> bool:
        used = [*self.daemons]
        for (_, cpu, _, _), on in zip(self.pods, places, strict=True):
            used[on] += cpu
        return all(amount <= most for amount, most in zip(used, self.cpu, strict=True))


def outranked(seed: int) -> Outranked:
    """Two to four nodes; now and then a pod is pending, or runs without a controller."""
    chance = random.Random(seed)
    cpu = [chance.choice([2, 3, 4, 6]) for _ in range(chance.randint(2, 4))]
    zones, daemons = "ab" + chance.choice("abc") + chance.choice("abc"), [0] * len(cpu)
    objects = [
        node(f"n{number}", zones[number], cpu=str(amount), labels={"type": f"t{1 + amount // 3}"})
        for number, amount in enumerate(cpu)
    ]
    for name in ("logs", "metrics"):
        asked, priority = chance.choice([0, 1, 2]), chance.choice([0, 0, 5, 20])
        for number, most in enumerate(cpu):
            if asked and daemons[number] + asked <= most and chance.random() < 0.85:
                daemons[number] += asked
                words: Object = {"cpu": str(asked), "owner": f"DaemonSet/{name}", "priority": priority}
                objects.append(pod(f"{name}-{number}", f"n{number}", app=name, **words))
    pods, used = list[tuple[str, int, int, bool]](), [*daemons]
    kinds = {app: (chance.randint(1, 3), chance.choice([0, 10, 15]), chance.random() < 0.2) for app in "uv"}
    for number in range(chance.randint(1, 5)):
        app, on, stays = chance.choice("uv"), chance.randrange(len(cpu)), chance.random() < 0.08
        asked, priority, never = kinds[app]
        if used[on] + asked <= cpu[on]:
            used[on] += asked
            words = {"cpu": str(asked), "priority": priority}
            words |= ({} if stays else {"owner": f"ReplicaSet/{app}"}) | ({"never": "Never"} if never else {})
            objects.append(pod(f"{app}-{number}", f"n{on}", app=app, **words))
            pods.append((f"{app}-{number}", asked, on, stays))
    if chance.random() < 0.3:
        words = {"cpu": str(chance.randint(1, 5)), "priority": chance.choice([0, 12, 30])}
        objects.append(pod("waits", app="waits", owner="ReplicaSet/waits", **words))
    return Outranked(chance.choice([HOST, ZONE]), objects, cpu, daemons, pods)
