"""Inter-pod affinity in the solver's terms.

Anti-affinity is symmetric, so what holds at the end held at every bind.  Affinity is not: when all is
placed a pod may be its own peer, but when it is bound it needs another in its domain, unless there is
none anywhere and it matches itself.  So one domain may be started by a pod that is its own peer,
and every other needs a pod that is there already, that came without needing the same, or that no pod
asked about it.

In a final state each pod is judged beside all others: it needs another one, or to be the only one anywhere,
and keeps away from pods that keep it out, whichever profile these are of.

Running pods that stay are not constrained: the scheduler checks incoming pods alone.  In a final state no pod
comes that their anti-affinity excludes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.problem.nodes import Column
from planner.problem.templates import Template
from planner.state.pod_counts import DomainCounts

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts


def anti_affinity(x: Counts, template: Template, column: Column, avoided: Mapping[int, int]) -> None:
    """Where a pod of the template comes, no pod of its anti-affinity is or comes; where one is, none comes.

    Pods that run together already are not constrained.
    """
    itself = int(template.index in avoided)
    coming = {
        number: 1
        for number in avoided
        if number in x.batch.wanted and (x.is_final_state or number in x.asked)
    }
    for code, here in (x.domains(column) or {}).items():
        present = x.any_of((template.index, column.key, code), (template.index,), here)
        if present is not None:
            x.require_if(present, x.total(coming, here) <= itself)
        keeping_away = x.found({template.index: 1}, here)
        if isinstance(keeping_away, int):
            continue
        for number in coming.keys() - {template.index}:
            comes = x.any_of((number, column.key, code), (number,), here)
            if comes is not None:
                x.require_if(comes, keeping_away == 0)


def keep_away(x: Counts, owners: Collection[int], column: Column, avoided: Collection[int]) -> None:
    """No pod of the avoided templates comes to a domain to which one of the owners comes."""
    here_only = dict.fromkeys(owners, 1)
    for code, here in (x.domains(column) or {}).items():
        comes = x.any_of(("kept out", *sorted(avoided), column.key, code), avoided, here)
        if comes is not None:
            x.require_if(comes, x.total(here_only, here) <= 0)


def keep_out(x: Counts, codes: Collection[int], column: Column, avoided: Collection[int]) -> None:
    """No pod of the avoided templates comes to some domains."""
    for code, here in (x.domains(column) or {}).items():
        if code in codes:
            x.require(x.total(dict.fromkeys(avoided, 1), here) <= 0)


def need(x: Counts, template: Template, counts: DomainCounts, peers: Collection[int]) -> None:
    """Where a pod of the template comes, affinity peers that it needs are there or come too."""
    column, members = counts.column, counts.tally.members
    itself = template.index in members
    coming = {number: 1 for number in members if number in x.batch.wanted}
    alone = itself and not x.final
    waiting = {number for number in peers if number in x.asked}
    others = {number: 1 for number in coming if number not in waiting} if alone else coming
    starts = []
    domains = x.domains(column) or {}
    for code, here in domains.items():
        present = x.any_of((template.index, column.key, code), (template.index,), here)
        if present is None:
            continue
        affinity_peers = int(counts.sums()[code]) + x.found(coming, here) + x.arriving(others, here)
        if alone and not counts.sums().any():
            start = x.start(("start", tuple(sorted(peers)), column.key, code))
            starts.append(start)
            affinity_peers = affinity_peers + start
        x.require_if(present, affinity_peers >= 1)
    if starts:
        x.require(sum(starts) <= 1)
        labelled = [cell for here in domains.values() for cell in here]
        for start in starts:
            x.require_if(start, x.found(coming, labelled) == 0)


def need_together(x: Counts, template: Template, needs: Sequence[DomainCounts], *, itself: bool) -> None:
    """Where a pod of the template comes, affinity peers that it needs are there.

    Those before it count where it is the only pod that comes, and all others in a final state.
    A pod that is its own peer may come where it likes while there is no other anywhere.
    """
    coming = {number: 1 for counts in needs for number in counts.tally.members if number in x.batch.wanted}
    counted, own = (x.total, int(itself)) if x.is_final_state else (x.found, 0)
    start: Any = 0
    if itself and not any(counts.sums().any() for counts in needs):
        start = x.start(("start", template.index))
    for counts in needs:
        domains = x.domains(counts.column) or {}
        labelled = [cell for here in domains.values() for cell in here]
        if not isinstance(start, int):
            x.require_if(start, counted(coming, labelled) <= own)
        for code, here in domains.items():
            present = x.any_of((template.index, counts.column.key, code), (template.index,), here)
            if present is not None:
                affinity_peers = int(counts.sums()[code]) + counted(coming, here)
                x.require_if(present, affinity_peers + start >= 1 + own)


def like(x: Counts, template: int, counts: DomainCounts, weight: int, itself: int) -> Any:
    """The weight of a preferred term for every pod of the template that comes to a domain with peers."""
    coming = {number: 1 for number in counts.tally.members if number in x.batch.wanted}
    most, met = x.batch.wanted[template], []
    for code, here in (x.domains(counts.column) or {}).items():
        pods = x.total({template: 1}, here)
        if isinstance(pods, int):
            continue
        affinity_peers = int(counts.sums()[code]) + x.total(coming, here) - itself
        together, happy = x.integer(0, 1, "together"), x.integer(0, most, "happy")
        met.append(happy)
        if weight > 0:
            x.require(happy <= pods)
            x.require(happy <= most * together)
            x.require(affinity_peers >= together - itself * (1 - together))
        else:
            x.require(happy >= pods - most * (1 - together))
            x.require(
                affinity_peers <= (most + int(counts.sums()[code]) + sum(x.batch.wanted.values())) * together
            )
    return weight * sum(met)
