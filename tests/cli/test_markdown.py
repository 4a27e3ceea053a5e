"""What a reader of a pull request sees: the Markdown is rendered, and looked at."""

import html
import random
import re
import string
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from cli.output.blocks import Cell, Sentence, Table, Verbatim, VerdictBlock, section
from cli.output.forms.markdown import lines
from tests import seeds
from tests.cli.conftest import Planner
from tests.cli.manifests import lopsided, node, pod, write
from tests.cli.test_screens import COMMANDS, ROOT, many, typed

__all__ = ["many"]


class _Seen(HTMLParser):
    """The texts of cells and of everything, and the tags, of a rendered page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.text = ""
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember the tag, and whether a cell begins."""
        self.tags.add(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        """Text, of a cell if one was begun."""
        self.text += data
        if self.cells:
            self.cells[-1] += data


def seen(text: str) -> _Seen:
    """The text as GitHub shows it: HTML goes through, tables are tables."""
    found = _Seen()
    found.feed(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text))
    return found


KNOWN_TAGS = {
    *(
        "p",
        "strong",
        "h3",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "br",
        "pre",
        "code",
        "ol",
        "li",
        "ul",
    ),
}


@pytest.mark.parametrize("name", seeds.at_first(4, COMMANDS))
def test_every_command_has_it(
    name: str, planner: Planner, many: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict comes first, and nothing is a tag but what we meant."""
    monkeypatch.chdir(ROOT)
    table, ended = planner(*typed(name, many)), planner(*typed(name, many), "-o", "markdown")
    found = seen(ended.out)
    assert ended.code == table.code
    assert found.tags <= KNOWN_TAGS
    assert html.unescape(ended.out).startswith("**")
    assert table.verdict.split("  ")[0] in re.sub(r"\s+", " ", found.text)


def test_heads_are_spelled_as_kubernetes_does(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: over the constraints stood Maxskew, and over other tables maxSkew."""
    found = planner("check", "-f", write(tmp_path / "c.json", *lopsided()), "-o", "markdown").out
    assert "| When | maxSkew | Skew |" in found


def test_names_are_shown_sign_by_sign() -> None:
    """Whatever is in a name, it is text, in its own cell."""
    draw = random.Random(seeds.fresh())
    signs = "<>&|`*_~[]()!\\#$" + string.ascii_letters + "\u00e4 "
    texts = ["".join(draw.choices(signs, k=draw.randrange(1, 20))).strip() or "x" for _ in range(200)]
    texts += ["<script>alert(1)</script>", "a|b", "![x](y)", "</td>", "&lt;", "*a*", "`", "\\"]
    block = Table(("A", "B"), tuple((text, Cell("end", "bad")) for text in texts), noun="row")
    found = seen("\n".join(lines([section("T", block)])))
    squeezed = [re.sub(r"\s+", " ", text) for text in texts[:200]]
    assert [re.sub(r"\s+", " ", cell).strip() for cell in found.cells[2::2]][: len(squeezed)] == squeezed
    assert found.tags <= KNOWN_TAGS


@pytest.mark.parametrize("block", [VerdictBlock, Sentence])
def test_sentences_with_tags_are_text(block: type[VerdictBlock] | type[Sentence]) -> None:
    """A name in a sentence is no tag either."""
    text = "pod <script>alert(1)</script> *stays* ![pending](x) _here_"
    found = seen("\n".join(lines([section("", block(text))])))
    assert (found.text.strip(), found.tags - {"p", "strong"}) == (text, set())


def test_no_line_ends_a_fence() -> None:
    """Even if a manifest has fences in it."""
    told = ("a: |", "  ```", "  <b>", "  ````")
    found = seen("\n".join(lines([section("", Verbatim("yaml", told)), section("", Sentence("after"))])))
    assert [line.strip() for line in found.text.split("\n") if line.strip()] == [
        *map(str.strip, told),
        "after",
    ]


def test_labels_of_a_snapshot_are_text(planner: Planner, tmp_path: Path) -> None:
    """From the file to the rendered page."""
    bad = "<script>alert(1)</script>|`"
    path = write(tmp_path / "c.json", *lopsided(), node("n", zone=bad), pod("x", on="n"))
    found = seen(planner("check", "-f", path, "-o", "markdown").out)
    assert "script" not in found.tags
    assert bad in found.text
