"""A plan of moves against all that can happen: every order, every tie, pods that end late, preemption.

Only the manifests, the document and the reference scheduler are used.  Each wave is a problem of its own, in
which every moved pod exists three times: running, ending, and as its replacement, with the pin written into
its affinity.  All states that the wave can reach are enumerated; where there are too many, random paths are
played.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from cli.output.views.scripts.affinity import narrowed
from models import Cluster
from planner import check
from planner.documents.move_plan import MovePlan, MoveStep, OnNodes, Place
from planner.problem.problem import Problem
from planner.scheduler.scheduler import Scheduler
from tests.builders import LONG_AGO, Object

#: The most states of a wave that are enumerated, and the most ends of a wave that are followed.
STATES, ENDS = 3_000, 2
#: A move: running, ending, ended, landed with the old pod still ending, landed.
RUNNING, ENDING, ENDED, LATE, DONE = range(5)
#: How far every move of a wave is, and the node of its replacement, -1 without one.
State = tuple[tuple[int, int], ...]


@dataclass
class Fault(Exception):
    """Something can happen that the plan rules out."""

    what: str


def faults(objects: Sequence[Object], plan: MovePlan, seed: int) -> list[str]:
    """What may happen that the plan rules out: at most one fault of every path that was followed."""
    draw = random.Random(seed)
    waves = [
        [step for step in plan.steps if step.wave == number]
        for number in sorted({step.wave for step in plan.steps})
    ]
    ways: list[dict[str, str]] = [{}]
    try:
        for number, wave in enumerate(waves, start=1):
            ends = {
                tuple(sorted({**placed, **end}.items()))
                for placed in ways
                for end in _Wave(objects, placed, wave, number).ends(draw)
            }
            ways = [dict(end) for end in draw.sample(sorted(ends), min(ENDS, len(ends)))]
    except Fault as found:
        return [found.what]
    left = [check(Cluster.from_objects(_placed(objects, placed))).hard_excess for placed in ways]
    return [f"ends with {most} too many" for most in left if most != plan.after.hard_excess]


def _key(item: Object) -> str:
    return f"{item['metadata'].get('namespace', 'default')}/{item['metadata']['name']}"


def _placed(objects: Sequence[Object], placed: dict[str, str]) -> list[Object]:
    """The manifests with some pods on other nodes."""
    found = deepcopy([*objects])
    for item in found:
        if item["kind"] == "Pod" and _key(item) in placed:
            item["spec"]["nodeName"] = placed[_key(item)]
    return found


class _Wave:
    """The states that one wave can reach from a placement."""

    def __init__(
        self, objects: Sequence[Object], placed: dict[str, str], wave: Sequence[MoveStep], number: int
    ) -> None:
        before = Cluster.from_objects(_placed(objects, placed))
        pods = {pod.key: pod for pod in before.pods}
        manifests = _placed(objects, placed)
        cordoned = {name for step in wave for name in step.cordon}
        by_key = {_key(item): item for item in manifests if item["kind"] == "Pod"}
        for item in manifests:
            if item["kind"] == "Node" and item["metadata"]["name"] in cordoned:
                item["spec"] = {**item.get("spec", {}), "unschedulable": True}
        for step in wave:
            leaving, coming = deepcopy(by_key[step.pod]), deepcopy(by_key[step.pod])
            leaving["metadata"] |= {
                "name": f"{step.pod}-leaving".split("/")[1],
                "deletionTimestamp": LONG_AGO,
            }
            coming["metadata"] |= {"name": f"{step.pod}-coming".split("/")[1]}
            del coming["spec"]["nodeName"]
            coming["status"] = {"phase": "Pending"}
            if step.pin is not None:
                coming["spec"]["affinity"] = narrowed(pods[step.pod].spec.affinity, step.pin)
            manifests += [leaving, coming]
        self._problem = Problem(Cluster.from_objects(manifests))
        self._wave, self._number = wave, number
        index = self._problem.pod_index
        self._roles = [(index[s.pod], index[f"{s.pod}-leaving"], index[f"{s.pod}-coming"]) for s in wave]
        self._sources = [self._problem.nodes.index[step.source] for step in wave]
        self._lands = [self._nodes(step.lands) for step in wave]
        self._scheduler = Scheduler(self._problem)
        for _, leaving_pod, _ in self._roles:
            self._scheduler.state.unbind(leaving_pod)

    def _nodes(self, place: Place) -> set[int]:
        names = self._problem.nodes.names
        if isinstance(place, OnNodes):
            return {self._problem.nodes.index[name] for name in place.nodes}
        return {
            number
            for number, node in enumerate(self._problem.nodes.nodes[: len(names)])
            if all(node.metadata.labels.get(key) in values for key, values in place.labels.items())
        }

    def ends(self, draw: random.Random) -> list[dict[str, str]]:
        """Where replacements may be when the wave is over."""
        names = self._problem.nodes.names
        finals = [state for state in self._reached(draw) if all(phase == DONE for phase, _ in state)]
        return [
            {step.pod: names[node] for step, (_, node) in zip(self._wave, state, strict=True)}
            for state in finals
        ]

    def _reached(self, draw: random.Random) -> list[State]:
        start: State = tuple((RUNNING, -1) for _ in self._wave)
        seen, waiting = {start}, [start]
        while waiting:
            # Half of the time onwards to an end.
            state = waiting.pop(draw.choice((-1, draw.randrange(len(waiting)))))
            following = [*self._following(state)]
            if not following and any(phase != DONE for phase, _ in state):
                raise Fault(f"wave {self._number}: a replacement stays pending")
            for other in following:
                if other not in seen and len(seen) < STATES:
                    seen.add(other)
                    waiting.append(other)
        return sorted(seen)

    def _following(self, state: State) -> Iterator[State]:
        """What can happen next."""
        for number, (phase, node) in enumerate(state):
            if phase == RUNNING:
                yield _with(state, number, ENDING, -1)
            elif phase in {ENDING, LATE}:
                yield _with(state, number, ENDED if phase == ENDING else DONE, node)
            if phase == ENDED or (phase == ENDING and "StatefulSet" not in self._wave[number].owner):
                for target in self._landings(state, number):
                    yield _with(state, number, LATE if phase == ENDING else DONE, target)

    def _show(self, state: State) -> None:
        """Put the scheduler's cluster into a state."""
        trial = self._scheduler.state
        for (running, leaving, coming), source, (phase, node) in zip(
            self._roles, self._sources, state, strict=True
        ):
            wanted = {
                running: source if phase == RUNNING else -1,
                leaving: source if phase in {ENDING, LATE} else -1,
                coming: node,
            }
            for pod, place in wanted.items():
                if trial.node_of[pod] != place:
                    if trial.node_of[pod] >= 0:
                        trial.unbind(pod)
                    if place >= 0:
                        trial.bind(pod, place)

    def _landings(self, state: State, number: int) -> list[int]:
        """Where a replacement may land now."""
        self._show(state)
        step, pod = self._wave[number], self._roles[number][2]
        framework = self._scheduler.framework_of(pod)
        plan = framework.plan(self._problem.template(pod))
        feasible = framework.feasible(plan)
        nodes = np.flatnonzero(feasible.mask)
        if not nodes.size:
            mark = self._scheduler.state.mark()
            decision = self._scheduler.decide(pod)
            self._scheduler.state.rollback(mark)
            if decision.nominated is not None:
                victims = ", ".join(self._problem.pods[victim].key for victim in decision.victims)
                raise Fault(f"wave {self._number}: {step.pod} preempts {victims or 'what leaves anyhow'}")
            return []
        if step.landing == "scores" and nodes.size > 1:
            totals = framework.totals(plan, feasible)[nodes]
            nodes = nodes[totals == totals.max()]
        uncertain_pods = [
            self._problem.nodes.names[node] for node in nodes.tolist() if node not in self._lands[number]
        ]
        if uncertain_pods:
            raise Fault(
                f"wave {self._number}: {step.pod} may land on {uncertain_pods[0]}, which was not told"
            )
        found: list[int] = nodes.tolist()
        return found


def _with(state: State, number: int, phase: int, node: int) -> State:
    return (*state[:number], (phase, node), *state[number + 1 :])
