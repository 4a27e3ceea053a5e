"""NodePorts: two pods on a node cannot take the same host port.

Kubernetes 1.34: host ports clash when protocol and port are equal and the host IPs are equal or
one of them is 0.0.0.0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from planner.constraints.family import Filter, Rejects, Verdict, Violation, where_accepted
from planner.problem.nodes import ALL, Ints, Where
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.pod_counts import PodCounts
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

_REASON = "node(s) didn't have free ports for the requested pod ports"
_ANY = "0.0.0.0"

HostPort = tuple[str, str, int]


def clash(one: HostPort, other: HostPort) -> bool:
    """Whether two host ports (IP, protocol, port) exclude each other on a node."""
    same_ip = one[0] == other[0] or _ANY in (one[0], other[0])
    return same_ip and one[1:] == other[1:]


class NodePorts(Filter):
    """Refuses nodes where a wanted host port is taken."""

    name = "NodePorts"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._wanted: list[tuple[HostPort, ...]] = [
            () if template.plain else tuple(dict.fromkeys(template.pod.spec.host_ports()))
            for template in problem.templates
        ]
        self._users: dict[HostPort, dict[int, int]] = defaultdict(dict)
        for number, ports in enumerate(self._wanted):
            for port in ports:
                self._users[port][number] = 1
        self._clashing: dict[int, list[PodCounts]] = {}

    def concerns(self, template: Template) -> bool:
        return bool(self._wanted[template.index])

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        taken = np.zeros(self.nodes.size, np.bool_)[where]
        for tally in self._tallies(template):
            taken |= tally.counts[where] > 0
        return taken.astype(np.int64)

    def stamp(self, template: Template) -> Hashable:
        return tuple(tally.version for tally in self._tallies(template))

    def _tallies(self, template: Template) -> list[PodCounts]:
        """The tallies of all ports that clash with one the template wants."""
        found = self._clashing.get(template.index)
        if found is None:
            ports = [port for port in self._users if self._clashes(template.index, port)]
            found = self._clashing[template.index] = [self._tally(port) for port in ports]
        return found

    def _clashes(self, number: int, port: HostPort) -> bool:
        return any(clash(port, own) for own in self._wanted[number])

    def _tally(self, port: HostPort) -> PodCounts:
        return self.state.tally((self.name, port), lambda: self._users[port])

    def verdict(self, template: Template, code: int) -> Verdict:
        return Verdict((_REASON,), unresolvable=False)

    def wants_pods(self, template: Template) -> bool:
        return False

    def is_local(self, template: Template) -> bool:
        return True

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        return where_accepted(self.reject(template), 1)

    def encode(self, x: Counts) -> None:
        """Of templates whose ports clash, at most one pod is on a node to which one comes.

        Pods that run beside each other all the same may stay, and keep others away.
        """
        free = np.ones(self.nodes.size, np.int64)
        users = [template for template in x.judged() if self._wanted[template.index]]
        for position, template in enumerate(users):
            for other in users[position:]:
                if any(self._clashes(template.index, port) for port in self._wanted[other.index]):
                    pair = {template.index: 1, other.index: 1}
                    x.limit((self.name, *pair), pair, free)

    def violations(self) -> Iterator[Violation]:
        """Pods that share a node and a host port: each pod after the first that took it."""
        users = self.state.placed(number for number, ports in enumerate(self._wanted) if ports)
        for node in sorted({int(self.state.node_of[pod]) for pod in users}):
            taken: list[HostPort] = []
            for pod in self.state.pods_on[node]:
                ports = self._wanted[self.problem.template_of[pod]]
                if any(clash(port, other) for port in ports for other in taken):
                    key, name = self.problem.pods[pod].key, self.nodes.names[node]
                    yield Violation(self.name, key, name, f"{key} shares a host port with a pod on {name}")
                taken.extend(ports)
