"""Plans where earlier moves have pinned pods: what is proved holds for what comes in their place."""

import pytest

from tests import seeds
from tests.truth import old_pins, plain, wide
from tests.truth.findings import CORRECT
from tests.truth.generator import draw

_COMMANDS = ("rebalance", "solve --allow-moves", "consolidate")
#: Seconds for each command.
_SHARE = 0.1


@pytest.mark.parametrize("command", [*_COMMANDS, "scale-down"])
def test_no_claim_is_refuted(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search takes pinned pods for what their templates make; where a webhook is possible, they stay."""
    drawing = [wide.draw] if command in wide.MORE_COMMANDS else [draw, wide.draw, plain.draw]
    pinned: list[int] = []
    for seed in seeds.seeds_for(_SHARE, pinned):
        case = drawing[seed % len(drawing)](seed, command)
        with monkeypatch.context() as patch:
            found, pins = old_pins.judge_pinned(case, patch, 1.5)
        wrong = [finding for finding in found.findings if finding.fault in CORRECT]
        assert not wrong, f"seed {seed}, {command}: {wrong}"
        pinned += [pins] if pins else []


def test_pinned_pods_are_read_as_if_they_were_not() -> None:
    """So every command answers as without the pins, those without a judge, too."""
    pinned: list[int] = []
    for seed in seeds.seeds_for(0.1, pinned):
        found, loose, pins = old_pins.with_and_without(wide.draw(seed, "rebalance"))
        assert (found.pods, found.notes) == (loose.pods, loose.notes), seed
        pinned += [pins] if pins else []
    assert pinned


@pytest.mark.long
@pytest.mark.parametrize("command", _COMMANDS)
def test_a_planner_that_keeps_pins_is_found_out(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it calls the best is not, as the next pods may go to more nodes."""
    monkeypatch.setattr("models.reading.assemble.without_pins", lambda found: found)
    monkeypatch.setattr(
        "planner.eviction.replacements.ReplacementAdmission.has_other_affinity", lambda *_: False
    )
    faults: set[str] = set()
    for seed in range(200):
        with monkeypatch.context() as patch:
            found, _ = old_pins.judge_pinned(wide.draw(seed, command), patch, 3.0)
        faults |= {*found.faults}
        if "false" in faults:
            return
    raise AssertionError(faults)
