"""`--prefer pack` in a large batch: quotas of all pods on fewer and fewer nodes, as long as they come out.

Nodes in use come first, then large ones; where these are in few zones, some of each kind.  998 pods of 60
workloads come to 38 of 100 empty nodes, and to all without.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.audit.summary import occupied
from planner.batch.coarse import Coarse
from planner.batch.goals import NodesUsed
from planner.batch.incumbent import Incumbent
from planner.batch.pending import Pending
from planner.problem.node_groups import NodeGroups
from planner.problem.nodes import Codes
from planner.proof.meter import Meter
from planner.scheduler.order import Orderer


def use_fewer_nodes(pending: Pending, orderer: Orderer, meter: Meter, best: Incumbent) -> None:
    """Offer plans on fewer nodes than the best one needs, if that places all pods: quotas are of all."""
    if len(best.steps or ()) < sum(pending.wanted.values()):
        return
    nodes, used = pending.problem.nodes, occupied(pending.state)
    bound = NodesUsed(pending).bound_of_all() - int(used.sum())
    most = int((nodes.mask_of([node for _, node in best.steps or ()]) & ~used).sum())
    for order in _orders(pending):
        least, others = bound, order[~used[order]]
        while least < most and not meter.over():
            number = (least + most) // 2
            steps = Coarse(pending, orderer, meter, used | nodes.mask_of(others[:number])).level(best)
            if steps:
                best.offer(steps)
                most = number
            else:
                least = number + 1


def _orders(pending: Pending) -> Iterator[Codes]:
    """All nodes, those with the most free room for the batch first; and those that are alike in turns."""
    free, needs = NodesUsed(pending).room()
    size = (free / np.maximum(needs, 1)[:, np.newaxis])[needs > 0].min(axis=0, initial=1.0)
    turn = np.empty(len(size))
    for members in NodeGroups.alike(len(size), pending.traits(), len(size)).members():
        turn[members] = np.arange(len(members)) / len(members)
    yield np.lexsort((turn, -size))
    yield np.lexsort((-size, turn))
