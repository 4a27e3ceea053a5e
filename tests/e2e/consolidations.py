"""What stories of nodes that go have in common: clusters with air in them, plans, and the whole end."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.e2e.contact_record import Recorder, fewest_ready
from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.manifests import HOSTNAME, ZONE, budget, node, pod, spread, workload
from tests.e2e.stories import carried_out, left_behind, too_many

TYPE = "node.kubernetes.io/instance-type"
#: A search that is cut may find another plan the next time; these are over in seconds.
_SEARCH_SECONDS = "240"
_AGENT = "agent"


def half_empty(live: ControlPlane, seed: int, nodes: int = 9) -> int:
    """Zones of nodes that a scale-down has left half empty; returns how many pods there are."""
    draw = random.Random(seed)
    live.create(*(node(f"n{n}", zone="abc"[n % 3]) for n in range(nodes)))
    names, replicas = ("web", "api", "jobs"), {}
    for number, name in enumerate(names):
        replicas[name] = draw.randint(3, 5)
        rules = (spread(name),) if number < 2 else ()
        live.create(workload(name, 2 * replicas[name], *rules, cpu="700m"), budget(name, maxUnavailable=1))
    database = workload("db", 2, kind="StatefulSet", cpu="500m")
    database["spec"]["podManagementPolicy"] = "Parallel"
    live.create(database, agent(), pod("bare", cpu="200m"))
    live.at_rest(2 * sum(replicas.values()) + 3 + nodes)
    for name, many in replicas.items():
        live.kubectl("scale", f"deployment/{name}", f"--replicas={many}", "-n", "default")
    live.at_rest(sum(replicas.values()) + 3 + nodes)
    return sum(replicas.values()) + 3


#: What the nodes of `thirty_nodes` cost.
PRICES = {"large": 0.4, "small": 0.25}


def thirty_nodes(live: ControlPlane) -> int:
    """Thirty nodes of two types in three zones, with the pods of four or five; how many pods there are.

    A bare pod holds n16, and n4 one whose budget allows no eviction.
    """
    live.create(*map(_typed, range(30)))
    database = workload("db", 3, spread("db"), kind="StatefulSet", cpu="800m")
    database["spec"]["podManagementPolicy"] = "Parallel"
    live.create(
        workload("web", 6, spread("web"), spread("web", HOSTNAME, skew=2), cpu="900m"),
        budget("web", maxUnavailable=1),
        workload("api", 5, spread("api"), cpu="1200m"),
        budget("api", minAvailable="80%"),
        workload("jobs", 5, cpu="500m"),
        database,
        budget("db", minAvailable=2),
        workload("alone", 1, cpu="100m", nodeSelector={HOSTNAME: "n4"}),
        budget("alone", minAvailable=1),
        agent(),
        pod("bare", cpu="200m", nodeSelector={HOSTNAME: "n16"}),
    )
    live.at_rest(21 + 30)
    return 21


def _typed(number: int) -> Manifest:
    kind, cpu = ("large", "8") if number % 5 == 0 else ("small", "4")
    return node(f"n{number}", zone="abc"[number % 3], cpu=cpu, labels={TYPE: kind})


def old_pool(live: ControlPlane, number: int = 30, away: int = 1) -> Sequence[str]:
    """545 nodes, 30 of them of an old pool, and 540 pods of so many apps, every second one with a constraint.

    Of each app so many pods may be away.
    More nodes are kept than are cordoned for a replacement: replacements land where the scheduler likes.
    """
    old = {"pool": "old"}
    live.create(*(node(f"n{n:03}", zone="abc"[n % 3], labels=old if n < 30 else {}) for n in range(545)))
    apps = [f"app{one}" for one in range(number)]
    for one, app in enumerate(apps):
        live.create(workload(app, 540 // number, *((spread(app),) if one % 2 else ()), cpu="1900m"))
        live.create(budget(app, maxUnavailable=away))
    live.at_rest(540, seconds=180)
    return apps


def agent() -> Manifest:
    """A DaemonSet whose pods tolerate everything; stories do not count them."""
    found = workload(_AGENT, 0, kind="DaemonSet", cpu="50m", tolerations=[{"operator": "Exists"}])
    del found["spec"]["replicas"]
    return found


def price_list(folder: Path, prices: Mapping[str, float] = PRICES) -> str:
    """A file for --prices."""
    path = folder / "prices.csv"
    path.write_text("name,price\n" + "".join(f"{name},{price}\n" for name, price in prices.items()))
    return str(path)


@dataclass(frozen=True, slots=True)
class Plan:
    """A consolidation: its document and its script."""

    document: dict[str, Any]
    script: Path

    @property
    def going(self) -> set[str]:
        """The nodes that go."""
        return {row["node"] for row in self.document["removed"]}

    @property
    def reasons(self) -> dict[str, tuple[str | None, str]]:
        """Of every node that is kept, the pod that holds it and why."""
        return {row["node"]: (row["pod"], row["reason"]) for row in self.document["kept"]}


def consolidation(live: ControlPlane, folder: Path, *words: str) -> Plan:
    """The document and the script of one plan: a search that is not cut finds the same one twice."""
    command = ("consolidate", *words, "--time-limit", _SEARCH_SECONDS)
    ended = live.planner(*command, "-o", "json")
    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)
    assert not document.get("cut"), "the search was cut"
    script = folder / "script.sh"
    script.write_text(live.planner(*command, "--delete-nodes", "-o", "script").stdout)
    plan = Plan(document, script)
    lines = script.read_text().splitlines()
    assert {line.split()[1] for line in lines if line.startswith("    goes ")} == plan.going
    return plan


def by_wave(plan: Plan) -> list[list[dict[str, Any]]]:
    """The steps of each wave."""
    steps = plan.document["steps"]
    return [[step for step in steps if step["wave"] == wave] for wave in sorted({s["wave"] for s in steps})]


def marked(live: ControlPlane) -> set[str]:
    """The nodes that the script has left cordoned and marked."""
    return {
        item["metadata"]["name"]
        for item in live.get("nodes")
        if item["spec"].get("unschedulable") and "planner/going" in item["metadata"].get("annotations", {})
    }


def _others(live: ControlPlane) -> list[Manifest]:
    """The pods but those of the DaemonSet."""
    return [p for p in live.get("pods") if p["metadata"].get("labels", {}).get("app") != _AGENT]


def at_home(live: ControlPlane, pods: int) -> list[Manifest]:
    """The pods but those of the DaemonSet, when all of them are ready."""

    def ready() -> tuple[list[Manifest]] | None:
        found = _others(live)
        is_done = len(found) == pods and all(map(is_ready, found)) and live.is_seen(live.get("pods"))
        return (found,) if is_done else None

    return wait_for("all pods ready", ready)[0]


def per_domain(live: ControlPlane, app: str, key: str = ZONE) -> Counter[str]:
    """How many pods of an app there are in every domain of the nodes that are there, none included."""
    domains = {item["metadata"]["name"]: item["metadata"]["labels"][key] for item in live.get("nodes")}
    found = Counter(dict.fromkeys(domains.values(), 0))
    found.update(domains[item["spec"]["nodeName"]] for item in live.pods(labels=f"app={app}"))
    return found


def skew(counts: Mapping[str, int]) -> int:
    """The most pods in a domain above the fewest."""
    return max(counts.values()) - min(counts.values())


@contextmanager
def budgets_held(live: ControlPlane) -> Iterator[None]:
    """At every moment of the block every budget has as many healthy pods as it asks for at its beginning."""
    budgets, pods = live.get("poddisruptionbudgets"), live.get("pods")
    with Recorder(live) as recorder:
        yield
    assert budgets
    for item in budgets:
        app, asked = item["spec"]["selector"]["matchLabels"]["app"], item["status"]["desiredHealthy"]
        of_app = [event for event in recorder.events if event.item["metadata"]["labels"].get("app") == app]
        here = sum(found["metadata"]["labels"].get("app") == app for found in pods)
        least, _ = fewest_ready(of_app, lambda _: True, here)
        assert least >= asked > 0, f"budget {app}: {least} healthy, {asked} asked for"


def assert_emptied(live: ControlPlane, plan: Plan, ended: CompletedProcess[str]) -> None:
    """A script has come to its end: its nodes, and no others, are cordoned, marked and empty."""
    assert (ended.returncode, ended.stderr or "") == (0, ""), ended
    assert plan.going
    assert marked(live) == plan.going
    assert not {p["spec"].get("nodeName") for p in _others(live)} & plan.going


def delete_nodes(live: ControlPlane, plan: Plan, pods: int, ended: CompletedProcess[str]) -> None:
    """The last lines of a script delete its nodes, one after the other.

    Then every pod runs, nothing is broken that was not before, and nothing is left changed.
    """
    deletions = [line.split() for line in ended.stdout.splitlines() if " delete node " in line]
    assert [words[-1] for words in deletions] == [row["node"] for row in plan.document["removed"]]
    for words in deletions:
        live.kubectl(*words[1:])
    assert {item["metadata"]["name"] for item in live.get("nodes")} == set(plan.reasons)
    assert not {p["spec"]["nodeName"] for p in at_home(live, pods)} - set(plan.reasons)
    assert too_many(live) <= plan.document["before"]["hardViolations"]
    assert left_behind(live) == []


def finish(live: ControlPlane, plan: Plan, pods: int) -> None:
    """The script from its dry run, which changes nothing, to the whole end, budgets watched."""
    tried = carried_out(live, plan.script, "--dry-run")
    assert (tried.returncode, tried.stderr, marked(live)) == (0, "", set())
    with budgets_held(live):
        ended = carried_out(live, plan.script)
    assert_emptied(live, plan, ended)
    at_home(live, pods)
    delete_nodes(live, plan, pods, ended)
