"""Notes about pending pods of which the snapshot does not tell on which nodes they may be.

They stay pending, or come to other nodes, and whatever else is said is so as long as they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from models.objects.pod import Pod
from models.words import counted
from planner.problem.volume_claims import Claims, claims_of

if TYPE_CHECKING:
    from planner.problem.problem import Problem

_KINDS = ("persistentvolumeclaims", "persistentvolumes", "storageclasses")
_MOST_NAMED = 3


def undecided_notes(problem: Problem, pending: Sequence[Pod]) -> Iterator[str]:
    """At most one about volumes that may not be listed, and one about each resource that devices may give."""
    unseen = [kind for kind in _KINDS if problem.cluster.is_unseen(kind)]
    mounting = [pod for pod in pending if any(claims_of(pod))] if unseen else []
    claims = Claims(problem.cluster, problem.nodes, ()) if mounting else None
    if unknown := [pod.key for pod in mounting if claims is not None and claims.is_unknown(pod)]:
        what = " and ".join(unseen)
        yield f"{_are_left(len(unknown))} undecided, for {what} may not be listed ({_named(unknown)})"
    for row in problem.extended_rows:
        lacking = problem.allocatable[row] == 0
        numbers = (problem.pod_index[pod.key] for pod in pending) if lacking.any() else ()
        asking = [problem.pods[number].key for number in numbers if problem.template(number).amounts[row]]
        if asking:
            yield (
                f"nodes without {problem.resources[row]} leave it to a DeviceClass: whether they accept "
                f"{counted(len(asking), 'pending pod')} is undecided ({_named(asking)})"
            )


def _are_left(pods: int) -> str:
    return "1 pending pod is left" if pods == 1 else f"{pods} pending pods are left"


def _named(keys: Sequence[str]) -> str:
    return ", ".join([*keys[:_MOST_NAMED], *(["..."] if len(keys) > _MOST_NAMED else [])])
