"""The nodes that are cordoned in a wave, so that replacements land where they are planned to.

They are those that could take a replacement at any time of the wave, its target aside: evaluated with its old
pod still there and without it, all other pods of the wave being away.  Of what could change a node's answer
meanwhile only room does, and there is never more of it than then.  All replacements of a wave that need
cordons name the same nodes, so that none is opened while another replacement is under way.  One that is alone
in its wave needs none where scores, or filters, leave it no other node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from planner.consolidate.certain_moves import SafeMove
from planner.landing.landing import NO_PINS, Landing
from planner.landing.single_landings import SingleLandings
from planner.moves.trial_cluster import EvictionTimeline, Phase, TrialCluster


def with_cordons(trial: TrialCluster, waves: Sequence[Sequence[SafeMove]]) -> list[list[Landing]]:
    """The landings of all waves with their cordons; where no node needs one, filters are enough."""
    if not any(one.others_cordoned for wave in waves for one in wave):
        return [[one.landing for one in wave] for wave in waves]
    pods = [one.landing.move.pod for wave in waves for one in wave]
    timeline = EvictionTimeline(trial.problem, pods, trial.part)
    alone = SingleLandings(timeline, NO_PINS, while_away=False)
    return [_landings(timeline, alone, wave) for wave in waves]


def _landings(timeline: EvictionTimeline, alone: SingleLandings, wave: Sequence[SafeMove]) -> list[Landing]:
    """The landings of a wave; the timeline has it landed then."""
    one = wave[0]
    landing = alone.of(one.landing.move) if len(wave) == 1 and one.others_cordoned else None
    if landing is None:
        return _cordoned(timeline, alone, wave)
    timeline.put(landing.move, Phase.LANDED)
    timeline.trial.state.forget_history()
    return [landing]


def _cordoned(timeline: EvictionTimeline, alone: SingleLandings, wave: Sequence[SafeMove]) -> list[Landing]:
    moves = [one.landing.move for one in wave]
    timeline.put_all(moves, Phase.GONE)
    wrong = [alone.others_open(one.landing.move) if one.others_cordoned else None for one in wave]
    timeline.put_all(moves, Phase.LANDED)
    timeline.trial.state.forget_history()
    every = np.flatnonzero(np.any([nodes for nodes in wrong if nodes is not None], axis=0))
    cordon: tuple[int, ...] = tuple(every.tolist())
    return [
        one.landing if nodes is None else _landing(one.landing, cordon if nodes.any() else ())
        for one, nodes in zip(wave, wrong, strict=True)
    ]


def _landing(landing: Landing, cordon: tuple[int, ...]) -> Landing:
    return replace(landing, cordon=cordon) if cordon else replace(landing, kind="filters")
