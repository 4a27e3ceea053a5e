"""From an arrangement to evictions and binds in an order that a cluster accepts.

The order of the binds is found with all pods evicted that have to go.  Then each eviction is put off for
as long as the filters accept the binds without it: a pod that moves leaves right before it comes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from planner.batch.packing.vectors import Arrangement
from planner.batch.pending import Pending
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement, Step


@dataclass(frozen=True, slots=True)
class Action:
    """A pod is evicted, when `node` is None, or bound; `source` is the node that it ran on before."""

    pod: int
    node: int | None
    source: int | None


def evicted(actions: Sequence[Action]) -> list[int]:
    return [action.pod for action in actions if action.node is None]


class ActionSequence(NamedTuple):
    """What to do in its order, and whether the same can be had with all evictions before the first bind."""

    actions: Sequence[Action]
    evicts_first: bool


class ActionOrder:
    """Brings arrangements into an order, on a state without the pods that may be evicted."""

    def __init__(self, pending: Pending, meter: Meter) -> None:
        self._pending = pending
        self._state = pending.state
        self._meter = meter
        self._orderer = Orderer(pending)

    def sequence(self, arrangement: Arrangement, *, thorough: bool) -> ActionSequence:
        """What to do, as far as an order was found; what is left over goes where it fits."""
        mark = self._state.mark()
        going = self._going(arrangement.staying)
        self._pending.bind_where_they_run(going)
        waiting = self._waiting(going)
        steps = self._orderer.extend(self._in_order(arrangement.coming, waiting, thorough), waiting)
        self._state.rollback(mark)
        actions = self._put_off(steps, going)
        planned = _is_as_planned(actions, steps, going)
        return ActionSequence(actions, planned or _can_evict_first(actions, self._pending))

    def after(self, evictions: Mapping[Step, int], steps: Sequence[Step]) -> ActionSequence:
        """A known order of binds that follow some evictions, each of them put off where it can be."""
        running = self._pending.running
        going = self._going({step: len(pods) - evictions.get(step, 0) for step, pods in running.items()})
        late = self._put_off(steps, going)
        if _is_as_planned(late, steps, going):
            return ActionSequence(late, evicts_first=True)
        first = [Action(pod, None, node) for pod, node in going.items()]
        binds = self._named(steps, going)
        then = [Action(pod, node, going.get(pod)) for pod, node in binds]
        return ActionSequence([*first, *then], evicts_first=True)

    def _named(self, steps: Sequence[Step], going: dict[int, int]) -> list[tuple[int, int]]:
        waiting = self._waiting(going)
        return [(waiting[number].pop(), node) for number, node in steps]

    def _put_off(self, steps: Sequence[Step], going: dict[int, int]) -> list[Action]:
        """Each eviction right before the bind that needs it, as far as that works out."""
        mark = self._state.mark()
        binds = self._named(steps, going)
        self._pending.bind_where_they_run()
        start = self._state.mark()
        found = self._eagerly(binds, going) if len(binds) <= self._meter.effort.orders.put_in_order else None
        if found is None:
            self._state.rollback(start)
            found = self._in_turn(binds, going)
        self._state.rollback(mark)
        return found

    def _going(self, staying: Mapping[Step, int]) -> dict[int, int]:
        """The pods to be evicted and where they run; of pods alike on a node, the cheapest."""
        return {
            pod: node
            for (number, node), pods in self._pending.running.items()
            for pod in pods[: len(pods) - staying.get((number, node), 0)]
        }

    def _waiting(self, going: dict[int, int]) -> dict[int, list[int]]:
        """The pods to be bound, by template; those evicted before those that were pending, from the end."""
        waiting = {number: list(pods) for number, pods in self._pending.pods.items()}
        for pod in reversed(going):
            waiting[int(self._pending.problem.template_of[pod])].append(pod)
        return waiting

    def _in_order(self, coming: Placement, waiting: dict[int, list[int]], thorough: bool) -> Sequence[Step]:
        steps = self._orderer.follow([coming], waiting)
        if len(steps) == sum(coming.values()) or not thorough:
            return steps
        return self._orderer.search(coming, waiting, self._meter) or steps

    def _eagerly(self, binds: Sequence[tuple[int, int]], going: dict[int, int]) -> list[Action] | None:
        """Evicted pods come first, then those that can move at once, then the others that fit.

        None where that leads to a dead end.
        """
        rank = {pod: 1 if pod in going else 2 for pod, _ in binds}
        waiting, left, found = list(binds), dict(going), list[Action]()
        while waiting:
            ready = sorted(waiting, key=lambda bind: rank[bind[0]])
            chosen = next((bind for bind in ready if self._can_come(*bind, left)), waiting[0])
            waiting.remove(chosen)
            actions = self._bring(*chosen, left, going)
            if not actions or actions[-1].node is None:
                return None
            rank |= {action.pod: 0 for action in actions}
            found += actions
        return found

    def _can_come(self, pod: int, node: int, left: dict[int, int]) -> bool:
        """Whether a pod fits with no other pod evicted for it."""
        mark = self._state.mark()
        if pod in left:
            self._state.unbind(pod)
        fits = self._pending.fits(pod, node)
        self._state.rollback(mark)
        return fits

    def _in_turn(self, binds: Sequence[tuple[int, int]], going: dict[int, int]) -> list[Action]:
        """The binds as they come, with evictions in between."""
        left, found = dict(going), list[Action]()
        for pod, node in binds:
            found += self._bring(pod, node, left, going)
        return found

    def _bring(self, pod: int, node: int, left: dict[int, int], going: dict[int, int]) -> list[Action]:
        """Evict the pods that it takes, and bind; no bind at the end when not even that lets the pod in.

        A pod whose eviction nothing needs is left alone.
        """
        found = list[Action]()
        for other in (pod, *self._in_the_way(left, pod, node)):
            if other != pod and self._pending.fits(pod, node):
                break
            if other in left:
                self._state.unbind(other)
                found.append(Action(other, None, left.pop(other)))
        if not self._pending.fits(pod, node):
            return found
        self._state.bind(pod, node)
        return [*found, Action(pod, node, going.get(pod))]

    def _in_the_way(self, left: dict[int, int], pod: int, node: int) -> list[int]:
        """The other pods that could go to let a pod in: those on its node first."""
        others = [other for other in left if other != pod]
        return sorted(others, key=lambda other: left[other] != node)


def _is_as_planned(actions: Sequence[Action], steps: Sequence[Step], going: Collection[int]) -> bool:
    """Whether all that was to be evicted and bound is, in whatever order."""
    evictions = sum(action.node is None for action in actions)
    return evictions == len(going) and len(actions) - evictions == len(steps)


def _can_evict_first(actions: Sequence[Action], pending: Pending) -> bool:
    """Whether the same binds are accepted in the same order when all evictions come before them.

    `pending.state` is without the pods that may be evicted, and is left so.
    """
    state = pending.state
    mark = state.mark()
    gone = set(evicted(actions))
    pending.bind_where_they_run(gone)
    accepted = True
    for action in actions:
        if accepted and action.node is not None:
            accepted = pending.fits(action.pod, action.node)
            state.bind(action.pod, action.node)
    state.rollback(mark)
    return accepted


def arrangement_of(actions: Sequence[Action], pending: Pending) -> Arrangement:
    """What a sequence of actions leads to."""
    gone = set(evicted(actions))
    template_of = pending.problem.template_of
    coming = Counter((int(template_of[a.pod]), a.node) for a in actions if a.node is not None)
    staying = Counter(step for step, pods in pending.running.items() for pod in pods if pod not in gone)
    return Arrangement(coming, staying)
