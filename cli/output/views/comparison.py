"""A Comparison: the cluster now, after kube-scheduler, after Descheduler and at its best, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cli.output.blocks import Section, Sentence, SpreadBlock, Table, Words, section
from cli.output.page import Page, counted
from cli.output.views.comparison_verdicts import verdict
from cli.output.views.names import pod_line
from cli.output.views.spread import row_compared
from cli.output.views.stages import in_words
from planner.documents.columns import ColumnName, ComparedColumn, Draw
from planner.documents.comparison import Comparison
from planner.documents.figures import DomainCount
from planner.problem.requests import PODS

#: Of more constraints only those are told that differ most.
_MOST_CONSTRAINTS = 20
_TITLES: dict[ColumnName, str] = {
    "now": "now",
    "kubeScheduler": "kube-scheduler",
    "descheduler": "descheduler",
}


@dataclass(frozen=True, slots=True)
class _Row:
    """A figure of every column; a `lasting` one is shown where it is the same in all of them, too."""

    label: str
    of: Callable[[ComparedColumn], float]
    unit: str = ""
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A column on the screen: one way, or the worst, the median and the best of its draws."""

    head: str
    columns: tuple[ComparedColumn, ...]


def sections(document: Comparison, page: Page) -> Iterator[Section]:
    """The comparison as a person reads it."""
    yield section("", verdict(document))
    figures, equal = _figures(document, page)
    more = f"and {counted(equal, 'figure')} the same in all columns (-v shows all)"
    folded = Sentence(more) if equal and figures.rows else None
    yield section("Figures", figures, folded, _drawn_as(figures))
    yield from _spread(document, page)
    if page.everything or page.searchable:
        yield section("Draws", _draws(document))
    if page.everything:
        yield section("Proof", in_words(_optimum(document).objective))


def names(document: Comparison) -> Iterator[str]:
    """The pods that even the best plan leaves over."""
    return (pod_line(pod) for pod in document.optimal.unplaced)


def _figures(document: Comparison, page: Page) -> tuple[Table, int]:
    """The rows in which columns differ, and how many others there are."""
    places = [*_places(document)]
    rows = [*_rows(document, page)]
    shown = [row for row in rows if page.everything or _differs(row, places) or _lasts(row, document)]
    cells = tuple((row.label, *(_cell(row, place) for place in places)) for row in shown)
    heads = ("FIGURE", *(place.head for place in places))
    return Table(heads, cells, noun="figure"), len(rows) - len(shown)


def _places(document: Comparison) -> Iterator[_Place]:
    """The columns in the order of the document; the ranks of draws are one on the screen."""
    for column in document.columns:
        if column.rank is None:
            yield _Place(_title(column).upper(), (column,))
        elif column.rank == "best":
            ranked = tuple(c for c in document.columns if c.name == column.name and c.rank is not None)
            runs = sum(draw.name == column.name for draw in document.draws)
            yield _Place(f"{runs} DRAWN", ranked)


def _title(column: ComparedColumn) -> str:
    if column.name == "optimum":
        return "optimum" if column.status == "Optimal" else "best found"
    return _TITLES[column.name]


def _optimum(document: Comparison) -> ComparedColumn:
    return next(column for column in document.columns if column.name == "optimum")


def _rows(document: Comparison, page: Page) -> Iterator[_Row]:
    """What is compared, the most important first."""
    some = document.columns[0]
    if document.question != "running":
        yield _Row(f"pods placed, of {some.pods}", lambda c: c.placed, lasting=True)
        if len(some.by_priority) > 1:
            for place, count in enumerate(some.by_priority):
                yield _Row(f"  priority {count.priority}, of {count.pods}", _priority(place), lasting=True)
    yield _Row("pods evicted", lambda c: c.evictions, lasting=document.question == "running")
    yield _Row("  rounds, or waves", lambda c: c.rounds)
    yield _Row("  of one workload at once", lambda c: c.replicas_down)
    yield _Row("  preempted for others", lambda c: c.preempted)
    yield _Row("pods pending", lambda c: c.pending)
    yield _Row("domains over maxSkew", lambda c: c.hard_violations)
    yield _Row("  pods too many there", lambda c: c.hard_excess)
    yield _Row("  too many, ScheduleAnyway", lambda c: c.soft_excess)
    if document.question == "afresh":
        yield _Row("pods on other nodes than now", lambda c: c.elsewhere)
    yield _Row(f"nodes used, of {some.nodes}", lambda c: c.nodes_used)
    for place, use in enumerate(some.utilisation):
        if use.resource != PODS or page.everything:
            yield _Row(f"{use.resource} requested", _use(place, "mean_percent"), "%")
            yield _Row(f"{use.resource}, fullest node", _use(place, "fullest_percent"), "%")


def _priority(place: int) -> Callable[[ComparedColumn], float]:
    return lambda column: column.by_priority[place].placed


def _use(place: int, figure: str) -> Callable[[ComparedColumn], float]:
    return lambda column: float(getattr(column.utilisation[place], figure))


def _differs(row: _Row, places: Sequence[_Place]) -> bool:
    return len({row.of(column) for place in places for column in place.columns}) > 1


def _lasts(row: _Row, document: Comparison) -> bool:
    """Whether a row is shown although nothing differs; nothing is where there is nothing to do."""
    return row.lasting and (document.question != "running" or _is_anything_done(document))


def _is_anything_done(document: Comparison) -> bool:
    return any(column.evictions or column.hard_excess for column in document.columns)


def _cell(row: _Row, place: _Place) -> Words:
    """`3`, or of draws the worst, the median and the best: `2/3/3`."""
    found = [f"{row.of(column):g}" for column in place.columns]
    shown = found[0] if len({*found}) == 1 else "/".join(found)
    return f"{shown}{row.unit}"


def _drawn_as(figures: Table) -> Sentence | None:
    """What stands in a cell with several figures."""
    if not any("/" in str(cell) for row in figures.rows for cell in row[1:]):
        return None
    return Sentence("of draws: the worst/the median/the best run, by pods placed, then by what is too much")


def _spread(document: Comparison, page: Page) -> Iterator[Section]:
    """The constraints whose domains differ between columns, those that differ most first."""
    columns = [column for column in document.columns if column.rank is None]
    rows = [*zip(*(column.spread for column in columns), strict=True)]
    touched = rows if page.everything else sorted(filter(_is_touched, rows), key=_weight)
    most = len(touched) if page.all_rows else _MOST_CONSTRAINTS
    shown = tuple(row_compared(row) for row in touched[:most])
    more = None
    if len(touched) > most:
        more = Sentence(f"and {counted(len(touched) - most, 'constraint')} more (-v shows all)")
    states = tuple(_title(column) for column in columns)
    yield section("Spread", SpreadBlock(states, shown, page.everything), more)


def _is_touched(row: Sequence[DomainCount]) -> bool:
    """Whether any column has other pods per domain than the first."""
    return any(state.domains != row[0].domains for state in row)


def _weight(row: Sequence[DomainCount]) -> tuple[int, int]:
    """How much the optimum and the ways before it differ, as a key that puts the largest first."""
    *others, best = row[1:] or row
    skews = max((abs(best.skew - other.skew) for other in others), default=0)
    moved = max(
        (sum(abs(pods - other.domains[d]) for d, pods in best.domains.items()) for other in others), default=0
    )
    return -skews, -moved


def _draws(document: Comparison) -> Table:
    """How often draws ended alike, for every way that draws."""
    placed = () if document.question == "running" else ("PLACED",)
    heads = ("DRAWS OF", *placed, "PENDING", "EVICTED", "TOO MANY", "SOFT", "DRAWS", "")
    counts = Counter(_ended(document, draw) for draw in document.draws)
    most = max(counts.values(), default=0)
    rows = sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0]))
    return Table(heads, tuple((*ended, str(n), "█" * -(-12 * n // most)) for ended, n in rows), noun="end")


def _ended(document: Comparison, draw: Draw) -> tuple[str, ...]:
    placed = () if document.question == "running" else (str(draw.placed),)
    figures = (draw.pending, draw.evictions, draw.hard_excess, draw.soft_excess)
    return (_TITLES[draw.name], *placed, *map(str, figures))
