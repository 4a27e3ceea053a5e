"""What is not as claimed: the kinds of faults, and the comparison of claimed stages with the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from planner.documents.plan import Objective

#: `false`: proved and untrue.  `bound`: truth beats a claimed bound.  `missed`: truth is better and nothing
#: claimed otherwise.  `invalid`: the plan does what it must not.  `beyond`: the plan is better than anything
#: the search found, so the search is wrong or the plan stretches the rules.  `worse`: more freedom, fewer
#: pods.  `crash`: the planner contradicts itself.  `away`: no fault; truth would be better if a constraint
#: might be worse while a pod is away.
#: `cut`: missed, and the document says that the limit ended the search.
#: `softer`: the same of a stage of `solve` that comes after the pods.
Fault = Literal["false", "bound", "missed", "softer", "invalid", "beyond", "worse", "crash", "away", "cut"]
CORRECT: frozenset[Fault] = frozenset(("false", "bound", "invalid", "worse", "crash"))


@dataclass(frozen=True)
class Finding:
    """One thing that is not as claimed."""

    fault: Fault
    text: str
    truth: tuple[str, ...] = ()


@dataclass
class Judgement:
    """What was found about a case, and what it took."""

    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    search: float = 0.0
    complete: bool = True
    proved: bool = False

    @property
    def faults(self) -> Counter[Fault]:
        """How often each fault was found."""
        return Counter(finding.fault for finding in self.findings)


def _better(one: Sequence[int], other: Sequence[int], goals: Sequence[str]) -> bool:
    """Whether the first list of stages is better where they differ first."""
    for first, second, goal in zip(one, other, goals, strict=True):
        if first != second:
            return first > second if goal == "max" else first < second
    return False


def compare(
    stages: Sequence[Objective], values: Sequence[int], truth: Sequence[int], witness: tuple[str, ...]
) -> Iterator[Finding]:
    """Each stage's claim; `values` is what the plan has, counted here, and `truth` the best there is.

    Only differences count, so it does not matter from where a stage counts; the line counts as the document.
    """
    goals = [stage.goal for stage in stages]
    line = ", ".join(
        f"{s.name}={s.value} (bound {s.bound}{', proved' if s.proved else ''}) truth {s.value + t - v}"
        for s, v, t in zip(stages, values, truth, strict=True)
    )
    if _better(values, truth, goals):
        yield Finding("beyond", line, witness)
        return
    if not _better(truth, values, goals):
        return
    for stage, value, best in zip(stages, values, truth, strict=True):
        slack = None if stage.bound is None else stage.bound - stage.value
        if value == best:
            if slack != 0:
                # The solver's own placement may be better here, and the bounds below are about that.
                break
            continue
        if stage.proved:
            yield Finding("false", line, witness)
            return
        gain = best - value if stage.goal == "max" else value - best
        room = None if slack is None else (slack if stage.goal == "max" else -slack)
        if room is not None and gain > room:
            yield Finding("bound", line, witness)
            return
        break
    if any(stage.proved for stage, value, best in zip(stages, values, truth, strict=True) if value != best):
        yield Finding("false", f"a later stage is proved: {line}", witness)
        return
    yield Finding("missed", line, witness)
