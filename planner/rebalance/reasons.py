"""Why each move is in the plan, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from planner.rebalance.landing import Landing
from planner.rebalance.trial_cluster import Move, TrialCluster


def reasons(board: TrialCluster, waves: Sequence[Sequence[Landing]]) -> list[list[str]]:
    """A reason for every move of every wave, as the cluster is when the wave begins."""
    mark = board.state.mark()
    left = [landing.move for wave in waves for landing in wave]
    found = []
    for wave in waves:
        moves = [landing.move for landing in wave]
        left = left[len(moves) :]
        found.append([_reason(board, move, left) for move in moves])
        for move in moves:
            board.make(move)
    board.state.rollback(mark)
    return found


def _reason(board: TrialCluster, move: Move, later: Sequence[Move]) -> str:
    template = board.template(move.pod)
    for demand in board.ledger.of(template):
        column = demand.rule.column
        domain = int(column.codes[move.source])
        if template in demand.members and domain >= 0 and demand.rule.counts.eligible[move.source]:
            surplus = int(demand.surplus()[domain])
            if surplus:
                return f"{column.key} {column.values[domain]} has {surplus} too many"
    names = board.problem.nodes.names
    if any(other.pod == move.pod for other in later):
        return "a temporary place, out of the way of others"
    coming = next((other for other in later if other.target == move.source), None)
    if coming is not None:
        return f"makes room on {names[move.source]} for {board.problem.pods[coming.pod].key}"
    for demand in board.ledger.of(template):
        column, domain = demand.rule.column, int(demand.rule.column.codes[move.target])
        if demand.excess() and template in demand.members and domain >= 0:
            return f"{column.key} {column.values[domain]} has too few"
    return "evens out what later moves need"
