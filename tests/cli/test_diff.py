"""`planner diff` as it is typed."""

import json
from pathlib import Path

import pytest

from planner.documents.diff import Diff
from tests.cli.conftest import Planner
from tests.cli.manifests import lopsided, node, pod, write


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A lopsided cluster, and the same after a pod has gone to the other zone and another one waits."""
    moved = [pod(f"web-{n}", on=on, spread="DoNotSchedule") for n, on in enumerate(("a1", "b1", "a1"))]
    later = [node("a1", "a"), node("b1", "b"), *moved, pod("late", app="late", cpu="64")]
    return write(tmp_path / "before.json", *lopsided()), write(tmp_path / "after.json", *later)


def test_what_got_worse_is_1(planner: Planner, files: tuple[str, str]) -> None:
    """A pod waits that did not; the other way round nothing does, but more are too many."""
    ended = planner("diff", *files)
    assert (ended.code, ended.err) == (1, "")
    assert ended.verdict == (
        "2 -> 0 pods too many under DoNotSchedule; 1 pod waits that did not before; 1 pod moved."
    )
    assert planner("diff", *reversed(files)).code == 1
    assert planner("diff", files[0], files[0]).code == 0
    assert planner("diff", files[0], files[0]).verdict == (
        "No node came or went, was cordoned or has other taints, labels or sizes; "
        "no pod moved or waits that did not; the spread is the same."
    )


def test_a_node_that_is_no_longer_what_it_was(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: "No difference in nodes" of one that has a taint and other labels, and is larger."""
    before = write(tmp_path / "before.json", node("a1", "a"), pod("web-0", on="a1", cpu="1"))
    after = write(
        tmp_path / "after.json", node("a1", "b", cpu="8", taint="old"), pod("web-0", on="a1", cpu="3")
    )
    ended = planner("diff", before, after)
    assert ended.code == 0
    for what in ("other taints", "other labels", "other allocatable amounts"):
        assert f"1 node with {what}: a1" in ended.out


def test_the_forms(planner: Planner, files: tuple[str, str]) -> None:
    """JSON is the document, names are of what got worse, Markdown has it all."""
    found = Diff.model_validate(json.loads(planner("diff", *files, "-o", "json").out))
    assert [(row.pod, row.source, row.node) for row in found.moved] == [("shop/web-1", "a1", "b1")]
    assert planner("diff", *files, "-o", "name").out == "pod/late -n shop\n"
    assert planner("diff", *reversed(files), "-o", "name").out == "pod/web-0 -n shop\n"
    assert "| shop | web-1 | a1 | b1 |" in planner("diff", *files, "-o", "markdown").out


def test_a_namespace(planner: Planner, files: tuple[str, str]) -> None:
    """One that is in either of them; what is in neither is an error."""
    assert planner("diff", *files, "-n", "shop").code == 1
    ended = planner("diff", *files, "-n", "shopp")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean shop?" in ended.err


def test_what_cannot_be_read_is_2(planner: Planner, files: tuple[str, str]) -> None:
    """A file that is not there, or only one of them."""
    assert planner("diff", files[0], "nowhere.json").code == 2
    assert planner("diff", files[0]).code == 2
