"""Random stories for a real control plane: Jobs, priorities, grace periods and controllers that wait.

A story is drawn from a seed: which nodes and workloads there are, how they come out of balance, and what the
planner is asked.  Nothing here speaks to a cluster.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.e2e.control_plane import Manifest
from tests.e2e.manifests import HOSTNAME, ZONE, budget, node, pod, spread, workload

GRACE_SECONDS = 20
ZONES = "abc"
#: One of these asks for each story, the frequent ones more than once.
COMMANDS: tuple[tuple[str, ...], ...] = (
    *[("rebalance",)] * 7,
    *[("rebalance", "--evict-only")] * 3,
    *[("rebalance", "--jobs")] * 4,
    *[("drain",)] * 3,
    *[("solve", "--gated", "--allow-moves")] * 2,
    ("solve", "--gated", "--allow-moves", "--jobs"),
)
#: How a cluster comes out of balance: a zone or single nodes that come late, or replicas that are taken away.
WAYS = ("late zone", "late zone", "late nodes", "scaled down")
#: The label of pods of several workloads that one constraint counts.
COUPLED = {"group": "one"}
_GATES = [{"name": "example.com/hold"}]
_PRIORITIES: dict[str, int] = {"high": 1000, "low": -10}
_IGNORE_DISRUPTIONS = {
    "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
}


@dataclass(frozen=True, slots=True)
class Filler:
    """A Deployment of low priority that takes a share of the room that is left, in one zone or everywhere."""

    manifest: Manifest
    cpu_milli: int
    share: float
    zone: str | None


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A workload that loses replicas, those of one zone first."""

    name: str
    replicas: int
    zone: str


@dataclass(frozen=True, slots=True)
class Unready:
    """A pod that stops being ready; one that is not movable says that it is not safe to evict."""

    name: str
    movable: bool


@dataclass(frozen=True, slots=True)
class Story:
    """What there is, in the order in which it comes, and what is asked."""

    seed: int
    early: tuple[Manifest, ...]
    workloads: tuple[Manifest, ...]
    budgets: tuple[Manifest, ...]
    shrunk: tuple[Shrunk, ...]
    late: tuple[Manifest, ...]
    fillers: tuple[Filler, ...]
    unready: tuple[Unready, ...]
    held: tuple[Manifest, ...]
    command: tuple[str, ...]


def priority_classes() -> list[Manifest]:
    """The classes that stories use."""
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in _PRIORITIES.items()
    ]


def draw(seed: int) -> Story:
    """The story of a seed."""
    return _Draw(random.Random(seed)).story(seed)


class _Draw:
    """One source of randomness, and what was decided for all of the story."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.way = chance.choice(WAYS)
        self.command = chance.choice(COMMANDS)
        #: A story in ten has pods that take all of their grace period.
        self.slow = chance.random() < 0.1
        self.early, self.late = self._nodes()
        self.room = 0.6 * 4000 * len(self.early)

    def _nodes(self) -> tuple[tuple[Manifest, ...], tuple[Manifest, ...]]:
        early, late = [], []
        for zone in ZONES:
            first, more = self._numbers(zone)
            names = [f"n{zone}{number}" for number in range(first + more)]
            early += [node(name, zone=zone) for name in names[:first]]
            late += [node(name, zone=zone, cpu=self.chance.choice("234")) for name in names[first:]]
        for item in early:
            item["metadata"]["labels"]["pool"] = "early"
        return tuple(early), tuple(late)

    def _numbers(self, zone: str) -> tuple[int, int]:
        number = self.chance.randint(2, 4)
        if self.way == "late nodes":
            return 1, number - 1
        return (0, number) if self.way == "late zone" and zone == "c" else (number, 0)

    def story(self, seed: int) -> Story:
        """Everything that is in it."""
        found = [item for item in self._workloads() if self._fits(item)]
        if self.way == "late nodes":
            found += self._coupled()
        return Story(
            seed=seed,
            early=self.early,
            workloads=tuple(found),
            budgets=tuple(self._budgets(found)),
            shrunk=tuple(self._shrunk(found)),
            late=self.late,
            fillers=tuple(self._fillers()),
            unready=tuple(self._unready(found)),
            held=tuple(self._held()),
            command=self._asked(),
        )

    def _workloads(self) -> Iterator[Manifest]:
        for number in range(self.chance.randint(2, 3)):
            yield self._deployment(f"web{number}")
        for number in range(self.chance.randint(1, 2)):
            yield self._job(f"job{number}")
        if self.chance.random() < 0.6:
            yield self._stateful_set("db")

    def _fits(self, item: Manifest) -> bool:
        spec = item["spec"]
        container = spec["template"]["spec"]["containers"][0]
        pods = spec.get("replicas", spec.get("parallelism"))
        self.room -= pods * int(container["resources"]["requests"]["cpu"].removesuffix("m"))
        return self.room >= 0

    def _linger(self) -> dict[str, str]:
        seconds = 20 if self.slow else self.chance.choice((0, 1, 2, 4))
        return {"stand-in/linger": str(seconds), "stand-in/ready-after": self.chance.choice(("0", "1"))}

    def _pods(self, name: str) -> dict[str, Any]:
        """What pods of a workload have besides containers."""
        priority = self.chance.choice((None, "high", "high", "low"))
        keys = [ZONE] if self.chance.random() < 0.9 else [ZONE, HOSTNAME]
        return {
            "cpu": self.chance.choice(("200m", "400m", "700m")),
            "topologySpreadConstraints": [spread(name, key) for key in keys],
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            **({"priorityClassName": priority} if priority else {}),
        }

    def _deployment(self, name: str) -> Manifest:
        words = self._pods(name)
        replicas = self.chance.randint(3, 8)
        if replicas <= len(self.early) and self.chance.random() < 0.3:
            words["affinity"] = apart({"app": name}, HOSTNAME)
        return workload_of(name, replicas, words, self._linger())

    def _stateful_set(self, name: str) -> Manifest:
        replicas = self.chance.randint(3, 4)
        found = workload_of(name, replicas, self._pods(name), self._linger(), kind="StatefulSet")
        found["spec"]["podManagementPolicy"] = self.chance.choice(
            ("OrderedReady", "OrderedReady", "Parallel")
        )
        return found

    def _job(self, name: str) -> Manifest:
        kind = self.chance.choice(("none", "retries", "policy"))
        return job(name, self.chance.randint(2, 4), kind, self._pods(name), self._linger())

    def _coupled(self) -> list[Manifest]:
        """A Deployment whose replacements have no node as long as their old pods end.

        One pod a zone by affinity, and by spread no node with two of a group that others belong to.
        """
        constraint = {**spread("", HOSTNAME), "labelSelector": {"matchLabels": COUPLED}}
        words = {
            "cpu": "200m",
            "topologySpreadConstraints": [constraint],
            "affinity": apart({"app": "pair"}, ZONE),
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "priorityClassName": "high",
        }
        pair = workload_of("pair", self.chance.randint(1, 2), words, self._linger())
        held_back = {
            "cpu": "200m",
            "affinity": apart({"app": "beside"}, ZONE),
            "nodeSelector": {"pool": "early"},
        }
        others = workload_of("beside", 3, held_back, {})
        for item in (pair, others):
            item["spec"]["template"]["metadata"]["labels"].update(COUPLED)
        return [pair, others]

    def _budgets(self, found: list[Manifest]) -> Iterator[Manifest]:
        for item in found:
            name, replicas = item["metadata"]["name"], item["spec"].get("replicas", 0)
            if item["kind"] != "Job" and name != "beside" and self.chance.random() < 0.5:
                yield budget(
                    name, **self.chance.choice(({"maxUnavailable": 1}, {"minAvailable": replicas // 2}))
                )

    def _shrunk(self, found: list[Manifest]) -> Iterator[Shrunk]:
        for item in found:
            replicas = item["spec"].get("replicas", 0)
            if self.way == "scaled down" and item["kind"] == "Deployment" and replicas > 3:
                yield Shrunk(item["metadata"]["name"], replicas - replicas // 3, self.chance.choice(ZONES))

    def _fillers(self) -> Iterator[Filler]:
        for number in range(self.chance.randint(0, 2)):
            milli = self.chance.choice((300, 500, 900))
            zone = self.chance.choice((None, *ZONES))
            words = {
                "cpu": f"{milli}m",
                "priorityClassName": "low",
                "terminationGracePeriodSeconds": GRACE_SECONDS,
                **({"nodeSelector": {ZONE: zone}} if zone else {}),
            }
            manifest = workload_of(f"filler{number}", 0, words, self._linger())
            yield Filler(manifest, milli, self.chance.choice((0.4, 0.7, 1.0)), zone)

    def _unready(self, found: list[Manifest]) -> Iterator[Unready]:
        for item in found:
            waits = item["spec"].get("podManagementPolicy") == "OrderedReady"
            if waits and self.chance.random() < 0.5:
                yield Unready(f"{item['metadata']['name']}-0", self.chance.random() < 0.5)

    def _held(self) -> Iterator[Manifest]:
        if self.command[0] != "solve":
            return
        for number in range(self.chance.randint(1, 3)):
            cpu = self.chance.choice(("1500m", "2500m", "3300m"))
            yield pod(f"held{number}", "held", cpu=cpu, schedulingGates=_GATES, priorityClassName="high")

    def _asked(self) -> tuple[str, ...]:
        if self.command[0] != "drain":
            return self.command
        names = [item["metadata"]["name"] for item in self.early]
        return ("drain", *self.chance.sample(names, self.chance.randint(1, 2)))


def workload_of(
    name: str, replicas: int, words: dict[str, Any], annotations: dict[str, str], kind: str = "Deployment"
) -> Manifest:
    """A workload whose pods have these words in their spec, constraints among them, and these annotations."""
    constraints = words.get("topologySpreadConstraints", ())
    rest = {key: value for key, value in words.items() if key != "topologySpreadConstraints"}
    return workload(name, replicas, *constraints, kind=kind, annotations=annotations, **rest)


def apart(labels: dict[str, str], key: str) -> Manifest:
    """An affinity that keeps pods out of the domains of those with these labels."""
    term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def job(
    name: str, parallelism: int, kind: str, words: dict[str, Any], annotations: dict[str, str]
) -> Manifest:
    """A Job whose pods run on: without retries (`none`), with `retries`, or with a `policy`."""
    found = workload_of(name, parallelism, words, annotations)
    template = found["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    spec = {"parallelism": parallelism, "completions": parallelism, "template": template}
    spec["backoffLimit"] = 6 if kind == "retries" else 0
    if kind == "policy":
        spec["podFailurePolicy"] = _IGNORE_DISRUPTIONS
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": found["metadata"], "spec": spec}
