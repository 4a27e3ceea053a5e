"""What a view has to say, before it has a form: sentences, tables, spreads.

A view makes sections of a document once; `cli/output/forms` and `cli/output/report` put them on a
screen, into Markdown and into a page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

#: What a text means for the reader; a form turns it into a colour where it has colours.
Tone = Literal["plain", "good", "warning", "bad", "strong", "faint"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with a meaning."""

    text: str
    tone: Tone = "plain"


Words = str | Cell


@dataclass(frozen=True, slots=True)
class VerdictBlock:
    """The answer in a sentence; every document begins with it."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph of running text."""

    text: str
    tone: Tone = "plain"
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Lines that keep their form: `reasons` of the scheduler, a `shell` command, a fragment of `yaml`."""

    language: Literal["reasons", "shell", "yaml"]
    lines: tuple[str, ...]
    indent: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below heads; of more than `most` rows the rest is a count of `noun`s."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]
    noun: str = "row"
    most: int | None = None
    indent: int = 0

    @property
    def shown(self) -> tuple[tuple[Words, ...], ...]:
        """The rows that are told one by one."""
        return self.rows if self.most is None else self.rows[: self.most]

    @property
    def more(self) -> int:
        """How many rows are only counted."""
        return len(self.rows) - len(self.shown)


@dataclass(frozen=True, slots=True)
class SpreadRow:
    """One topology spread constraint: its pods per domain and its skew, once for every state.

    `surplus` is what domains have too much in the last state; `remark` what else is to be said of it, and
    `unlisted` how many more domains there are, alike in all states.
    """

    namespace: str
    workload: str
    topology_key: str
    when: str
    max_skew: int
    selector: str
    skews: tuple[int, ...]
    domains: Mapping[str, tuple[int, ...]]
    surplus: Mapping[str, int]
    remark: str = ""
    unlisted: int = 0
    is_broken: bool = False

    @property
    def hard(self) -> bool:
        """Whether it can keep a pod from being placed."""
        return self.when == "DoNotSchedule"

    @property
    def most(self) -> int:
        """The most pods of any domain in any state."""
        return max((max(pods) for pods in self.domains.values()), default=0)


@dataclass(frozen=True, slots=True)
class SpreadBlock:
    """Constraints in one or several states, such as now and after; what matters most comes first.

    `everything`: every domain by its name, however many there are.
    """

    states: tuple[str, ...]
    rows: tuple[SpreadRow, ...]
    everything: bool = False


Block = VerdictBlock | Sentence | Verbatim | Table | SpreadBlock


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks that belong together, under a title where the form has titles."""

    title: str
    blocks: tuple[Block, ...]


def section(title: str, *blocks: Block | None) -> Section:
    """A section of these blocks, without the empty ones."""
    return Section(title, tuple(block for block in blocks if block is not None and not _is_empty(block)))


def rows_of(rows: Sequence[Sequence[Words]]) -> tuple[tuple[Words, ...], ...]:
    """Rows as a table holds them."""
    return tuple(tuple(row) for row in rows)


def spelled(head: str) -> str:
    """`FROM` as `From`, for forms that do not need capitals; and other heads as they are."""
    known = {"MAXSKEW": "maxSkew", "KUBE-SCHEDULER": "kube-scheduler"}
    return known.get(head, head.capitalize() if head.isupper() else head)


def text_of(words: Words) -> str:
    """The text alone."""
    return words if isinstance(words, str) else words.text


def tone_of(words: Words) -> Tone:
    """What it means."""
    return "plain" if isinstance(words, str) else words.tone


def _is_empty(block: Block) -> bool:
    match block:
        case Table() | SpreadBlock():
            return not block.rows
        case Verbatim():
            return not block.lines
        case _:
            return not block.text
