"""A node in a zone that there is not yet, for pods that anti-affinities keep out of all zones."""

import pytest

from tests.builders import ZONE, node, pod, term
from tests.planner.explain.asking import only, summaries


@pytest.mark.parametrize(("zones", "offered"), [("ab", "zone-3"), (("a", "zone-3"), "zone-4")])
@pytest.mark.parametrize("own", [True, False], ids=["of-its-own", "of-the-others"])
def test_an_anti_affinity_in_all_zones_asks_for_a_new_one(zones: str, offered: str, own: bool) -> None:
    """It was said that no change helps; a name that a zone has already is no new zone."""
    nodes = [node(f"n{number}", zone=zone) for number, zone in enumerate(zones)]
    apart = [term(ZONE, "web")]
    running = [
        pod(f"web-{one['metadata']['name']}", one["metadata"]["name"], app="web", apart=apart)
        for one in nodes
    ]
    found = only(*nodes, *running, pod("new", app="web", apart=apart if own else []))
    wanted = [f"one more node like n{number}, with label {ZONE}={offered}" for number in (0, 1)]
    assert [text for text in summaries(found) if text.startswith("one more node")] == wanted


def test_no_new_zone_where_one_is_open() -> None:
    """The zone is open to the pod and full: a node like that is enough."""
    nodes = [node(f"{zone}1", zone=zone, cpu="1") for zone in "ab"]
    apart = [term(ZONE, "web")]
    running = [pod("web-1", "a1", app="web", apart=apart), pod("full", "b1", cpu="1")]
    found = only(*nodes, *running, pod("new", app="web", apart=apart, cpu="1"))
    more = [text for text in summaries(found) if text.startswith("one more node")]
    assert more == ["one more node like b1"]
