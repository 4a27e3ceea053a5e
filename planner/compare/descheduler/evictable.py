"""Which pods DefaultEvictor lets Descheduler evict.

Only owners, protections and the policy decide.  Annotations against eviction are not asked, nor whether a
controller really makes a pod again.  The annotation that allows every eviction is not read by the planner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from models.objects.pod import Pod
from planner.eviction.budgets import Budgets
from planner.eviction.movable import has_local_storage
from planner.eviction.protections import Protections
from planner.problem.nodes import Mask
from planner.problem.problem import Problem


class Evictable:
    """For every pod whether DefaultEvictor and the plugin's own selectors let it go."""

    def __init__(self, problem: Problem, protections: Protections, budgets: Budgets) -> None:
        self._rules = protections
        self._budgets = budgets
        self._replicas = Counter(map(_owner, problem.pods)) if protections.min_replicas > 1 else Counter()
        times = (pod.status.start_time or pod.metadata.creation_timestamp for pod in problem.pods)
        self._now = max((time for time in times if time is not None), default=None)
        self.mask: Mask = np.array([self._goes(n, pod) for n, pod in enumerate(problem.pods)], np.bool_)

    def came_again(self, pods: Iterable[int]) -> None:
        """Pods were made again: they are too young for a policy that asks for an age."""
        if self._rules.min_age is not None:
            self.mask[[*pods]] = False

    def _goes(self, number: int, pod: Pod) -> bool:
        rules, owners = self._rules, {owner.kind for owner in pod.metadata.owner_references}
        return not (
            not owners
            or pod.is_mirror
            or pod.is_terminating
            or (rules.daemon_sets and "DaemonSet" in owners)
            or (rules.priority_from is not None and pod.priority >= rules.priority_from)
            or (rules.local_storage and has_local_storage(pod))
            or (rules.claims and any(volume.persistent_volume_claim for volume in pod.spec.volumes))
            or (rules.resource_claims and bool(pod.spec.resource_claims))
            or pod.namespace in rules.excluded
            or (bool(rules.included) and pod.namespace not in rules.included)
            or (rules.selector is not None and not rules.selector.matches(pod.metadata.labels))
            or (rules.without_budget and not self._budgets.of(number))
            or self._is_too_young(pod)
            or self._has_too_few(pod)
        )

    def _is_too_young(self, pod: Pod) -> bool:
        age, started = self._rules.min_age, pod.status.start_time
        return age is not None and (started is None or self._now is None or self._now - started < age)

    def _has_too_few(self, pod: Pod) -> bool:
        """Whether its one owner has fewer pods than the policy asks for."""
        alone = len(pod.metadata.owner_references) == 1
        return (
            self._rules.min_replicas > 1 and alone and self._replicas[_owner(pod)] < self._rules.min_replicas
        )


def _owner(pod: Pod) -> object:
    return pod.namespace, tuple((owner.kind, owner.name) for owner in pod.metadata.owner_references)
