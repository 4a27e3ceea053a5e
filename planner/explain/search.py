"""The search for fixes: the fewest changes that answer every refusal on some node, cheapest first.

Nodes that the same rules refuse are one pattern. For each pattern the changes that its rules propose
are combined, one for each rule, and what comes out is tried out. Only what worked is a fix.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

import numpy as np

from models.controllers.templates import is_stand_in
from planner.constraints.node_resources import NodeResourcesFit
from planner.explain import new_nodes, pod_affinity_changes, spread_rules
from planner.explain.blockers import Blocker, PendingCase
from planner.explain.by_plugin import blockers_of, with_claims, without_gates
from planner.explain.change import (
    Candidate,
    ClusterChange,
    asks_for_less,
    cost_of,
    parts_of,
    without_repetition,
)
from planner.explain.trial_states import TrialStates
from planner.explain.trials import TrialResult, Trials
from planner.problem.nodes import Column, Ints
from planner.proof.clock import is_stop_requested, report_best

_RELATIONAL = {"PodTopologySpread", "InterPodAffinity"}


@dataclass(frozen=True, slots=True)
class TestedFix:
    """Changes that were tried out, and where the pod went."""

    changes: Candidate
    landing: TrialResult
    risk: str = ""
    places: int = 1
    """How many of the pods alike get a node, all of them tried with the changes."""


@dataclass(frozen=True, slots=True)
class FoundFixes:
    """What was found, what was tried, and whether that was every change that is known."""

    fixes: tuple[TestedFix, ...]
    risky: tuple[TestedFix, ...]
    tried: int
    exhausted: bool


#: Rules that refuse the same nodes, and these nodes.
Pattern = tuple[tuple[Blocker, ...], Ints]


class FixSearch:
    """The fixes of one pod."""

    def __init__(  # noqa: PLR0913 - a pod, and what may limit the search
        self,
        case: PendingCase,
        stop_event: threading.Event | None = None,
        alike: Sequence[int] = (),
        states: TrialStates | None = None,
        *,
        best_only: bool = False,
        lost: tuple[str, str] | None = None,
    ) -> None:
        """When `stop_event` is set, nothing more is tried out; `alike` are further pods of the template.

        Searches in the same cluster at rest may share their `states`.  With `best_only` nothing is tried that
        costs as much as what was found and needs no eviction.  No node is added where nodes have the label
        `lost`: that domain does not answer.
        """
        self._best_only = best_only
        self._lost = lost
        self._case = case
        self._effort = case.static.effort
        self._alike = [case.pod, *alike]
        self._stop_event = stop_event
        self._trials = Trials(case.static, case.pod, states or TrialStates(case.static))
        self._blockers = blockers_of(case)
        self._preempts = case.static.preemption and bool(
            (case.problem.priorities < case.template.priority).any()
        )
        self._needed = (*without_gates(case), *with_claims(case))
        self._fixes: list[TestedFix] = []
        self._risky: list[TestedFix] = []
        #: How many fixes there are of each kind, those that are not safe to apply apart.
        self._kinds: Counter[tuple[bool, tuple[str, ...]]] = Counter()
        self._seen: set[tuple[str, ...]] = set()
        self._tried = 0
        self._cut = False

    def run(self) -> FoundFixes:
        """Look for fixes of one change, then of two, until there are some; none for a pod not created."""
        if self._case.pod in self._case.problem.refused:
            return FoundFixes((), (), 0, True)
        if self._needed:
            self._try([()])
        patterns = self._patterns()
        most = max((len(pattern) for pattern, _ in patterns), default=0)
        for size in range(1, most + 1):
            self._try(self._candidates(patterns, size, self._effort.nodes_per_pattern))
            if size == 1:
                few = sorted(self._new_nodes(), key=cost_of)
                self._try(few[: self._effort.new_node_kinds] if self._fixes else few)
            if self._enough(size):
                break
        small = self._case.problem.nodes.size <= self._effort.every_node_tried
        further = [self._more_nodes(), self._with_new_node()]
        if small:
            further += [self._everywhere(patterns), self._with_constraints_dropped(patterns)]
        # A new zone is the last thing to ask for.
        further.append(self._in_new_domains(pod_affinity_changes.without_open_domains(self._case)))
        for candidates in further:
            if not self._fixes:
                self._try(candidates)
        stopped = is_stop_requested(self._stop_event)
        done = bool(self._fixes) or (small and not self._cut)
        fixes, risky = self._best(self._fixes), self._best(self._risky)
        every = (*fixes, *risky)
        safe, other = (
            tuple(fix for fix in found if not _is_needless(fix, every)) for found in (fixes, risky)
        )
        return FoundFixes(safe, other, self._tried, done and not stopped)

    def _least(self) -> tuple[int, int] | None:
        """With `best_only` what the cheapest fix without evictions costs."""
        costs = (cost_of(fix.changes) for fix in self._fixes if not fix.landing.victims)
        return min(costs, default=None) if self._best_only else None

    def _enough(self, size: int) -> bool:
        return self._least() is not None or len(self._fixes) >= (
            self._effort.fixes_wanted if size == 1 else 1
        )

    def _best(self, found: list[TestedFix]) -> list[TestedFix]:
        least = [fix for fix in found if not any(_is_part(other, fix) for other in found)]
        by_cost = sorted(least, key=lambda fix: (bool(fix.landing.victims), cost_of(fix.changes)))
        return [self._together(fix) for fix in by_cost[: self._effort.fixes_enough]]

    def _together(self, fix: TestedFix) -> TestedFix:
        """The fix with how many of the pods alike it places."""
        if len(self._alike) == 1:
            return fix
        return replace(fix, places=self._trials.together(fix.changes, self._alike))

    def _risk(self, candidate: Candidate) -> str:
        """Why the changes are not safe to apply: by themselves, or by what is lost with the pods that go."""
        gone = dict.fromkeys(pod for change in candidate for pod in change.gone)
        budgets = self._case.static.budgets
        if lost := self._case.static.losses.why_not(gone):
            return lost
        if gone and (any(map(budgets.why_not, gone)) or any(budgets.limits(gone))):
            return "a PodDisruptionBudget does not allow the pods that it deletes to be disrupted"
        return next((change.risk for change in candidate if change.risk), "")

    def _patterns(self) -> list[Pattern]:
        """The nodes by the rules that refuse them, those with the fewest rules first."""
        size = self._case.problem.nodes.size
        keys = np.zeros(size, np.int64)
        for number, blocker in enumerate(self._blockers):
            keys |= blocker.mask.astype(np.int64) << number
        found = []
        for key in np.unique(keys).tolist():
            rules = tuple(b for number, b in enumerate(self._blockers) if key >> number & 1)
            where = np.flatnonzero(keys == key)
            if rules:
                found.append((rules, where))
            others = tuple(rule for rule in rules if rule.plugin != NodeResourcesFit.name)
            if self._preempts and others and len(others) < len(rules):
                # Preemption may make the room by itself.
                found.append((others, where))
        return sorted(found, key=lambda pattern: len(pattern[0]))

    def _candidates(self, patterns: list[Pattern], size: int, nodes: int) -> Iterator[Candidate]:
        chosen = [pattern for pattern in patterns if len(pattern[0]) == size]
        for rules, where in chosen[
            : self._effort.patterns if nodes == self._effort.nodes_per_pattern else None
        ]:
            for node in _easiest(rules, where, nodes):
                combined = self._combined(rules, node)
                self._cut |= len(combined) > self._effort.combinations
                yield from combined[: self._effort.combinations]

    def _combined(self, rules: tuple[Blocker, ...], node: int) -> list[Candidate]:
        """A change for each rule in all combinations, the cheapest first; of very many the cheapest ones."""
        found: list[Candidate] = [()]
        for rule in rules:
            offers = [*rule.propose(node)]
            found = [(*known, offer) for known in found for offer in offers]
            if len(found) > self._effort.beginnings:
                self._cut = True
                found = sorted(found, key=lambda candidate: cost_of(without_repetition(candidate)))
                del found[self._effort.beginnings :]
        return sorted(map(without_repetition, found), key=cost_of)

    def _everywhere(self, patterns: list[Pattern]) -> Iterator[Candidate]:
        for size in range(1, 1 + max((len(pattern) for pattern, _ in patterns), default=0)):
            yield from self._candidates(patterns, size, self._effort.every_node_tried)

    def _with_constraints_dropped(self, patterns: list[Pattern]) -> Iterator[Candidate]:
        """Without constraints that are not in the way yet, but will be once a node is open."""
        soft = [*spread_rules.dropped(self._case), *pod_affinity_changes.dropped(self._case)]
        for candidate in (*self._everywhere(patterns), *self._with_new_node()):
            told = {change.summary for change in candidate}
            more = [change for change in soft if change.summary not in told]
            yield from ((*candidate, change) for change in more)
            if len(more) > 1:
                yield (*candidate, *more)

    def _new_nodes(self) -> Iterator[Candidate]:
        yield from ((change,) for change in self._nodes_like())
        yield from self._in_new_domains(
            rule.column for rule in spread_rules.rules_of(self._case) if rule.few_domains
        )

    def _in_new_domains(self, columns: Iterable[Column]) -> Iterator[Candidate]:
        """A new node in a domain of its own, for each of these labels."""
        for column in {column.key: column for column in columns}.values():
            changes = new_nodes.in_new_domain(self._case, column, self._lost)
            yield from ((change,) for change in changes if not self._is_lost(change))

    def _more_nodes(self) -> Iterator[Candidate]:
        """Several new nodes, where other waiting pods would take the first."""
        return ((change,) for number in self._effort.more_new_nodes for change in self._nodes_like(number))

    def _nodes_like(self, number: int = 1) -> Iterator[ClusterChange]:
        """So many new nodes of each kind, but for those of a domain that does not answer."""
        return (change for change in new_nodes.like(self._case, number) if not self._is_lost(change))

    def _is_lost(self, change: ClusterChange) -> bool:
        """Whether it adds a node to the domain that does not answer."""
        labels = (node.metadata.labels.items() for node in change.new_nodes)
        return self._lost is not None and any(self._lost in found for found in labels)

    def _with_new_node(self) -> Iterator[Candidate]:
        """New nodes together with what the pod's manifest has against nodes of their kind, or a part of it.

        A rule over hostnames that refuses the kind need not refuse a new node.
        """
        relational = [b for b in self._blockers if b.plugin in _RELATIONAL]
        for (change,) in (*self._new_nodes(), *self._more_nodes()):
            at = change.like
            offers: list[list[Candidate]] = [
                [(), *((found,) for found in blocker.propose(at) if found.edit is not None or found.gone)]
                for blocker in relational
                if at is not None and blocker.mask[at]
            ]
            for chosen in product(*offers):
                yield without_repetition((*chain.from_iterable(chosen), change))

    def _try(self, candidates: Iterable[Candidate]) -> None:
        """Try out what was not seen before, the cheapest first, as long as there is room for more."""
        if is_stop_requested(self._stop_event):
            self._cut = True
            return
        fresh: dict[tuple[str, ...], Candidate] = {}
        for candidate in candidates:
            key = tuple(sorted(change.summary for change in candidate))
            if key not in self._seen and not any(map(self._is_useless, candidate)):
                fresh.setdefault(key, (*self._needed, *candidate))
        self._seen.update(fresh)
        ordered = sorted(fresh.values(), key=cost_of)
        run = self._trials.run(ordered, self._wanted)
        for candidate, landing in run:
            if is_stop_requested(self._stop_event):
                self._cut = True
                break
            self._tried += 1
            report_best(f"{self._tried} changes tried out, {len(self._fixes)} help")
            if landing is not None and not self._leaves_a_sibling_pending(candidate, landing):
                self._keep(self._without_superfluous(self._tested(candidate, landing)))

    def _keep(self, fix: TestedFix) -> None:
        """Add a fix if it is still wanted, and none that is there is part of it."""
        if self._is_wanted_as(fix.changes, fix.risk) and not self._contains_another(fix.changes):
            (self._risky if fix.risk else self._fixes).append(fix)
            self._kinds[bool(fix.risk), _kind(fix.changes)] += 1

    def _tested(self, candidate: Candidate, landing: TrialResult) -> TestedFix:
        return TestedFix(candidate, landing, self._risk(candidate) or _left_pending(landing))

    def _without_superfluous(self, fix: TestedFix) -> TestedFix:
        """The fix without the changes that it does not need, those that cost most left out first."""
        for change in sorted(fix.changes, key=lambda change: -change.cost):
            fewer = tuple(other for other in fix.changes if other is not change)
            if change in self._needed or len(fewer) == len(self._needed):
                continue
            ((_, landing),) = self._trials.run([fewer], lambda _: True)
            if landing is not None and not self._leaves_a_sibling_pending(fewer, landing):
                tested = self._tested(fewer, landing)
                worse = len(landing.victims) > len(fix.landing.victims) or (tested.risk and not fix.risk)
                fix = fix if worse else tested
        return fix

    def _is_useless(self, change: ClusterChange) -> bool:
        """Whether it deletes a pod that is yet to be made, or one that its kubelet keeps."""
        pods = self._case.problem.pods
        return any(is_stand_in(pods[pod]) or pods[pod].is_mirror for pod in change.gone)

    def _leaves_a_sibling_pending(self, candidate: Candidate, landing: TrialResult) -> bool:
        """Whether it deletes a replica of the same workload whose replacement then waits instead."""
        problem, owner = self._case.problem, self._case.template.owner
        siblings = any(problem.template(pod).owner == owner for change in candidate for pod in change.gone)
        return owner is not None and siblings and None in landing.replaced.values()

    def _wanted(self, candidate: Candidate) -> bool:
        """Whether another fix of this kind is wanted, and nothing smaller is part of it."""
        enough = len(self._fixes) >= self._effort.fixes_looked_for
        if enough or not self._is_wanted_as(candidate, self._risk(candidate)):
            return False
        least = self._least()
        if least is not None and cost_of(candidate) >= least:
            return False
        return not self._contains_another(candidate)

    def _contains_another(self, candidate: Candidate) -> bool:
        """Whether a fix that was found has no change that the candidate has not."""
        parts = parts_of(candidate)
        return any(parts_of(fix.changes) <= parts for fix in (*self._fixes, *self._risky))

    def _is_wanted_as(self, candidate: Candidate, risk: str) -> bool:
        """Whether there are still few of its kind, of those that are safe to apply or of the others."""
        most = 1 if any(change.subject for change in candidate) else self._effort.fixes_alike
        return self._kinds[bool(risk), _kind(candidate)] < most


def _is_part(fix: TestedFix, other: TestedFix) -> bool:
    """Whether a fix has some of the changes of another one, or the same with fewer new nodes of a kind."""
    own, more = parts_of(fix.changes), parts_of(other.changes)
    few, many = ([change for change in one.changes if change.like is not None] for one in (fix, other))
    if len(few) == len(many) == 1 and few[0].like == many[0].like:
        rest = own - {few[0].summary} <= more - {many[0].summary}
        return rest and (len(few[0].new_nodes) < len(many[0].new_nodes) or own < more)
    return own < more


def _is_needless(fix: TestedFix, every: Iterable[TestedFix]) -> bool:
    """Whether one of the others asks for more, and does as much."""
    return any(
        asks_for_less(fix.changes, other.changes)
        and len(other.landing.victims) <= len(fix.landing.victims)
        and other.places >= fix.places
        and not (other.risk and not fix.risk)
        for other in every
    )


def _left_pending(landing: TrialResult) -> str:
    """That another pod waits instead, if so."""
    waiting = [pod for pod, node in landing.replaced.items() if node is None]
    return f"the replacement of {waiting[0]} stays pending" if waiting else ""


def _kind(candidate: Candidate) -> tuple[str, ...]:
    return tuple(sorted(f"{change.action} {change.subject}" for change in candidate))


def _easiest(rules: tuple[Blocker, ...], where: Ints, number: int) -> list[int]:
    """Some of the nodes: for each rule those where the least is missing."""
    if len(where) <= number:
        return [int(node) for node in where]
    eases = [rule.ease[where] for rule in rules if rule.ease is not None]
    orders = [np.argsort(ease, kind="stable") for ease in eases] or [np.arange(len(where))]
    orders.append(np.argsort(np.sum(eases, axis=0), kind="stable")) if len(eases) > 1 else None
    picked: dict[int, None] = {}
    for place in range(number):
        for order in orders:
            picked.setdefault(int(where[order[place]]))
    return list(picked)[: max(number, len(orders))]
