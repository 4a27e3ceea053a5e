"""What all filters say of a pod at its turn, read from manifests: a pod, a node, and where all others are.

Slow and plain: nothing is remembered from one question to the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tests.truth import manifests
from tests.truth.claimed_volumes import Bindings, Volumes, key_of
from tests.truth.manifests import HARD, REQUIRED, Object
from tests.truth.search_profiles import Profile, profiles_of

#: Where pods are, by `namespace/name`.
Places = Mapping[str, str]
Value = tuple[int, ...]
_DEFAULT = "default-scheduler"
_MOST_RESERVATIONS = 256
#: What a node has, whichever of these a profile leaves out, when a final state is judged.
_OF_NODES = frozenset({"NodePorts", "NodeResourcesFit", "VolumeRestrictions", "VolumeBinding"})


class ManifestFilters:
    """A cluster, asked about one pod after the other."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self.objects = manifests.complete(objects)
        self.nodes = dict(sorted(self._named("Node")))
        self.pods = {key_of(item): item for item in self._of("Pod") if self._takes_part(item)}
        self.start = {key: _node(pod) for key, pod in self.pods.items() if _node(pod)}
        self.volumes = Volumes(self.objects)
        self._profiles = profiles_of(objects)
        self._spaces = {name: item["metadata"].get("labels") or {} for name, item in self._named("Namespace")}
        self._devices = {key_of(item): item for item in self._of("ResourceClaim")}
        self.waiting = [
            key
            for key, pod in self.pods.items()
            if key not in self.start
            and manifests.is_live(pod)
            and not pod["spec"].get("schedulingGates")
            and pod["spec"].get("schedulerName", _DEFAULT) in self._profiles
        ]
        self.priorities = sorted({self.priority(key) for key in self.waiting}, reverse=True)

    def _of(self, kind: str) -> Iterator[Object]:
        return (item for item in self.objects if item["kind"] == kind)

    def _named(self, kind: str) -> Iterator[tuple[str, Object]]:
        return ((item["metadata"]["name"], item) for item in self._of(kind))

    def _takes_part(self, pod: Object) -> bool:
        done = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        return not done and (not _node(pod) or _node(pod) in self.nodes)

    def profile(self, pod: Object) -> Profile:
        """The profile of a pod; the first one where it has none."""
        first = next(iter(self._profiles.values()))
        return self._profiles.get(pod["spec"].get("schedulerName", _DEFAULT), first)

    def priority(self, key: str) -> int:
        """The priority of a pod."""
        return int(self.pods[key]["spec"].get("priority") or 0)

    def value(self, placed: Iterable[str]) -> Value:
        """How many of some pods there are of each priority, the highest first."""
        counts = Counter(map(self.priority, placed))
        return tuple(counts[priority] for priority in self.priorities)

    def refusal(
        self, key: str, node: str, places: Places, bindings: Bindings | None = None, *, final: bool = False
    ) -> str:
        """The first filter that refuses a pod on a node beside all others, if any does.

        Of a `final` state what nodes have is asked whatever the profile leaves out; how many volumes they
        attach is not asked.
        """
        pod = self.pods[key]
        others = {name: place for name, place in places.items() if name != key}
        here = [self.pods[name] for name, place in others.items() if place == node]
        profile, machine, volumes = self.profile(pod), self.nodes[node], self.volumes
        everyone = [self.pods[name] for name in others]
        accepted: dict[str, Callable[[], bool]] = {
            "NodeUnschedulable": lambda: not manifests.is_closed(pod, machine),
            "TaintToleration": lambda: manifests.taints_tolerated(pod, machine),
            "NodeAffinity": lambda: (
                manifests.chosen(pod, machine) and manifests.matches(profile.added, machine)
            ),
            "NodePorts": lambda: not any(manifests.ports_clash(pod, other) for other in here),
            "NodeResourcesFit": lambda: _has_room(pod, machine, here, profile),
            "VolumeRestrictions": lambda: not volumes.excluded(pod, everyone, here),
            "NodeVolumeLimits": lambda: final or not volumes.is_over(pod, node, here),
            "VolumeBinding": lambda: volumes.reached(pod, node, None if final else bindings or Bindings()),
            "VolumeZone": lambda: volumes.lies_in_zone(pod, node),
            "PodTopologySpread": lambda: self._is_even(pod, node, others),
            "InterPodAffinity": lambda: self._is_liked(pod, node, others),
            "DynamicResources": lambda: self._has_devices(pod, node, others),
        }
        asked = (name for name in accepted if (final and name in _OF_NODES) or profile.runs(name))
        return next((name for name in asked if not accepted[name]()), "")

    # PodTopologySpread

    def _constraints(self, pod: Object) -> list[Object]:
        """The DoNotSchedule constraints: the pod's own, or the profile's over Services and controllers."""
        own = pod["spec"].get("topologySpreadConstraints")
        if own:
            labels = pod["metadata"]["labels"]
            found = [{**one, "labelSelector": manifests.narrowed(one, labels)} for one in own]
        else:
            selector = self._selector_of(pod)
            found = [{**one, "labelSelector": selector} for one in self.profile(pod).defaults if selector]
        return [one for one in found if one["whenUnsatisfiable"] == HARD]

    def _selector_of(self, pod: Object) -> Object | None:
        space, labels, wanted = pod["metadata"]["namespace"], pod["metadata"]["labels"], dict[str, str]()
        for item in self._of("Service"):
            selector = item["spec"]["selector"]
            if item["metadata"].get("namespace", "default") == space and selector.items() <= labels.items():
                wanted |= selector
        owner = manifests.controller(pod)
        for item in self._of(owner["kind"]) if owner else ():
            if owner and item["metadata"].get("name") == owner["name"]:
                wanted |= (item["spec"].get("selector") or {}).get("matchLabels") or {}
        return {"matchLabels": wanted} if wanted else None

    def _is_even(self, pod: Object, node: str, others: Places) -> bool:
        constraints, labels = self._constraints(pod), self.nodes[node]["metadata"]["labels"]
        keys = [one["topologyKey"] for one in constraints]
        return all(key in labels for key in keys) and all(
            self._holds(one, keys, pod, node, others) for one in constraints
        )

    def _holds(self, one: Object, keys: Sequence[str], pod: Object, node: str, others: Places) -> bool:
        key, selector = one["topologyKey"], one.get("labelSelector")
        counted = {
            name: machine["metadata"]["labels"][key]
            for name, machine in self.nodes.items()
            if all(other in machine["metadata"]["labels"] for other in keys)
            and (one.get("nodeAffinityPolicy") == "Ignore" or manifests.chosen(pod, machine))
            and (one.get("nodeTaintsPolicy") != "Honor" or manifests.taints_tolerated(pod, machine))
        }
        pods = dict.fromkeys(counted.values(), 0)
        for name, place in others.items():
            other = self.pods[name]
            same = other["metadata"]["namespace"] == pod["metadata"]["namespace"]
            if place in counted and same and manifests.is_live(other):
                counts = manifests.requirements(selector) != "[]"
                pods[counted[place]] += counts and manifests.selects(selector, other["metadata"]["labels"])
        if not pods:
            return True
        least = 0 if len(pods) < (one.get("minDomains") or 1) else min(pods.values())
        itself = manifests.selects(selector, pod["metadata"]["labels"])
        there = pods.get(self.nodes[node]["metadata"]["labels"][key], 0)
        return there + itself - least <= int(one["maxSkew"])

    # InterPodAffinity

    def excluded(self, pod: Object, node: str, others: Places) -> list[bool]:
        """For each anti-affinity term of a pod whether its domain holds a pod that the term means."""
        return [
            any(
                self._share(term, node, place) and self._means(pod, term, self.pods[name])
                for name, place in others.items()
            )
            for term in _terms(pod, "podAntiAffinity")
        ]

    def _is_liked(self, pod: Object, node: str, others: Places) -> bool:
        if any(self.excluded(pod, node, others)):
            return False
        if any(
            self._share(term, node, place) and self._means(self.pods[name], term, pod)
            for name, place in others.items()
            for term in _terms(self.pods[name], "podAntiAffinity")
        ):
            return False
        terms = _terms(pod, "podAffinity")
        if any(self._value(term, node) is None for term in terms):
            return False
        peers = [
            place
            for name, place in others.items()
            if all(self._means(pod, t, self.pods[name]) for t in terms)
        ]
        if all(any(self._share(term, node, place) for place in peers) for term in terms):
            return True
        is_first = not any(self._value(term, place) is not None for place in peers for term in terms)
        return is_first and all(self._means(pod, term, pod) for term in terms)

    def _means(self, owner: Object, term: Object, other: Object) -> bool:
        """Whether an affinity term of one pod means another."""
        named, chosen = term.get("namespaces") or (), term.get("namespaceSelector")
        space, labels = other["metadata"]["namespace"], owner["metadata"]["labels"]
        known = self._spaces.get(space, {"kubernetes.io/metadata.name": space})
        if chosen is None:
            inside = space in (named or [owner["metadata"]["namespace"]])
        else:
            inside = space in named or manifests.selects(chosen, known)
        narrowed = [
            {"key": key, "operator": operator, "values": [labels[key]]}
            for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
            for key in term.get(field) or ()
            if key in labels
        ]
        return (
            inside
            and term.get("labelSelector") is not None
            and manifests.selects(term["labelSelector"], other["metadata"]["labels"])
            and manifests.selects({"matchExpressions": narrowed}, other["metadata"]["labels"])
        )

    def _value(self, term: Object, node: str) -> str | None:
        found: str | None = self.nodes[node]["metadata"]["labels"].get(term["topologyKey"])
        return found

    def _share(self, term: Object, one: str, other: str) -> bool:
        return self._value(term, one) is not None and self._value(term, one) == self._value(term, other)

    # DynamicResources

    def _has_devices(self, pod: Object, node: str, others: Places) -> bool:
        """Whether all claims of the pod are allocated, can be used on the node, and take one pod more."""
        for key in _devices_of(pod):
            status = self._devices[key].get("status") or {}
            if "allocation" not in status:
                return False
            if not manifests.matches(status["allocation"].get("nodeSelector"), self.nodes[node]):
                return False
            listed = {user["uid"] for user in status["reservedFor"]}
            users = [
                self.pods[name]["metadata"]["uid"] for name in others if key in _devices_of(self.pods[name])
            ]
            more = {uid for uid in users if uid not in listed}
            if pod["metadata"]["uid"] not in listed and len(listed) + len(more) >= _MOST_RESERVATIONS:
                return False
        return True


def _node(pod: Object) -> str:
    return pod["spec"].get("nodeName") or ""


def _has_room(pod: Object, node: Object, here: Sequence[Object], profile: Profile) -> bool:
    room = {name: manifests.amount(str(text)) for name, text in node["status"]["allocatable"].items()}
    used = Counter[str]()
    for other in here:
        used.update(manifests.asks(other))
    return 1000 * (len(here) + 1) <= room["pods"] and all(
        not amount or profile.ignores(name) or used[name] + amount <= room.get(name, 0)
        for name, amount in manifests.asks(pod).items()
    )


def _terms(pod: Object, kind: str) -> Sequence[Object]:
    return manifests.affinity(pod, kind).get(REQUIRED) or ()


def _devices_of(pod: Object) -> list[str]:
    found = pod["spec"].get("resourceClaims") or ()
    return [f"{pod['metadata']['namespace']}/{entry['resourceClaimName']}" for entry in found]
