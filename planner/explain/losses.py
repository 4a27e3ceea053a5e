"""What is lost when pods are deleted to make room: their work, or the pods themselves.

The rules are those by which moves leave pods alone.  What comes back as it was, elsewhere, is no loss.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from planner.eviction.controllers import Controllers
from planner.eviction.jobs import is_of_job
from planner.eviction.movable import why_not
from planner.problem.problem import Problem


class DeletionLosses:
    """For every pod what its deletion destroys, in words."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._controllers = Controllers(problem, jobs=True)
        #: What is lost with one pod; empty where its controller makes another one like it.
        self.of = cache(self._of)

    def why_not(self, pods: Iterable[int]) -> str:
        """The first reason not to delete these pods; empty where nothing is lost."""
        return next(filter(None, map(self.of, pods)), "")

    def comes_back(self, pod: int) -> bool:
        """Whether a controller makes another pod when this one is deleted."""
        found = self._problem.pods[pod]
        lasting = not is_of_job(found.metadata.controller) or self._lasts(pod)
        return lasting and not found.is_terminating and self._controllers.is_made_again(pod)

    def _of(self, pod: int) -> str:
        found = self._problem.pods[pod]
        owner = found.metadata.controller
        if owner is None:
            return f"nothing makes {found.key} again"
        if is_of_job(owner) and not self._lasts(pod):
            return f"the Job of {found.key} may fail, and what the pod has done is lost"
        if why := why_not(found):
            return f"{found.key} should stay: {why}"
        if why := self._controllers.why_not(pod) or self._problem.endings.why_not_moved(pod):
            return f"{found.key} is a pod {why}"
        if is_of_job(owner):
            return f"to the Job of {found.key} it is a failure, and what the pod has done is lost"
        return ""

    def _lasts(self, pod: int) -> bool:
        """Whether a pod's Job bears one more failure.

        To its podFailurePolicy a deletion is no disruption, so what that ignores may count.
        """
        job = self._controllers.job_of(pod)
        return job is not None and self._controllers.jobs.impact(job, [self._problem.pods[pod]]).outcome == (
            "LosesRetries"
        )
