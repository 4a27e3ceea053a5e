"""The counts of pods that filters and scores read: what changes them affects where a replacement lands."""

from __future__ import annotations

from functools import cache

from planner.constraints.family import Family
from planner.moves.trial_cluster import TrialCluster
from planner.state.pod_counts import PodCounts


class Interference:
    """Finds for templates what their plugins read."""

    def __init__(self, trial: TrialCluster) -> None:
        self._trial = trial
        self.reads = cache(self._reads)

    def _reads(self, template: int) -> tuple[PodCounts, ...]:
        """The tallies that any plugin reads for a template."""
        profile = self._trial.framework(template).profile
        plugins: dict[int, Family] = {id(plugin): plugin for plugin in profile.filters}
        plugins |= {id(plugin): plugin for plugin, _ in profile.scores}
        asked = self._trial.problem.templates[template]
        return tuple(tally for plugin in plugins.values() for tally in plugin.reads(asked))
