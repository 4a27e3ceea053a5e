"""Moves that have no turn: how many, why, and what would give them one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from planner.documents.move_plan import MovePlan
from planner.eviction.protections import SOFT
from planner.proof import effort
from planner.proof.meter import Meter
from planner.rebalance.deals import Dealt
from planner.rebalance.landing import Landing
from planner.rebalance.phases import Phase, Stage
from planner.rebalance.single_file import SingleFile
from planner.rebalance.steerable import Steering
from planner.rebalance.trial_cluster import Move, TrialCluster
from planner.rebalance.waves import WaveRules


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Speaks of the moves that a deal leaves."""

    board: TrialCluster
    dealt: Dealt
    rules: WaveRules
    dealing: Meter

    def why(self, *, evict_only: bool) -> Iterator[str]:
        """How many moves have no turn, and why; apart those that would have to be pinned, and cannot be."""
        left, total = len(self.dealt.left), len(self.dealt.left) + sum(map(len, self.dealt.waves))
        if not left:
            return
        if self.dealing.cut is not None:
            yield f"{_are(left, total)} left out: the time was up before they had a turn"
            return
        if evict_only:
            yield f"{_are(left, total)} left out: their pods would not land there by themselves"
            return
        turns = [*dropwhile(lambda found: not self._is_impossible(found), self._turns_with_pins())]
        held = [landing.move for landing in turns if self._is_impossible(landing)]
        workloads = Counter(self.board.workloads[self.board.template(move.pod)] for move in held)
        for workload, number in sorted(workloads.items()):
            yield (
                f"{_are(number, total)} left out: replacements of {workload} would have to be pinned, "
                "which takes a ReplicaSet or ReplicationController if nothing is to be rolled out"
            )
        if len(turns) > len(held):
            yield f"{_are(len(turns) - len(held), total)} left out: they come after those"
        if left > len(turns):
            yield f"{_are(left - len(turns), total)} left out: no safe order was found for them"

    def with_cordons(self, plan: Callable[[], MovePlan], excess: tuple[int, int]) -> Iterator[str]:
        """What a plan leaves that may cordon nodes: on small clusters tried, else only the flag is told."""
        left = {self.board.template(move.pod) for move in self._unpinnable}
        if self.dealing.cut is not None or not Steering.of(self.board, left, cordon=True).cordonable:
            return
        problem = self.board.problem
        small = len(problem.pods) * problem.nodes.size <= effort.TRIED_PLACES
        self.dealing.look_for("what cordons would help")
        if not small or self.dealing.over():
            yield f"--may-cordon keeps those that cannot be pinned off up to {effort.MOST_CORDONED} nodes"
            return
        found = plan()
        if self.dealing.over():
            return
        moves = len(found.steps)
        now = found.after.hard_excess, found.after.soft_excess if SOFT in self.rules.kinds else 0
        if now < excess:
            yield f"with --may-cordon a plan of {moves} leaves {sum(now)} too many{_cordons(found)}"
        else:
            yield "with --may-cordon no plan was found that leaves less"

    @property
    def _unpinnable(self) -> list[Move]:
        pinnable = self.rules.steering.pinnable
        return [move for move in self.dealt.left if self.board.template(move.pod) not in pinnable]

    def _is_impossible(self, landing: Landing) -> bool:
        pinnable = self.rules.steering.pinnable
        return landing.kind == "pinned" and self.board.template(landing.move.pod) not in pinnable

    def _turns_with_pins(self) -> Sequence[Landing]:
        """The turns that moves find after the others, one by one, if everybody can be pinned."""
        board = self.board
        if not self._unpinnable or len(self.dealt.left) * board.problem.nodes.size > effort.SINGLE_FILE:
            return ()
        done = [landing.move for wave in self.dealt.waves for landing in wave]
        stage = Stage(board.problem, [*done, *self.dealt.left], board)
        stage.put_all(done, Phase.LANDED)
        every = Steering(frozenset(range(len(board.problem.templates))))
        file = SingleFile(stage, self.dealt.left, replace(self.rules, steering=every))
        file.deal(_never)
        return [landing for wave in file.waves for landing in wave]


def _are(number: int, total: int) -> str:
    return f"{number} of {total} moves are"


def _cordons(plan: MovePlan) -> str:
    """For whom a plan cordons which nodes."""
    cordoned = [step for step in plan.steps if step.cordon]
    told = [f"{', '.join(step.cordon)} for {step.pod}" for step in cordoned[: effort.CORDONS_TOLD]]
    if len(cordoned) > len(told):
        told.append(f"and others for {len(cordoned) - len(told)} more")
    return f"; meanwhile it cordons {'; '.join(told)}" if told else ""


def _never() -> bool:
    return False
