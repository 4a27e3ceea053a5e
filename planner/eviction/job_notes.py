"""Notes beside a plan: about Jobs, and about controllers of kinds that are not read.

Pods of Jobs stay, retries are lost, exit codes are assumed.  That a controller of another kind makes evicted
pods again is taken for granted, as `kubectl drain` does with any controller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from models.objects.kinds import is_known
from models.objects.workload import Job
from models.words import are, counted
from planner.eviction.controllers import JOB_FAILS, JOB_UNKNOWN, OF_JOB, Controllers
from planner.eviction.jobs import Impact, depends_on_exit_codes
from planner.eviction.movable import is_tied
from planner.problem.problem import Problem

_MOST_NAMED = 3


def about_evictions(
    problem: Problem, controllers: Controllers, evicted: Sequence[int], kept: Iterable[str]
) -> Iterator[str]:
    """Which controllers are not read, what evictions cost Jobs, and which of their pods are left alone.

    `kept` are the reasons of all pods that stay.
    """
    yield from taken_for_granted(problem, evicted)
    impacts = [*controllers.impacts(evicted)]
    yield from lost(impacts)
    yield from presumed(impacts)
    yield from left_alone(kept)


def left_alone(reasons: Iterable[str]) -> Iterator[str]:
    """At most one line about the pods of Jobs that stay, given the reasons of all pods that stay."""
    found = Counter(reasons)
    total = found[OF_JOB] + found[JOB_FAILS] + found[JOB_UNKNOWN]
    if not total:
        return
    pods = "1 pod of a Job is" if total == 1 else f"{total} pods of Jobs are"
    if found[OF_JOB]:
        yield (
            f"{pods} left alone, as an eviction may fail a Job: with --jobs {found[OF_JOB]} of them may be "
            "moved, as far as their Jobs survive it"
        )
    else:
        yield f"{pods} left alone, with --jobs or without: the Jobs would not survive it, or are not known"


def presumed(impacts: Sequence[tuple[Job, Impact]]) -> Iterator[str]:
    """The exit codes assumed for containers of Jobs, where other codes would be worse."""
    keys = [job.key for job, _ in impacts if depends_on_exit_codes(job)]
    if keys:
        yield (
            f"{named(keys)}: containers that are told to stop are taken to end with 143 or 137; rules of "
            "the podFailurePolicy treat other exit codes worse"
        )


def lost(impacts: Sequence[tuple[Job, Impact]]) -> Iterator[str]:
    """One line per Job, up to a limit: the retries it loses, or that it fails."""
    for job, impact in impacts[:_MOST_NAMED]:
        yield f"Job {job.key}: {sentence(impact)}"
    if len(impacts) > _MOST_NAMED:
        yield f"evictions touch {len(impacts) - _MOST_NAMED} more Jobs"


def sentence(impact: Impact) -> str:
    """What the evictions do to a Job, in a few words."""
    evictions = counted(impact.evictions, "eviction")
    if impact.outcome == "KeepsRunning":
        return f"{evictions}, which its podFailurePolicy ignores"
    if impact.outcome == "Fails":
        return f"{evictions}, and it fails ({impact.reason})"
    return f"{evictions}, {impact.retries_left} of {impact.retries} retries left"


def named(keys: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    more = f" and {len(keys) - _MOST_NAMED} more" if len(keys) > _MOST_NAMED else ""
    return ", ".join(keys[:_MOST_NAMED]) + more


def taken_for_granted(problem: Problem, evicted: Iterable[int]) -> Iterator[str]:
    """At most one note: how many of the pods that are evicted have such a controller, and of which kinds."""
    owners = [problem.pods[pod].metadata.controller for pod in dict.fromkeys(evicted)]
    kinds = [owner.kind for owner in owners if owner and not is_known(owner.api_version, owner.kind)]
    if kinds:
        names = sorted(set(kinds))
        pods_are = f"{counted(len(kinds), 'pod')} {are(len(kinds))}"
        made = "that it is made again is" if len(kinds) == 1 else "that they are made again is"
        yield (
            f"{pods_are} controlled by {', '.join(names)}, which {are(len(names))} not read: "
            f"{made} taken for granted"
        )


def lost_with(problem: Problem, key: str) -> Iterator[int]:
    """The pods that are made again when any domain of a topology key is lost."""
    here = (problem.node_of >= 0) & problem.nodes.column(key).present[problem.node_of]
    for number in np.flatnonzero(here).tolist():
        pod = problem.pods[number]
        if not (pod.is_terminating or is_tied(pod)):
            yield number
