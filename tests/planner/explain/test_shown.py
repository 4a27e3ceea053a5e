"""Which fixes are shown, and in which order."""

from collections import Counter
from itertools import permutations

from planner import explain
from planner.documents.explanation import Fix
from tests import seeds
from tests.planner.explain.asking import read
from tests.tiny import tiny
from tests.truth import wide


def kinds(fix: Fix) -> list[str]:
    """The action of each change; of several new nodes alike, which are listed one by one, it is one."""
    return sorted(action for action, _ in {(change.action, change.summary) for change in fix.changes})


def made(fix: Fix) -> frozenset[tuple[str, str]]:
    """The changes of a fix, in words."""
    return frozenset((change.target, change.summary) for change in fix.changes)


def test_few_fixes_are_shown_the_fewest_changes_first() -> None:
    """At most eight, two of a kind, by preemption after others; none contains all changes of another."""
    tried = list[Fix]()
    for seed in seeds.seeds_for(0.1, tried):
        found = read(wide.draw(seed, "solve").objects if seed % 2 else tiny(seed))
        for item in () if found is None else explain(found).items:
            for fixes in (item.fixes, item.risky):
                alike = Counter(tuple(kinds(fix)) for fix in fixes)
                assert len(fixes) <= 8, (seed, item.pod)
                assert max(alike.values(), default=0) <= 2, (seed, item.pod)
                order = [(bool(fix.victims), len(kinds(fix))) for fix in fixes]
                assert order == sorted(order), (seed, item.pod)
            told = [made(fix) for fix in (*item.fixes, *item.risky)]
            assert not any(one <= other for one, other in permutations(told, 2)), (seed, item.pod)
            tried += item.fixes
    assert tried
