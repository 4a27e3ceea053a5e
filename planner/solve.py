"""Where the whole batch should go: the most pods that a sequence of admissible binds can place.

The reference scheduler's result is the first plan.  Then the whole batch is solved at once, what is
found is brought into an order that the filters accept at every turn, and the better plan wins.  No
plan is printed that was not replayed, bind by bind.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from models import Cluster
from planner import plan
from planner.check import audit
from planner.errors import InternalError
from planner.framework import Framework
from planner.order import Orderer, Placement, Step
from planner.problem import Problem
from planner.profile import build, profiles_of
from planner.scheduler import GATED, Scheduler
from planner.state import State

#: Up to so many variables the batch is solved exactly; above that the scheduler's result has to do.
_MOST_VARIABLES = 60_000
#: How many orders of a placement are tried before it counts as out of reach.
_PATIENCE = 2_000


def solve(cluster: Cluster, *, time_limit: float = 30.0, final_state: bool = False) -> plan.PlacementPlan:
    """The best placement of all pending pods, how good it is, and an order that a cluster accepts.

    With `final_state` every constraint holds when all is placed, whether or not an order leads there.
    """
    batch = _Batch(cluster)
    deadline = time.monotonic() + time_limit
    found = batch.final_state(deadline) if final_state else batch.sequence(deadline)
    return batch.document(found, final_state=final_state)


@dataclass(frozen=True, slots=True)
class _Found:
    """Binds in their order; per priority the most that any plan could have; what a final state holds.

    `unsolved` when the exact model was out of reach, so that the binds are the scheduler's own.
    """

    steps: Sequence[Step]
    bounds: Mapping[int, int] = field(default_factory=dict)
    final_pods: int | None = None
    unsolved: bool = False


class _Batch:
    """The pending pods of a snapshot that no gate holds back, and the state they come to."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._problem = Problem(cluster)
        self._state = State(self._problem)
        self._frameworks = {
            name: Framework(self._problem, self._state, build(config, self._problem, self._state))
            for name, config in profiles_of(cluster.scheduler_config).items()
        }
        self._orderer = Orderer(self._problem, self._state, self._frameworks)
        self._reference = Scheduler(self._problem, preemption=False)
        self._waiting = self._read_waiting()
        self._priorities = sorted({self._priority(number) for number in self._waiting}, reverse=True)

    def _read_waiting(self) -> dict[int, list[int]]:
        """The pods of every template; the first to be taken stands last."""
        waiting: dict[int, list[int]] = defaultdict(list)
        for pod in reversed(self._reference.queue):
            if not self._problem.pods[pod].spec.scheduling_gates:
                waiting[int(self._problem.template_of[pod])].append(pod)
        return dict(waiting)

    def _priority(self, template: int) -> int:
        return self._problem.templates[template].priority

    def sequence(self, deadline: float) -> _Found:
        """The best plan that an order of admissible binds leads to."""
        greedy, most = self._greedy(), self._trivial_bounds()
        if len(greedy) == sum(most.values()):
            return _Found(greedy, most)
        model = self._solve(greedy, deadline, final=False)
        if model is None:
            return _Found(greedy, most, unsolved=True)
        placement, bounds = model
        plans = [greedy, self._in_order(placement)]
        final_pods = None
        if self._worth(plans[-1]) != self._worth_of(placement):
            final = self._solve(greedy, deadline, final=True)
            if final is not None:
                plans.append(self._in_order(final[0]))
                final_pods = sum(final[0].values())
        best = max(plans, key=self._worth)
        return _Found(best, bounds, final_pods)

    def final_state(self, deadline: float) -> _Found:
        """The best placement in which every constraint holds at the end."""
        model = self._solve((), deadline, final=True)
        if model is None:
            return _Found(self._greedy(), self._trivial_bounds(), unsolved=True)
        placement, bounds = model
        ordered = self._ordered(placement)
        rest = Counter(placement) - Counter(ordered)
        return _Found([*ordered, *rest.elements()], bounds, sum(placement.values()))

    def _greedy(self) -> list[Step]:
        """What the reference scheduler does, step by step."""
        return [
            (int(self._problem.template_of[decision.pod]), decision.node)
            for decision in self._reference.run()
            if decision.node is not None
        ]

    def _trivial_bounds(self) -> dict[int, int]:
        """Per priority, the pods that some node could take at all."""
        bounds = dict.fromkeys(self._priorities, 0)
        for number, pods in self._waiting.items():
            if self._framework(number).plan(self._problem.templates[number]).settled.any():
                bounds[self._priority(number)] += len(pods)
        return bounds

    def _framework(self, template: int) -> Framework:
        return self._frameworks[self._problem.templates[template].pod.spec.scheduler_name]

    def _solve(
        self, hint: Sequence[Step], deadline: float, *, final: bool
    ) -> tuple[Placement, Mapping[int, int]] | None:
        """The exact model's placement and bounds; None when it is out of reach."""
        settled = {
            number: self._framework(number).plan(self._problem.templates[number]).settled
            for number in self._waiting
        }
        variables = sum(int(mask.sum()) for mask in settled.values())
        if len(self._frameworks) > 1 or variables > _MOST_VARIABLES or time.monotonic() >= deadline:
            return None
        from planner.cpsat.exact import ExactModel
        from planner.cpsat.variables import Batch

        wanted = {number: len(pods) for number, pods in self._waiting.items()}
        families = next(iter(self._frameworks.values())).profile.filters
        model = ExactModel(Batch(self._problem, wanted, settled), families, final=final)
        found = model.solve(Counter(hint), deadline)
        return None if found is None else (found.placement, found.bounds)

    def _in_order(self, placement: Placement) -> list[Step]:
        """The placement in an admissible order, as much of it as possible, and then what else fits."""
        return self._orderer.extend(self._ordered(placement), self._waiting)

    def _ordered(self, placement: Placement) -> list[Step]:
        """The placement in an admissible order, or as much of it as an order was found for."""
        steps = self._orderer.follow(placement, self._waiting)
        if len(steps) == sum(placement.values()):
            return steps
        return self._orderer.search(placement, self._waiting, _PATIENCE) or steps

    def _worth(self, steps: Sequence[Step]) -> tuple[int, ...]:
        """How good a plan is: its pods per priority, the highest first."""
        return self._worth_of(Counter(steps))

    def _worth_of(self, placement: Placement) -> tuple[int, ...]:
        placed: Counter[int] = Counter()
        for (template, _), pods in placement.items():
            placed[self._priority(template)] += pods
        return tuple(placed[priority] for priority in self._priorities)

    def document(self, found: _Found, *, final_state: bool) -> plan.PlacementPlan:
        """The plan as it is printed, after it was replayed."""
        waiting = {number: list(pods) for number, pods in self._waiting.items()}
        binds = [(waiting[template].pop(), node) for template, node in found.steps]
        in_sequence = self._replay(binds)
        if not in_sequence and not final_state:
            raise InternalError("a plan broke the filters when it was replayed")
        before = audit(self._problem, self._problem.node_of).violations
        after = audit(self._problem, self._state.node_of).violations
        objective = tuple(self._objective(found))
        proved = all(stage.proved for stage in objective)
        return plan.PlacementPlan(
            status="Optimal" if proved else "Feasible",
            objective=objective,
            steps=tuple(self._step(pod, node) for pod, node in binds),
            unplaced=tuple(self._unplaced(waiting)),
            verdicts=plan.Verdicts(sequence=in_sequence, final_state=after <= before),
            notes=(*self._cluster.notes, *self._problem.notes, *self._notes(found, final_state)),
        )

    def _replay(self, binds: Sequence[tuple[int, int]]) -> bool:
        """Bind one after the other; whether the filters accepted each at its turn."""
        accepted = True
        for pod, node in binds:
            framework = self._framework(int(self._problem.template_of[pod]))
            accepted = accepted and framework.fits(framework.plan(self._problem.template(pod)), node)
            self._state.bind(pod, node)
        return accepted

    def _objective(self, found: _Found) -> Iterator[plan.Objective]:
        proved, most = True, self._trivial_bounds()
        for priority, value in zip(self._priorities, self._worth(found.steps), strict=True):
            bound = found.bounds.get(priority, most[priority])
            proved = proved and value == bound
            yield plan.Objective(
                name=f"podsPlaced/{priority}", value=value, bound=max(value, bound), proved=proved
            )

    def _step(self, pod: int, node: int) -> plan.PlanStep:
        return plan.PlanStep(pod=self._problem.pods[pod].key, node=self._problem.nodes.names[node])

    def _unplaced(self, waiting: Mapping[int, Sequence[int]]) -> Iterator[plan.Unplaced]:
        """The pods left over, each with kube's line in the state that the plan leads to."""
        left = {number: pods for number, pods in waiting.items() if pods}
        lines = {number: self._line(number) for number in left}
        for pod in self._reference.queue:
            number = int(self._problem.template_of[pod])
            gated = bool(self._problem.pods[pod].spec.scheduling_gates)
            if gated or pod in left.get(number, ()):
                yield plan.Unplaced(
                    pod=self._problem.pods[pod].key, message=GATED if gated else lines[number]
                )

    def _line(self, template: int) -> str:
        framework = self._framework(template)
        return framework.diagnose(framework.plan(self._problem.templates[template])).message()

    def _notes(self, found: _Found, final_state: bool) -> Iterator[str]:
        pods = len(found.steps)
        if found.unsolved:
            yield (
                "the batch was not solved as a whole (too large, out of time, or several profiles): "
                "the plan is kube-scheduler's own"
            )
        if not final_state and found.final_pods is not None and found.final_pods > pods:
            yield (
                f"{found.final_pods} pods could stand with every constraint kept, but no order of binds "
                f"that leads there was found: --final-state prints that placement"
            )
