"""Several scheduler profiles, filters and scores turned off: no plan breaks, and what is claimed is true.

Fresh configurations over fresh tiny clusters on every run.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from models import Cluster
from planner import check, compare, drain, explain, rebalance, simulate, survive
from tests import seeds
from tests.truth import plain
from tests.truth.claims import judge
from tests.truth.findings import CORRECT
from tests.truth.generator import draw
from tests.truth.manifests import Object
from tests.truth.scheduler_configs import configured
from tests.truth.templates import ZONE

#: Seconds for each question.
_SHARE = 0.1


def _rebalanced(cluster: Cluster) -> None:
    several: tuple[Object, ...] = ({}, {"soft": True}, {"evict_only": True}, {"cordon": True})
    for options in several:
        rebalance(cluster, time_limit=5.0, **options)


def _drained(cluster: Cluster) -> None:
    drain(cluster, [node.name for node in cluster.nodes[:2]])


def _survived(cluster: Cluster) -> None:
    if any(ZONE in node.metadata.labels for node in cluster.nodes):
        survive(cluster, ZONE)


@pytest.mark.parametrize("asked", [simulate, check, explain, compare, _survived, _drained, _rebalanced])
def test_every_command_has_an_answer(asked: Callable[[Cluster], object]) -> None:
    """No error of any kind, and with it every plan passes its own replay."""
    for number in seeds.seeds_for(_SHARE):
        case = (plain.draw if number % 2 else draw)(number, "rebalance" if asked is _rebalanced else "solve")
        asked(Cluster.from_objects(configured(case.objects, number)))


@pytest.mark.parametrize("command", ["solve", "solve --allow-moves"])
def test_claims_about_batches_of_several_profiles(command: str) -> None:
    """No false proof, no bound that the truth beats, and every plan keeps the rules of each pod's profile."""
    for number in seeds.seeds_for(_SHARE):
        case = draw(number, command)
        case = replace(case, objects=_searchable(configured(case.objects, number)), options={})
        wrong = [finding for finding in judge(case).findings if finding.fault in CORRECT]
        assert not wrong, f"seed {number}: {wrong}"


def _searchable(objects: list[Object]) -> list[Object]:
    """The same without what the search does not know: default constraints, and scores that are off.

    Nor does it know that NodeAffinity, off at `filter` alone, keeps a pod to the nodes that it names.
    """
    for item in objects:
        for profile in item.get("profiles", ()):
            arguments, plugins = profile["pluginConfig"], profile["plugins"]
            profile["pluginConfig"] = [found for found in arguments if found["name"] != "PodTopologySpread"]
            off = plugins.get("filter") or plugins.get("multiPoint")
            if off:
                off = {"disabled": [one for one in off["disabled"] if one["name"] != "NodeAffinity"]}
            profile["plugins"] = {"filter": off} if off else {}
    return objects
