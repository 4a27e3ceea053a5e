"""Pods that one round of the queue leaves without a node, and that a further round places.

kube-scheduler takes a pod that was refused up again when a pod comes or goes that its filters watch.
`simulate` tells what the first try of each pod comes to; here the others are made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.scheduler.scheduler import Scheduler


def tried_again(scheduler: Scheduler, left: Sequence[int]) -> Iterator[str]:
    """A note about the pods that get a node when they are tried again; the scheduler's state is used up."""
    waiting = [pod for pod in left if scheduler.would_bind(pod) and _may_be_let_in(scheduler, pod)]
    placed: set[int] = set()
    #: By template, how many pods had been placed when one of it was refused: then others are refused, too.
    refused: dict[int, int] = {}
    before = -1
    while before < len(placed):
        before = len(placed)
        for pod in waiting:
            template = int(scheduler.problem.template_of[pod])
            if pod in placed or refused.get(template) == len(placed):
                continue
            if scheduler.decide(pod).node is not None:
                placed.add(pod)
            else:
                refused[template] = len(placed)
    if not placed:
        return
    first = scheduler.problem.pods[next(pod for pod in waiting if pod in placed)].key
    if len(placed) == 1:
        which, gets, them = f"{first}, which stays pending at the first try,", "gets", "it"
    else:
        which, gets, them = (
            f"{len(placed)} pods that stay pending at the first try",
            "get",
            f"them, {first} for one,",
        )
    yield (
        f"{which} {gets} a node when kube-scheduler tries {them} again, "
        "after pods that came later in the queue"
    )


def _may_be_let_in(scheduler: Scheduler, pod: int) -> bool:
    """Whether pods that come to other nodes can help this one: they only take room from all the rest."""
    plan = scheduler.plan_of(pod)
    if plan.refusal is not None:
        return False
    watched = [plugin.watches(plan.template) for plugin in plan.changing]
    return any(templates is None or templates for templates in watched)
