"""Spread constraints in few words and signs, the same in every form."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from cli.output.blocks import Cell, SpreadRow, Table, Tone, Words
from cli.output.page import counted
from cli.output.table import JOINT
from models import words
from models.words import value_told

_WELL_KNOWN = {
    "topology.kubernetes.io/zone": "zone",
    "topology.kubernetes.io/region": "region",
    "kubernetes.io/hostname": "hostname",
}
_NOUNS = {"hostname": "node", "zone": "zone", "region": "region"}
#: So many domains are told one by one; of a key with a domain a node only a handful.
_MOST_DOMAINS, _MOST_NODES = 8, 4
#: So many of the domains that are too full are named.
_MOST_NAMES = 3
#: Of more constraints there is a matrix, with so many rows and at most so many columns of domains.
MOST_PANELS, MOST_ROWS, MOST_COLUMNS = 6, 20, 8
_EIGHTHS = " ▏▎▍▌▋▊▉"


def short_key(key: str) -> str:
    """A topology key as it is called in conversation."""
    return _WELL_KNOWN.get(key, key)


def noun_of(key: str) -> str:
    """What a domain of a key is called."""
    return _NOUNS.get(short_key(key), "domain")


def is_listed(row: SpreadRow, *, everything: bool = False) -> bool:
    """Whether the domains are told one by one, not summed up."""
    most = _MOST_NODES if short_key(row.topology_key) == "hostname" else _MOST_DOMAINS
    return everything or len(row.domains) + row.unlisted <= most


def heading(row: SpreadRow, rows: Iterable[SpreadRow], *, everything: bool = False) -> str:
    """`shop Deployment/web over zone, DoNotSchedule: skew 3, maxSkew 1`, and what there is to remark."""
    skew = changes(row.skews)
    remark = f"; {row.remark}" if row.remark else ""
    whose = f"{row.namespace} {row.workload} over {over(row, rows, everything=everything)}"
    return f"{whose}, {row.when}: skew {skew}, maxSkew {row.max_skew}{remark}"


def over(row: SpreadRow, rows: Iterable[SpreadRow], *, everything: bool = False) -> str:
    """The key; with the selector or the number of domains, where constraints of a workload differ in that.

    Pods of a workload that may use other nodes than the rest, as pinned ones, have other domains counted.
    """
    key = row.topology_key if everything else short_key(row.topology_key)
    alike = [other for other in rows if _identity(other) == _identity(row)]
    if row.selector and (everything or len({other.selector for other in alike}) > 1):
        key = f"{key} of {row.selector}"
    sizes = {len(other.domains) + other.unlisted for other in alike if other.selector == row.selector}
    return key if len(sizes) <= 1 else f"{key} ({counted(len(row.domains) + row.unlisted, 'domain')})"


def changes(numbers: Sequence[int]) -> str:
    """`3`, `3 -> 1`, or `3 / 2 / 1` where more than two states are side by side."""
    return _side_by_side([str(number) for number in numbers])


def _side_by_side(texts: Sequence[str]) -> str:
    return (" -> " if len(texts) <= len(("now", "after")) else " / ").join(texts)


def too_many(surplus: int) -> str:
    """`2 too many`, or nothing."""
    return f"{surplus} too many" if surplus else ""


def summed_up(row: SpreadRow, state: int) -> str:
    """`12 nodes hold 2, 3 hold 4 (1 too many on each: n1, n2, n3)`."""
    noun = noun_of(row.topology_key)
    is_last = state == len(row.skews) - 1
    groups: dict[int, list[str]] = defaultdict(list)
    for domain, pods in row.domains.items():
        groups[pods[state]].append(domain)
    parts: list[str] = []
    for held, domains in sorted(groups.items()):
        subject = str(len(domains)) if parts else counted(len(domains), noun)
        hold = f"{subject} {'holds' if len(domains) == 1 else 'hold'} {held}"
        parts.append(hold + (_of_surplus(row, domains) if is_last else ""))
    return ", ".join(parts)


def _of_surplus(row: SpreadRow, domains: Sequence[str]) -> str:
    """What some domains with equally many pods have too much, and the names of the first."""
    full = [domain for domain in domains if domain in row.surplus]
    if not full:
        return ""
    [(surplus, _)] = Counter(row.surplus[domain] for domain in full).most_common(1)
    where = "on each" if len(full) == len(domains) else f"on {len(full)}"
    names = words.listed(full, _MOST_NAMES)
    return (
        f" ({too_many(surplus)} {where}: {names})" if len(domains) > 1 else f" ({surplus} too many: {names})"
    )


def bar(pods: int, most: int, width: int, *, signs: bool) -> str:
    """A bar for so many pods where the longest stands for `most`: a sign a pod while there is room."""
    length = pods * 8 if most <= width else round(pods * width * 8 / max(most, 1))
    if not signs:
        return "#" * (length // 8)
    return "█" * (length // 8) + _EIGHTHS[length % 8].strip() if pods else ""


def by_weight(rows: Iterable[SpreadRow]) -> list[SpreadRow]:
    """What is broken comes first, hard before soft, and the most pods too many before fewer."""
    return sorted(rows, key=lambda row: (not row.is_broken, not row.hard, -sum(row.surplus.values())))


def domains_of(rows: Iterable[SpreadRow]) -> list[str]:
    """The domains of several constraints, each once."""
    return list(dict.fromkeys(domain for row in rows for domain in row.domains))


def by_key(rows: Iterable[SpreadRow]) -> Iterator[tuple[str, list[SpreadRow]]]:
    """The rows of every topology key together, in the order in which the keys first come."""
    groups: dict[str, list[SpreadRow]] = defaultdict(list)
    for row in rows:
        groups[row.topology_key].append(row)
    yield from groups.items()


def matrix_title(key: str, states: Sequence[str]) -> str:
    """`Pods by zone, now -> after`."""
    return f"Pods by {short_key(key)}{f', {_side_by_side(states)}' if len(states) > 1 else ''}"


def matrix(
    states: Sequence[str], rows: Sequence[SpreadRow], *, listed: bool = True, most: int | None = MOST_ROWS
) -> Table:
    """Workloads below each other, domains beside each other; many domains are summed up."""
    domains = domains_of(rows)
    told = listed and len(domains) <= MOST_COLUMNS and all(is_listed(row) for row in rows)
    when = ["WHEN"] if len({row.when for row in rows}) > 1 else []
    heads = (
        "NAMESPACE",
        "WORKLOAD",
        *when,
        "MAXSKEW",
        "SKEW",
        *(domains if told else ["PODS" if len(states) == 1 else "FEWEST TO MOST"]),
    )
    cells = [
        (*_whose(row, bool(when)), *(_counts(row, domains) if told else [_all_sums(row, states)]))
        for row in rows
    ]
    return Table(heads, tuple(cells), noun="constraint", most=most)


def _whose(row: SpreadRow, with_when: bool) -> Iterator[Words]:
    yield row.namespace
    yield row.workload
    if with_when:
        yield row.when
    yield str(row.max_skew)
    yield Cell(changes(row.skews), _tone(row) if row.is_broken else "plain")


def _counts(row: SpreadRow, domains: Sequence[str]) -> Iterator[Words]:
    """A cell for every domain: `4`, `4 -> 3`, `4 (+2)` with two too many, `-` where it has no such domain."""
    for domain in domains:
        pods, surplus = row.domains.get(domain, ()), row.surplus.get(domain, 0)
        text = changes(pods if len(set(pods)) > 1 else pods[:1])
        more = f" (+{surplus})" if surplus else ""
        yield Cell(f"{text or '-'}{more}", _tone(row) if surplus else "plain")


def _all_sums(row: SpreadRow, states: Sequence[str]) -> str:
    """How many domains hold how many; of several states only the fewest and the most pods of a domain."""
    if len(states) == 1:
        return _by_name(row) if len(row.domains) + row.unlisted <= _MOST_NAMES else summed_up(row, 0)
    ranges = [_range([pods[state] for pods in row.domains.values()]) for state in range(len(states))]
    return _side_by_side(ranges) + (f"; {row.remark}" if row.remark else "")


def _by_name(row: SpreadRow) -> str:
    """`a 1, b 3 (1 too many), c 2`: of a few domains that is shorter than how many hold how many."""
    parts = []
    for domain, pods in row.domains.items():
        more = f" ({too_many(row.surplus[domain])})" if domain in row.surplus else ""
        parts.append(f"{value_told(domain)} {pods[0]}{more}".replace(" ", JOINT))
    return ", ".join(parts)


def _range(pods: Sequence[int]) -> str:
    low, high = min(pods, default=0), max(pods, default=0)
    return str(low) if low == high else f"{low} to {high}"


def _tone(row: SpreadRow) -> Tone:
    """How bad it is when such a constraint is exceeded."""
    return "bad" if row.hard else "warning"


def _identity(row: SpreadRow) -> tuple[str, str, str]:
    return row.namespace, row.workload, row.topology_key
