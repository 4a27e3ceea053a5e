"""Notes about what was not read at all."""

from collections.abc import Callable

import pytest

from models import Cluster
from planner import check, drain, rebalance, survive
from tests.builders import ZONE, cluster, node, pod

_TOLD = "no pods were read: whatever runs on these nodes is not in the answer"


@pytest.mark.parametrize(
    "notes",
    [
        lambda found: check(found).notes,
        lambda found: drain(found, ["a1"]).notes,
        lambda found: rebalance(found, time_limit=1).notes,
        lambda found: survive(found, ZONE).notes,
    ],
    ids=["check", "drain", "rebalance", "survive"],
)
def test_that_no_pods_were_read_is_said(notes: Callable[[Cluster], tuple[str, ...]]) -> None:
    """Of a file with nodes alone every workload survived and everything was balanced."""
    nodes = node("a1", zone="a"), node("b1", zone="b")
    assert _TOLD in notes(cluster(*nodes))
    assert _TOLD not in notes(cluster(*nodes, pod("web-1", on="a1")))
