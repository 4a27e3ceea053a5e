"""Why each move is in the plan, in a few words."""

from __future__ import annotations

from collections.abc import Sequence

from planner.landing.landing import Landing
from planner.moves.trial_cluster import Move, TrialCluster


def reasons(trial: TrialCluster, waves: Sequence[Sequence[Landing]]) -> list[list[str]]:
    """A reason for every move of every wave, as the cluster is when the wave begins."""
    mark = trial.state.mark()
    left = [landing.move for wave in waves for landing in wave]
    found = []
    for wave in waves:
        moves = [landing.move for landing in wave]
        left = left[len(moves) :]
        found.append([_reason(trial, move, left) for move in moves])
        for move in moves:
            trial.make(move)
    trial.state.rollback(mark)
    return found


def _reason(trial: TrialCluster, move: Move, later: Sequence[Move]) -> str:
    template = trial.template(move.pod)
    for constraint in trial.ledger.of(template):
        column = constraint.rule.column
        domain = int(column.codes[move.source])
        if template in constraint.members and domain >= 0 and constraint.rule.counts.eligible[move.source]:
            surplus = int(constraint.surplus()[domain])
            if surplus:
                return f"{column.key} {column.values[domain]} has {surplus} too many"
    names = trial.problem.nodes.names
    if any(other.pod == move.pod for other in later):
        return "a temporary place, out of the way of others"
    coming = next((other for other in later if other.target == move.source), None)
    if coming is not None:
        return f"makes room on {names[move.source]} for {trial.problem.pods[coming.pod].key}"
    for constraint in trial.ledger.of(template):
        column, domain = constraint.rule.column, int(constraint.rule.column.codes[move.target])
        if constraint.excess() and template in constraint.members and domain >= 0:
            return f"{column.key} {column.values[domain]} has too few"
    return "evens out what later moves need"
