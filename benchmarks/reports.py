"""The pages of `--report` about 5,000 nodes and 50,000 pods, in headless Chromium.

`python benchmarks/reports.py` writes the pages of check, rebalance and solve, opens each, uses every
control of it and prints its size, the first paint, the slowest of so many interactions, from the act to
the frame after it, and whether the console stayed empty.  `--keep FOLDER` leaves the pages there, and
`--axe FILE` has axe-core, as that file has it, look at each in light and in dark, wide and narrow.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from batches import SIZES, batch
from browser import Browser
from rebalance import Shape

from cli.output.report.publish import html
from models import Cluster
from planner import check, rebalance, solve
from planner.documents.plan import Document

_READY = "document.documentElement.dataset.ready === 'yes'"
_FILL = 0.9
_TURNS = 20
#: Uses every control, some of them several times; [what, milliseconds] of each.
ACTS = """
(async () => {
  const took = [], say = (id) => document.getElementById(id);
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  const timed = async (what, act) => {
    await frame();
    const begin = performance.now();
    act();
    await frame();
    took.push([what, performance.now() - begin]);
  };
  const typed = (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  for (const link of document.querySelectorAll("nav a")) await timed(link.textContent, () => link.click());
  for (const box of document.querySelectorAll("[data-table]")) {
    const name = box.querySelector("caption").textContent, field = box.querySelector("input");
    box.scrollIntoView();
    for (const words of ["a", "1 0", "nothing like it", ""])
      await timed(`${name}: search for ${words}`, () => typed(field, words));
    for (const button of box.querySelectorAll("thead button"))
      for (const time of ["first", "second"])
        await timed(`${name}: sort by ${button.textContent}, ${time} time`, () => button.click());
    for (let time = 0; time < TURNS; time += 1)
      await timed(`${name}: later rows, time ${time}`, () => box.querySelector(".on").click());
    await timed(`${name}: earlier rows`, () => box.querySelector(".back").click());
  }
  const play = say("play");
  if (play && !play.hidden) {
    play.scrollIntoView();
    for (const name of ["next", "next", "wave", "back", "last", "back", "first"])
      await timed(`play: ${name}`, () => say(`play-${name}`).click());
    const range = say("play-range");
    for (const part of [0.5, 0.2, 0.9])
      await timed(`play: to ${part}`, () => typed(range, Math.round(range.max * part)));
  }
  await timed("save", () => say("save").click());
  return took;
})()
""".replace("TURNS", str(_TURNS))
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
#: What is serious, and how much of it there is.
_AXE = """
(async () => {
  for (const part of document.querySelectorAll("section, [data-table]"))
    part.style.contentVisibility = "visible";
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map((one) => `${one.impact} ${one.id} ${one.nodes.length}`);
})()
"""


def pages() -> Iterator[tuple[str, str]]:
    """(name, page) of each command."""
    lopsided = Cluster.from_objects(Shape(SIZES[-1].nodes, _FILL).objects())
    waiting = batch(SIZES[-1], _FILL, True)
    asked: list[tuple[str, Callable[[Cluster], Document], Cluster]] = [
        ("check", check, lopsided),
        ("rebalance", rebalance, lopsided),
        ("solve", solve, waiting),
    ]
    for name, ask, cluster in asked:
        yield name, html(name, ask(cluster), cluster)


def measured(browser: Browser, page: Path) -> str:
    """A line about one page."""
    browser.events.clear()
    browser.open(page, _READY)
    took: list[tuple[str, float]] = browser.ask(ACTS)
    slowest, most = max(took, key=lambda one: one[1])
    return (
        f"{page.stem}: {page.stat().st_size / 1e6:.2f} MB, first paint after {browser.ask(_PAINT):.0f} ms, "
        f"{len(took)} interactions, the slowest {most:.0f} ms ({slowest}), "
        f"{len(browser.said())} console messages"
    )


def looked_at(browser: Browser, page: Path, axe: str) -> Iterator[str]:
    """What axe-core finds in light and dark, wide and narrow."""
    browser.call("Page.setBypassCSP", enabled=True)
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            media: list[dict[str, Any]] = [{"name": "prefers-color-scheme", "value": scheme}]
            browser.call("Emulation.setEmulatedMedia", features=media)
            browser.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=900,
                deviceScaleFactor=1,
                mobile=False,
            )
            browser.open(page, _READY)
            browser.ask(f"{axe};0")
            yield f"{page.stem}, {scheme}, {width}: {'; '.join(browser.ask(_AXE)) or 'nothing'}"


def main() -> None:
    """Write, open and use the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the pages stay")
    parser.add_argument("--axe", type=Path, metavar="FILE", help="axe.min.js")
    parser.add_argument("--pages", type=Path, nargs="*", metavar="FILE", help="these pages instead")
    given = parser.parse_args()
    # A helper of the browser that is just dying may still write.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        kept = given.keep or Path(folder)
        files = [page.absolute() for page in given.pages or ()]
        for name, text in () if given.pages else pages():
            file = kept.absolute() / f"{name}.html"
            file.write_text(text, "utf-8")
            files.append(file)
        with Browser(Path(folder) / "profile") as browser:
            for file in files:
                print(measured(browser, file), flush=True)
                for line in looked_at(browser, file, given.axe.read_text()) if given.axe else ():
                    print(line, flush=True)


if __name__ == "__main__":
    main()
