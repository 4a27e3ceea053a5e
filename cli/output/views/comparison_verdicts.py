"""The first sentence of a Comparison: which side does better, by how much, and whether that is proved."""

from __future__ import annotations

from cli.output.blocks import VerdictBlock
from cli.output.page import counted
from planner.documents.columns import ComparedColumn
from planner.documents.comparison import Comparison, DeschedulerRun, RepairComparison


def verdict(document: Comparison) -> VerdictBlock:
    """The answer to what was asked."""
    if document.question == "afresh":
        return _afresh(document)
    if document.repair is not None and _is_anything_done(document.repair):
        return _repair(document.repair)
    return _batch(document)


def _batch(document: Comparison) -> VerdictBlock:
    """`4 more pods placed than by kube-scheduler: all 9 of them.`"""
    best, gain = document.optimal, document.difference.placed
    left = len(best.unplaced)
    if not best.pods:
        sentence = "There are no pods to place"
    elif gain:
        more = "more pod" if gain > 0 else "fewer pod"
        sentence = f"{counted(abs(gain), more)} placed than by kube-scheduler"
    else:
        sentence = "As many pods placed as by kube-scheduler"
    if left and best.status == "Optimal":
        sentence += f", {left} left over: proved that no plan is better"
    elif left:
        sentence += f", {left} left over; a better plan is not ruled out"
    elif best.pods:
        sentence += f": all {best.pods} of them" if best.pods > 1 else ": the only one"
    return VerdictBlock(f"{sentence}.", "bad" if left else "good")


def _afresh(document: Comparison) -> VerdictBlock:
    """`Placed from nothing, kube-scheduler leaves 2 of 9 pods over, the best plan none; ...`"""
    now, kube, best = (_named(document, name) for name in ("now", "kubeScheduler", "optimum"))
    pods = best.pods
    if not pods:
        return VerdictBlock("No controller would make any of these pods again.", "good")
    sides = (kube.pods - kube.placed, best.pods - best.placed)
    if any(sides):
        theirs, ours = (str(left or "none") for left in sides)
        sentence = f"Placed from nothing, kube-scheduler leaves {theirs} of {counted(pods, 'pod')} over"
        sentence += ", as does the best plan" if sides[0] == sides[1] else f", the best plan {ours}"
    else:
        sentence = f"Placed from nothing, {counted(pods, 'pod')} {'fits' if pods == 1 else 'fit'} either way"
    excess = [column.hard_excess + column.soft_excess for column in (now, kube, best)]
    if any(excess):
        sentence += "; pods beyond maxSkew: {} today, {} after kube-scheduler, {} at best".format(*excess)
    else:
        sentence += "; no constraint is exceeded today or either way"
    return VerdictBlock(f"{sentence}.", "bad" if sides[1] else "good")


def _named(document: Comparison, name: str) -> ComparedColumn:
    return next(column for column in document.columns if column.name == name and column.rank is None)


def _is_anything_done(repair: RepairComparison) -> bool:
    """Whether there is something to repair, or Descheduler evicts pods although there is not."""
    return bool(repair.before.hard_excess or repair.optimal.evictions or _runs(repair)[0].rounds)


def _runs(repair: RepairComparison) -> list[DeschedulerRun]:
    """All runs of Descheduler, the one with the most evictions first."""
    return sorted((repair.descheduler, *repair.draws), key=lambda run: -run.evictions)


def _repair(repair: RepairComparison) -> VerdictBlock:
    """`16 moves in 4 waves where Descheduler evicts 27 to 55 pods.`"""
    runs, best = _runs(repair), repair.optimal
    least, most = runs[-1].evictions, runs[0].evictions
    evicted = counted(most, "pod") if least == most else f"{least} to {counted(most, 'pod')}"
    moves = f"{counted(best.evictions, 'move').capitalize()}"
    waves = f" in {counted(best.rounds, 'wave')}" if best.rounds else ""
    sentence = f"{moves}{waves} where Descheduler evicts {evicted}"
    left_over, pending = (max(getattr(run, field) for run in runs) for field in ("hard_excess", "pending"))
    left = [f"{left_over} too many"] if left_over > best.hard_excess else []
    left += [f"{counted(pending, 'pod')} without a node"] if pending > best.pending else []
    if left:
        sentence += f" and leaves up to {' and '.join(left)}"
    restless = sum(run.ending != "AtRest" for run in runs)
    if restless:
        sentence += f", and comes to no rest in {restless} of {counted(len(runs), 'run')}"
    if best.hard_excess:
        ours = counted(best.hard_excess, "pod")
        sentence += f"; {ours} too many {'even after them' if best.evictions else 'as now'}"
    return VerdictBlock(f"{sentence}.", "bad" if best.hard_excess else "good")
