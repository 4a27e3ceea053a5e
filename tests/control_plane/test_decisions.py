"""The planner's decisions beside those of the real kube-scheduler, pod by pod.

`python -m tests.control_plane` does the same in volume.
"""

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.builders import node, pod
from tests.control_plane.api import Api
from tests.control_plane.devices import with_claims
from tests.control_plane.generator import story
from tests.control_plane.replay import Judgement, Replay, wake
from tests.control_plane.sampling import _tail, probability
from tests.e2e.control_plane import ControlPlane


@pytest.fixture
def api(live: ControlPlane) -> Iterator[Api]:
    """A line to a fresh control plane."""
    with Api(live.kubeconfig) as line:
        wake(line)
        yield line


def test_the_program_decides_as_the_planner_says(api: Api) -> None:
    """Every pod on a node of the highest score, every pending one with the same line, the same victims."""
    seed = random.SystemRandom().randrange(1 << 32)
    for number in range(seed, seed + 3):
        replay = Replay(api, story(random.Random(number)))
        assert list(replay.differences()) == [], f"seed {number}"
        assert replay.decided == 40


def test_pods_with_claims_are_decided_as_the_planner_says(api: Api) -> None:
    """Allocated claims hold pods to nodes; one that takes no pod more keeps them pending, with that line."""
    seed = random.SystemRandom().randrange(1 << 32)
    for number in range(seed, seed + 3):
        draw = random.Random(number)
        replay = Replay(api, with_claims(draw, story(draw, most_nodes=12, pods=20)))
        assert list(replay.differences()) == [], f"seed {number}"
        assert replay.decided == 20


def test_the_comparison_notices_a_difference() -> None:
    """The test above can fail: another node, another line and other victims are reported."""
    full = [node("n1", cpu="1"), node("n2", cpu="4"), pod("r", "n1", cpu="1")]
    placed = Judgement([*full, pod("p", cpu="2")])
    assert list(placed.unlike_node("n2", "p")) == []
    assert list(placed.unlike_node("n1", "p"))
    assert list(placed.unlike_message("0/2 nodes are available: 2 Insufficient cpu.", "p"))
    pending = Judgement([*full, pod("p", cpu="9")])
    assert list(pending.unlike_message("0/2 nodes are available: 2 Insufficient cpu.", "p"))
    assert list(pending.unlike_node("n2", "p"))
    room = Judgement([node("n1", cpu="1"), pod("r", "n1", cpu="1"), pod("p", cpu="1", priority=9)])
    fate = pod("p", "n1")
    assert list(room.unlike_preemption(fate, {"default/r"}, "p")) == []
    assert list(room.unlike_preemption(fate, set(), "p"))


def test_chi_squared_is_as_in_the_tables() -> None:
    """The 5 per cent points of one to five degrees of freedom; equal samples cannot differ more."""
    for freedom, squares in enumerate((3.841, 5.991, 7.815, 9.488, 11.070), start=1):
        assert _tail(squares, freedom) == pytest.approx(0.05, abs=1e-4)
    even = Counter(a=500, b=500)
    assert probability(even, Counter(a=50, b=50)) == pytest.approx(1.0)
    assert probability(even, Counter(a=70, b=30)) < 0.001
