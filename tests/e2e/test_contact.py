"""Random stories of what contact breaks: Jobs, preemption, pods that take their time, controllers that wait.

SEED and RUNS in the environment say which stories, and how many; without them they are the same every
time, so that a change is judged by itself.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.contact_checks import Findings
from tests.e2e.contact_known import stories
from tests.e2e.contact_play import UnplayableError, play
from tests.e2e.contact_stories import draw
from tests.e2e.control_plane import ControlPlane

RUNS = int(os.environ.get("RUNS", "4"))
SEED = int(os.environ.get("SEED", "928697"))
#: Clusters whose pods do not all find room are drawn again.
_ATTEMPTS = 5


@pytest.mark.parametrize("run", range(RUNS))
def test_it_ends_as_said(start: Callable[..., ControlPlane], tmp_path: Path, run: int) -> None:
    """No Job fails, nothing is preempted, waves wait for each other, and the end is the document's."""
    for seed in range(SEED + run, SEED + run + _ATTEMPTS * RUNS, RUNS):
        story = draw(seed)
        print(f"SEED={seed} RUNS=1: {' '.join(story.command)}")
        try:
            played = play(start(), story, tmp_path)
        except UnplayableError as error:
            print(f"another one: {error}")
            continue
        assert Findings(played).lines() == [], f"SEED={seed} RUNS=1, see {tmp_path}"
        return
    raise AssertionError("no story whose pods find room")


@pytest.mark.parametrize("name", stories())
def test_what_has_gone_wrong(live: ControlPlane, tmp_path: Path, name: str) -> None:
    """The same of stories made by hand, one for each thing that went wrong before."""
    played = play(live, stories()[name], tmp_path)
    assert Findings(played).lines() == []
