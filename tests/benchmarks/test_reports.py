"""The page of a report in a browser: what its script does is what Python would do."""

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser

from cli.output.report.publish import html
from models import Cluster
from planner import check, rebalance, solve
from tests import seeds
from tests.cli.manifests import deployment, node
from tests.cli.test_report import NASTY, Page

ROOT = Path(__file__).parents[2]
READY = "document.documentElement.dataset.ready === 'yes'"
SHOWN = """[...document.querySelectorAll("[data-table='NUMBER'] tbody tr")].map(
  (line) => [...line.querySelectorAll("td")].map((cell) => cell.textContent))"""

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium to open the page with")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all."""
    with Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


def opened(browser: Browser, folder: Path, text: str) -> Page:
    """The page, in the browser as well."""
    file = folder / "page.html"
    file.write_text(text, "utf-8")
    browser.events.clear()
    browser.open(file, READY)
    return Page(text)


def shown(browser: Browser, table: int) -> list[list[str]]:
    """The rows of a table that are on the screen."""
    rows: list[list[str]] = browser.ask(SHOWN.replace("NUMBER", str(table)))
    return rows


def texts_of(rows: list[list[Any]]) -> list[list[str]]:
    """The rows without their classes."""
    return [[cell if isinstance(cell, str) else cell[0] for cell in row] for row in rows]


def number_of(text: str) -> float:
    """As the page reads it."""
    return float(text.removesuffix("%"))


@pytest.fixture(scope="module")
def planned() -> str:
    """A page with nodes and steps drawn at random, and names that are no text anywhere else."""
    draw = random.Random(seeds.fresh())
    nodes = [
        node(f"node-{draw.randrange(10**6)}-{place}", draw.choice("abc"), cpu="32") for place in range(70)
    ]
    work = [deployment(f"web-{place}", draw.randrange(5, 30)) for place in range(8)]
    cluster = Cluster.from_objects([*nodes, node("n-bad", NASTY), *work])
    return html("solve", solve(cluster, time_limit=20), cluster)


def test_columns_are_sorted(browser: Browser, planned: str, tmp_path: Path) -> None:
    """Every column of every table, up and down; rows with the same text stay in their order."""
    page = opened(browser, tmp_path, planned)
    for place, table in enumerate(page.data("tables")["tables"]):
        rows = texts_of(table)
        for column in range(len(rows[0])):
            head = f"document.querySelectorAll(\"[data-table='{place}'] tr.heads th\")[{column}]"
            numeric = browser.ask(f"{head}.classList.contains('numeric')")
            for _ in range(2):
                browser.ask(f"{head}.querySelector('button').click()")
                up = browser.ask(f"{head}.getAttribute('aria-sort')") == "ascending"
                keys = [number_of(row[column]) if numeric else row[column] for row in rows]
                sign = 1 if up else -1
                order = {key: sign * rank for rank, key in enumerate(sorted(set(keys)))}
                wanted = sorted(range(len(rows)), key=lambda row: order[keys[row]])
                assert shown(browser, place) == [rows[row] for row in wanted[:50]]
    assert browser.said() == []


def test_rows_are_found(browser: Browser, planned: str, tmp_path: Path) -> None:
    """Those that have every word, whatever its case; and all of them again."""
    page = opened(browser, tmp_path, planned)
    for place, table in enumerate(page.data("tables")["tables"]):
        rows = texts_of(table)
        field = f"document.getElementById('search-{place}')"
        for words in ("WEB-1", "node 3", "nobody has this", ""):
            typed = f"{field}.value = {json.dumps(words)}; {field}.dispatchEvent(new Event('input'))"
            browser.ask(typed)
            found = [
                row for row in rows if all(word in " ".join(row).lower() for word in words.lower().split())
            ]
            assert shown(browser, place) == found[:50]


def test_pages_of_rows_are_turned(browser: Browser, planned: str, tmp_path: Path) -> None:
    """On and back, to the last row and no further."""
    page = opened(browser, tmp_path, planned)
    place, table = max(enumerate(page.data("tables")["tables"]), key=lambda found: len(found[1]))
    rows, box = texts_of(table), f"document.querySelector(\"[data-table='{place}']\")"
    assert len(rows) > 50
    for first in range(50, len(rows), 50):
        browser.ask(f"{box}.querySelector('.on').click()")
        assert shown(browser, place) == rows[first : first + 50]
    assert browser.ask(f"{box}.querySelector('.on').disabled")
    last = len(rows) - (len(rows) % 50 or 50)
    browser.ask(f"{box}.querySelector('.back').click()")
    assert shown(browser, place) == rows[last - 50 : last]
    assert (
        browser.ask(f"{box}.querySelector('.count').textContent")
        == f"rows {last - 49} to {last} of {len(rows)}"
    )


def test_steps_are_played(browser: Browser, tmp_path: Path) -> None:
    """To the end and back: the counts of the document after and before the moves; one step changes two."""
    cluster = Cluster.load(ROOT / "examples" / "43-budget-and-waves")
    plan = rebalance(cluster)
    opened(browser, tmp_path, html("rebalance", plan, cluster))
    counts = "[...document.querySelectorAll('#play td.place')].map((cell) => Number(cell.textContent))"
    marked = "document.querySelectorAll('#play td.changed').length"
    before, after = ([*getattr(plan.spread[0], name).values()] for name in ("before", "after"))
    assert browser.ask(counts) == before
    for button, wanted in (("last", after), ("first", before)):
        browser.ask(f"document.getElementById('play-{button}').click()")
        assert browser.ask(counts) == wanted
    for steps in range(1, len(plan.steps) + 1):
        browser.ask("document.getElementById('play-next').click()")
        assert browser.ask(marked) == 2, steps
    assert browser.ask(counts) == after
    assert browser.said() == []


SAVED = """
(async () => {
  const kept = [], real = URL.createObjectURL.bind(URL), button = document.getElementById("save");
  URL.createObjectURL = (blob) => { kept.push(blob); return real(blob); };
  button.click();
  while (!kept.length || button.disabled) await new Promise((done) => setTimeout(done, 5));
  return kept[0].text();
})()
"""


@pytest.mark.parametrize("workloads", [1, 60])
def test_the_document_can_be_saved(browser: Browser, tmp_path: Path, workloads: int) -> None:
    """A small one, and one that is packed and compressed, come out as `-o json` has them."""
    nodes = [node(f"node-{place}", "abc"[place % 3]) for place in range(300)]
    asked = [deployment(f"web-{place}", 3) for place in range(workloads)]
    for item in asked:
        constraint = {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
        }
        selector = item["spec"]["selector"]
        item["spec"]["template"]["spec"]["topologySpreadConstraints"] = [
            {**constraint, "labelSelector": selector}
        ]
    cluster = Cluster.from_objects([*nodes, *asked])
    found = check(cluster)
    page = opened(browser, tmp_path, html("check", found, cluster))
    assert page.scripts["document"][0].endswith("json" if workloads == 1 else "base64")
    assert json.loads(browser.ask(SAVED)) == json.loads(found.to_json())
    assert browser.said() == []


def test_a_page_is_measured(tmp_path: Path, planned: str) -> None:
    """`benchmarks/reports.py` uses every control, and the console stays empty."""
    file = tmp_path / "page.html"
    file.write_text(planned, "utf-8")
    words = [sys.executable, str(ROOT / "benchmarks" / "reports.py"), "--pages", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    assert ", 0 console messages" in done.stdout
