"""Where the whole batch should go: the most pods that a sequence of admissible binds can place."""

from __future__ import annotations

import threading

from models import Cluster
from planner import plan
from planner.batch.document import document
from planner.batch.goals import Shape
from planner.batch.incumbent import Watch
from planner.batch.pending import Pending
from planner.batch.search import Search
from planner.clock import Clock
from planner.problem import Problem


def solve(
    cluster: Cluster,
    *,
    time_limit: float = 30.0,
    final_state: bool = False,
    prefer: str = "spread",
    watch: Watch | None = None,
    bell: threading.Event | None = None,
) -> plan.PlacementPlan:
    """The best placement of all pending pods, how good it is, and an order that a cluster accepts.

    With `final_state` every constraint holds when all is placed, whether or not an order leads there.
    `prefer` says what the plan looks like where all else is equal: `spread` keeps the fullest node low,
    `pack` uses few nodes, `stable` stays near kube-scheduler's own choices.
    `watch` is told the pods placed so far and the bound; when `bell` is set, the best plan so far is
    the answer.
    """
    clock = Clock(time_limit, bell)
    pending = Pending(Problem(cluster))
    search = Search(pending, clock, Shape(prefer), watch)
    found = search.final_state() if final_state else search.sequence()
    return document(pending, found, final_state=final_state)
