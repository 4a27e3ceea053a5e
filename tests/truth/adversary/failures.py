"""What may go wrong while a plan of moves is carried out, and how it came about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

#: `pending`: a replacement finds no node before the wave ends.  `elsewhere`: it lands outside `lands`.
#: `preempts`: the scheduler evicts pods for it.  `budget`: evictions of a wave exceed a PodDisruptionBudget.
#: `unavailable`: more replicas of a workload are down than allowed.  `worse`: a hard constraint has more too
#: much than before the wave.  `job`: evictions end a Job.  `not made`: the controller never makes the
#: replacement.  `end`: the cluster does not end as the document says.  `step`: the document contradicts
#: itself, such as a pod that is not where the step says.  `crash`: the planner ends without a document.
FailureKind = Literal[
    "pending",
    "elsewhere",
    "preempts",
    "budget",
    "unavailable",
    "worse",
    "job",
    "not made",
    "end",
    "step",
    "crash",
]
KINDS: tuple[FailureKind, ...] = get_args(FailureKind)


@dataclass(frozen=True)
class Failure:
    """One promise that does not hold, and the events that lead there."""

    kind: FailureKind
    wave: int
    text: str
    events: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}, wave {self.wave}: {self.text}; after {', '.join(self.events) or 'nothing'}"
