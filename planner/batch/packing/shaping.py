"""The shape of a large batch, once all is placed: quotas of all with less room, as long as they come out.

For `--prefer pack` on fewer nodes.  Nodes in use come first, then large ones; where these are in few zones,
some of each kind.  998 pods of 60 workloads come to 38 of 100 empty nodes, and to all without.  For `--prefer
spread` on nodes less full: of 100 that 1,000 pods fill by half the fullest is 54 % full, and 68 without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from planner.audit.summary import occupied
from planner.batch.coarse import Coarse
from planner.batch.goals import FullestNode, NodesUsed
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer, Placement


def use_fewer_nodes(pending: Pending, orderer: Orderer, meter: Meter, best: Incumbent) -> None:
    """Offer plans on fewer nodes than the best one needs."""
    nodes, used = pending.problem.nodes, occupied(pending.state)
    least = NodesUsed(pending).bound_of_all() - int(used.sum())
    for order in _orders(pending):
        others = order[~used[order]]

        def on(number: int, others: Codes = others) -> Placement | None:
            chosen = used | nodes.mask_of(others[:number])
            return Coarse(pending, orderer, meter, nodes=chosen).level(best)

        most = int((nodes.mask_of([node for _, node in best.steps or ()]) & ~used).sum())
        _offer_least(_less_and_less(least, most, on, meter), pending, orderer, best)


def fill_nodes_less(pending: Pending, orderer: Orderer, meter: Meter, best: Incumbent) -> None:
    """Offer plans in which the fullest node is less full than in the best one."""
    goal = FullestNode(pending)

    def within(percent: int) -> Placement | None:
        return Coarse(pending, orderer, meter, free=goal.free(percent)).level(best)

    most = min(best.soft_value(goal.name), 100)
    _offer_least(_less_and_less(goal.bound_of_all(), most, within, meter), pending, orderer, best)


def _less_and_less(
    least: int, most: int, arrange: Callable[[int], Placement | None], meter: Meter
) -> list[Placement]:
    """Arrangements with less and less, by halves, down to the least of which there is one."""
    found: list[Placement] = []
    while least < most and not meter.over():
        middle = (least + most) // 2
        placement = arrange(middle)
        if placement is None:
            least = middle + 1
        else:
            most = middle
            found.append(placement)
    return found


def _offer_least(found: list[Placement], pending: Pending, orderer: Orderer, best: Incumbent) -> None:
    """Offer the last arrangement that has an order and is better than what is known."""
    for placement in reversed(found):
        steps = orderer.follow([placement], pending.pods)
        best.offer(steps)
        if best.steps is steps:
            return


def _orders(pending: Pending) -> Iterator[Codes]:
    """All nodes, those with the most free room for the batch first; and those that are alike in turns."""
    free, needs = NodesUsed(pending).room()
    size = (free / np.maximum(needs, 1)[:, np.newaxis])[needs > 0].min(axis=0, initial=1.0)
    turn = np.empty(len(size))
    for members in NodeGroups.alike(len(size), pending.traits(), len(size)).members():
        turn[members] = np.arange(len(members)) / len(members)
    yield np.lexsort((turn, -size))
    yield np.lexsort((-size, turn))
