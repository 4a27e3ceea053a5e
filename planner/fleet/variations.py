"""`--vary`: what scenarios there are, as the flags that a command takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from models import Cluster
from models.errors import InputError

_RANGE = re.compile(r"(.*?)(\d+)\.\.(.*?)(\d+)", re.ASCII)
_NUMBER = re.compile(r"\d+", re.ASCII)
#: More scenarios of one cluster are a slip of the finger.
_MOST = 100_000
_EXPECTED = (
    "expected lose=KEY, drain=each, scale=KIND/NAME=1..50, add-nodes=NODE=0..10 or kubernetes=1.34..1.37"
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One value for everything that is varied."""

    #: What is varied and its value, one pair for each --vary.
    values: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]

    @property
    def name(self) -> str:
        """`lose=topology.kubernetes.io/zone=a kubernetes=1.36`."""
        return " ".join(f"{what}={value}" for what, value in self.values)


@dataclass(frozen=True, slots=True)
class Variation:
    """One --vary: what is varied, and either its values or what they are called in a cluster.

    `lost` has the names of the nodes that each value removes, of domains that are lost.
    """

    what: str
    values: tuple[str, ...]
    flag: Callable[[str], Sequence[str]]
    lost: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def needs_cluster(self) -> bool:
        """Whether only the cluster tells the values."""
        return not self.values

    def of(self, cluster: Cluster) -> Variation:
        """The same with the values that this cluster has."""
        if self.values:
            return self
        values, (kind, _, key) = tuple(_in_cluster(cluster, self.what)), self.what.partition("=")
        return replace(self, values=values, lost=_nodes_by(cluster, key) if kind == "lose" else {})


def variations(specs: Sequence[str]) -> tuple[Variation, ...]:
    """What each --vary asks for; an InputError names the one that cannot be used."""
    found = []
    for spec in specs:
        try:
            found.append(_variation(spec))
        except InputError as error:
            raise InputError(f"--vary {spec}: {problem}" for problem in error.problems) from None
    twice = {one.what for one in found if sum(other.what == one.what for other in found) > 1}
    if twice:
        raise InputError(
            [f"--vary {sorted(twice)[0]}: given twice; one --vary takes several values: 1.35,1.36"]
        )
    return tuple(found)


def scenarios(asked: Sequence[Variation]) -> list[Scenario]:
    """All combinations, the last one varied first."""
    count = 1
    for one in asked:
        count *= len(one.values)
    if count > _MOST:
        raise InputError([f"--vary: {count:,} scenarios, and {_MOST:,} are the most"])
    found, places = [], _flags_order(asked)
    for values in product(*(one.values for one in asked)):
        pairs = tuple(zip((one.what for one in asked), values, strict=True))
        found.append(Scenario(pairs, tuple(_flags((asked[place], values[place]) for place in places))))
    return found


def _flags(chosen: Iterable[tuple[Variation, str]]) -> Iterator[str]:
    """What a scenario asks for; a domain whose nodes are lost with another one is lost already."""
    lost: list[Collection[str]] = []
    for one, value in chosen:
        nodes = one.lost.get(value, ())
        if not (nodes and lost and set[str]().union(*lost).issuperset(nodes)):
            yield from one.flag(value)
        if nodes:
            lost.append(nodes)


def _flags_order(asked: Sequence[Variation]) -> Sequence[int]:
    """In which order what is varied is done: a lost node can be neither drained nor a pattern for others."""
    names_nodes = [place for place, one in enumerate(asked) if one.what.startswith(("drain", "add-nodes="))]
    last = max(names_nodes, default=0)
    lost = {place for place in range(last) if asked[place].what.startswith("lose=")}
    return sorted(range(len(asked)), key=lambda place: (last if place in lost else place, place in lost))


def _variation(spec: str) -> Variation:
    kind, _, rest = spec.partition("=")
    make = _KINDS.get(kind)
    if make is None or not rest:
        raise InputError([_EXPECTED])
    return make(rest)


def _lose(key: str) -> Variation:
    return Variation(f"lose={key}", (), lambda domain: ("--remove-node", f"{key}={domain}"))


def _drain(which: str) -> Variation:
    if which != "each":
        raise InputError(["expected drain=each; --drain NODE is for one node in all scenarios"])
    return Variation("drain", (), lambda node: ("--drain", node))


def _scale(rest: str) -> Variation:
    workload, _, numbers = rest.partition("=")
    values = _numbers(numbers)
    return Variation(f"scale={workload}", values, lambda number: ("--scale", f"{workload}={number}"))


def _add_nodes(rest: str) -> Variation:
    node, _, numbers = rest.partition("=")
    values = _numbers(numbers)

    def flags(number: str) -> Sequence[str]:
        return ("--add-nodes", f"{number}={node}") if int(number) else ()

    return Variation(f"add-nodes={node}", values, flags)


def _kubernetes(rest: str) -> Variation:
    values = tuple(dict.fromkeys(_values(rest, re.compile(r"v?\d+(\.\d+)+", re.ASCII))))
    return Variation("kubernetes", values, lambda version: ("--kubernetes", version))


def _numbers(text: str) -> tuple[str, ...]:
    """Every number once, in the order of the first of each: 01 is 1."""
    return tuple(dict.fromkeys(str(int(value)) for value in _values(text, _NUMBER)))


def _values(text: str, form: re.Pattern[str]) -> Iterator[str]:
    """`1..3,7` as 1, 2, 3, 7; `1.34..1.36` as 1.34, 1.35, 1.36; a value that is there twice is told twice."""
    for part in text.split(","):
        ends = _RANGE.fullmatch(part)
        if ends is None:
            if not form.fullmatch(part):
                raise InputError([f"{part or 'nothing'} is no value; {_EXPECTED}"])
            yield part
            continue
        before, first, last = ends[1], int(ends[2]), int(ends[4])
        is_range = ends[3] in ("", before) and form.fullmatch(f"{before}{first}") is not None
        if not is_range or last < first:
            raise InputError([f"{part} is no range; {_EXPECTED}"])
        if last - first >= _MOST:
            raise InputError([f"{part} has {last - first + 1:,} values, and {_MOST:,} are the most"])
        yield from (f"{before}{number}" for number in range(first, last + 1))


def _nodes_by(cluster: Cluster, key: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for node in cluster.nodes:
        if key in node.metadata.labels:
            found.setdefault(node.metadata.labels[key], []).append(node.name)
    return found


def _in_cluster(cluster: Cluster, what: str) -> Sequence[str]:
    kind, _, key = what.partition("=")
    if kind != "drain":
        return cluster.domains(key, f"--vary {what}")
    if not cluster.nodes:
        raise InputError([f"--vary {what}: no nodes"])
    return sorted(node.name for node in cluster.nodes)


_KINDS: Mapping[str, Callable[[str], Variation]] = {
    "lose": _lose,
    "drain": _drain,
    "scale": _scale,
    "add-nodes": _add_nodes,
    "kubernetes": _kubernetes,
}
