"""The scenarios of a sweep: all combinations of what is varied, and the flags that make them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.fleet.variations import scenarios, variations
from tests.builders import ZONE, cluster, node


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        (["lose=zone", "drain=each"], ["--drain", "--remove-node"]),
        (["lose=zone", "scale=deploy/web=1", "add-nodes=a1=2"], ["--scale", "--add-nodes", "--remove-node"]),
        (["lose=zone", "drain=each", "kubernetes=1.36"], ["--drain", "--remove-node", "--kubernetes"]),
        (["drain=each", "scale=deploy/web=1", "lose=zone"], ["--drain", "--scale", "--remove-node"]),
        (["lose=zone", "scale=deploy/web=1"], ["--remove-node", "--scale"]),
    ],
)
def test_a_domain_is_lost_after_its_nodes_are_drained(specs: list[str], names: list[str]) -> None:
    """What went wrong: with the zone varied first, nodes of the lost zone could not be drained or copied."""
    asked = [one if one.values else replace(one, values=("a1",)) for one in variations(specs)]
    (scenario,) = scenarios(asked)
    assert [word for word in scenario.flags if word.startswith("--")] == names
    assert [what.partition("=")[0] for what, _ in scenario.values] == [one.partition("=")[0] for one in specs]


def test_a_domain_that_is_lost_with_another_one_is_lost_already() -> None:
    """What went wrong: a rack of a lost zone could not be removed once more, and such rows had no answer."""
    racks = {"n0": ("a", "r0"), "n1": ("a", "r1"), "n2": ("b", "r1"), "n3": ("b", "r2")}
    nodes = [node(name, zone, labels={"rack": rack}) for name, (zone, rack) in racks.items()]
    found = cluster(*nodes)
    names = [(f"{ZONE}={zone}", f"rack={rack}") for zone in "ab" for rack in ("r0", "r1", "r2")]
    lost = [("--remove-node", names[place][0]) for place in range(6)]
    also = [("--remove-node", names[place][1]) if place not in (0, 5) else () for place in range(6)]
    asked = [one.of(found) for one in variations([f"lose={ZONE}", "lose=rack"])]
    assert [one.flags for one in scenarios(asked)] == [
        (*one, *other) for one, other in zip(lost, also, strict=True)
    ]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("scale=deploy/web.default=2,01,1..2,3,1", ["2", "1", "3"]),
        ("add-nodes=a1=1,1..2", ["1", "2"]),
        ("kubernetes=1.35,1.34..1.35,1.35", ["1.35", "1.34"]),
    ],
)
def test_a_value_is_asked_about_once(spec: str, told: list[str]) -> None:
    """What went wrong: `1,1..2` was three scenarios, two of them the same."""
    assert [found.values[0][1] for found in scenarios(variations([spec]))] == told
