"""Notes about pending pods of which the snapshot does not tell on which nodes they may be.

They stay pending, or come to other nodes, and whatever else is said is so as long as they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from models.objects.pod import Pod
from models.words import listed
from planner.problem.volume_claims import Claims, claims_of

if TYPE_CHECKING:
    from planner.problem.problem import Problem

_KINDS = ("persistentvolumeclaims", "persistentvolumes", "storageclasses")


def undecided_notes(problem: Problem, pending: Sequence[Pod]) -> Iterator[str]:
    """At most one about volumes that may not be listed, and one about each resource that devices may give.

    They count no pods: of a rollout the pending ones are those that may be made.
    """
    unseen = [kind for kind in _KINDS if problem.cluster.is_unseen(kind)]
    mounting = [pod for pod in pending if any(claims_of(pod))] if unseen else []
    claims = Claims(problem.cluster, problem.nodes, ()) if mounting else None
    if unknown := [pod.key for pod in mounting if claims is not None and claims.is_unknown(pod)]:
        what = " and ".join(unseen)
        yield f"for pending pods the nodes are undecided, as {what} may not be listed: {listed(unknown)}"
    for row in problem.extended_rows:
        lacking = problem.allocatable[row] == 0
        numbers = (problem.pod_index[pod.key] for pod in pending) if lacking.any() else ()
        asking = [problem.pods[number].key for number in numbers if problem.template(number).amounts[row]]
        if asking:
            without = f"nodes without {problem.resources[row]} leave it to a DeviceClass"
            yield f"{without}: whether they accept pending pods is undecided: {listed(asking)}"
