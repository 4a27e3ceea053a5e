"""All ways in which small rollouts may end: Deployments on one node, counted in pods, step by step.

Written from what the controllers of Deployments and ReplicaSets, the quota and the scheduler do; each may act
next. In which order pods are taken from the queue, and which of several is preempted, is left open, so there
may be more ways here than in a cluster, and never fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.truth.rollouts_drawn import Rolling, RolloutCase

#: A case with more states is not looked at.
_MOST_STATES = 8_000


@dataclass(frozen=True)
class Revision:
    """A ReplicaSet: the pods that are asked for, and those that wait, start, are ready, and still end."""

    asked: int = 0
    waiting: int = 0
    starting: int = 0
    ready: int = 0
    ending: int = 0

    @property
    def live(self) -> int:
        """Those that were not told to go."""
        return self.waiting + self.starting + self.ready

    @property
    def bound(self) -> int:
        """Those that take room."""
        return self.starting + self.ready + self.ending

    def fewer(self, number: int) -> Revision:
        """So many are told to go: those that wait first, then those that start."""
        waiting = min(number, self.waiting)
        starting = min(number - waiting, self.starting)
        told = number - waiting
        return replace(
            self,
            waiting=self.waiting - waiting,
            starting=self.starting - starting,
            ready=self.ready - (told - starting),
            ending=self.ending + told,
        )


@dataclass(frozen=True)
class Sizes:
    """Both ReplicaSets of a Deployment; whether it was scaled since, and whether the new one was made."""

    old: Revision
    new: Revision
    is_scaled: bool
    is_made: bool = False

    @property
    def both(self) -> tuple[Revision, Revision]:
        """The old one and the new one."""
        return self.old, self.new

    def with_one(self, place: int, changed: Revision) -> Sizes:
        """With another old one, or another new one."""
        return replace(self, old=changed) if place == 0 else replace(self, new=changed)


State = tuple[Sizes, ...]


def ends(case: RolloutCase) -> set[tuple[bool, ...]] | None:
    """Which Deployments are complete in the end, for every way; None where there are too many states."""
    start = tuple(
        Sizes(
            Revision(item.before, waiting=item.before - item.running, ready=item.running),
            Revision(),
            item.before in (0, item.replicas),
        )
        for item in case.deployments
    )
    seen, left, found = {start}, [start], set()
    while left:
        state = left.pop()
        after = {*_after(case, state)} - {state}
        if not after:
            found.add(tuple(map(_is_complete, case.deployments, state)))
        left += after - seen
        seen |= after
        if len(seen) > _MOST_STATES:
            return None
    return found


def _is_complete(item: Rolling, now: Sizes) -> bool:
    return now.old.live == now.old.asked == 0 and now.new.ready == now.new.asked == item.replicas


def _after(case: RolloutCase, state: State) -> Iterator[State]:
    """What may be next."""
    for place, item in enumerate(case.deployments):
        for now in (_deployment_sync(item, state[place]), *_alone(state[place])):
            yield _with(state, place, now)
        for which, found in enumerate(state[place].both):
            if found.live < found.asked and _has_quota(case, state):
                more = replace(found, waiting=found.waiting + 1)
                yield _with(state, place, state[place].with_one(which, more))
            if found.waiting:
                yield from _scheduled(case, state, place, which)


def _with(state: State, place: int, now: Sizes) -> State:
    return (*state[:place], now, *state[place + 1 :])


def _alone(now: Sizes) -> Iterator[Sizes]:
    """What pods and ReplicaSets do by themselves."""
    for which, found in enumerate(now.both):
        if found.live > found.asked:
            yield now.with_one(which, found.fewer(found.live - found.asked))
        if found.starting:
            up = replace(found, starting=found.starting - 1, ready=found.ready + 1)
            yield now.with_one(which, up)
        if found.ending:
            yield now.with_one(which, replace(found, ending=found.ending - 1))


def _has_quota(case: RolloutCase, state: State) -> bool:
    """Whether one more pod may be made; those that still end count."""
    there = sum(found.live + found.ending for now in state for found in now.both)
    return case.quota is None or there < case.quota


def _deployment_sync(item: Rolling, now: Sizes) -> Sizes:
    """One sync of the Deployment: it is scaled, or the new ReplicaSet grows, or the old one shrinks."""
    if not now.is_scaled:
        return replace(now, old=replace(now.old, asked=item.replicas), is_scaled=True)
    if item.recreate:
        if now.old.asked:
            return replace(now, old=replace(now.old, asked=0))
        gone = not (now.old.live or now.old.ending)
        return replace(now, new=replace(now.new, asked=item.replicas if gone else now.new.asked))
    size = min(item.replicas, now.new.asked + max(0, item.most - now.old.asked - now.new.asked))
    if size != now.new.asked or not now.is_made:
        return replace(now, new=replace(now.new, asked=size), is_made=True)
    return replace(now, old=replace(now.old, asked=_old_size(item, now)))


def _old_size(item: Rolling, now: Sizes) -> int:
    """Pods that are not ready go first, then as many as are ready beyond what has to be."""
    old, new = now.both
    going = old.asked + new.asked - item.least - (new.asked - new.ready)
    if going <= 0 or old.asked < old.ready:
        return old.asked
    size = old.asked - min(going, old.asked - old.ready)
    return size - min(size, max(0, new.ready + old.ready - item.least))


def _scheduled(case: RolloutCase, state: State, place: int, which: int) -> Iterator[State]:
    """A pod that waits gets the node, or evicts another where that is needed beside those that end."""
    item, found = case.deployments[place], state[place].both[which]
    rooms = [
        (other.cpu[each] * there.bound, other.cpu[each] * there.ending)
        for other, now in zip(case.deployments, state, strict=True)
        for each, there in enumerate(now.both)
    ]
    free, ending = case.cpus - sum(bound for bound, _ in rooms), sum(told for _, told in rooms)
    wanted = item.cpu[which]
    if wanted <= free:
        up = replace(found, waiting=found.waiting - 1, starting=found.starting + 1)
        yield _with(state, place, state[place].with_one(which, up))
    elif free + ending < wanted:
        yield from _evictions(case, state, item.priority[which], wanted - free - ending)


def _evictions(case: RolloutCase, state: State, priority: int, lacking: int) -> Iterator[State]:
    """One pod of a lower priority less, if all of them are enough."""
    lower = [
        (place, each, there)
        for place, (other, now) in enumerate(zip(case.deployments, state, strict=True))
        for each, there in enumerate(now.both)
        if other.priority[each] < priority and there.starting + there.ready
    ]
    if sum(case.deployments[p].cpu[each] * (t.starting + t.ready) for p, each, t in lower) < lacking:
        return
    for place, each, there in lower:
        for field in ("starting", "ready"):
            if getattr(there, field):
                fewer = {field: getattr(there, field) - 1, "ending": there.ending + 1}
                yield _with(state, place, state[place].with_one(each, replace(there, **fewer)))
