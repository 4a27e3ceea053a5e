"""A ScaleDown: which pods go by whose choice, and what that does to the spread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cli.output.blocks import Block, Section, SpreadBlock, SpreadRow, Table, VerdictBlock, rows_of, section
from cli.output.forms.spreads import too_many
from cli.output.page import Page, counted
from cli.output.views.names import pod_line
from cli.output.views.spread import row_now
from cli.output.views.stages import in_words, stages
from planner.documents.plan import ConstraintReport, ScaleDown, ScaleDownDraws


def sections(document: ScaleDown, page: Page) -> Iterator[Section]:
    """The two choices as a person compares them."""
    yield section("", _verdict(document))
    yield section("Pods that go", _victims(document, page))
    yield section("Spread", _spread(document, page))
    yield section("Proof", _objective(document, page))


def names(document: ScaleDown) -> Iterator[str]:
    """The pods that should go."""
    return (pod_line(victim) for victim in document.best.victims)


def _victims(document: ScaleDown, page: Page) -> Table:
    """Every pod that goes by one choice or the other; of long lists some, the differences first."""
    ours, theirs = set(document.best.victims), set(document.controller.victims)
    either = list(dict.fromkeys((*document.best.victims, *document.controller.victims)))
    if page.most(either) is not None:
        either.sort(key=lambda pod: pod in ours and pod in theirs)
    rows = [[*pod.split("/", 1), _goes(pod in theirs), _goes(pod in ours)] for pod in either]
    return Table(("NAMESPACE", "NAME", "CONTROLLER", "BEST"), rows_of(rows), noun="pod", most=page.most(rows))


def _goes(going: bool) -> str:
    return "goes" if going else "stays"


def _spread(document: ScaleDown, page: Page) -> SpreadBlock:
    """Every constraint after the controllers' choice, and after the best."""
    pairs = zip(document.controller.constraints, document.best.constraints, strict=True)
    rows = tuple(_row(theirs, ours) for theirs, ours in pairs)
    return SpreadBlock(("controller", "best"), rows, page.everything)


def _row(theirs: ConstraintReport, ours: ConstraintReport) -> SpreadRow:
    domains = dict.fromkeys((*theirs.domains, *ours.domains))
    left = sum(theirs.excess.values())
    return replace(
        row_now(ours),
        skews=(theirs.skew, ours.skew),
        remark=f"the controller's choice leaves {too_many(left)}" if left else "",
        domains={domain: (theirs.domains.get(domain, 0), ours.domains.get(domain, 0)) for domain in domains},
    )


def _objective(document: ScaleDown, page: Page) -> Block | None:
    """The stages where everything is wanted, else in words what is not proved."""
    return stages(document.objective) if page.verbose else in_words(document.objective)


def _verdict(document: ScaleDown) -> VerdictBlock:
    """`3 pods go: the best choice leaves skew 0 where the controllers' leaves 2.`"""
    ours, theirs = document.best, document.controller
    going = counted(len(ours.victims), "pod") + (" goes" if len(ours.victims) == 1 else " go")
    broken = f", {counted(ours.hard_excess, 'pod')} too many" if ours.hard_excess else ""
    if not ours.victims:
        sentence = f"No pods go{broken}"
    elif document.draws is not None and document.draws.worse:
        sentence = f"{going}{broken}: {_open(document.draws)}"
    elif set(ours.victims) == set(theirs.victims):
        best = "no choice is better" if document.status == "Optimal" else "no better one was found"
        them = "it" if len(ours.victims) == 1 else "them"
        them += ", or others as good," if document.draws is not None else ""
        sentence = f"{going}{broken}: the controller takes {them} by itself, and {best}"
    else:
        sentence = f"{going}: {_compared(document)}"
    sentence = sentence[0].upper() + sentence[1:]
    return VerdictBlock(f"{sentence}.", "bad" if ours.hard_excess else "good")


def _open(draws: ScaleDownDraws) -> str:
    """Where names, moments and chance decide which pods go, and not all choices are as good as the best."""
    ends = f"{draws.worse} of {draws.runs} draws end less well spread than the best choice"
    return f"it is open which the controller takes: {ends}, {draws.broken} with a constraint broken"


def _compared(document: ScaleDown) -> str:
    """Where the two choices differ first."""
    ours, theirs = document.best, document.controller
    for wording, mine, other in (
        ("{} too many", ours.hard_excess, theirs.hard_excess),
        ("{} too many for ScheduleAnyway", ours.soft_excess, theirs.soft_excess),
    ):
        if mine != other:
            pods = wording.format(counted(mine, "pod"))
            return f"the best choice leaves {pods}, the controller's leaves {other}"
    if ours.skew != theirs.skew:
        several = len(ours.constraints) > 1
        skew = f"skews of {ours.skew} in all" if several else f"skew {ours.skew}"
        return f"the best choice leaves {skew}, the controller's leaves {theirs.skew}"
    return "the best choice is as well spread as the controller's"
