"""`--report`: the page is parsed as a browser would, and held against the document."""

import base64
import hashlib
import json
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cli.output.blocks import Table, section
from cli.output.report.embedded import embedded, extracted
from cli.output.report.parts import HtmlTable, Text, sections_of
from cli.output.report.publish import html
from models import Cluster
from planner import check, compare, consolidate, rebalance, solve
from planner.audit.picture import picture
from planner.documents.plan import Document
from tests import seeds
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, lopsided, node, pod, write

ROOT = Path(__file__).parents[2]
NASTY = "</script><script>alert(1)</script>\"'&<!--"
REPORTS = {
    "check": ("check", "-f", "examples/10-after-scale-down"),
    "solve": ("solve", "-f", "examples/12-uneven-zones"),
    "compare": ("compare", "-f", "examples/13-rack-grid", "--replays", "1"),
    "rebalance": ("rebalance", "-f", "examples/43-budget-and-waves"),
    "consolidate": ("consolidate", "-f", "examples/52-consolidate", "--curve"),
    "explain": ("explain", "-f", "examples/30-stuck-by-an-empty-zone"),
    "drain": ("drain", "pool=old", "-f", "examples/51-drain-a-pool"),
    "rollout": ("rollout", "--snapshot", "examples/50-rollout-half-way", "-f", "{next}"),
}


class Page(HTMLParser):
    """A page: its scripts by id, its tables by caption as rows of texts, its tags and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.scripts: dict[str, tuple[str, str]] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.style = ""
        self._inside: list[str] = []
        self._id = self._kind = self._caption = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember where we are."""
        found = dict(attrs)
        self.tags.append((tag, found))
        self._inside.append(tag)
        if tag == "script":
            self._id, self._kind = found.get("id") or "", found.get("type") or ""
            assert self._id not in self.scripts
            self.scripts[self._id] = (self._kind, "")
        if tag == "caption":
            self._caption = ""
        if tag == "tr":
            self.tables.setdefault(self._caption, []).append([])
        if tag in {"td", "th"}:
            self.tables[self._caption][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Leave it again."""
        while self._inside and self._inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Text, of whatever it is in."""
        inside = self._inside[-1] if self._inside else ""
        if inside == "script":
            self.scripts[self._id] = (self._kind, self.scripts[self._id][1] + data)
        elif inside == "style":
            self.style += data
        else:
            self.text += data
        if inside == "caption":
            self._caption += data
        elif inside in {"td", "th"}:
            self.tables[self._caption][-1][-1] += data

    def data(self, name: str) -> Any:
        """What is embedded under this id."""
        return extracted(*self.scripts[name])


def policy_of(page: Page) -> str:
    """The content security policy that the page gives itself."""
    metas = [found for tag, found in page.tags if tag == "meta" and "http-equiv" in found]
    assert [found["http-equiv"] for found in metas] == ["Content-Security-Policy"]
    return metas[0]["content"] or ""


def hash_of(text: str) -> str:
    """As a policy spells it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.mark.parametrize("name", seeds.at_first(3, REPORTS))
def test_the_page_has_the_whole_document(
    name: str, planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Number by number that of `-o json`; the exit code and the printed document are as ever."""
    monkeypatch.chdir(ROOT)
    words = [word.format(next="examples/50-rollout-half-way/next") for word in REPORTS[name]]
    target = tmp_path / "page.html"
    plain, ended = planner(*words, "-o", "json"), planner(*words, "-o", "json", "--report", str(target))
    assert (ended.code, ended.out) == (plain.code, plain.out)
    page = Page(target.read_text())
    assert page.data("document") == json.loads(plain.out)
    headline = planner(*words).verdict
    assert headline.split(":")[0] in page.text


@pytest.mark.parametrize("name", seeds.at_first(3, REPORTS))
def test_the_page_needs_nothing_else(
    name: str, planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No address, nothing to load, one script and one style, both those that the policy names."""
    monkeypatch.chdir(ROOT)
    words = [word.format(next="examples/50-rollout-half-way/next") for word in REPORTS[name]]
    planner(*words, "--report", str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text()
    page = Page(text)
    assert not re.search(r"https?://|url\(|@import", page.style + page.scripts[""][1])
    assert all(not {"src", "srcset", "style", "onclick"} & set(found) for _, found in page.tags)
    links = [found["href"] or "" for tag, found in page.tags if tag in {"a", "link"}]
    assert all(link.startswith("#") for link in links)
    policy = policy_of(page)
    assert f"script-src {hash_of(page.scripts[''][1])};" in policy
    assert f"style-src {hash_of(page.style)};" in policy
    assert "default-src 'none';" in policy
    assert set(page.scripts) == {"", "document", "tables"}


def test_the_heat_map_has_the_documents_numbers() -> None:
    """kube-scheduler's and the best plan's pods by rack, as compare has them."""
    cluster = Cluster.load(ROOT / "examples" / "13-rack-grid")
    found = compare(cluster, replays=1)
    page = Page(html("compare", found, cluster))
    for place, key in enumerate(("example.com/rack", "example.com/power")):
        rows = page.tables[f"Pods by {key}"]
        states = (found.before, found.kube_scheduler, found.optimal)
        numbers = [str(pods) for state in states for pods in state.spread[place].domains.values()]
        assert rows[-1][5:] == numbers


def test_the_nodes_are_those_of_the_cluster() -> None:
    """Each with its pods, now and after."""
    cluster = Cluster.load(ROOT / "examples" / "43-budget-and-waves")
    plan = rebalance(cluster)
    rows = Page(html("rebalance", plan, cluster)).tables["Nodes by use, the fullest first"][1:]
    now = {item.name: 0 for item in cluster.nodes}
    for item in cluster.pods:
        now[item.node_name or ""] = now.get(item.node_name or "", 0) + 1
    after = dict(now)
    for step in plan.steps:
        after[step.source] -= 1
        after[step.node] += 1
    assert {row[0]: (int(row[2]), int(row[3])) for row in rows} == {
        name: (now[name], after[name]) for name in now if name
    }


def test_nodes_that_go_are_drawn_now_and_not_after() -> None:
    """The pods of the others are those after the moves; the plot has a point a plan, and the bound."""
    cluster = Cluster.load(ROOT / "examples" / "52-consolidate")
    plan = consolidate(cluster, curve=True)
    text = html("consolidate", plan, cluster)
    rows = {row[0]: row for row in Page(text).tables["Nodes by use, the fullest first"][1:]}
    gone = {row.node for row in plan.removed}
    assert gone
    assert {name for name, row in rows.items() if row[3] == ""} == gone
    assert all(row[2] for row in rows.values())
    after = sum(int(row[3]) for name, row in rows.items() if name not in gone)
    assert after == len(cluster.pods)
    points = {0: plan.cost.before, len(plan.steps): plan.cost.after}
    points |= {point.moves: point.cost for point in plan.frontier}
    assert all(f": cost {cost:g}</title>" in text for cost in points.values())
    assert text.count("<circle ") == len(points)
    assert f"at least {plan.cost.bound:g}</title>" in text


@pytest.mark.parametrize("example", ["40-scale-down-repaired", "42-full-zone", "43-budget-and-waves"])
def test_the_played_moves_end_where_the_document_ends(example: str) -> None:
    """Counts before, and one change after the other, are the counts after."""
    cluster = Cluster.load(ROOT / "examples" / example)
    plan = rebalance(cluster)
    page = Page(html("rebalance", plan, cluster))
    play = page.data("tables")["play"]
    counts = [list(row["before"]) for row in play["rows"]]
    for step in play["steps"]:
        for row, column, amount in step["changes"]:
            counts[row][column] += amount
    listed = [row for row in plan.spread if len(row.after) <= 4]
    assert sorted(counts) == sorted(list(row.after.values()) for row in listed)
    assert [step["wave"] for step in play["steps"]] == [step.wave for step in plan.steps]


def test_a_picture_agrees_with_check() -> None:
    """On random clusters: before is what check counts, and every step is in the sum."""
    draw = random.Random(seeds.fresh())
    for _ in range(20):
        nodes = [node(f"n{place}", draw.choice("abc")) for place in range(5)]
        pods = [
            pod(
                f"p{place}",
                draw.choice(("", "n0", "n1", "n2")),
                draw.choice(("web", "db")),
                spread="ScheduleAnyway",
            )
            for place in range(12)
        ]
        cluster = Cluster.from_objects([*nodes, *pods])
        plan = solve(cluster, time_limit=2)
        drawn = picture(cluster, [(step.pod, step.source, step.node) for step in plan.steps])
        rows = {(row.workload, row.selector): row.domains for row in check(cluster).constraints}
        for place, row in enumerate(drawn.spread):
            assert row.before == rows[row.workload, row.selector]
            counts = dict(row.before)
            for step in drawn.steps:
                for number, domain, amount in step.changes:
                    counts[domain] += amount if number == place else 0
            assert counts == row.after


def nasty_cluster() -> list[dict[str, Any]]:
    """Names and labels that would like to be more than text."""
    bad = node("n-bad", zone=NASTY)
    workload = deployment("web", 3)
    lost = pod("lost", cpu="64", app=NASTY)
    lost["spec"]["nodeSelector"] = {"zone": NASTY}
    return [*lopsided(), bad, workload, lost, pod("there", on="n-bad", app=NASTY)]


NASTY_COMMANDS = {
    "check": ("-f", "{snapshot}"),
    "check --survive": ("--survive", "topology.kubernetes.io/zone", "-f", "{snapshot}"),
    "solve": ("-f", "{snapshot}"),
    "solve --allow-moves": ("--allow-moves", "-f", "{snapshot}"),
    "explain": ("-f", "{snapshot}"),
    "compare": ("-f", "{snapshot}"),
    "rebalance": ("-f", "{snapshot}"),
    "rollout": ("--restart", "--snapshot", "{snapshot}", "-f", "{manifests}"),
}


@pytest.mark.parametrize("command", seeds.at_first(3, NASTY_COMMANDS))
def test_names_are_text(command: str, planner: Planner, tmp_path: Path) -> None:
    """A label that ends a script is shown, and ends nothing: the page has the scripts that we wrote."""
    files = {
        "snapshot": write(tmp_path / "c.json", *nasty_cluster()),
        "manifests": write(tmp_path / "m.json", deployment("web", 4)),
    }
    words = [command.partition(" ")[0], *(word.format(**files) for word in NASTY_COMMANDS[command])]
    target = tmp_path / "page.html"
    assert planner(*words, "--report", str(target)).code in {0, 1}
    page = Page(target.read_text())
    assert set(page.scripts) == {"", "document", "tables"}
    assert hash_of(page.scripts[""][1]) in policy_of(page)
    assert page.data("document")["kind"]
    assert NASTY in page.text


def test_what_is_embedded_comes_back() -> None:
    """Small as it is, large compressed, maps of counts packed."""
    draw = random.Random(seeds.fresh())
    for pods in (3, 40, 6_000):
        names = [f"n-{place}" for place in range(pods)]
        data = {
            "counts": [{name: draw.choice((0, 0, 0, 1)) for name in names} for _ in range(3)],
            "flags": dict.fromkeys(names, True),
            "mixed": [None, 1.5, NASTY, "\u2028", {"@keys": "no", "@@": 1}],
        }
        kind, text = embedded(data)
        assert extracted(kind, text) == data
        assert "<" not in text
    assert kind == "application/gzip+base64"
    assert len(text) < len(json.dumps(data)) / 5


def test_pods_left_over_come_with_what_helps(planner: Planner, tmp_path: Path) -> None:
    """The scheduler's reasons, and the changes that explain finds, in the page of a plan."""
    path = write(tmp_path / "c.json", node("a1", "a", cpu="2"), pod("huge", cpu="3"), pod("small"))
    target = tmp_path / "page.html"
    for command in ("solve", "compare"):
        assert planner(command, "-f", path, "--report", str(target)).code == 1
        text = Page(target.read_text()).text
        assert "What helps shop/huge" in text
        [cheapest] = re.findall(r"^ *1\. (.*)$", planner("explain", "huge", "-f", path).out, re.MULTILINE)
        assert cheapest in text


def test_pods_that_run_now_and_are_left_over_have_a_page(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: explain was asked about pods that are not pending, which is an error."""
    there = [pod(f"web-{number}", "a1", cpu="3", owner="ReplicaSet/web") for number in range(2)]
    path = write(tmp_path / "c.json", node("a1", "a", cpu="4"), *there)
    words = ("compare", "--afresh", "-f", path)
    assert planner(*words, "--report", str(tmp_path / "page.html")).code == planner(*words).code == 1


def test_a_page_that_cannot_be_written_is_2(planner: Planner, tmp_path: Path) -> None:
    """One line, and nothing on standard output."""
    path = write(tmp_path / "c.json", *lopsided())
    ended = planner("check", "-f", path, "--report", str(tmp_path / "no" / "page.html"))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: --report")


def large() -> tuple[Cluster, Document]:
    """Enough pods that the page is compressed and tables have further rows."""
    nodes = [node(f"node-{place:03}", f"zone-{place % 3}", cpu="32") for place in range(120)]
    cluster = Cluster.from_objects([*nodes, *(deployment(f"web-{place}", 150) for place in range(20))])
    return cluster, solve(cluster, time_limit=20)


@pytest.mark.long
def test_a_large_page_is_small() -> None:
    """3,000 pods: all steps are in it, fifty rows of them as HTML."""
    cluster, plan = large()
    text = html("solve", plan, cluster)
    page = Page(text)
    assert page.scripts["document"][0] == "application/gzip+base64"
    assert len(page.data("document")["steps"]) == 3_000
    assert len(page.tables["Steps"]) == 51
    steps = next(rows for rows in page.data("tables")["tables"] if len(rows) == 3_000)
    assert [row[1] for row in steps][:3] == [
        step["pod"].partition("/")[2] for step in page.data("document")["steps"][:3]
    ]
    assert len(text) < 400_000


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium to open the page with")
def test_a_browser_runs_it_without_a_word(tmp_path: Path) -> None:
    """Tables, search and play are set up, compressed data included, and the console stays empty."""
    cluster, plan = large()
    target = tmp_path / "page.html"
    target.write_text(html("solve", plan, cluster))
    words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    done = subprocess.run(
        [
            *words,
            f"--user-data-dir={tmp_path}/profile",
            "--virtual-time-budget=10000",
            "--dump-dom",
            f"file://{target}",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert 'data-ready="yes"' in done.stdout
    assert "CONSOLE" not in done.stderr
    assert "rows 1 to 50 of 3000" in done.stdout


def test_one_node_is_a_node(planner: Planner, tmp_path: Path) -> None:
    """The head of the page counts as a person does."""
    page = tmp_path / "one.html"
    planner(
        "check", "-f", write(tmp_path / "c.json", node("a1", "a"), pod("web", "a1")), "--report", str(page)
    )
    assert "1 node, 1 pod on" in page.read_text()


def test_a_very_long_table_is_cut() -> None:
    """Twenty thousand rows are in the page, and how many more there are is said."""
    rows = tuple((f"pod-{number}", "n1") for number in range(20_003))
    (found,) = sections_of([section("Steps", Table(("NAME", "NODE"), rows, noun="step"))])
    table, more = found.parts
    assert isinstance(table, HtmlTable)
    assert len(table.rows) == 20_000
    assert more == Text("and 3 steps more, all of which -o jsonl has", "sentence")
    (whole,) = sections_of([section("Steps", Table(("NAME", "NODE"), rows[:20_000], noun="step"))])
    assert len(whole.parts) == 1
