"""Every number of a page, on random clusters: held against the document of the same run, or counted anew."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests import builders, seeds
from tests.builders import Object, replica, scaled
from tests.cli.conftest import Planner
from tests.cli.manifests import write
from tests.cli.test_report import Page

_ZONE = "topology.kubernetes.io/zone"
_NODE_CPU, _NODE_MEMORY = 2_000, 4_096
_WHEN = ("DoNotSchedule", "ScheduleAnyway")
_READY = [{"type": "Ready", "status": "True", "lastTransitionTime": builders.LONG_AGO}]

#: How the table begins whose numbers the script of the page fills in, step by step.
_PLAYED = ["Namespace", "Workload", "maxSkew"]

Document = dict[str, Any]
Rows = list[list[str]]
Placed = Mapping[str, str]


class Tables(HTMLParser):
    """The tables in their order, each with its caption and all rows; titles of drawings."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, Rows]] = []
        self.titles: list[str] = []
        self._inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A table, a row, a cell or a title begins."""
        self._inside.append(tag)
        if tag == "table":
            self.found.append(("", []))
        elif tag == "tr":
            self.found[-1][1].append([])
        elif tag in {"td", "th"}:
            self.found[-1][1][-1].append("")
        elif tag == "title":
            self.titles.append("")

    def handle_endtag(self, tag: str) -> None:
        """It ends."""
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Its text."""
        inside = self._inside[-1] if self._inside else ""
        if inside == "caption":
            self.found[-1] = self.found[-1][0] + data, self.found[-1][1]
        elif inside in {"td", "th"} or (inside == "a" and not {"td", "th"}.isdisjoint(self._inside)):
            self.found[-1][1][-1][-1] += data
        elif inside == "title":
            self.titles[-1] += data

    def rows(self, caption: str) -> list[dict[str, str]]:
        """The rows of the first table of this name by the heads of its columns; none if it is not there."""
        for name, rows in self.found:
            if name == caption:
                heads = next(number for number, row in enumerate(rows) if len(row) == len(rows[-1]))
                return [dict(zip(rows[heads], row, strict=True)) for row in rows[heads + 1 :]]
        return []


class Case:
    """A random cluster, and what may be counted in it without the planner."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.zone_of = {f"n{number}": draw.choice("abc") for number in range(draw.randint(3, 6))}
        nodes = [
            builders.node(name, zone, cpu=f"{_NODE_CPU}m", memory=f"{_NODE_MEMORY}Mi", labels={"pool": zone})
            for name, zone in self.zone_of.items()
        ]
        sizes = (100, 64), (300, 512), (450, 300)
        self.asks = {app: draw.choice(sizes) for app in ("web", "db", "queue")}
        self.when = {app: draw.choice((*_WHEN, "")) for app in self.asks}
        self.placed: dict[str, str] = {}
        self.objects: list[Object] = [*nodes]
        room = Counter(dict.fromkeys(self.zone_of, _NODE_CPU))
        for app, (cpu, memory) in self.asks.items():
            rules = [builders.spread(app=app, when=self.when[app])] if self.when[app] else []
            words = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", "spread": rules}
            owner = scaled("ReplicaSet", app, number := draw.randint(1, 5), namespace="shop", **words)
            self.objects.append(owner)
            for place in range(number):
                fits = [name for name in self.zone_of if room[name] >= cpu]
                on = draw.choice([*fits, ""]) if draw.random() < 0.8 else min(fits, default="")
                room[on] -= cpu
                self.placed[f"shop/{app}-{place}"] = on
                words = {"conditions": _READY} if on else {}
                self.objects.append(replica(owner, f"{app}-{place}", on, **words))

    def after(self, document: Document) -> Placed:
        """Where the pods are when all steps are done."""
        found = dict(self.placed)
        for step in document.get("steps", ()):
            if "pod" in step:
                found[step["pod"]] = step["node"] or ""
        return found

    def pods_on(self, placed: Placed) -> dict[str, int]:
        """How many pods each node has."""
        return {name: list(placed.values()).count(name) for name in self.zone_of}

    def percent(self, placed: Placed, resource: int) -> dict[str, float]:
        """How full each node is: 0 is cpu, 1 memory."""
        used = Counter[str]()
        for pod, on in placed.items():
            used[on] += self.asks[_app(pod)][resource]
        return {name: 100 * used[name] / (_NODE_CPU, _NODE_MEMORY)[resource] for name in self.zone_of}

    def per_zone(self, placed: Placed, app: str) -> dict[str, int]:
        """How many pods of an app each zone has."""
        zones = [self.zone_of[on] for pod, on in placed.items() if on and _app(pod) == app]
        return {zone: zones.count(zone) for zone in sorted(set(self.zone_of.values()))}


def _document(out: str) -> Document:
    """What comes after the seed."""
    found: Document = json.loads(out[out.index("{") :])
    return found


def _app(pod: str) -> str:
    return pod.partition("/")[2].rpartition("-")[0]


COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", "-f"),
    "solve": ("solve", "-f"),
    "solve --allow-moves": ("solve", "--allow-moves", "-f"),
    "rebalance": ("rebalance", "-f"),
    "consolidate": ("consolidate", "--curve", "-f"),
    "compare": ("compare", "--replays", "2", "-f"),
    "drain": ("drain", "n0", "n1", "-f"),
    "explain": ("explain", "-f"),
    "capacity": ("capacity", "-f"),
    "survive": ("check", "--survive", _ZONE, "-f"),
    "rollout": ("rollout", "--restart", "--replays", "2", "--snapshot", "{path}", "-f"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_number_is_that_of_the_document(command: str, planner: Planner, tmp_path: Path) -> None:
    """Nodes, bars, spread and steps are counted anew; other tables have the rows of the document."""
    for seed in seeds.seeds(1):
        case = Case(seed)
        path, target = write(tmp_path / "c.json", *case.objects), tmp_path / "page.html"
        words = [word.format(path=path) for word in (*COMMANDS[command], path)]
        ended = planner(*words, "-o", "json", "--report", str(target))
        assert ended.code in {0, 1}, (seed, ended.said)
        document, text = _document(ended.out), target.read_text()
        tables, page = Tables(text), Page(text)
        assert page.data("document") == document
        assert_nodes(case, document, tables)
        assert_bars(tables, page)
        assert_spread(case, document, tables)
        assert_script_has_the_rows(tables, page)
        assert_play(case, document, page)
        if check := _CHECKS.get(command):
            check(case, document, tables)
        # What stands behind a colon at the end of a line has other forms on the page.
        said = " ".join(planner(*words).out.partition("\n\n")[0].partition(":\n")[0].split())
        assert said.removesuffix(":").partition(". ")[0] in " ".join(page.text.split()), seed


@pytest.mark.usefixtures("_workers_are_threads")
@pytest.mark.parametrize("command", [("check",), ("capacity",), ("drain", "n0")])
def test_every_number_of_a_sweep_is_that_of_its_document(
    command: tuple[str, ...], planner: Planner, tmp_path: Path
) -> None:
    """Rows, the matrix, and every answer, which is what the command alone shows."""
    case, web = Case(seeds.fresh()), "ReplicaSet/web.shop"
    path, target = write(tmp_path / "c.json", *case.objects), tmp_path / "page.html"
    vary = ("--vary", f"scale={web}=1,4", "--vary", "kubernetes=1.35,1.36")
    ended = planner(
        "sweep", *command, *vary, "--jobs", "1", "-f", path, "-o", "json", "--report", str(target)
    )
    rows = {row["scenario"]: row for row in _document(ended.out)["rows"]}
    text = target.read_text()
    tables, answers = Tables(text), dict(re.findall(r"<h2>c (.*?)</h2>\n<pre>(.*?)</pre>", text, re.DOTALL))
    told, words = tables.rows("Answers, the worst first"), dict[tuple[str, str], str]()
    valued = {name for row in rows.values() for name, number in row["summary"].items() if number is not None}
    assert len(told) == len(rows) == len(answers) == 4
    for line in told:
        replicas, release = line[f"SCALE {web}"], line["KUBERNETES"]
        row = rows[scenario := f"scale={web}={replicas} kubernetes={release}"]
        figures = {name: "-" if number is None else str(number) for name, number in row["summary"].items()}
        assert {name: text for name, text in line.items() if name in figures} == {
            name: text for name, text in figures.items() if name in valued
        }
        words[replicas, release] = line["Result"]
        alone = planner(*command, "--scale", f"{web}={replicas}", "--kubernetes", release, "-f", path)
        assert alone.code == row["exitCode"]
        shown = unescape(answers[scenario]).partition("\n\n")[0]
        assert shown.split() == alone.out.partition("\n\n")[0].split()
    lines = {
        line[f"SCALE {web}"]: line for line in tables.rows("How each ended; every cell opens its answer")
    }
    assert words == {(n, r): lines[n][f"KUBERNETES {r}"] for n in lines for r in ("1.35", "1.36")}


def assert_nodes(case: Case, document: Document, tables: Tables) -> None:
    """Pods and use of every node, now and after all steps; the fullest first."""
    rows = {row["Node"]: row for row in tables.rows("Nodes by use, the fullest first")}
    assert set(rows) == set(case.zone_of)
    gone = {row["node"] for row in document.get("removed", ())}
    states = {"now": (case.placed, set[str]()), "after": (case.after(document), gone)}
    moved = bool(document.get("steps")) and "pod" in document["steps"][0]
    for state, (placed, away) in states.items():
        pods = case.pods_on(placed)
        used = {"cpu": case.percent(placed, 0), "memory": case.percent(placed, 1)}
        for name, row in rows.items():
            assert row["Zone"] == case.zone_of[name]
            assert (f"pods {state}" in row) == (moved or state == "now")
            if f"pods {state}" in row:
                assert row[f"pods {state}"] == ("" if name in away else str(pods[name]))
            for resource, percent in used.items():
                if (head := f"{resource} {state}") in row:
                    assert row[head] == ("" if name in away else f"{round(percent[name])}%")
    last = "after" if moved else "now"
    fullest = [max(_percent(row[f"{name} {last}"]) for name in ("cpu", "memory")) for row in rows.values()]
    there = [use for use in fullest if use >= 0]
    assert there == sorted(there, reverse=True)


def _percent(text: str) -> int:
    return int(text.removesuffix("%")) if text else -1


def _number(text: str) -> int:
    return 0 if text == "no" else int(text)


def assert_bars(tables: Tables, page: Page) -> None:
    """A bar stands for as many nodes as in the table are so full."""
    rows = tables.rows("Nodes by use, the fullest first")
    bars = [re.fullmatch(r"(no|\d+) nodes? from (\d+) % of (\w+), (\w+)", title) for title in tables.titles]
    told = {(m[3], m[4], int(m[2])): _number(m[1]) for m in bars if m}
    states = {"now"} | {"after" for row in rows if "pods after" in row}
    assert len(told) == 10 * 2 * len(states)
    for (resource, state, low), nodes in told.items():
        full = [_percent(row[f"{resource} {state}"]) for row in rows]
        assert nodes == sum(low == min(percent // 10 * 10, 90) for percent in full if percent >= 0)


def assert_spread(case: Case, document: Document, tables: Tables) -> None:
    """The pods of every app by zone, which of them are too many, and the skew."""
    if document["kind"] in {"Comparison", "Rollout"}:
        return  # they place pods that the cluster does not have
    placed = {"now": case.placed, "after": case.after(document)}
    for caption, rows in tables.found:
        if caption != "Pods by zone" or rows[0][:3] == _PLAYED:
            continue
        states = [text for text in rows[0] if text in placed] or ["now"]
        for row in (row for row in rows if row[0] == "shop"):
            app = row[1].partition("/")[2]
            counts = [case.per_zone(placed[state], app) for state in states]
            cells = [re.fullmatch(r"(\d+)(?: \(\+(\d+)\))?", text) for text in row[5:]]
            assert [int(m[1]) for m in cells if m] == [pods for count in counts for pods in count.values()]
            skews = [max(count.values()) - min(count.values()) for count in counts]
            assert row[2:5] == [case.when[app], "1", " -> ".join(map(str, skews))]
            most = min(counts[-1].values()) + 1
            surplus = [max(0, pods - most) if states == ["now"] else 0 for pods in counts[-1].values()]
            assert [int(m[2] or 0) for m in cells if m][-len(surplus) :] == surplus


def assert_script_has_the_rows(tables: Tables, page: Page) -> None:
    """What the search and the buttons of a table show is what stands in it from the start."""
    data = page.data("tables")["tables"]
    texts = [[[cell if isinstance(cell, str) else cell[0] for cell in row] for row in rows] for rows in data]
    shown = [rows for _, rows in tables.found if rows[0][:3] != _PLAYED]
    assert len(texts) == len(shown)
    for whole, rows in zip(texts, shown, strict=True):
        assert whole[:50] == rows[len(rows) - len(whole[:50]) :]


def assert_play(case: Case, document: Document, page: Page) -> None:
    """Counts before and one step after the other end where the pods are in the end."""
    play = page.data("tables")["play"]
    if play is None or document["kind"] in {"Comparison", "Rollout"}:
        return
    after = case.after(document)
    ends = [list(case.per_zone(after, app).values()) for app, when in case.when.items() if when]
    for row in play["rows"]:
        number, counts = play["rows"].index(row), list(row["before"])
        for step in play["steps"]:
            for at, column, amount in step["changes"]:
                counts[column] += amount if at == number else 0
        assert counts in ends


def _moves(case: Case, document: Document, tables: Tables) -> None:
    rows = tables.rows("Moves")
    told = [(row["Wave"], f"{row['Namespace']}/{row['Name']}", row["From"], row["Why"]) for row in rows]
    assert told == [(str(s["wave"]), s["pod"], s["from"], s["why"]) for s in document["steps"]]


def _consolidation(case: Case, document: Document, tables: Tables) -> None:
    _moves(case, document, tables)
    going = [(row["Node"], float(row["Price"])) for row in tables.rows("Nodes that go")]
    assert sorted(going) == sorted((row["node"], row["price"]) for row in document["removed"])
    staying = {row["Node"]: float(row["Price"]) for row in tables.rows("Nodes that stay")}
    assert staying == {row["node"]: row["price"] for row in document["kept"]}
    cost = document["cost"]
    points = {0: cost["before"], len(document["steps"]): cost["after"]}
    points |= {point["moves"]: point["cost"] for point in document.get("frontier") or ()}
    told = [re.fullmatch(r"(no|\d+) moves?: cost (\S+)", title) for title in tables.titles]
    assert {_number(m[1]): float(m[2]) for m in told if m} == points
    assert f"at least {cost['bound']:g}" in tables.titles


def _comparison(case: Case, document: Document, tables: Tables) -> None:
    names = {"kubeScheduler": "kube-scheduler", "optimal": "optimum"}
    states = {names.get(one["name"], one["name"]): one for one in document["columns"] if one["rank"] is None}
    of_figure = {"pods placed": "placed", "pods pending": "pending", "evictions": "evictions"}
    for figure in tables.rows("Figures"):
        if key := of_figure.get(figure["Figure"].partition(",")[0]):
            told = {head.lower(): number for head, number in figure.items() if head.lower() in states}
            assert told == {name: str(states[name][key]) for name in told}
    for lines in (lines for caption, lines in tables.found if caption == "Pods by zone"):
        for row in (line for line in lines if line[0] == "shop"):
            spreads = [states[text]["spread"] for text in lines[0] if text]
            same = [next(one for one in spread if one["workload"] == row[1]) for spread in spreads]
            counts = [pods for one in same for pods in one["domains"].values()]
            assert [int(text) for text in row[5:]] == counts
            assert row[4] == " / ".join(str(one["skew"]) for one in same)


def _drain(case: Case, document: Document, tables: Tables) -> None:
    told = [(row["Wave"], row["Node"], row["Evictions"]) for row in tables.rows("Waves")]
    assert told == [(str(s["wave"]), s["node"], str(len(s["evictions"]))) for s in document["steps"]]
    rows = [(row["Wave"], row["Node"], row["Pod"]) for row in tables.rows("Evictions")]
    assert rows == [(str(s["wave"]), s["node"], e["pod"]) for s in document["steps"] for e in s["evictions"]]


def _capacity(case: Case, document: Document, tables: Tables) -> None:
    told = [(row["Workload"], row["Replicas"], row["More"]) for row in tables.rows("Workloads")]
    assert told == [(w["workload"], str(w["replicas"]), str(w["more"])) for w in document["workloads"]]


_CHECKS: dict[str, Callable[[Case, Document, Tables], None]] = {
    "rebalance": _moves,
    "consolidate": _consolidation,
    "compare": _comparison,
    "drain": _drain,
    "capacity": _capacity,
}
