"""Random tiny clusters: every fix needs each of its changes."""

from models import Cluster
from planner import explain
from planner.documents.explanation import Fix
from tests import seeds
from tests.planner.explain.applying import Object, applied, at_rest, landing
from tests.tiny import tiny


def superfluous(resting: list[Object], pod: str, fix: Fix) -> list[str]:
    """The changes without which the others give the pod a node all the same, and evict no other pod.

    Of several new nodes the fewest of those that were tried are told, not the fewest of all.
    """
    found = []
    for number, change in enumerate(fix.changes):
        fewer = fix.model_copy(update={"changes": fix.changes[:number] + fix.changes[number + 1 :]})
        decision = landing(applied(resting, pod, fewer), pod, preemption=True)
        if decision.node is not None and not decision.victims and "more nodes" not in change.summary:
            found.append(change.summary)
    return found


def test_every_change_of_a_fix_is_needed() -> None:
    """Left out one at a time, the pod finds no node; changes that make room for replacements are let be."""
    for seed in seeds.seeds_for(0.15):
        objects = tiny(seed)
        resting = at_rest(objects, preemption=True)
        for found in explain(Cluster.from_objects(objects)).items:
            for fix in found.fixes:
                if len(fix.changes) > 1 and not fix.replaced:
                    assert superfluous(resting, found.pod, fix) == [], (seed, found.pod)
