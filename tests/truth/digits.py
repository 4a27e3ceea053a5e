"""A tiny cluster as one number: how many pods of each kind are on each node, and all sums that filters read.

Every pod on a node adds a constant to the number, so binding and leaving are an addition.  A filter
reads a few adjacent digits; what it says about them is worked out once and remembered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.truth import manifests
from tests.truth.bare_pods import named_after
from tests.truth.manifests import Labels, Object
from tests.truth.search_profiles import Profile, defaulted, profile_of, profiles_of

#: Nodes as the bits of a number.
Nodes = int
State = int
#: Which pods a sum counts, and in which domain a node is; None: in none.
Counted = Callable[[int], bool]
Domains = Sequence[str | None]


@dataclass(frozen=True)
class Kind:
    """Pods alike in all that decides on their place, and whether they may be evicted."""

    #: One of them that runs, if any does.
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
    """Some digits of a state, and what is concluded from them."""

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


class Digits:
    """What is there, in which digits, and what can be read off them."""

    def __init__(self, objects: Iterable[Object]) -> None:
        found = list(objects)
        self.objects = found
        self.nodes = sorted(
            (item for item in found if item["kind"] == "Node"), key=lambda item: str(item["metadata"]["name"])
        )
        self.names = [str(node["metadata"]["name"]) for node in self.nodes]
        self.namespaces = {
            item["metadata"]["name"]: item["metadata"].get("labels", {})
            for item in found
            if item["kind"] == "Namespace"
        }
        self.profiles = profiles_of(found)
        self._controllers = {
            (item["kind"], item["metadata"].get("namespace", "default"), item["metadata"]["name"]): item
            for item in found
            if item["kind"] in ("ReplicaSet", "StatefulSet")
        }
        self._owners = {
            (item["kind"], item["metadata"].get("namespace", "default"), item["metadata"]["name"]): above
            for item in found
            if item["kind"] in ("ReplicaSet", "Job") and (above := manifests.controller(item))
        }
        self.pods = [item for item in found if item["kind"] == "Pod" and self._takes_part(item)]
        self._alike = named_after(self.pods, found)
        self.budgets = self._budgets()
        self.kinds = self._kinds()
        self.every = (1 << len(self.nodes)) - 1
        self._width = max(4, len(self.pods).bit_length())
        self._digits = 0
        self.delta = [[0] * len(self.nodes) for _ in self.kinds]
        self._placed: dict[Hashable, tuple[int, int, list[str]]] = {}
        self._lay_out()

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
            (item, manifests.allowed_disruptions(item, self.pods, self.objects))
            for item in self.objects
            if item["kind"] == "PodDisruptionBudget"
        ]

    def covering(self, pod: Object) -> list[int]:
        """The budgets over a pod."""
        return [number for number, (item, _) in enumerate(self.budgets) if manifests.covers(item, pod)]

    def drawn(self, pod: Object) -> list[int]:
        """The budgets that the eviction of a pod is counted against."""
        return [
            number
            for number in self.covering(pod)
            if manifests.draws_on(self.budgets[number][0], pod, self.pods, self.objects)
        ]

    def _may_move(self, pod: Object) -> bool:
        covering = self.covering(pod)
        if len(covering) > 1 and not manifests.is_starting(pod):
            return False
        drawn = self.drawn(pod)
        if drawn and self.budgets[drawn[0]][1] < 1:
            return False
        if self.ordered_set(pod) and any(manifests.waits_for(pod, other) for other in self.pods):
            return False
        if self._is_orphan(pod) or profile_of(self.profiles, pod) is None:
            return False
        return manifests.may_be_evicted(pod)

    def _is_orphan(self, pod: Object) -> bool:
        """Whether the controller is missing where others of its kind are in the namespace."""
        owner, namespace = manifests.controller(pod) or {}, pod["metadata"]["namespace"]
        known = [
            name for kind, space, name in self._controllers if (kind, space) == (owner.get("kind"), namespace)
        ]
        return bool(known) and owner["name"] not in known

    def ordered_set(self, pod: Object) -> tuple[str, str] | None:
        """The StatefulSet of a pod if it makes its pods in the order of ordinals, the default."""
        found = manifests.stateful_set(pod)
        spec = {} if found is None else self._controllers.get(("StatefulSet", *found), {}).get("spec", {})
        return found if spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady" else None

    def may_be_evicted_together(self, pods: Sequence[Object]) -> bool:
        """Whether budgets allow all evictions, and no set with OrderedReady loses more than one pod."""
        sets = [found for pod in pods if (found := self.ordered_set(pod)) is not None]
        drawn = Counter(budget for pod in pods for budget in self.drawn(pod))
        return len({*sets}) == len(sets) and all(n <= self.budgets[b][1] for b, n in drawn.items())

    def _kinds(self) -> list[Kind]:
        groups: dict[str, list[Object]] = {}
        for pod in self.pods:
            spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName",)}
            meta = {
                key: value
                for key, value in pod["metadata"].items()
                if key not in ("name", "uid", "creationTimestamp")
            }
            alike = self._alike[manifests.key_of(pod)]
            # A pod that waits is as those that run when it does.
            drawn = self.drawn(pod) if pod["spec"].get("nodeName") else self.covering(pod)
            groups.setdefault(manifests.spelled([spec, meta, self._may_move(pod), alike, drawn]), []).append(
                pod
            )
        return [self._kind(pods) for pods in groups.values()]

    def _kind(self, pods: list[Object]) -> Kind:
        running: dict[int, list[str]] = {}
        waiting: list[str] = []
        for pod in pods:
            key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            if pod["spec"].get("nodeName"):
                running.setdefault(self.names.index(pod["spec"]["nodeName"]), []).append(key)
            elif self._is_waiting(pod):
                waiting.append(key)
        pod = next((pod for pod in pods if pod["spec"].get("nodeName")), pods[0])
        return Kind(
            pod,
            self._may_move(pod),
            len(waiting),
            tuple(waiting),
            {node: tuple(names) for node, names in running.items()},
        )

    def _is_waiting(self, pod: Object) -> bool:
        """Whether some profile schedules the pod now."""
        held = bool(pod["spec"].get("schedulingGates"))
        return manifests.is_live(pod) and not held and profile_of(self.profiles, pod) is not None

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

    def sums(self, counted: Counted, domains: Domains) -> tuple[int, list[str]]:
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

    def reading(self, first: int, size: int, judge: Callable[[list[int]], int]) -> Reading:
        width, digit = self._width, (1 << self._width) - 1

        def judged(digits: int) -> int:
            return judge([(digits >> (width * place)) & digit for place in range(size)])

        return Reading(first * width, (1 << (size * width)) - 1, judged)

    def several(
        self, runs: Sequence[tuple[int, list[str]]], judge: Callable[[Sequence[list[int]]], int]
    ) -> Reading:
        """A reading of several runs of digits, wherever they are."""
        digit = (1 << self._width) - 1
        low = min(first for first, _ in runs)
        size = max(first + len(names) for first, names in runs) - low
        parts = [(first - low, first - low + len(names)) for first, names in runs]
        whole = self.reading(low, size, lambda digits: judge([digits[start:end] for start, end in parts]))
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

    def places(self, state: State) -> dict[tuple[int, int], int]:
        """Pods by kind and node."""
        return {
            (kind, node): count
            for kind in range(len(self.kinds))
            for node in range(len(self.nodes))
            if (count := self.count(state, kind, node))
        }

    # The cluster in words

    def values(self, key: str, eligible: Iterable[int] | None = None) -> Domains:
        """The value of a label for each node, None where it has none or does not count."""
        among = range(len(self.nodes)) if eligible is None else set(eligible)
        return [
            (node["metadata"].get("labels") or {}).get(key) if place in among else None
            for place, node in enumerate(self.nodes)
        ]

    def profile(self, kind: Kind) -> Profile:
        """The profile of a kind; an empty one where no scheduler looks at it."""
        return profile_of(self.profiles, kind.pod) or Profile()

    def constraints(self, kind: Kind) -> list[Object]:
        """The spread constraints that filters ask of a kind: its own, or the defaults of its profile."""
        own = kind.pod["spec"].get("topologySpreadConstraints")
        if own:
            return list(own)
        owner = manifests.controller(kind.pod)
        found = (
            None if owner is None else self._controllers.get((owner["kind"], kind.namespace, owner["name"]))
        )
        return defaulted(self.profile(kind), kind.pod, found)

    def workload(self, pod: Object) -> str:
        """Whose a pod is: the Deployment above a ReplicaSet, where that is in the snapshot."""
        owner = manifests.controller(pod)
        if owner is not None:
            above = self._owners.get((owner["kind"], pod["metadata"]["namespace"], owner["name"]))
            if above is not None:
                return f"{above['kind']}/{above['name']}"
        return manifests.workload(pod, self._alike)


def whereabouts(tiny: Digits) -> tuple[dict[str, int], dict[str, int]]:
    """The kind of every pod, and the node of those that run."""
    kinds: dict[str, int] = {}
    nodes: dict[str, int] = {}
    for number, kind in enumerate(tiny.kinds):
        kinds |= dict.fromkeys(kind.names, number)
        for node, names in kind.running.items():
            kinds |= dict.fromkeys(names, number)
            nodes |= dict.fromkeys(names, node)
    return kinds, nodes
