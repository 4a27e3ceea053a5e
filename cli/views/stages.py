"""The stages of an objective as a table: what the plan has, what no plan betters, and if that is proved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cli.page import Page
from cli.table import table
from planner.documents.plan import Objective

#: What a proof may take for granted, as half a sentence.
_ASSUMED = {
    "EvictionsFirst": "among plans that evict first",
    "NothingWorse": "among plans that make nothing worse on the way",
}


def stages(objective: Sequence[Objective], page: Page) -> Iterator[str]:
    """The table of stages."""
    rows = [[stage.name, str(stage.value), _bound(stage), _proved(stage)] for stage in objective]
    return table(("STAGE", "VALUE", "BOUND", "PROVED"), rows, page.screen)


def assumed(objective: Iterable[Objective]) -> list[str]:
    """What the proofs of some stages take for granted."""
    return list(dict.fromkeys(_ASSUMED[name] for stage in objective for name in stage.assumes))


def _bound(stage: Objective) -> str:
    return "unknown" if stage.bound is None else str(stage.bound)


def _proved(stage: Objective) -> str:
    """Whether it is, and for which plans."""
    return ", ".join(["yes", *assumed([stage])]) if stage.proved else "no"
