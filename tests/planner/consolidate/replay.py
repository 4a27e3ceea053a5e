"""A consolidation replayed from its document alone: the scheduler places one replacement after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from models import Cluster
from planner.audit.findings import findings_of
from planner.consolidate.removable import goes_with_its_node
from planner.consolidate.setting import with_added
from planner.documents.consolidation import ConsolidationPlan
from planner.documents.move_plan import MoveStep, OnNodes
from planner.moves.constraint_counts import excesses, worse
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase
from planner.problem.problem import Problem
from planner.whatif.nodes import cordon


def failure(cluster: Cluster, plan: ConsolidationPlan, seed: int) -> str | None:
    """What goes wrong when the waves are carried out in a random order with random ties; None if nothing."""
    names = {*(row.node for row in plan.removed), *plan.cordoned_meanwhile}
    for name in names:
        cluster = cordon(cluster, name)
    return _Replay(Problem(cluster), plan, random.Random(seed)).failure()


def failure_with(
    cluster: Cluster, plan: ConsolidationPlan, options: Mapping[str, Any], seed: int
) -> str | None:
    """The same of a plan made with some options: machines of a catalogue are there first."""
    if "catalogue" in options:
        cluster = with_added(cluster, plan.added, options["catalogue"], options["price_label"])
    return failure(cluster, plan, seed)


class _Replay:
    """One run of a plan."""

    def __init__(self, problem: Problem, plan: ConsolidationPlan, draw: random.Random) -> None:
        self._plan = plan
        self._draw = draw
        self._index = problem.nodes.index
        moves = [self._move(problem, step) for step in plan.steps]
        self._timeline = EvictionTimeline(problem, [move.pod for move in moves])
        self._trial = self._timeline.trial
        self._moves = {step.pod: move for step, move in zip(plan.steps, moves, strict=True)}

    def _move(self, problem: Problem, step: MoveStep) -> Move:
        return Move(problem.pod_index[step.pod], self._index[step.source], self._index[step.node])

    def failure(self) -> str | None:
        trial = self._trial
        hard = [found for found in trial.ledger.constraints if found.hard]
        before, faults = excesses(hard), self._faults()
        for number in sorted({step.wave for step in self._plan.steps}):
            wave = [step for step in self._plan.steps if step.wave == number]
            failed = self._wave(wave)
            if failed is not None:
                return f"wave {number}: {failed}"
            if worse(before, hard):
                return f"wave {number}: a constraint is worse"
        if not self._faults() <= faults:
            return "something is worse in the end"
        gone = {self._index[row.node] for row in self._plan.removed}
        left = [pod for node in gone for pod in trial.state.pods_on[node]]
        stays = any(not goes_with_its_node(trial.problem, pod) for pod in left)
        return "a node is not empty" if stays else None

    def _faults(self) -> Counter[tuple[str, str]]:
        """What breaks rules of which plugin now: pods, or nodes."""
        findings = findings_of(self._trial.problem, self._trial.state)
        return Counter((found.plugin, found.pod or found.node) for found in findings)

    def _wave(self, wave: Sequence[MoveStep]) -> str | None:
        """Every eviction before its landing, else in any order; old pods end at any time of the wave."""
        leaving = self._draw.sample(wave, len(wave))
        landing: list[MoveStep] = []
        landed: list[Move] = []
        while leaving or landing:
            if leaving and (not landing or self._draw.random() < 0.5):
                step = leaving.pop()
                ends = self._timeline.waits_for_the_end(self._moves[step.pod]) or self._draw.random() < 0.5
                self._timeline.put(self._moves[step.pod], Phase.GONE if ends else Phase.LEAVING)
                landing.append(step)
                continue
            step = landing.pop(self._draw.randrange(len(landing)))
            found = self._land(step)
            if found is None:
                return f"{step.pod} does not land where it is planned to"
            landed.append(found)
        self._timeline.put_all(landed, Phase.LANDED)
        return None

    def _land(self, step: MoveStep) -> Move | None:
        move = self._moves[step.pod]
        lingers = not self._timeline.has_ended(move)
        node = self._node(step)
        if node is None and lingers:
            self._timeline.put(move, Phase.GONE)
            lingers, node = False, self._node(step)
        allowed = step.lands.nodes if isinstance(step.lands, OnNodes) else None
        if node is None or (allowed is not None and self._trial.problem.nodes.names[node] not in allowed):
            return None
        found = replace(move, target=node)
        self._timeline.put(found, Phase.LINGERING if lingers else Phase.LANDED)
        return found

    def _node(self, step: MoveStep) -> int | None:
        """Where kube-scheduler puts the replacement now."""
        trial, template = self._trial, self._trial.template(self._moves[step.pod].pod)
        if step.landing == "pinned" and isinstance(step.pin, OnNodes):
            pinned = np.isin(np.array(trial.problem.nodes.names), step.pin.nodes)
            nodes = np.flatnonzero(trial.open_pinned(template, pinned))
        else:
            feasible, totals = trial.choice(template, [self._index[name] for name in step.cordon])
            best = totals[feasible.mask].max(initial=0)
            nodes = np.flatnonzero(feasible.mask & (totals == best))
        return int(self._draw.choice(nodes.tolist())) if nodes.size else None
