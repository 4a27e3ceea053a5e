"""DefaultPreemption the straightforward way: every node tried through the state, nothing remembered.

Written from the rules of Kubernetes, without a look at how the planner shortens them; shares with it
only the filters, the promises to nominated pods, and what a budget allows.
"""

from collections import Counter
from datetime import UTC, datetime

import numpy as np

from planner.eviction.budgets import allowance, draws_on
from planner.scheduler.framework import Diagnosis, Framework, Plan
from planner.scheduler.nominations import Nominations

END = datetime.max.replace(tzinfo=UTC)


class Oracle:
    """Where evictions would make room for a pod, by trying each node."""

    def __init__(self, framework: Framework, nominations: Nominations) -> None:
        self.framework = framework
        self.nominations = nominations
        self.state = framework.state
        self.pods = framework.problem.pods
        self.budgets = framework.problem.cluster.pod_disruption_budgets

    def attempt(
        self, plan: Plan, pod: int, diagnosis: Diagnosis, enough: int
    ) -> tuple[int | None, set[int], str]:
        """The node, the victims that are not going already, and the message when there is no node."""
        helped = [
            node
            for node, number in enumerate(diagnosis.first.tolist())
            if number >= 0 and not diagnosis.rejections[number].verdict.unresolvable
        ]
        found: list[tuple[tuple[float, ...], int, list[int]]] = []
        tail: Counter[str] = Counter({"Preemption is not helpful for scheduling": diagnosis.nodes})
        for node in helped:
            tried = self.on(plan, pod, node)
            if isinstance(tried, list):
                tail["Preemption is not helpful for scheduling"] -= 1
                tail.update(tried)
                continue
            found.append(tried)
            if len(found) >= min(enough, len(helped)) and any(cost[0] == 0 for cost, _, _ in found):
                break
        if not found:
            lines = ", ".join(sorted(f"{times} {text}" for text, times in tail.items() if times))
            detail = f": {lines}" if lines else ""
            return None, set(), f"preemption: 0/{diagnosis.nodes} nodes are available{detail}."
        _, node, victims = min(found)
        return node, {victim for victim in victims if not self.pods[victim].is_terminating}, ""

    def on(self, plan: Plan, pod: int, node: int) -> tuple[tuple[float, ...], int, list[int]] | list[str]:
        """The cost, the node and its victims; or why evictions there do not help."""
        lower = [p for p in self.state.pods_on[node] if self.pods[p].priority < self.pods[pod].priority]
        lower.sort(key=self.importance)
        if not lower:
            return ["No preemption victims found for incoming pod"]
        mark = self.state.mark()
        for other in lower:
            self.state.unbind(other)
        refused = self.nominations.rejection(self.framework, plan, pod, node)
        if refused is not None:
            self.state.rollback(mark)
            return list(refused.verdict.reasons)
        breaking = self.breaking(lower)
        out: list[int] = []
        for other in [*breaking, *(p for p in lower if p not in breaking)]:
            before = self.state.mark()
            self.state.bind(other, node)
            if self.nominations.rejection(self.framework, plan, pod, node) is not None:
                self.state.rollback(before)
                out.append(other)
        self.state.rollback(mark)
        out.sort(key=self.importance)
        return self.cost(out, sum(p in breaking for p in out)), node, out

    def importance(self, pod: int) -> tuple[float, datetime]:
        """The more important sorts first."""
        return -self.pods[pod].priority, self.pods[pod].status.start_time or END

    def breaking(self, lower: list[int]) -> list[int]:
        """Whose eviction would break a budget, one after the other."""
        left = [allowance(budget) for budget in self.budgets]
        found = []
        for pod in lower:
            mine = [n for n, budget in enumerate(self.budgets) if draws_on(budget, self.pods[pod])]
            for number in mine:
                left[number] -= 1
            if any(left[number] < 0 for number in mine):
                found.append(pod)
        return found

    def cost(self, victims: list[int], broken: int) -> tuple[float, ...]:
        """kube's criteria in their order, then how many are still to be evicted."""
        highest = max(self.pods[v].priority for v in victims)
        oldest = min(self.importance(v)[1] for v in victims if self.pods[v].priority == highest)
        return (
            broken,
            highest,
            sum(self.pods[v].priority + 2**31 for v in victims),
            len(victims),
            -oldest.timestamp(),
            sum(not self.pods[v].is_terminating for v in victims),
        )


def fingerprint(framework: Framework) -> tuple[bytes, bytes, list[list[int]]]:
    """All of a state that a trial could leave changed."""
    state = framework.state
    return np.asarray(state.used).tobytes(), state.node_of.tobytes(), [list(on) for on in state.pods_on]
