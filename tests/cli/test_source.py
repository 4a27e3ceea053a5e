"""Files, folders and standard input."""

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, listing, node, pod, write


def test_several_files_are_one_cluster(planner: Planner, tmp_path: Path) -> None:
    """Nodes from one file, a Deployment from another."""
    nodes = write(tmp_path / "nodes.json", node("a1", "a"), node("b1", "b"))
    workload = write(tmp_path / "web.json", deployment("web", 2))
    ended = planner("simulate", "-f", nodes, "-f", workload)
    assert ended.code == 0
    assert "2 pods placed." in ended.out


def test_a_folder_is_its_files(planner: Planner, tmp_path: Path) -> None:
    """Without -R the folders inside are left alone, with it they are read."""
    write(tmp_path / "nodes.json", node("a1"), pod("one"))
    (tmp_path / "more").mkdir()
    write(tmp_path / "more" / "pods.json", pod("two"))
    assert "1 pod placed." in planner("simulate", "-f", str(tmp_path)).out
    assert "2 pods placed." in planner("simulate", "-R", "-f", str(tmp_path)).out


def test_a_dash_is_standard_input(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> None:
    """`kubectl get ... | planner check -f -`."""
    text = listing(node("a1"), pod("web-0", on="a1"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert planner("check", "-f", "-").code == 0


def test_standard_input_is_not_read_unasked(
    planner: Planner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without -f kubectl is asked, whatever is piped in; here there is none."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(listing(node("a1")).encode())))
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = planner("check")
    assert ended.code == 2
    assert ended.err == "error: no -f was given, and kubectl is not on the PATH to ask\n"


def test_notes_are_beside_the_document(planner: Planner, tmp_path: Path) -> None:
    """What was skipped is said on standard error, so that the document stays clean."""
    unknown = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    path = write(tmp_path / "all.json", node("a1"), pod("web-0", on="a1"), unknown)
    ended = planner("check", "-f", path)
    assert ended.err.startswith("note: ")
    assert "Widget" in ended.err
    assert "Widget" not in ended.out
