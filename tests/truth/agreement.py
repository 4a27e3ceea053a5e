"""Whether the search's own filters say what the planner's say, wherever a random walk leads."""

from __future__ import annotations

import random
from collections.abc import Iterator

from models import Cluster
from planner import check
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.truth.manifests import Object
from tests.truth.tiny_cluster import TinyCluster


class Walk:
    """The same cluster twice: as the planner's scheduler sees it, and as the search does."""

    def __init__(self, objects: list[Object], seed: int) -> None:
        self.tiny = TinyCluster(objects)
        self._scheduler = Scheduler(Problem(Cluster.from_objects(objects)), preemption=False)
        self._chance = random.Random(seed)
        self.state = self.tiny.start
        index = self._scheduler.problem.pod_index
        self._on = {
            index[name]: (number, node)
            for number, kind in enumerate(self.tiny.kinds)
            for node, names in kind.running.items()
            for name in names
        }
        self._waiting = [
            (index[name], number) for number, kind in enumerate(self.tiny.kinds) for name in kind.names
        ]

    def differences(self, steps: int) -> Iterator[str]:
        """Every disagreement about a filter on a walk of so many steps."""
        yield from self._about_excess()
        for _ in range(steps):
            for kind in range(len(self.tiny.kinds)):
                yield from self._about(kind)
            self._step()

    def _about(self, kind: int) -> Iterator[str]:
        found = self.tiny.kinds[kind]
        names = [*found.names, *(name for some in found.running.values() for name in some)]
        if not names:
            return
        pod = self._scheduler.problem.pod_index[names[0]]
        if self._scheduler.problem.pods[pod].spec.scheduler_name not in self._scheduler.schedulers:
            # No filter is asked about the pods of another scheduler.
            return
        framework = self._scheduler.framework_of(pod)
        plan = framework.plan(self._scheduler.problem.template(pod))
        mask = framework.feasible(plan).mask
        theirs = sum(1 << node for node in mask.nonzero()[0].tolist())
        ours = self.tiny.feasible(self.state, kind)
        if theirs != ours:
            places = {
                self._scheduler.problem.pods[p].key: self.tiny.names[n] for p, (_, n) in self._on.items()
            }
            yield f"{names[0]}: the planner accepts {theirs:b}, the search {ours:b}, with {places}"

    def _about_excess(self) -> Iterator[str]:
        """Hard excess as `check` counts it."""
        report = check(self._scheduler.problem.cluster)
        ours = sum(self.tiny.excess(self.tiny.start))
        if report.hard_excess != ours:
            yield f"check counts a hard excess of {report.hard_excess}, the search {ours}"

    def _step(self) -> None:
        """Bind a pod that waits, where filters let it or anywhere; or take one away."""
        if self._waiting and (not self._on or self._chance.random() < 0.6):
            pod, kind = self._waiting.pop(self._chance.randrange(len(self._waiting)))
            node = self._chance.randrange(len(self.tiny.names))
            self._scheduler.state.bind(pod, node)
            self._on[pod] = kind, node
            self.state += self.tiny.delta[kind][node]
        elif self._on:
            pod = self._chance.choice(sorted(self._on))
            kind, node = self._on.pop(pod)
            self._scheduler.state.unbind(pod)
            self._waiting.append((pod, kind))
            self.state -= self.tiny.delta[kind][node]
