"""A story on a real control plane, and the planner asked about every pod before it comes.

Pods come one by one.  Before each, the cluster is left to come to rest and read; the planner decides
about the pod in what was read; then the pod is created and watched.  A pod that stays pending is taken
away again, so that no later retry of it mixes with what comes after.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import numpy as np

from models import Cluster
from planner.problem.nodes import Codes
from planner.problem.problem import Problem
from planner.scheduler.framework import Plan
from planner.scheduler.preemption import Findings, Preemption
from planner.scheduler.scheduler import Scheduler, SchedulingDecision
from tests.builders import node, pod
from tests.control_plane.api import PATHS, Api
from tests.control_plane.generator import Story
from tests.e2e.control_plane import Manifest, wait_for

KUBERNETES = "1.36"
#: What may not come is waited for so long.
_IN_VAIN_SECONDS = 30.0
_NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
#: So many of the criteria of a victim's cost are kube's; the rest of them are ours.
_CRITERIA = 5
#: What the planner reads; events are of no use to it.
_READ = tuple(kind for kind in PATHS if kind != "Event")
_GIVEN_BACK = "deallocation of ResourceClaim completed"


class Replay:
    """One story on one control plane; afterwards everything of it is gone again."""

    def __init__(self, api: Api, story: Story) -> None:
        self._api = api
        self._story = story
        self.decided = 0
        self.pending = 0
        self.preempted = 0
        self._since: dict[str, str] = {}

    def differences(self) -> Iterator[str]:
        """Where the planner and the program part, a sentence each."""
        try:
            for item in self._story.before:
                if item["kind"] != "Namespace" or self._api.get(item) is None:
                    self._create(item)
            for pod in self._story.coming:
                yield from self._one(pod)
        finally:
            self._clear()

    def told(self) -> str:
        """What became of the pods, in numbers."""
        return f"{self.decided} pods, {self.pending} pending, {self.preempted} preempting"

    def _create(self, item: Manifest) -> Manifest:
        made = self._api.create(item)
        if item["kind"] == "ResourceClaim":
            self._api.patch_status(item, item["status"])
        return {**item, **made, "kind": item["kind"]}

    def _allocate(self) -> None:
        """Allocate claims anew that were given back: by the scheduler, or because their last user is gone."""
        for item in self._story.before:
            if (
                item["kind"] == "ResourceClaim"
                and "allocation" not in (self._api.get(item) or item)["status"]
            ):
                self._api.patch_status(item, item["status"])

    def _clear(self) -> None:
        for kind in ("Pod", "PersistentVolumeClaim", "PersistentVolume", "Node"):
            for item in self._api.list(kind):
                if item["metadata"].get("finalizers"):
                    self._api.call(
                        "PATCH",
                        self._api.path(item),
                        {"metadata": {"finalizers": None}},
                        "application/merge-patch+json",
                    )
                self._api.delete(item)
        for item in self._story.before:
            if item["kind"] == "ResourceClaim" and self._api.get(item) is not None:
                self._api.patch_status(item, {"allocation": None, "reservedFor": None})
            if item["kind"] != "Namespace":
                self._api.delete(item)
        wait_for("an empty cluster", lambda: not self._api.list("Pod"))

    def _one(self, pod: Manifest) -> Iterator[str]:
        """Create a pod, and say where what becomes of it is not what the planner says."""
        before = self._at_rest()
        made = self._create(pod)
        name = pod["metadata"]["name"]
        ours = Judgement([*before, made])
        fate = wait_for(f"verdict about {name}", lambda: self._fate(made))
        self.decided += 1
        if ours.decision.victims or (fate["status"].get("nominatedNodeName") and not _node(fate)):
            self.preempted += 1
            if ours.decision.node is not None:
                fate = self._after_preemption(made)
            else:
                self._after_evictions(before, ours)
            yield from ours.unlike_preemption(fate, self._gone(before), name)
        elif _node(fate):
            yield from ours.unlike_node(_node(fate), name)
        else:
            self.pending += 1
            yield from ours.unlike_message(self._first_line(fate, ours.decision.message), name)
        if not _node(fate):
            self._api.delete(made)

    def _fate(self, pod: Manifest) -> Manifest | None:
        """The pod once it has been decided about."""
        found = self._api.get(pod)
        assert found is not None, f"{pod['metadata']['name']} is gone"
        return found if _node(found) or _message(found) else None

    def _first_line(self, pod: Manifest, expected: str) -> str:
        """What the scheduler said of a pod at first.

        Where it gave a claim back, the pod has its next turn at once, and the claim, not allocated any more,
        may have changed the line before the test looks; what was said is in the events.
        """
        last = _message(pod)
        if last == expected or _GIVEN_BACK not in expected:
            return last
        events = f"/api/v1/namespaces/{pod['metadata']['namespace']}/events"
        found = wait_for("event", lambda: self._api.call("GET", events)["items"])
        uid = pod["metadata"]["uid"]
        said = [event for event in found if event["involvedObject"].get("uid") == uid]
        said.sort(key=lambda event: str(event.get("eventTime")))
        return str(said[0]["message"]) if said else last

    def _after_preemption(self, pod: Manifest) -> Manifest:
        """The pod once it has come to a node that was made ready for it."""

        def bound() -> Manifest | None:
            found = self._api.get(pod)
            return found if found is not None and _node(found) else None

        with suppress(AssertionError):
            return wait_for("place after preemption", bound, _IN_VAIN_SECONDS)
        found = self._api.get(pod)
        assert found is not None
        return found

    def _after_evictions(self, before: list[Manifest], ours: Judgement) -> None:
        """Wait for evictions in vain: the program says first that the pod is pending, and evicts aside."""
        cheapest = [victims for _, victims in ours.cheapest()]
        with suppress(AssertionError):
            wait_for("end of evictions", lambda: self._gone(before) in cheapest, _IN_VAIN_SECONDS)

    def _gone(self, before: list[Manifest]) -> set[str]:
        def key(item: Manifest) -> str:
            return f"{item['metadata'].get('namespace')}/{item['metadata']['name']}"

        there = {key(item) for item in self._api.list("Pod") if "deletionTimestamp" not in item["metadata"]}
        return {key(item) for item in before if item["kind"] == "Pod"} - there

    def _at_rest(self) -> list[Manifest]:
        """Everything in the cluster once all pods run, budgets are counted and claims are bound."""
        self._tell_apart(wait_for("cluster at rest", self._rested))
        self._allocate()
        return wait_for("cluster at rest", self._rested)

    def _tell_apart(self, items: list[Manifest]) -> None:
        """Let every pod have begun in another minute.

        Among victims of one priority and start the program goes by the order in its cache, which every
        update of a pod changes and which cannot be seen.
        """
        for item in items:
            uid = item["metadata"]["uid"]
            if item["kind"] == "Pod" and uid not in self._since:
                since = _NEW_YEAR + timedelta(minutes=len(self._since))
                self._since[uid] = since.strftime("%Y-%m-%dT%H:%M:%SZ")
                self._api.patch_status(item, {"startTime": self._since[uid]})

    def _rested(self) -> list[Manifest] | None:
        found = [item for kind in _READ for item in self._api.list(kind)]
        return found if all(map(_rests, found)) and _are_reserved(found) else None


def wake(api: Api) -> None:
    """Wait until the scheduler of a fresh control plane works.

    Nodes that it finds when it starts are in no order; those that come later are in that of their coming,
    by which it takes the size of an image from the first node that has it.
    """
    scout, first = node("scout"), pod("scout", containers=[{"name": "c", "image": "none"}])
    api.create(scout)
    made = {**api.create(first), "kind": "Pod"}
    wait_for("scheduler at work", lambda: _node(api.get(made) or made))
    for item in (first, scout):
        api.delete(item)
    wait_for("end of the scout", lambda: not api.list("Pod"))


class Judgement:
    """What the planner says about the one pending pod of a cluster."""

    def __init__(self, items: list[Manifest]) -> None:
        self._problem = Problem(Cluster.from_objects(items, kubernetes=KUBERNETES))
        kube = Scheduler(self._problem, explain=True)
        self._tried: list[Findings] = []
        in_vain = [kube._for_nothing(name)[1] for name in kube.schedulers]
        for preemption in (*kube._preemptions.values(), *in_vain):
            if preemption is not None:
                self._listen(preemption)
        [self.decision] = list(kube.run())

    def _listen(self, preemption: Preemption) -> None:
        """Keep what the dry runs find."""
        dry_run = preemption._dry_run

        def kept(plan: Plan, pod: int, nodes: Codes) -> Findings:
            self._tried.append(dry_run(plan, pod, nodes))
            return self._tried[-1]

        preemption._dry_run = kept  # type: ignore[method-assign]

    def unlike_node(self, node: str, pod: str) -> Iterator[str]:
        """Nothing, where the node is one of those with the highest score."""
        if node not in self._best():
            yield f"{pod}: on {node}, expected {self._said()}"

    def unlike_message(self, message: str, pod: str) -> Iterator[str]:
        """Nothing, where the pod is pending here with the same line."""
        if self.decision.node is not None or self.decision.message != message:
            yield f"{pod}: {message!r}, expected {self._said()}"

    def unlike_preemption(self, fate: Manifest, gone: set[str], pod: str) -> Iterator[str]:
        """Nothing, where pods went that cost least, and the pod is where they were."""
        at, cheapest = _node(fate), self.cheapest()
        if self.decision.victims and self.decision.node is None:
            # Room was made in vain: nothing comes there.
            cheapest = {("", victims) for _, victims in cheapest}
        if (at, frozenset(gone)) not in cheapest:
            yield f"{pod}: on {_node(fate)!r}, evicted {sorted(gone)}, expected {self._said()}"

    def cheapest(self) -> set[tuple[str, frozenset[str]]]:
        """The nodes that evictions open at the least cost, with the victims; the program picks any."""
        found = [candidate for findings in self._tried for candidate in findings.candidates]
        least = min((candidate.cost[:_CRITERIA] for candidate in found), default=())
        pods = self._problem.pods
        return {
            (
                self._name(candidate.node),
                frozenset(pods[v].key for v in candidate.victims if not pods[v].is_terminating),
            )
            for candidate in found
            if candidate.cost[:_CRITERIA] == least
        }

    def _best(self) -> set[str]:
        """The nodes of the highest score."""
        known = self.decision.explanation
        if self.decision.node is None or known is None:
            return set()
        totals = np.zeros(self._problem.nodes.size, np.int64)
        for score in known.scores.values():
            totals = totals + score
        among = np.flatnonzero(known.feasible)
        best = among[totals[among] == totals[among].max()]
        return {self._problem.nodes.names[node] for node in best.tolist()}

    def _name(self, node: int | None) -> str:
        return "" if node is None else self._problem.nodes.names[node]

    def _said(self) -> str:
        found: SchedulingDecision = self.decision
        if found.victims:
            return " or ".join(sorted(f"{node}, evicted {sorted(gone)}" for node, gone in self.cheapest()))
        return f"one of {sorted(self._best())}" if found.node is not None else repr(found.message)


def _node(pod: Manifest) -> str:
    return str(pod["spec"].get("nodeName", ""))


def _message(pod: Manifest) -> str:
    """Why a pod is pending, as its condition says; empty while the scheduler has not looked at it."""
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return str(condition.get("message", ""))
    return ""


def _rests(item: Manifest) -> bool:
    """Whether a controller or kubelet has nothing more to do with an object."""
    status, meta = item.get("status", {}), item["metadata"]
    match item["kind"]:
        case "Pod":
            return "deletionTimestamp" not in meta and status.get("phase") == "Running"
        case "PodDisruptionBudget":
            return bool(status.get("observedGeneration") == meta["generation"])
        case "PersistentVolumeClaim":
            return not item["spec"].get("volumeName") or status.get("phase") == "Bound"
        case "PersistentVolume":
            return status.get("phase") in ("Available", "Bound")
        case _:
            return True


def _are_reserved(items: list[Manifest]) -> bool:
    """Whether every claim knows just the pods that use it."""
    uses: set[tuple[str, str, str]] = set()
    known: set[tuple[str, str, str]] = set()
    for item in items:
        meta = item["metadata"]
        if item["kind"] == "Pod":
            entries = item["spec"].get("resourceClaims", ())
            uses |= {(meta["namespace"], entry["resourceClaimName"], meta["uid"]) for entry in entries}
        elif item["kind"] == "ResourceClaim":
            users = item.get("status", {}).get("reservedFor", ())
            known |= {
                (meta["namespace"], meta["name"], user["uid"]) for user in users if user["resource"] == "pods"
            }
    return uses == known
