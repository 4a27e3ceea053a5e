"""What `consolidate` claims, beside the nodes that a search can empty."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from models import Cluster
from planner import consolidate
from planner.consolidate.loss import DomainLosses
from planner.documents.consolidation import ConsolidationPlan
from planner.eviction.budgets import Budgets
from planner.eviction.protections import protections_of
from planner.moves.movable import Movable
from planner.problem.problem import Problem
from tests.planner.consolidate.replay import failure_with
from tests.truth.catalogue_claims import refuted_by_machines
from tests.truth.emptying import NodeSetSearch
from tests.truth.findings import Finding, Judgement
from tests.truth.generator import Case
from tests.truth.manifests import Object
from tests.truth.search_profiles import leave_filters_out

#: In so many random orders; and more moves than any set of nodes takes.
_REPLAYS, _MOST_MOVES = 3, 30
#: What the search knows nothing of.
_UNSEARCHED = frozenset(("catalogue",))


def judge_consolidate(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    """Waves that do not hold, and cheaper nodes, or fewer moves, than are said to be possible."""
    found.complete = _UNSEARCHED.isdisjoint(case.options)
    yield from _judged(case, time_limit, found, knows_all=True)


def judge_replayed(case: Case, time_limit: float, found: Judgement) -> Iterator[Finding]:
    """The same where the search does not know all rules: only the waves are looked at."""
    found.complete = False
    yield from _judged(case, time_limit, found, knows_all=False)


def _judged(case: Case, time_limit: float, found: Judgement, *, knows_all: bool) -> Iterator[Finding]:
    """With `knows_all` the search knows all rules of the case."""
    cluster = Cluster.from_objects(case.objects)
    started = time.perf_counter()
    plan = consolidate(cluster, time_limit=time_limit, **case.options)
    found.seconds = time.perf_counter() - started
    found.proved = plan.status == "Optimal"
    for seed in range(_REPLAYS):
        if (failed := failure_with(cluster, plan, case.options, seed)) is not None:
            yield Finding("invalid", f"seed {seed}: {failed}")
            return
    by_machines = "catalogue" in case.options and "survive" not in case.options
    if knows_all and by_machines and not leave_filters_out(case.objects):
        yield from refuted_by_machines(case, cluster, plan, _prices(case) or {})
    if found.complete:
        started = time.perf_counter()
        reserve, accepted = case.options.get("reserve", 0.0), _survives(cluster, case.options)
        search = NodeSetSearch(case.objects, _prices(case), plan.max_moves, reserve, accepted)
        yield from _refuted(search, plan)
        found.search, found.complete = time.perf_counter() - started, search.complete


def _refuted(search: NodeSetSearch, plan: ConsolidationPlan) -> Iterator[Finding]:
    """Claims about the cost and the number of moves that some nodes refute."""
    stages = {stage.name: stage for stage in plan.objective}
    cost, moves = stages["cost"], stages["moves"]

    def wanted(found: int | Fraction) -> int | None:
        assert cost.bound is not None
        if found < cost.bound:
            return _MOST_MOVES
        if found == cost.value and cost.proved and moves.bound is not None:
            return moves.bound - 1
        return None

    for found in search.found(wanted):
        text = f"cost {cost.value} bound {cost.bound}, moves {moves.value} bound {moves.bound}"
        yield Finding("false", text, found.told)
        return


def _survives(cluster: Cluster, options: Mapping[str, Any]) -> Callable[[Sequence[Object]], bool] | None:
    """Whether no more pods than now are left over when a domain is lost, by the simulation of a loss."""
    if "survive" not in options:
        return None
    problem = Problem(cluster)
    movable = Movable(problem, protections_of(cluster), Budgets(problem))
    losses = DomainLosses.of(problem, movable, options["survive"])
    return lambda objects: not losses.why_worse(Cluster.from_objects(objects))


def _prices(case: Case) -> dict[str, int] | None:
    """The whole prices that a case gives its nodes, by their names."""
    prices, label = case.options.get("prices"), case.options.get("price_label")
    if prices is None:
        return None
    nodes = (item["metadata"] for item in case.objects if item["kind"] == "Node")
    return {meta["name"]: prices[meta["labels"][label]] for meta in nodes}
