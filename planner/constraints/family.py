"""What every constraint family answers, and the short form for rules that look at one node alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import ALL, Codes, Feasible, Ints, Mask, Where
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.pod_counts import DomainCounts, PodCounts
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

#: For every node asked about: 0 where the pod fits, else a number that `verdict` explains.
Rejects = NDArray[np.int64] | NDArray[np.int8]

MAX_SCORE = 100

#: More pods than any node takes.
PLENTY = 1 << 32


class Verdict(NamedTuple):
    """Why a node refused a pod, in the scheduler's words; unresolvable when evictions cannot help."""

    reasons: tuple[str, ...]
    unresolvable: bool


class Violation(NamedTuple):
    """Something a state should not contain: which family says so, what about, and in which words."""

    plugin: str
    pod: str
    node: str
    message: str


class Family(ABC):
    """One kube-scheduler plugin over one state."""

    name: ClassVar[str]

    def __init__(self, problem: Problem, state: State) -> None:
        self.problem = problem
        self.nodes = problem.nodes
        self.state = state

    def reads(self, template: Template) -> Iterator[PodCounts]:
        """The tallies over many nodes by which the plugin judges a template."""
        return iter(())


class Filter(Family):
    """A plugin that refuses nodes."""

    #: Whether the answer never changes while pods come and go.
    static: ClassVar[bool] = False

    #: Whether the rule compares domains, so that what it says of one depends on what the others hold.
    compares: ClassVar[bool] = False

    def concerns(self, template: Template) -> bool:
        """Whether the rule can refuse this template at all."""
        return True

    def refusal(self, template: Template) -> str | None:
        """Why the pod cannot go anywhere, when the plugin gives up before looking at nodes."""
        return None

    @abstractmethod
    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        """For every node asked about, 0 or what `verdict` explains."""

    def admits(self, template: Template, node: int) -> bool:
        """Whether one node is not refused."""
        return bool(self.reject(template, np.array([node]))[0] == 0)

    def accepted(self, template: Template, nodes: Codes) -> int:
        """How many pods of a template, each going to the next of these nodes, it is sure to accept in turn.

        Each counts the pods before it; 0 where only asking about one after the other can tell.
        """
        return 0

    def accepts_again(self, template: Template, pods: Codes) -> bool:
        """Whether it would accept each of some placed pods of a template where it is, beside all others."""
        return not self.concerns(template) or all(self._readmits(template, pod) for pod in pods.tolist())

    def _readmits(self, template: Template, pod: int) -> bool:
        mark, node = self.state.mark(), int(self.state.node_of[pod])
        self.state.unbind(pod)
        accepted = self.admits(template, node)
        self.state.rollback(mark)
        return accepted

    def stamp(self, template: Template) -> Hashable:
        """Equal stamps mean that `reject`, just asked about all nodes, gave the same answer."""
        return self.state.version

    def wants(self, template: Template) -> Sequence[tuple[int, int]] | None:
        """Rows of the resource table and amounts, if it is enough for the rule that so much is free."""
        return None

    def named_nodes(self, template: Template) -> frozenset[str] | None:
        """The only nodes that the template's own spec can mean, if it names its nodes; else None."""
        return None

    def never(self, template: Template) -> Mask | None:
        """The nodes that are refused wherever the other pods are, if any are known."""
        return None

    def undecided(self, template: Template) -> Mask | None:
        """The nodes of which the snapshot does not tell whether they are refused, if any."""
        return None

    def narrowed(self, template: Template, nodes: Mask) -> Mask | None:
        """The nodes refused to a pod that may run on these alone; None: no more than to any other."""
        return None

    def affinity_peers(self, template: Template) -> Iterable[DomainCounts]:
        """Counts of pods of which each domain must hold some before a pod of the template comes there."""
        return ()

    def wants_pods(self, template: Template) -> bool:
        """Whether pods that are there may be why a node accepts one: it might not once some have left."""
        return True

    def watches(self, template: Template) -> Collection[int] | None:
        """The templates whose pods on other nodes can change the answer about a node; None for all.

        That the pods on the node itself can is taken for granted.
        """
        return () if self.is_local(template) else None

    def is_local(self, template: Template) -> bool:
        """Whether the pods on a node alone decide about it."""
        return False

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        """For every node, a number of pods of the template that it can never take more than.

        That is beside what is there now, whatever else comes of the wanted pods (how many of each
        template), in whatever order; None when the rule sets no limit.  Claims may be bound to anything by
        then that pods could have bound them to: a family that reads `state.claims` answers for all of it.
        """
        return None

    def takes(self, template: Template) -> Ints | None:
        """How many more pods of a template each node takes, whatever others take; None: no such number."""
        return None

    def tells_apart(self, template: Template) -> Iterable[NDArray[Any]]:
        """What the rule looks at in nodes: a value for every node; nodes equal in all are alike to it."""
        return ()

    def encode(self, x: Counts) -> None:
        """Encode in the solver's terms what the rule forbids among the pods of a batch.

        What the rule says about one node and one template alone, `most` or a static rule has said
        before.
        """

    def encode_running(self, x: Counts, running: Collection[int]) -> None:
        """Encode that pods of a batch break nothing that holds for running pods of some templates.

        For what pods that come are judged by themselves nothing is to be done.
        """

    @abstractmethod
    def verdict(self, template: Template, code: int) -> Verdict:
        """What a number that `reject` gave means."""


class NodeFilter(Filter):
    """A rule about one node and one pod alone: state the predicate, the rest follows."""

    static = True

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._known: ArrayCache[Rejects] = ArrayCache(self.nodes.size)

    @abstractmethod
    def part(self, template: Template) -> Hashable:
        """The part of the template that the rule looks at; templates that share it share the answer."""

    @abstractmethod
    def judge(self, template: Template) -> Rejects:
        """The rule for every node."""

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        return self._known.get(self.part(template), lambda: self.judge(template))[where]


def where_accepted(rejects: Rejects, pods: int = PLENTY) -> Ints:
    """So many pods on every node that was not refused, none elsewhere."""
    return np.where(rejects == 0, pods, 0)


class Score(Family):
    """A plugin that prefers nodes."""

    def prefers(self, template: Template) -> bool:
        """Whether the plugin can ever have a preference among nodes for this template."""
        return True

    def is_of_node(self, template: Template) -> bool:
        """Whether the score of a node depends on it and its pods alone, not on which others are feasible."""
        return False

    @abstractmethod
    def score(self, template: Template, feasible: Feasible) -> Ints | int | None:
        """0 to 100 for every node, one number for all, or None to skip; only feasible nodes mean anything."""


def normalized(raw: Ints, feasible: Feasible, *, reverse: bool = False) -> Ints | int:
    """Scale raw scores to 0..100 by the largest among the feasible nodes, as kube's default does."""
    top = feasible.largest(raw)
    if top == 0:
        return MAX_SCORE if reverse else 0
    scaled = raw * MAX_SCORE // top
    return MAX_SCORE - scaled if reverse else scaled
