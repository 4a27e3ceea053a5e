"""How many combinations of changes are made before any is tried out."""

from dataclasses import replace

from planner import explain
from planner.proof.effort import STANDARD
from tests.builders import ZONE, cluster, node, pod, term

#: Little is tried out.
BRIEF = replace(STANDARD, explain=replace(STANDARD.explain, combinations=1, beginnings=4, fixes_wanted=1))


def test_twenty_rules_are_not_combined_in_a_million_ways() -> None:
    """What went wrong: two changes for each of 24 terms were 16 million candidates before one was tried."""
    apart = [term(ZONE, f"a{n}") for n in range(24)]
    there = [pod(f"p{n}", on="n1", app=f"a{n}", owner=f"ReplicaSet/r{n}") for n in range(24)]
    (item,) = explain(
        cluster(node("n1", "z"), *there, pod("new", app="new", apart=apart)), effort=BRIEF
    ).items
    assert any(len(fix.changes) == len(apart) for fix in item.fixes)
