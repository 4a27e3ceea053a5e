"""What must hold of a story that was played: each check gives a line for everything that is wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from tests.e2e.contact_facts import Facts, name_of
from tests.e2e.contact_play import cpu_milli
from tests.e2e.contact_record import Event
from tests.e2e.control_plane import is_ready

#: What a drain notes of a Job that does not survive it.
_FAILS = re.compile(r"Job default/([^:]+):.*\bfails\b")
_PREEMPTED = "PreemptionByScheduler"


class Findings(Facts):
    """The checks of one story."""

    def lines(self) -> list[str]:
        """Everything that is wrong."""
        common: list[Callable[[], Iterator[str]]] = [
            self.script,
            self.departures,
            self.preemption,
            self.jobs,
            self.room,
            self.budgets,
            self.pending,
            self.wholeness,
        ]
        own: dict[str, list[Callable[[], Iterator[str]]]] = {
            "rebalance": [
                self.exit_code,
                self.waves,
                self.landings,
                self.availability,
                self.balance,
                self.traces,
            ],
            "drain": [self.waves, self.emptiness],
            "solve": [self.binds, self.traces],
        }
        return [line for check in (*common, *own[self.played.story.command[0]]) for line in check()]

    def script(self) -> Iterator[str]:
        """The script comes to its end; on the way it may say what it waits for."""
        played = self.played
        if played.script_code is None:
            # Of a drain that would get stuck there is none, nor where a replacement cannot be led.
            if not played.document.get("blocked") and "its replacement would go anywhere" not in played.told:
                yield f"there is no script: {played.told}"
            return
        before, after = (played.document.get(when, {}) for when in ("before", "after"))
        stuck = not played.document["steps"] and after.get("hardViolations")
        # A drain that was said to leave pods pending waits for them in vain.
        short = played.story.command[0] == "drain" and after["pending"] > before["pending"]
        if played.script_code not in ((2,) if stuck else (0, 1) if short else (0,)):
            yield f"the script ended with {played.script_code}: {played.told.strip()}"

    def departures(self) -> Iterator[str]:
        """Exactly the pods of the plan go, and replacements without a node that the script makes again."""
        for uid, (_, event) in self.left.items():
            if uid not in self.first and not event.node:
                # Pending when its pin was put back: the script deletes it, so that the next one has none.
                continue
            told = event.owner in self.failed_jobs or event.disruption == _PREEMPTED
            if uid not in self.planned and not told:
                why = event.disruption or "deleted"
                yield f"{event.name} on {event.node} went and is not in the plan: {why}"
        if self.played.script_code == 0:
            for uid in self.planned.keys() - self.left.keys():
                yield f"uid {uid} is in the plan and did not go"

    def preemption(self) -> Iterator[str]:
        """The scheduler takes no pod away; a drain, which can pin nothing, may say that it might."""
        if self.played.story.command[0] == "drain" and self._notes("may be preempted"):
            return
        yield from (f"preempted: {line}" for line in self.played.preempted)
        for _, event in self.left.values():
            if event.disruption == _PREEMPTED:
                yield f"{event.name} was preempted on {event.node}"

    def jobs(self) -> Iterator[str]:
        """No Job fails, or `drain` has said so; without --jobs no pod of a Job is moved at all."""
        command = self.played.story.command
        for name in self.failed_jobs.keys() ^ self._told_to_fail():
            why = self.failed_jobs.get(name)
            yield f"{name} has failed: {why}" if why else f"{name} has not failed, as it was said"
        for job in self.played.jobs:
            if "podFailurePolicy" in job["spec"] and (failures := job.get("status", {}).get("failed")):
                yield f"Job/{job['metadata']['name']} counts {failures} failures in spite of its policy"
        if not {"--jobs", "drain"}.intersection(command):
            for _, event in self.left.values():
                if event.owner.startswith("Job/"):
                    yield f"{event.name} of {event.owner} was moved without --jobs"

    def _notes(self, words: str) -> list[str]:
        return [line for line in self.played.document["notes"] if words in line]

    def _told_to_fail(self) -> set[str]:
        """The Jobs that a drain makes fail, as its notes have it; no other command may."""
        drained = self.played.story.command[0] == "drain" and self.played.script_code is not None
        lines = self.played.document["notes"] if drained else ()
        return {f"Job/{found[1]}" for line in lines if (found := _FAILS.match(line))}

    def room(self) -> Iterator[str]:
        """No node ever holds more than it has, pods that end included."""
        rooms = {
            n["metadata"]["name"]: int(n["status"]["allocatable"]["cpu"]) * 1000 for n in self.played.nodes
        }
        states: dict[str, Event] = {}
        told: set[str] = set()
        for event in self.played.events:
            states[event.uid] = event
            used = sum(cpu_milli(e.item) for e in states.values() if e.holds_room and e.node == event.node)
            if event.node and used > rooms[event.node] and event.node not in told:
                told.add(event.node)
                yield f"{event.node} holds {used}m of {rooms[event.node]}m when {event.name} comes"

    def budgets(self) -> Iterator[str]:
        """No budget has fewer healthy pods than it asks for, or than it had."""
        for item in self.played.budgets:
            app, asked = item["spec"]["selector"]["matchLabels"]["app"], item["status"]["desiredHealthy"]
            least, start = self.fewest_ready(partial(_is_of_app, app))
            if least < min(asked, start):
                yield f"budget {app}: {least} healthy, {asked} asked for"

    def availability(self) -> Iterator[str]:
        """Of no workload more than one replica is down at a time."""
        for owner in {event.owner for event in self.played.events}:
            least, start = self.fewest_ready(partial(_is_of_owner, owner))
            if least < start - 1:
                yield f"{owner}: {least} of {start} were ready at some moment"

    def waves(self) -> Iterator[str]:
        """A wave begins when the old pods of those before are gone and their replacements are ready.

        A drain waits for numbers of ready pods, which may be made up of others than the replacements.
        """
        for uid, (place, event) in self.left.items():
            wave = self.planned.get(uid, 0)
            before = [other for other, number in self.planned.items() if number < wave and other in self.left]
            begun = f"wave {wave}: {event.name} goes while"
            ending = [other for other in before if self.gone.get(other, place) >= place]
            if ending:
                yield f"{begun} {', '.join(map(self.name, ending))} of earlier ones still end"
            if self.played.story.command[0] == "rebalance":
                waiting = [other for other in before if self._is_awaited(other, place)]
                if waiting:
                    yield f"{begun} the replacements of {', '.join(map(self.name, waiting))} are not ready"

    def _is_awaited(self, uid: str, place: int) -> bool:
        replacement = self.replacements[uid]
        return replacement is None or self.ready.get(replacement, place) >= place

    def landings(self) -> Iterator[str]:
        """Every replacement is where the plan says that it may land."""
        nodes = {event.uid: event.node for event in self.played.events}
        for step in self.played.document["steps"]:
            replacement = self.replacements.get(self.uids[step["pod"]])
            if replacement is None:
                if self.uids[step["pod"]] in self.left:
                    yield f"{step['pod']} was not made again"
            elif nodes[replacement] not in self._where(step["lands"]):
                where = nodes[replacement] or "no node"
                yield f"the replacement of {step['pod']} is on {where}, not in {step['lands']}"

    def _where(self, lands: Mapping[str, Mapping[str, Sequence[str]]]) -> set[str]:
        if lands.get("nodes"):
            return set(lands["nodes"])
        return {
            item["metadata"]["name"]
            for item in self.played.nodes
            if any(item["metadata"]["labels"].get(key) in values for key, values in lands["labels"].items())
        }

    def binds(self) -> Iterator[str]:
        """Every pod of the batch is on its planned node."""
        nodes = {event.name: event.node for event in self.played.events}
        for step in self.played.document["steps"] if nodes else ():
            if step["action"] == "bind" and step["from"] is None and nodes[step["pod"]] != step["node"]:
                yield f"{step['pod']} is on {nodes[step['pod']] or 'no node'}, not on {step['node']}"

    def exit_code(self) -> Iterator[str]:
        """1 where something stays broken, as the document says, else 0."""
        expected = 1 if self.played.document["after"]["hardViolations"] else 0
        if self.played.exit_code != expected:
            yield f"the planner ended with {self.played.exit_code}, not {expected}"

    def balance(self) -> Iterator[str]:
        """What is too much before and after is what the document says."""
        for when, found in (("before", self.played.check_before), ("after", self.played.check_after)):
            said = self.played.document[when]
            for field, counted in (("hardExcess", "hardExcess"), ("pending", "pending")):
                if found[counted] != said[field]:
                    yield f"{when}: {field} is {found[counted]}, the document says {said[field]}"

    def pending(self) -> Iterator[str]:
        """Nothing waits that did not before, but what the document leaves over."""
        if self.played.script_code is None:
            return
        waiting = [name_of(pod) for pod in self.played.pods_after if not pod["spec"].get("nodeName")]
        document = self.played.document
        before = sum(not pod["spec"].get("nodeName") for pod in self.played.pods_before)
        allowed = document["after"]["pending"] if "after" in document else len(document["unplaced"])
        if len(waiting) > max(before if self.played.story.command[0] == "rebalance" else 0, allowed):
            yield f"pending: {', '.join(waiting)}"

    def wholeness(self) -> Iterator[str]:
        """Every workload has as many ready pods as before."""
        before, after = (
            Counter(pod["metadata"]["labels"].get("app", "") for pod in pods if is_ready(pod))
            for pods in (self.played.pods_before, self.played.pods_after)
        )
        if self.played.document.get("after", {}).get("pending") or self.played.document.get("unplaced"):
            return
        for app, number in before.items():
            if after[app] < number and f"Job/{app}" not in self.failed_jobs:
                yield f"{app}: {after[app]} of {number} pods are ready in the end"

    def emptiness(self) -> Iterator[str]:
        """Drained nodes are empty."""
        if self.played.script_code is None:
            return
        for pod in self.played.pods_after:
            if pod["spec"].get("nodeName") in self.played.document["nodes"]:
                yield f"{name_of(pod)} is on {pod['spec']['nodeName']}"

    def traces(self) -> Iterator[str]:
        """Nothing is left paused, pinned, cordoned or marked."""
        yield from (f"left behind: {line}" for line in self.played.left_behind)


def _is_of_app(app: str, event: Event) -> bool:
    return bool(event.item["metadata"]["labels"].get("app") == app)


def _is_of_owner(owner: str, event: Event) -> bool:
    return event.owner == owner
