"""Other ties and turns: an answer is told of one way, and may be another one where chance decides otherwise.

kube-scheduler picks among nodes of the same score by chance, and which of several pods is made again first is
up to chance as well.  Told is the way in which ties go to the smallest name, and pods come as they stand in
the files.  Where all is well then, a few other ways are drawn: so it is found out that it need not be.  That
it always is they do not prove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from models import Cluster
from models.objects.pod import Pod
from models.words import counted, value_told
from planner.problem.problem import Problem
from planner.proof.effort import DrawEffort

#: So many domains, or autoscalers, are named in a note.
_MOST_TOLD = 5
#: Which way is told, in place of those that are drawn.
TOLD = "here ties go to the smallest name"
#: Said where none are drawn.
NOT_DRAWN = (
    f"{TOLD}, and kube-scheduler picks by chance: other ties were not drawn, on a cluster of this size or "
    "as there was no time, and some pod may find no node with them"
)


def seeds(problem: Problem, effort: DrawEffort, pods: int | None = None) -> Sequence[int]:
    """A seed for each draw; none where so many pods, or all, times the nodes are too many for that."""
    places = (len(problem.pods) if pods is None else pods) * problem.nodes.size
    return range(1, 1 + effort.draws) if places <= effort.draws_places else ()


def in_draws(failing: int, effort: DrawEffort) -> str:
    """`in 3 of 8 draws`."""
    return f"in {failing} of {counted(effort.draws, 'draw')}"


def losses(failing: Mapping[str, int], what: str, effort: DrawEffort) -> Iterator[str]:
    """At most one note: the domains of which the loss does something in some draws, as told by `what`."""
    return some_of(
        {f"without {value_told(domain)}": draws for domain, draws in failing.items()}, what, effort
    )


def some_of(failing: Mapping[str, int], what: str, effort: DrawEffort) -> Iterator[str]:
    """At most one note: for which of these something is otherwise in some draws, as told by `what`."""
    told = [f"{name} {in_draws(draws, effort)}" for name, draws in failing.items() if draws]
    if told:
        more = f", and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
        yield (
            f"with other ties, or made in another order, {what}: {', '.join(told[:_MOST_TOLD])}{more}; "
            f"{TOLD}, and pods come in the order of their controllers in the files"
        )


def turns_drawn(
    problem: Problem, queue: Sequence[int], is_new: Callable[[Pod], bool], seed: int
) -> list[int]:
    """A queue with the pods that controllers make anew in any order, behind others of their priority."""
    made = {pod for pod in queue if is_new(problem.pods[pod])}
    drawn = chance_of_turns(seed).sample(queue, len(queue))
    turns = [*(pod for pod in queue if pod not in made), *(pod for pod in drawn if pod in made)]
    return sorted(turns, key=lambda pod: -int(problem.priorities[pod]))


def chance_of_turns(seed: int) -> Random:
    """With a seed of its own: with that of the ties the pod that comes first would always go the same way."""
    return Random(f"turns {seed}")


def with_turns_drawn(cluster: Cluster, is_new: Callable[[Pod], bool], seed: int) -> Cluster:
    """The cluster with the pods that controllers make anew in an order that is drawn, behind all others."""
    made, there = list[Pod](), list[Pod]()
    for pod in cluster.pods:
        (made if is_new(pod) else there).append(pod)
    chance_of_turns(seed).shuffle(made)
    return replace(cluster, pods=(*there, *made))
