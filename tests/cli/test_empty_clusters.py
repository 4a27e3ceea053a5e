"""What commands say of clusters without nodes, without pods, limits or names of domains."""

from pathlib import Path

import pytest

from tests import builders
from tests.builders import profile, replica, scheduler
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


@pytest.mark.parametrize("limit", [(), ("--time-limit", "0")])
def test_without_a_batch_any_state_is_a_final_one(
    planner: Planner, podless: str, limit: tuple[str, ...]
) -> None:
    """What went wrong: `the batch is too large to be searched for a final state`, or no answer in no time."""
    ended = planner("solve", "-f", podless, "--final-state", *limit)
    assert (ended.code, ended.out) == (0, "There are no pods to place.\n")
    assert "too large" not in ended.err


def test_room_without_a_limit_is_at_least_so_much(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: `has room for 200000 more replicas`, which is where the planner ends the count."""
    no_filter = {"multiPoint": {"disabled": [{"name": "NodeResourcesFit"}]}}
    config = scheduler(profile(plugins=no_filter))
    path = write(tmp_path / "c.json", node("a1", "a"), deployment("web", 1), config)
    verdict = planner("capacity", "-f", path).verdict
    assert verdict == "Deployment/web has room for at least 200000 more replicas."


@pytest.fixture
def nameless(tmp_path: Path) -> str:
    """Three pods that should be spread over a label of which one value is the empty string."""
    nodes = [builders.node(name, labels={"pool": pool}) for name, pool in (("a1", ""), ("b1", "x"))]
    owner = builders.scaled("ReplicaSet", "web", 3, spread=[builders.spread("pool")])
    return write(tmp_path / "c.json", *nodes, owner, *(replica(owner, f"web-{n}", "a1") for n in range(3)))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("check", '  ""   ███ 3   2 too many\n'),
        ("check -o markdown", '| "" ███ 3 '),
        ("check --survive pool", 'the loss of "" (1 of 2 domains of pool).'),
        ("rebalance", 'pool "" has 2 too many'),
        ("capacity --survive pool", '107    ""        NodeResourcesFit'),
    ],
)
def test_a_domain_without_a_name_is_told_from_none(
    planner: Planner, nameless: str, command: str, told: str
) -> None:
    """What went wrong: `the loss of  (1 of 2 domains of pool)`, and rows and columns without a head."""
    assert told in planner(*command.split(), "-f", nameless).out
