"""Which rules keep a pod away from which nodes, whichever is asked first, and how each could be answered.

kube-scheduler names the first refusal of every node. A change helps on a node only when it answers
all refusals there, so here every filter is asked about every node, and those with several rules are
taken apart: each spread constraint and each kind of affinity term is a blocker of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from planner.constraints import Filter
from planner.eviction.movable import is_tied
from planner.explain.at_rest import AtRest
from planner.explain.change import ClusterChange
from planner.problem.nodes import Ints, Mask
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.scheduler.framework import Framework, Plan
from planner.state.state import State

Proposal = Callable[[int], Iterator[ClusterChange]]


@dataclass(frozen=True, slots=True)
class Blocker:
    """A rule that refuses some nodes; `ease` is least where the least is missing."""

    plugin: str
    mask: Mask
    propose: Proposal
    ease: Ints | None = None


@dataclass(frozen=True, slots=True)
class PendingCase:
    """A pending pod in a cluster at rest, with all that is asked about it."""

    static: AtRest
    pod: int
    framework: Framework
    plan: Plan

    @classmethod
    def of(cls, static: AtRest, pod: int) -> PendingCase:
        """The case of one pod."""
        framework = static.scheduler.framework_of(pod)
        return cls(static, pod, framework, framework.plan(static.problem.template(pod)))

    @property
    def problem(self) -> Problem:
        return self.static.problem

    @property
    def state(self) -> State:
        """Where the pods are."""
        return self.static.scheduler.state

    @property
    def template(self) -> Template:
        return self.problem.template(self.pod)

    @property
    def admitted_selector(self) -> set[str]:
        """The keys of nodeSelector that the pod's RuntimeClass gives it, whatever its manifest says."""
        name = self.problem.pods[self.pod].spec.runtime_class_name
        classes = [found for found in self.problem.cluster.runtime_classes if found.name == name]
        return {key for found in classes if found.scheduling for key in found.scheduling.node_selector}

    def pods_on(self, nodes: Mask, members: Callable[[int], bool]) -> list[int]:
        """The pods on some nodes whose template is one of those meant, the one to give up first first."""
        state, problem = self.state, self.problem
        placed = np.flatnonzero(state.node_of >= 0)
        wanted = np.array([members(number) for number in range(len(problem.templates))], np.bool_)
        here = placed[nodes[state.node_of[placed]] & wanted[problem.template_of[placed]]]
        return sorted(here.tolist(), key=self.worth)

    def worth(self, pod: int) -> tuple[bool, bool, int, str]:
        """Sorts pods by how dear they are: lost ones after others, those of their node last."""
        found = self.problem.pods[pod]
        return is_tied(found), bool(self.static.losses.of(pod)), found.priority, found.key


def refusing(
    case: PendingCase, plugin: Filter, propose: Proposal, ease: Ints | None = None
) -> Iterator[Blocker]:
    """The nodes that a filter refuses, where it looks at such pods at all."""
    if plugin.concerns(case.template):
        yield Blocker(plugin.name, np.asarray(plugin.reject(case.template) != 0), propose, ease)


def nothing(_: int) -> Iterator[ClusterChange]:
    """No proposal, for a rule to which no change is known."""
    return iter(())
