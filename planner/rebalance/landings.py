"""Where replacements land: all nodes that are as good as planned, and what holds them to these.

Filters: no other node is left by the scheduler's filters, whatever came before, whoever of the wave is
under way, with the old pod still there or gone.  Scores: no other node has the highest score; judged
only where all that scores look at is certain.  Pinned: held by the pod's own spec, as widely as serves.
Cordoned: the few other nodes that the filters leave are closed until the replacement has landed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.problem.nodes import Mask
from planner.proof import effort
from planner.rebalance.admission import Option
from planner.rebalance.cases import Case, Cases
from planner.rebalance.crowds import Course, Crowd, Mover
from planner.rebalance.figures import Tableau
from planner.rebalance.interference import Interference
from planner.rebalance.landing import Landing, Misjudged, Wishes
from planner.rebalance.phases import Phase, Stage
from planner.rebalance.places import Places
from planner.rebalance.presence import Inside, Presence
from planner.rebalance.room import Rival, Room
from planner.rebalance.trial_cluster import Move, TrialCluster
from planner.rebalance.twins import twins
from planner.rebalance.worlds import Worlds


class Landings:
    """Judges the moves of a wave on a stage, whose crowds and room it keeps."""

    def __init__(
        self, stage: Stage, crowds: Mapping[int, Crowd], wishes: Wishes, sources: Collection[int]
    ) -> None:
        """Landings on a stage; `sources` are the nodes that pods leave."""
        self._stage = stage
        self._board: TrialCluster = stage.board
        self._crowds = crowds
        self._wishes = wishes
        self._pins = self._plain = self._lone = False
        self._reads = Interference(self._board).reads
        self._places = Places(stage.board)
        node_of = stage.board.state.node_of.copy()
        self._worlds = Worlds(
            stage, lambda: twins(stage.board, node_of, crowds.values(), sources, crowds), wishes.again
        )
        #: Templates whose pods scores were asked to lead.
        self._led: set[int] = set()
        self.room = Room(stage.board)
        self._cases = Cases(stage, self.room)
        self._presence = Presence(self._board, self.room, self._cases)
        #: How moves may go, and the least number of nodes that are open to each on the way; of this turn.
        self._known_courses: dict[Move, tuple[Course, int]] = {}

    def foresee(self, moves: Iterable[Move]) -> None:
        """Find out at once where scores lead some moves that are to be judged, if they are likely to."""
        if self._worlds.number == 1:
            return
        likely = [move for move in moves if self._board.template(move.pod) in self._led]
        if likely:
            self._worlds.foresee(likely, {self._crowds[self._board.template(move.pod)] for move in likely})

    def judge(
        self,
        wave: Sequence[Move],
        kept_free: Callable[[Move], Mask],
        landed: Mapping[int, Landing] | None = None,
        *,
        pins: bool = True,
        plain: bool = False,
    ) -> list[Landing | None]:
        """A landing for every move, if there is one whatever the others do; `landed` has first answers.

        `kept_free` says on which nodes a replacement would take room that is meant for others.  `plain`
        asks for nothing but a pin to the very node that was planned.
        """
        self._plain, self._lone = plain, len(wave) == 1
        cases = self._cases.of(wave, {pod: found.nodes for pod, found in (landed or {}).items()})
        self._pins = pins
        groups: dict[int, list[Case]] = {}
        for case in cases:
            groups.setdefault(id(self._crowds[case.template]), []).append(case)
        found: dict[Move, Landing | None] = dict.fromkeys(wave)
        for group in groups.values():
            if len(group) == 1:
                found[group[0].move] = self._alone(group[0], kept_free(group[0].move))
            else:
                found |= self._together(group, [kept_free(case.move) for case in group])
        return [found[move] for move in wave]

    # The three kinds

    def _alone(self, case: Case, kept_free: Mask) -> Landing | None:
        """The landing of the only move of its crowd in the wave."""
        crowd = self._crowds[case.template]
        mover = self._mover(case, crowd)
        good = self._good(case, crowd, mover, kept_free)
        return next(self._kinds(case, crowd, mover, good, kept_free), None)

    def _kinds(
        self, case: Case, crowd: Crowd, mover: Mover, good: Mask, kept_free: Mask
    ) -> Iterator[Landing]:
        if self._plain and self._may_pin(case):
            yield from self._pinned(case, crowd, mover, good)
            return
        fixed = case.move.pod in self._wishes.fixed
        certain = fixed or case.move.pod in self._wishes.certain
        open_now = self._open(case, crowd, mover, kept=None)
        by_filters = None
        if open_now is not None and not (open_now & ~good).any():
            place = self._places.of(open_now, kept_free, case.template)
            by_filters = Landing(case.move, "filters", open_now, place)
            if not certain or int(open_now.sum()) == 1:
                yield by_filters
        best = self._by_scores(case, crowd, mover, self._shut(case, crowd, kept_free))
        if best is not None:
            yield Landing(case.move, "scores", best, self._places.named(best))
        if by_filters is not None and not fixed:
            yield by_filters
        if self._pins and self._may_pin(case):
            yield from self._pinned(case, crowd, mover, good)
        if self._pins and self._lone and case.template in self._wishes.steering.cordonable:
            yield from self._cordoned(case, crowd, mover, good)
        if by_filters is not None:
            yield by_filters

    def _may_pin(self, case: Case) -> bool:
        return case.template in self._wishes.steering.pinnable

    def _mover(self, case: Case, crowd: Crowd) -> Mover:
        cells = crowd.cell_of
        return Mover(case.template, int(cells[case.move.source]), int(cells[case.move.target]))

    def _good(self, case: Case, crowd: Crowd, mover: Mover, kept_free: Mask) -> Mask:
        """The nodes where a replacement is as good as on the planned one."""
        bad = crowd.worse_options(mover, as_planned=case.template in self._wishes.as_planned)
        good: Mask = ~self._presence.where(case, crowd, bad) & ~self._shut(case, crowd, kept_free)
        return good

    def _shut(self, case: Case, crowd: Crowd, kept_free: Mask) -> Mask:
        """The nodes where a replacement should not land, whatever it does for constraints."""
        shut = kept_free.copy()
        shut[case.move.source] = True
        if case.template in self._wishes.as_planned:
            shut |= crowd.domains != crowd.domains[case.move.target]
        if case.move.pod in self._wishes.again:
            shut[:] = True
            shut[case.move.target] = False
        return shut

    def _open(
        self, case: Case, crowd: Crowd, mover: Mover, kept: Mask | None, pin: Mask | None = None
    ) -> Mask | None:
        """The nodes that may be open to a replacement; None when it may find none, or makes things worse.

        With `kept` it is held to these nodes, by scores or by a pin that may name others without room, too.
        """
        # A pin may open nodes that no filter left before: nobody has asked yet how good these are.
        wanted = crowd.best(mover, as_planned=case.template in self._wishes.as_planned)
        if kept is not None:
            unsure = self._presence.unsure(case, crowd)
            held = crowd.restriction(kept, self._presence.levels(crowd, [case.move]), unsure, pin)
            mover = replace(mover, restriction=held)
        course = self._course(case, crowd, mover, kept)
        if course is None or (kept is not None and not crowd.alike(course.ends, wanted)):
            return None
        found = case.may & self._presence.where(case, crowd, course.options[0])
        return found if kept is None else found & kept

    def _course(self, case: Case, crowd: Crowd, mover: Mover, kept: Mask | None) -> Course | None:
        """How a lone move may go: as it did with fewer rivals, where there is room enough for all."""
        if kept is None and case.move in self._known_courses:
            known, least = self._known_courses[case.move]
            if least > len(case.rivals):
                return known
        inside = Inside(crowd, case.sure if kept is None else case.sure & kept)
        found = crowd.course(
            [mover],
            lambda _, tableau, options: self._presence.finds_room(
                case, crowd, mover, inside, tableau, options
            ),
        )
        if kept is None and found is not None and not self._cases.rules(case.template):
            self._known_courses[case.move] = found, inside.least
        return found

    def _by_scores(self, case: Case, crowd: Crowd, mover: Mover, shut: Mask) -> Mask | None:
        """The nodes that may have the highest score, if that is known and each of them is as good."""
        apart = [rival for rival in case.rivals if not rival.told_apart]
        read = {number for tally in self._reads(case.template) for number in tally.members}
        if any((rival.nodes & case.may).any() or rival.template in read for rival in apart):
            return None
        if any(case.may[rival.source] for rival in apart if rival.source >= 0):
            return None
        wanted = crowd.best(mover, as_planned=case.template in self._wishes.as_planned)
        found = np.zeros_like(case.may)
        self._led.add(case.template)
        known = set[bytes]()
        for number in range(self._worlds.number):
            phases = self._stage.own_phases(case.move)
            tops = [self._worlds.tops(number, case.move, phase) for phase in phases]
            levels = self._worlds.levels(number, crowd)
            alike = b"".join(one.tobytes() for one in (*tops, levels))
            if alike in known:
                continue
            known.add(alike)
            roles = [self._worlds.with_twins(top) for top in tops]
            if not all(top.any() and not (top & shut).any() for top in roles):
                return None
            if not crowd.serves(levels, mover, np.logical_or.reduce(tops), wanted):
                return None
            found |= np.logical_or.reduce(roles)
        return found

    def _pinned(self, case: Case, crowd: Crowd, mover: Mover, good: Mask) -> Iterator[Landing]:
        """Pins, the widest first."""
        held = any(d.hard and case.template in d.asked.carriers for d in crowd.demands)
        for place, nodes in self._places.pins(
            case.template, good & case.may, case.may & ~good, case.move.target, many=not held
        ):
            if self._plain and int(nodes.sum()) > 1:
                continue
            inside = nodes & case.may
            if not inside.any() or (inside & ~good).any():
                continue
            open_now = self._open(case, crowd, mover, kept=inside, pin=nodes)
            if open_now is not None and open_now.any():
                yield Landing(case.move, "pinned", open_now, place)

    def _cordoned(self, case: Case, crowd: Crowd, mover: Mover, good: Mask) -> Iterator[Landing]:
        """Cordons of the nodes that would be wrong, if these are few."""
        wrong = case.may & self._presence.where(case, crowd, crowd.possible(mover)) & ~good
        if not 0 < int(wrong.sum()) <= effort.MOST_CORDONED:
            return
        open_now = self._open(case, crowd, mover, kept=case.may & ~wrong)
        if open_now is not None and open_now.any() and not (open_now & ~good).any():
            place = self._places.named(open_now)
            yield Landing(
                case.move, "cordoned", open_now, place, cordon=tuple(np.flatnonzero(wrong).tolist())
            )

    def _together(self, cases: Sequence[Case], kept_free: Sequence[Mask]) -> dict[Move, Landing | None]:
        """The landings of several moves of a crowd: all by filters, or none of them."""
        crowd = self._crowds[cases[0].template]
        movers = [self._mover(case, crowd) for case in cases]
        insides = [Inside(crowd, case.sure) for case in cases]
        course = crowd.course(
            movers,
            lambda number, tableau, options: self._presence.finds_room(
                cases[number], crowd, movers[number], insides[number], tableau, options
            ),
        )
        if course is None or not crowd.alike(course.ends):
            return {case.move: None for case in cases}
        levels = self._presence.levels(crowd, [case.move for case in cases])
        found = dict[Move, Landing | None]()
        for case, options, shut in zip(cases, course.options, kept_free, strict=True):
            nodes = case.may & crowd.nodes_at(options, levels, self._presence.unsure(case, crowd))
            if (nodes & shut).any() or case.move.pod in self._wishes.again:
                return {case.move: None for case in cases}
            place = self._places.of(nodes, shut, case.template)
            found[case.move] = Landing(case.move, "filters", nodes, place)
        return found

    # What has happened then

    def surest(self, alone: Sequence[Landing]) -> Landing:
        """Of landings by scores the one after which the fewest ways of breaking ties are to be followed."""
        best, least = alone[0], effort.WORLDS_KEPT + 1
        for landing in alone:
            worlds = self._worlds.after(
                [landing.move], {landing.move.pod: self._stage.own_phases(landing.move)}
            )
            if worlds is not None and len(worlds) < least:
                best, least = landing, len(worlds)
            if least <= self._worlds.number:
                break
        return best

    def commit(self, wave: Sequence[Landing]) -> list[Landing]:
        """Let a wave have happened; its landings with the nodes to which the smallest name leads."""
        led = [landing.move for landing in wave if landing.kind == "scores"]
        worlds = self._worlds.after(led, {move.pod: self._stage.own_phases(move) for move in led})
        for crowd, landings in self._by_crowd(wave).values():
            crowd.tableaus = self._ends(crowd, landings)
        self._known_courses.clear()
        done = [replace(landing, move=self._nominal(landing)) for landing in wave]
        self._worlds.become(worlds)
        certain = [m.move.target for m in done if m.kind != "scores" and int(m.nodes.sum()) == 1]
        if not all([self._worlds.tell_apart(node) for node in certain]):
            worlds = None
            self._worlds.become(None)
        if worlds is None:
            self.room.tell_nobody_apart()
        for landing in done:
            if int(landing.nodes.sum()) > 1:
                template, told_apart = self._board.template(landing.move.pod), landing.kind == "scores"
                self.room.add(
                    Rival(
                        template,
                        landing.nodes,
                        landing.move.pod,
                        landing.move.target,
                        told_apart=told_apart and worlds is not None,
                    )
                )
        for crowd, _ in self._by_crowd(wave).values():
            if all(rival.told_apart for rival in self.room.of(crowd.templates)):
                levels = (self._worlds.levels(number, crowd) for number in range(self._worlds.number))
                crowd.tableaus = frozenset(map(crowd.seen, levels))
            self._narrow(crowd)
        return done

    def _narrow(self, crowd: Crowd) -> None:
        """Where it is known how many are in every domain, take each for in the one where the board has it.

        They are all alike, so it does not matter which of them is where.
        """
        astray = self.room.of(crowd.templates)
        spread = [r for r in astray if (crowd.domains[r.nodes] != crowd.domains[r.node]).any()]
        if spread and not any(rival.told_apart for rival in astray) and crowd.tells_domains():
            nodes = np.logical_or.reduce([rival.nodes for rival in spread])
            for rival in spread:
                self.room.narrow(rival, nodes & (crowd.domains == crowd.domains[rival.node]))

    def _ends(self, crowd: Crowd, landings: Sequence[Landing]) -> frozenset[Tableau]:
        """All tableaus that landings may lead to; one by scores is the only one of its crowd."""
        first, *others = landings
        if first.kind == "filters" and not others and first.move in self._known_courses:
            return self._known_courses[first.move][0].ends
        movers = [self._held(landing, crowd) for landing in landings]
        if first.kind == "scores":
            gone = [crowd.left(tableau, movers[0]) for tableau in crowd.tableaus]
            return frozenset(
                crowd.landed(tableau, movers[0].template, option)
                for tableau in gone
                for option in crowd.options(tableau, movers[0])
            )
        course = crowd.course(movers, _somewhere)
        if course is None:
            raise Misjudged("a wave that was judged to hold does not")
        return course.ends

    def _by_crowd(self, wave: Sequence[Landing]) -> dict[int, tuple[Crowd, list[Landing]]]:
        found: dict[int, tuple[Crowd, list[Landing]]] = {}
        for landing in wave:
            crowd = self._crowds[self._board.template(landing.move.pod)]
            found.setdefault(id(crowd), (crowd, []))[1].append(landing)
        return found

    def _held(self, landing: Landing, crowd: Crowd) -> Mover:
        """A move of a crowd with what its landing is held to."""
        cells, move = crowd.cell_of, landing.move
        mover = Mover(self._board.template(move.pod), int(cells[move.source]), int(cells[move.target]))
        if landing.kind == "filters":
            return mover
        unsure = np.zeros_like(landing.nodes)
        for rival in self.room.of(crowd.templates):
            unsure |= rival.nodes
        levels = self._presence.levels(crowd, [landing.move])
        held = crowd.restriction(landing.nodes, levels, unsure, self._pin(landing))
        return replace(mover, restriction=held)

    def _pin(self, landing: Landing) -> Mask | None:
        """The nodes that a pin names."""
        if landing.kind != "pinned":
            return None
        settled = self._board.plan(self._board.template(landing.move.pod)).settled
        return self._places.mask(landing.place) & settled

    def _nominal(self, landing: Landing) -> Move:
        """The move to where the smallest name leads, when all before it have landed; it has happened."""
        board, template = self._board, self._board.template(landing.move.pod)
        self._stage.put(landing.move, self._stage.own_phases(landing.move)[0])
        feasible, totals = board.choice(template, landing.cordon)
        pin = self._pin(landing)
        nodes = landing.nodes & (feasible.mask if pin is None else board.open_to(template, pin))
        astray = landing.kind in {"filters", "cordoned"} and (feasible.mask & ~landing.nodes).any()
        if astray or not nodes.any():
            raise Misjudged("a replacement lands where it was ruled out")
        found = np.flatnonzero(nodes)
        move = replace(landing.move, target=int(found[np.argmax(totals[found])]))
        self._stage.put(move, Phase.LANDED)
        return move


def _somewhere(number: int, tableau: Tableau, options: frozenset[Option]) -> bool:
    """That there is room has been found out before."""
    return True
