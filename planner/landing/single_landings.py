"""A replacement that lands alone: what restricts it to its planned node, if anything does.

It is scheduled as soon as its controller has made it, while the old pod may still be terminating.  Where no
node is feasible at that moment it stays pending until that has ended, unless DefaultPreemption makes a node
feasible by evicting pods of lower priority.  Nodes that a pin or a cordon excludes do not become feasible.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial

import numpy as np

from planner.documents.move_plan import Place
from planner.landing.landing import Kind, Landing, NodeSets, PinPolicy
from planner.moves.trial_cluster import EvictionTimeline, Move, Phase, TrialCluster
from planner.problem.nodes import Codes, Mask
from planner.proof import move_effort as effort
from planner.scheduler.preemption import may_preempt


class SingleLandings:
    """Judges single moves, all earlier ones having ended."""

    def __init__(
        self,
        timeline: EvictionTimeline,
        pin_policy: PinPolicy,
        *,
        lets_preempt: bool = False,
        while_away: bool = True,
        most_cordoned: int | None = None,
    ) -> None:
        """Landings over a timeline; pins and cordons only as `pin_policy` allows.

        Without `while_away` a constraint may be worse until the replacement has landed.
        At most `most_cordoned` nodes are cordoned for a replacement.
        A replacement that could preempt other pods has no landing, unless with `lets_preempt`.
        """
        self._timeline = timeline
        self.trial = timeline.trial
        self._places = NodeSets(timeline.trial)
        self._pin_policy = pin_policy
        self._while_away = while_away
        self._most_cordoned = effort.MOST_CORDONED if most_cordoned is None else most_cordoned
        self._risk = None if lets_preempt else PreemptionRisk(timeline.trial)

    def of(self, move: Move) -> Landing | None:
        """The landing of a replacement on its target; None when it may not, or need not, land there."""
        return self._allowed(move, self._held_by)

    def commit(self, wave: Sequence[Landing]) -> Sequence[Landing]:
        self._timeline.put_all((landing.move for landing in wave), Phase.LANDED)
        self.trial.state.forget_history()
        return wave

    def preferred(self, move: Move) -> int | None:
        """The node that the scheduler takes when the old pod has ended; None without a unique best one."""
        with self.trial.after():
            self._timeline.put(move, Phase.GONE)
            return self.trial.first_choice(self.trial.template(move.pod))

    def beside_others(self, move: Move) -> Landing | None:
        """The landing on the target, open all the time, pinned to it or while no other node is open.

        None when that cannot be.  Which nodes have to be cordoned is not said.
        """
        template, policy = self.trial.template(move.pod), self._pin_policy
        kind: Kind = "pinned" if template in policy.pinnable else "cordoned"
        others = int(np.count_nonzero(self.trial.ever_open(template))) - 1
        if kind == "cordoned" and (template not in policy.cordonable or others > self._most_cordoned):
            return None
        return self._allowed(move, partial(self._always_open, kind=kind))

    def _allowed(self, move: Move, landing: Callable[[Move, Mask], Landing | None]) -> Landing | None:
        with self.trial.after():
            if not self.trial.attempt(move, while_away=self._while_away):
                return None
        with self.trial.after():
            return landing(move, self._timeline.problem.nodes.only(move.target))

    def _always_open(self, move: Move, only: Mask, kind: Kind) -> Landing | None:
        """The landing on the target, or by a narrow pin, whether the old pod is there or has ended."""
        trial, template, there = self.trial, self.trial.template(move.pod), self._places.named(only)
        pin = there if kind == "pinned" else None
        for _ in self._timeline.while_unscheduled(move):
            if pin is None and not trial.accepts(template, move.target):
                return None
            if pin is not None and not trial.open_to(template, only)[move.target]:
                return None
        return Landing(move, kind, only, there, pin)

    def _held_by(self, move: Move, only: Mask) -> Landing | None:
        """The landing by whatever restricts it to the target; None when nothing does."""
        trial, template, there = self.trial, self.trial.template(move.pod), self._places.named(only)
        if self._stays_inside(move, only, partial(trial.open_to, template)):
            return Landing(move, "filters", only, there)
        if self._stays_inside(move, only, lambda: trial.tops(template)[1]):
            return Landing(move, "scores", only, there)
        if template in self._pin_policy.pinnable:
            pins = (Landing(move, "pinned", only, there, wide) for wide in self._pins(move, only))
            return next(pins, None)
        return self._cordoned(move, only) if template in self._pin_policy.cordonable else None

    def _pins(self, move: Move, only: Mask) -> Iterator[Place]:
        """Pins that restrict it to the target: a narrow one hides all other domains, a wide one few.

        Without the wide one 12 clusters next to full, whose constraints have minDomains, keep 20 pods too
        many, not 13; 133 others without minDomains are the same.
        """
        template = self.trial.template(move.pod)
        for pin in (only, ~self.others_open(move)):
            open_now = partial(self.trial.open_to, template, pin)
            if int(pin.sum()) <= effort.PIN_NAMES and self._stays_inside(move, only, open_now, pinned=pin):
                yield self._places.named(pin)

    def _cordoned(self, move: Move, only: Mask) -> Landing | None:
        """The landing with all other possible nodes cordoned, if these are few."""
        wrong = self.others_open(move)
        cordon = tuple(np.flatnonzero(wrong).tolist())
        if 0 < len(cordon) <= self._most_cordoned and self._stays_inside(
            move, only, lambda: self.trial.open_to(self.trial.template(move.pod)) & ~wrong, cordoned=cordon
        ):
            return Landing(move, "cordoned", only, self._places.named(only), cordon=cordon)
        return None

    def _stays_inside(
        self,
        move: Move,
        only: Mask,
        nodes: Callable[[], Mask],
        *,
        pinned: Mask | None = None,
        cordoned: Collection[int] = (),
    ) -> bool:
        """Whether `nodes()` is always within `only`, and not empty once the old pod has ended.

        Nor may the replacement preempt other pods while it is empty, or be kept out by its own affinity
        alone: a pod that is to be near pods like itself, of which the old one is the only one, and that was
        refused for nothing else, is not tried again when that ends, but after minutes.
        """
        found, trial, template = only, self.trial, self.trial.template(move.pod)
        asked = trial.problem.nodes.every.copy() if pinned is None else pinned.copy()
        asked[[*cordoned]] = False
        for _ in self._timeline.while_unscheduled(move):
            found = nodes()
            if (found & ~only).any():
                return False
            if found.any():
                continue
            if self._risk and self._risk.threatens(template, pinned, cordoned=cordoned):
                return False
            if trial.only_lacks_peers(template, asked):
                return False
        return bool(found.any())

    def others_open(self, move: Move) -> Mask:
        """The nodes other than its target that could take the replacement without a pin or cordon."""
        template, found = self.trial.template(move.pod), self.trial.problem.nodes.none.copy()
        for _ in self._timeline.while_unscheduled(move):
            found |= self.trial.open_to(template)
        found[move.target] = False
        return found


class PreemptionRisk:
    """Decides for templates whether their pods could preempt in the current state of a trial cluster."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        #: Whether the cluster has any pod that a pod of this template may preempt.
        self.is_possible = cache(self._is_possible)

    def _is_possible(self, template: int) -> bool:
        return may_preempt(self._trial.framework(template), self._trial.problem.templates[template])

    def threatens(self, template: int, pinned: Mask | None = None, *, cordoned: Collection[int] = ()) -> bool:
        """Whether preemption could make a node feasible for a pod of a template that has none now.

        It may be pinned to some nodes, or kept off cordoned ones.  All pods of lower priority on a node are
        taken away, terminating ones included, as kube-scheduler does when it looks for candidate nodes.
        """
        if not self.is_possible(template):
            return False
        mask = self._trial.plan(template).static if pinned is None else pinned
        nodes = self._with_lower(template, mask)
        nodes = nodes[~np.isin(nodes, [*cordoned])]
        return len(nodes) > effort.PREEMPTION_TRIALS or any(
            self._opens(template, node, pinned) for node in nodes.tolist()
        )

    def _with_lower(self, template: int, mask: Mask) -> Codes:
        """The nodes of a mask that hold pods of a lower priority."""
        problem, node_of = self._trial.problem, self._trial.state.node_of
        lower = problem.priorities < problem.templates[template].priority
        found: Codes = np.unique(node_of[lower & (node_of >= 0)])
        return found[mask[found]]

    def _opens(self, template: int, node: int, pinned: Mask | None) -> bool:
        """Whether a node would be feasible for the pod without the pods of lower priority on it."""
        state, priorities = self._trial.state, self._trial.problem.priorities
        own = self._trial.problem.templates[template].priority
        with self._trial.after():
            for pod in [pod for pod in state.pods_on[node] if priorities[pod] < own]:
                state.unbind(pod)
            if pinned is None:
                return self._trial.accepts(template, node)
            return bool(self._trial.open_pinned(template, pinned)[node])
