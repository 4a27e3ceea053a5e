"""A tiny cluster as one number: how many pods of each kind are on each node, and all sums that filters read.

Every pod on a node adds a constant to the number, so binding and leaving are an addition.  A filter
reads a few adjacent digits; what it says about them is worked out once and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.truth import manifests
from tests.truth.manifests import HARD, REQUIRED, Labels, Object

#: Nodes as the bits of a number.
Nodes = int
State = int
#: Which pods a sum counts, and in which domain a node is; None: in none.
Counted = Callable[[int], bool]
Domains = Sequence[str | None]


@dataclass(frozen=True)
class Kind:
    """Pods alike in all that decides on their place, and whether they may be evicted."""

    pod: Object
    movable: bool
    waiting: int
    names: tuple[str, ...]
    running: Mapping[int, tuple[str, ...]]

    @property
    def labels(self) -> Labels:
        found: Labels = self.pod["metadata"].get("labels") or {}
        return found

    @property
    def namespace(self) -> str:
        return str(self.pod["metadata"]["namespace"])

    @property
    def priority(self) -> int:
        return self.pod["spec"].get("priority") or 0


@dataclass
class Reading:
    """Some digits of a state, and what somebody concludes from them."""

    shift: int
    mask: int
    judge: Callable[[int], int]
    known: dict[int, int] = field(default_factory=dict)

    def __call__(self, state: State) -> int:
        digits = (state >> self.shift) & self.mask
        found = self.known.get(digits)
        if found is None:
            found = self.known[digits] = self.judge(digits)
        return found


@dataclass(frozen=True)
class Row:
    """A hard or soft spread constraint of one workload, and how much it has too much."""

    name: str
    namespace: str
    #: Kind, in small letters, and name.
    owner: tuple[str, str]
    hard: bool
    #: Whether some pod that was not told to stop carries it.
    live: bool
    excess: Reading
    skew: Reading


class World:
    """The compiled cluster."""

    def __init__(self, objects: Iterable[Object]) -> None:
        found = list(objects)
        self.objects = found
        self.nodes = sorted(
            (item for item in found if item["kind"] == "Node"), key=lambda item: str(item["metadata"]["name"])
        )
        self.names = [str(node["metadata"]["name"]) for node in self.nodes]
        self._namespaces = {
            item["metadata"]["name"]: item["metadata"].get("labels", {})
            for item in found
            if item["kind"] == "Namespace"
        }
        self._owners = {
            (item["kind"], item["metadata"].get("namespace", "default"), item["metadata"]["name"]): above
            for item in found
            if item["kind"] in ("ReplicaSet", "Job") and (above := manifests.controller(item))
        }
        self.pods = [item for item in found if item["kind"] == "Pod" and self._takes_part(item)]
        self._alike = manifests.named_after(self.pods, found)
        self.budgets = self._budgets()
        self.kinds = self._kinds()
        self.every = (1 << len(self.nodes)) - 1
        self._width = max(4, len(self.pods).bit_length())
        self._digits = 0
        self.delta = [[0] * len(self.nodes) for _ in self.kinds]
        self._placed: dict[Hashable, tuple[int, int, list[str]]] = {}
        self._lay_out()
        self.fits = [self._checks(kind) for kind in range(len(self.kinds))]
        self.rows = list(self._rows())
        self.company = list(self._company())

    @cached_property
    def start(self) -> State:
        """The cluster as it stands; no digits are added after this was asked for."""
        return sum(
            self.delta[number][node] * len(names)
            for number, kind in enumerate(self.kinds)
            for node, names in kind.running.items()
        )

    # What there is

    def _takes_part(self, pod: Object) -> bool:
        name = pod["spec"].get("nodeName")
        return (not name or name in self.names) and pod.get("status", {}).get("phase") not in (
            "Succeeded",
            "Failed",
        )

    def _budgets(self) -> list[tuple[Object, int]]:
        return [
            (item, manifests.allowed_disruptions(item, self.pods))
            for item in self.objects
            if item["kind"] == "PodDisruptionBudget"
        ]

    def covering(self, pod: Object) -> list[int]:
        """The budgets over a pod."""
        return [number for number, (item, _) in enumerate(self.budgets) if manifests.covers(item, pod)]

    def _may_move(self, pod: Object) -> bool:
        covering = self.covering(pod)
        if len(covering) > 1 or (covering and self.budgets[covering[0]][1] < 1):
            return False
        return manifests.may_be_evicted(pod)

    def _kinds(self) -> list[Kind]:
        groups: dict[str, list[Object]] = {}
        for pod in self.pods:
            spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName",)}
            meta = {
                key: value
                for key, value in pod["metadata"].items()
                if key not in ("name", "uid", "creationTimestamp")
            }
            groups.setdefault(manifests.spelled([spec, meta, self._may_move(pod)]), []).append(pod)
        return [self._kind(pods) for pods in groups.values()]

    def _kind(self, pods: list[Object]) -> Kind:
        running: dict[int, list[str]] = {}
        waiting: list[str] = []
        for pod in pods:
            key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            if pod["spec"].get("nodeName"):
                running.setdefault(self.names.index(pod["spec"]["nodeName"]), []).append(key)
            elif manifests.is_live(pod) and not pod["spec"].get("schedulingGates"):
                waiting.append(key)
        return Kind(
            pods[0],
            self._may_move(pods[0]),
            len(waiting),
            tuple(waiting),
            {node: tuple(names) for node, names in running.items()},
        )

    # The digits

    def _lay_out(self) -> None:
        """First the kinds on each node, a node's together, then how many of each kind run."""
        for node in range(len(self.nodes)):
            for number in range(len(self.kinds)):
                self.delta[number][node] += 1 << (self._digits * self._width)
                self._digits += 1
        self._totals = self._digits
        for number in range(len(self.kinds)):
            for node in range(len(self.nodes)):
                self.delta[number][node] += 1 << (self._digits * self._width)
            self._digits += 1

    def _sums(self, counted: Counted, domains: Domains) -> tuple[int, list[str]]:
        """The first digit of sums per domain, and which domains these are."""
        counts = tuple(number for number in range(len(self.kinds)) if counted(number))
        key = (counts, tuple(domains))
        if key not in self._placed:
            names = sorted({name for name in domains if name is not None})
            first = self._digits
            self._digits += len(names)
            for number in counts:
                for node, name in enumerate(domains):
                    if name is not None:
                        self.delta[number][node] += 1 << ((first + names.index(name)) * self._width)
            self._placed[key] = first, len(names), names
        first, _, names = self._placed[key]
        return first, names

    def _reading(self, first: int, size: int, judge: Callable[[list[int]], int]) -> Reading:
        width, digit = self._width, (1 << self._width) - 1

        def judged(digits: int) -> int:
            return judge([(digits >> (width * place)) & digit for place in range(size)])

        return Reading(first * width, (1 << (size * width)) - 1, judged)

    def _several(
        self, runs: Sequence[tuple[int, list[str]]], judge: Callable[[Sequence[list[int]]], int]
    ) -> Reading:
        """A reading of several runs of digits, wherever they are."""
        digit = (1 << self._width) - 1
        low = min(first for first, _ in runs)
        size = max(first + len(names) for first, names in runs) - low
        parts = [(first - low, first - low + len(names)) for first, names in runs]
        whole = self._reading(low, size, lambda digits: judge([digits[start:end] for start, end in parts]))
        places = {place for start, end in parts for place in range(start, end)}
        whole.mask = sum(digit << (place * self._width) for place in places)
        return whole

    # Reading a state

    def column(self, state: State, node: int) -> int:
        """The digits of one node."""
        size = len(self.kinds) * self._width
        return (state >> (node * size)) & ((1 << size) - 1)

    def count(self, state: State, kind: int, node: int) -> int:
        """The pods of a kind on a node."""
        place = node * len(self.kinds) + kind
        return (state >> (place * self._width)) & ((1 << self._width) - 1)

    def total(self, state: State, kind: int) -> int:
        """The pods of a kind on all nodes."""
        return (state >> ((self._totals + kind) * self._width)) & ((1 << self._width) - 1)

    def totals(self, state: State) -> int:
        """The digits that say how many of each kind run."""
        size = len(self.kinds) * self._width
        return (state >> (self._totals * self._width)) & ((1 << size) - 1)

    def feasible(self, state: State, kind: int) -> Nodes:
        """The nodes that all filters leave a pod of the kind."""
        nodes = self.every
        for check in self.fits[kind]:
            nodes &= check(state)
            if not nodes:
                return 0
        return nodes

    def places(self, state: State) -> dict[tuple[int, int], int]:
        """Pods by kind and node."""
        return {
            (kind, node): count
            for kind in range(len(self.kinds))
            for node in range(len(self.nodes))
            if (count := self.count(state, kind, node))
        }

    def excess(self, state: State) -> tuple[int, ...]:
        """What each hard constraint has too much."""
        return tuple(row.excess(state) for row in self.rows if row.hard)

    # Filters

    def _checks(self, number: int) -> list[Reading]:
        kind = self.kinds[number]
        static = sum(manifests.may_be_on(kind.pod, node) << place for place, node in enumerate(self.nodes))
        checks = [Reading(0, 0, lambda _: static)]
        checks += [self._room(number, node) for node in range(len(self.nodes)) if static >> node & 1]
        checks += self._spread_checks(number)
        checks += self._affinity_checks(number)
        return checks

    def _room(self, number: int, node: int) -> Reading:
        """All nodes, less this one when the pod has no room or no port there."""
        kind, here = self.kinds[number], self.nodes[node]
        room = {name: manifests.amount(str(text)) for name, text in here["status"]["allocatable"].items()}
        wanted = manifests.asks(kind.pod)
        asked = [manifests.asks(other.pod) for other in self.kinds]
        clashing = [manifests.ports_clash(kind.pod, other.pod) for other in self.kinds]

        def judge(counts: list[int]) -> int:
            full = 1000 * (sum(counts) + 1) > room.get("pods", 0)
            clash = any(count and other for count, other in zip(counts, clashing, strict=True))
            short = any(
                amount
                and amount + sum(n * a.get(name, 0) for n, a in zip(counts, asked, strict=True))
                > room.get(name, 0)
                for name, amount in wanted.items()
            )
            return self.every & ~(1 << node) if full or clash or short else self.every

        return self._reading(node * len(self.kinds), len(self.kinds), judge)

    def _values(self, key: str, eligible: Iterable[int] | None = None) -> Domains:
        """The value of a label for each node, None where it has none or does not count."""
        among = range(len(self.nodes)) if eligible is None else set(eligible)
        return [
            (node["metadata"].get("labels") or {}).get(key) if place in among else None
            for place, node in enumerate(self.nodes)
        ]

    def _constraints(self, kind: Kind, hard: bool) -> list[Object]:
        return [
            item
            for item in kind.pod["spec"].get("topologySpreadConstraints") or ()
            if (item["whenUnsatisfiable"] == HARD) == hard
        ]

    def _eligible(self, kind: Kind, constraint: Object, keys: Sequence[str]) -> list[int]:
        """The nodes that count for a constraint."""
        taints = constraint.get("nodeTaintsPolicy", "Ignore") == "Honor"
        choice = constraint.get("nodeAffinityPolicy", "Honor") == "Honor"
        return [
            place
            for place, node in enumerate(self.nodes)
            if all(key in (node["metadata"].get("labels") or {}) for key in keys)
            and not (choice and not manifests.chosen(kind.pod, node))
            and not (taints and not manifests.taints_tolerated(kind.pod, node))
        ]

    def _counted(self, kind: Kind, selector: Object | None) -> Counted:
        """The live pods of the kind's namespace that a selector picks; an empty one counts nobody."""
        nothing = manifests.requirements(selector) in (None, "[]")

        def counted(number: int) -> bool:
            other = self.kinds[number]
            live = manifests.is_live(other.pod) and other.namespace == kind.namespace
            return live and not nothing and manifests.selects(selector, other.labels)

        return counted

    def _spread_checks(self, number: int) -> Iterator[Reading]:
        kind = self.kinds[number]
        hard = self._constraints(kind, True)
        keys = [item["topologyKey"] for item in hard]
        for constraint in hard:
            selector = manifests.narrowed(constraint, kind.labels)
            values = self._values(constraint["topologyKey"])
            counting = self._values(constraint["topologyKey"], self._eligible(kind, constraint, keys))
            first, names = self._sums(self._counted(kind, selector), counting)
            itself = int(manifests.selects(selector, kind.labels))
            most = constraint["maxSkew"] - itself
            few = len(names) < (constraint.get("minDomains") or 1)

            def judge(
                counts: list[int],
                names: list[str] = names,
                values: Domains = values,
                most: int = most,
                few: bool = few,
            ) -> int:
                least = 0 if few else min(counts)
                here = dict(zip(names, counts, strict=True))
                return sum(
                    1 << node
                    for node, value in enumerate(values)
                    if value is not None and here.get(value, 0) - least <= most
                )

            yield self._reading(first, len(names), judge)

    def _means(self, owner: Kind, term: Object, other: Kind) -> bool:
        """Whether an affinity term of one kind means another."""
        named, chosen = term.get("namespaces") or [], term.get("namespaceSelector")
        place = other.namespace
        if chosen is None:
            inside = place in named if named else place == owner.namespace
        else:
            labels = self._namespaces.get(place, {"kubernetes.io/metadata.name": place})
            inside = place in named or manifests.selects(chosen, labels)
        selector = self._narrowed_term(owner, term)
        return inside and manifests.selects(selector, other.labels)

    @staticmethod
    def _narrowed_term(owner: Kind, term: Object) -> Object | None:
        """The selector of a term with matchLabelKeys and mismatchLabelKeys."""
        selector: Object | None = term.get("labelSelector")
        if selector is None:
            return None
        more = [
            {"key": key, "operator": operator, "values": [owner.labels[key]]}
            for field_name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(field_name) or ()
            if key in owner.labels
        ]
        return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or []), *more]}

    def _affinity_checks(self, number: int) -> Iterator[Reading]:
        kind = self.kinds[number]
        for term in manifests.affinity(kind.pod, "podAntiAffinity").get(REQUIRED) or ():
            meant = {n for n, other in enumerate(self.kinds) if self._means(kind, term, other)}
            yield self._shunned(meant.__contains__, term["topologyKey"])
        for place, other in enumerate(self.kinds):
            for term in manifests.affinity(other.pod, "podAntiAffinity").get(REQUIRED) or ():
                if self._means(other, term, kind):
                    yield self._shunned({place}.__contains__, term["topologyKey"])
        terms = manifests.affinity(kind.pod, "podAffinity").get(REQUIRED) or ()
        if terms:
            yield from self._near(kind, terms)

    def _shunned(self, counted: Counted, key: str) -> Reading:
        values = self._values(key)
        first, names = self._sums(counted, values)

        def judge(counts: list[int]) -> int:
            taken = {name for name, count in zip(names, counts, strict=True) if count}
            return sum(1 << node for node, value in enumerate(values) if value not in taken)

        return self._reading(first, len(names), judge)

    def _near(self, kind: Kind, terms: Sequence[Object]) -> Iterator[Reading]:
        """Each term's domain holds a pod that all terms mean, or there is none of them and it starts."""
        keys = [term["topologyKey"] for term in terms]
        starts = all(self._means(kind, term, kind) for term in terms)
        labelled = sum(
            1 << node
            for node in range(len(self.nodes))
            if all(self._values(key)[node] is not None for key in keys)
        )

        def means(number: int) -> bool:
            return all(self._means(kind, term, self.kinds[number]) for term in terms)

        runs = [self._sums(means, self._values(key)) for key in keys]
        all_values = [self._values(key) for key in keys]

        def judge(parts: Sequence[list[int]]) -> int:
            found, nobody = labelled, True
            for (_, names), counts, values in zip(runs, parts, all_values, strict=True):
                there = {name for name, count in zip(names, counts, strict=True) if count}
                nobody = nobody and not there
                found &= sum(1 << node for node, value in enumerate(values) if value in there)
            return labelled if nobody and starts else found

        yield self._several(runs, judge)

    def _company(self) -> Iterator[tuple[int, Reading]]:
        """For every kind that needs company, the nodes where it has it, itself included."""
        for number, kind in enumerate(self.kinds):
            terms = manifests.affinity(kind.pod, "podAffinity").get(REQUIRED) or ()
            if terms:
                for reading in self._accompanied(kind, terms):
                    yield number, reading

    def _accompanied(self, kind: Kind, terms: Sequence[Object]) -> Iterator[Reading]:
        def means(number: int) -> bool:
            return all(self._means(kind, term, self.kinds[number]) for term in terms)

        for term in terms:
            yield self._shared_domain(means, term["topologyKey"])

    def _shared_domain(self, counted: Counted, key: str) -> Reading:
        """The nodes in whose domain one of the counted pods is."""
        values = self._values(key)
        first, names = self._sums(counted, values)

        def judge(counts: list[int]) -> int:
            there = {name for name, count in zip(names, counts, strict=True) if count}
            return sum(1 << node for node, value in enumerate(values) if value in there)

        return self._reading(first, len(names), judge)

    def lacking(self, state: State) -> frozenset[tuple[int, int]]:
        """The kinds and nodes where somebody is without the company it needs."""
        return frozenset(
            (kind, node)
            for kind, reading in self.company
            for node in range(len(self.nodes))
            if self.count(state, kind, node) and not reading(state) >> node & 1
        )

    # Rows of check

    def workload(self, pod: Object) -> str:
        """Whose a pod is: the Deployment above a ReplicaSet, where that is in the snapshot."""
        owner = manifests.controller(pod)
        if owner is not None:
            above = self._owners.get((owner["kind"], pod["metadata"]["namespace"], owner["name"]))
            if above is not None:
                return f"{above['kind']}/{above['name']}"
        return manifests.workload(pod, self._alike)

    def _rows(self) -> Iterator[Row]:
        found: dict[str, tuple[Kind, Object, list[str], list[int]]] = {}
        for number, kind in enumerate(self.kinds):
            for hard in (True, False):
                constraints = self._constraints(kind, hard)
                keys = [item["topologyKey"] for item in constraints]
                for item in constraints:
                    identity = self._identity(kind, item, keys, self.workload(kind.pod))
                    found.setdefault(identity, (kind, item, keys, []))[3].append(number)
        for identity, (kind, item, keys, carriers) in found.items():
            yield self._row(identity, kind, item, keys, carriers)

    def _identity(self, kind: Kind, item: Object, keys: Sequence[str], owner: str) -> str:
        """Equal for the same constraint of the same workload over the same pods and nodes."""
        pod, spec = kind.pod, kind.pod["spec"]
        choice, taints = item.get("nodeAffinityPolicy", "Honor"), item.get("nodeTaintsPolicy", "Ignore")
        missing = [key for key in sorted(set(keys)) if None in self._values(key)]
        return manifests.spelled(
            [
                [kind.namespace, owner],
                [item["topologyKey"], item["whenUnsatisfiable"], item["maxSkew"], item.get("minDomains")],
                manifests.requirements(manifests.narrowed(item, kind.labels)),
                [choice, taints, sorted(set(keys)) if missing else []],
                [spec.get("nodeSelector"), manifests.node_affinity(pod)] if choice == "Honor" else None,
                spec.get("tolerations") if taints == "Honor" else None,
            ]
        )

    def _row(
        self, identity: str, kind: Kind, item: Object, keys: Sequence[str], carriers: Sequence[int]
    ) -> Row:
        selector = manifests.narrowed(item, kind.labels)
        counting = self._values(item["topologyKey"], self._eligible(kind, item, keys))
        one = self._sums(self._counted(kind, selector), counting)
        live = {number for number in carriers if manifests.is_live(self.kinds[number].pod)}
        other = self._sums(lambda number: number in live, self._values(item["topologyKey"]))
        few = len(one[1]) < (item.get("minDomains") or 1)
        most = item["maxSkew"]

        def least(counts: list[int]) -> int:
            return 0 if few or not counts else min(counts)

        def excess(parts: Sequence[list[int]]) -> int:
            counts, held = parts
            here = dict(zip(one[1], counts, strict=True))
            return sum(
                max(0, here.get(name, 0) - least(counts) - most)
                for name, pods in zip(other[1], held, strict=True)
                if pods
            )

        def skew(counts: list[int]) -> int:
            return max(counts, default=least(counts)) - least(counts)

        owned, _, name = self.workload(kind.pod).partition("/")
        return Row(
            identity,
            kind.namespace,
            (owned.lower(), name),
            item["whenUnsatisfiable"] == HARD,
            bool(live),
            self._several((one, other), excess),
            self._reading(one[0], len(one[1]), skew),
        )

    # Wishes

    def soft_rules(self, batch: Sequence[int]) -> list[tuple[Reading, Reading]]:
        """The excess over all domains and the skew of every soft constraint of some kinds, each once."""
        found: dict[str, tuple[Reading, Reading]] = {}
        for number in batch:
            kind = self.kinds[number]
            constraints = self._constraints(kind, False)
            keys = [item["topologyKey"] for item in constraints]
            for item in constraints:
                found.setdefault(self._identity(kind, item, keys, ""), self._soft(kind, item, keys))
        return list(found.values())

    def _soft(self, kind: Kind, item: Object, keys: Sequence[str]) -> tuple[Reading, Reading]:
        selector = manifests.narrowed(item, kind.labels)
        counting = self._values(item["topologyKey"], self._eligible(kind, item, keys))
        first, names = self._sums(self._counted(kind, selector), counting)
        most = item["maxSkew"]
        return (
            self._reading(first, len(names), lambda c: sum(max(0, n - min(c) - most) for n in c) if c else 0),
            self._reading(first, len(names), lambda c: max(c) - min(c) if c else 0),
        )

    def company_of(self, number: int, term: Object) -> tuple[Reading, bool]:
        """The nodes in whose domain somebody is whom a term means, and whether it means the pod itself."""
        kind = self.kinds[number]
        meant = {n for n, other in enumerate(self.kinds) if self._means(kind, term, other)}
        return self._shared_domain(meant.__contains__, term["topologyKey"]), number in meant


def whereabouts(world: World) -> tuple[dict[str, int], dict[str, int]]:
    """The kind of every pod, and the node of those that run."""
    kinds: dict[str, int] = {}
    nodes: dict[str, int] = {}
    for number, kind in enumerate(world.kinds):
        kinds |= dict.fromkeys(kind.names, number)
        for node, names in kind.running.items():
            kinds |= dict.fromkeys(names, number)
            nodes |= dict.fromkeys(names, node)
    return kinds, nodes
