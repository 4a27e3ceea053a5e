"""Which moves affect each other by more than the room of a node: through counts that both change or read."""

from __future__ import annotations

from functools import cache

from planner.constraints.family import Family
from planner.moves.trial_cluster import TrialCluster
from planner.state.pod_counts import PodCounts


class Interference:
    """Decides for pairs of templates whether moves of their pods have to be judged together."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self.related = cache(self._related)
        self.reads = cache(self._tallies)

    def _related(self, one: int, other: int) -> bool:
        """Whether one's pods change counts that the other's plugins read, or both share a constraint."""
        ledger = self._trial.ledger
        shared = {d.number for d in ledger.of(one)} & {d.number for d in ledger.of(other)}
        return bool(
            shared
            or any(other in tally.members for tally in self.reads(one))
            or any(one in tally.members for tally in self.reads(other))
        )

    def _tallies(self, template: int) -> tuple[PodCounts, ...]:
        """The tallies that any plugin reads for a template."""
        profile = self._trial.framework(template).profile
        plugins: dict[int, Family] = {id(plugin): plugin for plugin in profile.filters}
        plugins |= {id(plugin): plugin for plugin, _ in profile.scores}
        asked = self._trial.problem.templates[template]
        return tuple(tally for plugin in plugins.values() for tally in plugin.reads(asked))
