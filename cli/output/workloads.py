"""Whose pod a pod is, in the words of the documents."""

from functools import cached_property

from models import Cluster
from planner.audit.spread_counts import Owners
from planner.problem.problem import Problem


class WorkloadNames:
    """The workload of every pod of a cluster: `Deployment/web`, or `Pod/name` where no controller owns it.

    Bare pods that are alike in everything share the name of the first of them.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def of(self, pod: str) -> str:
        """The workload of the pod with this `namespace/name`."""
        return self._names.get(pod, "")

    @cached_property
    def _names(self) -> dict[str, str]:
        problem, owners = Problem(self._cluster), Owners(self._cluster)
        names = [owners.of(template.pod) for template in problem.templates]
        return {
            pod.key: names[template]
            for pod, template in zip(problem.pods, problem.template_of.tolist(), strict=True)
        }
