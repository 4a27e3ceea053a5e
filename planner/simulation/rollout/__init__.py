"""What an apply leads to: controllers, scheduler and kubelets played through, as often as is asked for."""

from __future__ import annotations

import threading
from itertools import chain

from models import Cluster
from models.errors import InputError
from models.objects.selectors import LabelSelector
from models.snapshot import Snapshot
from planner.documents.explanation import Fix
from planner.documents.rollout import Rollout, RolloutReplays
from planner.proof.clock import Progress, is_stop_requested, report_best, taken_until_stop
from planner.proof.effort import STANDARD, Effort
from planner.simulation.rollout.before import Before
from planner.simulation.rollout.draw import RolloutDraw, drawn, play
from planner.simulation.rollout.fixes import RolloutFixes
from planner.simulation.rollout.prepare import not_played, prepare, pruned, selected, without_made
from planner.simulation.rollout.report import (
    broken_constraints,
    counts_at,
    late,
    spread_changes,
    workload_reports,
)
from planner.simulation.rollout.restart import all_restarted, unchanged
from planner.simulation.rollout.scaling_path import trajectory
from planner.state.state import State

__all__ = ["rollout", "trajectory"]

_UNTRIED = "stopped while looking for changes that help: more time may find more"


def rollout(  # noqa: PLR0913 - what kubectl's apply can be told, each by its name
    cluster: Cluster,
    manifests: Snapshot,
    *,
    replays: int = 20,
    preemption: bool = True,
    restart: bool = False,
    prune: LabelSelector | None = None,
    fixes: bool = True,
    progress: Progress | None = None,
    effort: Effort = STANDARD,
    stop_event: threading.Event | None = None,
) -> Rollout:
    """How applying the manifests to what runs goes on and ends.

    The first draw gives ties to the smallest name; of `replays` more everything that a cluster leaves to
    chance is drawn: ties, which controller is first, and when pods become ready or have ended. With
    `restart` every template is taken for changed; `prune` chooses the manifests that are applied, and the
    workloads that go when none of these has them. A stop ends the draws, and the one that is under way;
    without any there is NoAnswer.
    """
    manifests, made = without_made(cluster, manifests)
    manifests = all_restarted(manifests) if restart else manifests
    manifests, others = (manifests, ()) if prune is None else selected(manifests, prune)
    gone = [] if prune is None else pruned(cluster, manifests, prune)
    prepared = prepare(cluster, manifests, gone, effort)
    if not prepared.makers:
        nothing = "the manifests have no workload: nothing would be rolled out"
        raise InputError([*others, *not_played(manifests), *made] or [nothing])
    before = Before.of(cluster, manifests, prepared)
    complete = 0

    def played(seed: int | None) -> RolloutDraw:
        nonlocal complete
        runs, draw = 1 + (seed or 0), play(prepared, seed, preemption=preemption)
        if progress is not None:
            progress(runs, replays + 1)
        complete += all(map(draw.completes, range(len(draw.runs))))
        report_best(f"{runs} of {replays + 1} runs, {complete} of them complete")
        return draw

    draws, stopped = drawn(played, replays, stop_event)
    ends = [counts_at(prepared.problem, draw.simulation.scheduler.state) for draw in draws]
    workloads = tuple(workload_reports(prepared, draws, before.unfinished))
    completed = [before.completes(draw, prepared.workloads) for draw in draws]
    worse = [[*before.worse(counts)] for counts in ends]
    found = Rollout(
        completes=all(completed),
        replays=RolloutReplays(
            runs=len(draws),
            completed=sum(completed),
            held=sum(not found for found in worse),
        ),
        workloads=workloads,
        spread=tuple(spread_changes(counts_at(prepared.problem, State(prepared.problem)), ends[0])),
        broken=tuple(broken_constraints(chain.from_iterable(worse))),
        kubernetes=prepared.problem.kubernetes.document,
        notes=tuple(
            dict.fromkeys(
                (
                    *prepared.notes,
                    *made,
                    *others,
                    *unchanged(cluster, manifests),
                    *late(prepared.workloads, draws),
                    *before.notes(ends, completes=all(completed)),
                    *stopped,
                )
            )
        ),
    )
    if not fixes or (found.completes and not found.broken):
        return found
    helpful: list[Fix] = []
    if not is_stop_requested(stop_event):
        fixes_of = RolloutFixes(cluster, manifests, prepared, draws, found, before, preemption)
        helpful = taken_until_stop(fixes_of.helpful(), stop_event)
    notes = [_UNTRIED] if is_stop_requested(stop_event) else []
    return found.model_copy(update={"fixes": tuple(helpful), "notes": (*found.notes, *notes)})
