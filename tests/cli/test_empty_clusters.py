"""What commands say of clusters without nodes, or without pods."""

from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, node, pod, write


@pytest.fixture
def nodeless(tmp_path: Path) -> str:
    """A pod, and no node."""
    return write(tmp_path / "nodeless.json", pod("web-0"))


@pytest.fixture
def podless(tmp_path: Path) -> str:
    """A node that is in no zone, and no pod."""
    return write(tmp_path / "podless.json", node("a1"))


def test_no_plugin_refuses_a_node_where_there_is_none(
    planner: Planner, nodeless: str, tmp_path: Path
) -> None:
    """What went wrong: the next copy had `no node ()`."""
    copies = write(tmp_path / "copies.json", deployment("web", 1, namespace="default"))
    out = planner("capacity", "-f", nodeless, "--set", copies).out
    assert "()" not in out
    assert "has no node:\n  no nodes available to schedule pods\n" in out


def test_a_rollout_ends_in_no_domain_where_there_is_none(
    planner: Planner, nodeless: str, podless: str, tmp_path: Path
) -> None:
    """What went wrong: it ended in `zone`, and nothing behind it."""
    manifest = write(tmp_path / "web.json", deployment("web", 1))
    for snapshot in nodeless, podless:
        out = planner("rollout", "-f", manifest, "--snapshot", snapshot).out
        (row,) = [line for line in out.splitlines() if line.startswith("shop ")]
        assert row.split()[-1] == "<none>"


def test_pods_too_many_are_compared_where_there_are_some(
    planner: Planner, podless: str, tmp_path: Path
) -> None:
    """What went wrong: `as many pods as before are too many` was said of none."""
    larger = write(tmp_path / "larger.json", node("a1"), node("b1"))
    verdict = planner("diff", podless, larger).verdict
    assert verdict == "No pod moved, none waits that did not before, and none is too many."
