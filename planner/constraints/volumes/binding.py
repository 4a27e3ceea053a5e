"""VolumeBinding: a pod goes where its claims have, find or get a volume.

Kubernetes 1.34: the claims must exist; those of a class with immediate binding must be bound
already, or be of a class that provisions and come with their pod.  A bound volume must be reachable from the
node.  A waiting claim needs a free volume that reaches the node, or a class that provisions one there.
CSIStorageCapacity is not modelled.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from models.objects.storage import PersistentVolume, PersistentVolumeClaim
from planner.constraints.family import Filter, Rejects, Verdict, Violation, where_accepted
from planner.problem.nodes import ALL, Codes, Ints, Mask, Where
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.problem.volume_claims import Claims, ClaimUse, claims_of
from planner.state.state import State

if TYPE_CHECKING:
    from planner.cpsat.variables import Counts

_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
_NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"
_LOST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_UNSEEN = "unknown: persistentvolumes may not be listed"
_CLASS_UNSEEN = "unknown: storageclasses may not be listed"
_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
_REASONS = {1: _CONFLICT, 2: _NOTHING_TO_BIND, 4: _LOST}


@dataclass(frozen=True, eq=False)
class _Volumes:
    """Free volumes, as many as they are, that the same claims may get and the same nodes reach."""

    name: str
    claims: frozenset[str]
    reach: Mask
    number: int


class VolumeBinding(Filter):
    """Refuses nodes on which some claim of the pod has no volume."""

    name = "VolumeBinding"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._users: Counter[str] = Counter()
        for template in problem.templates:
            if not template.plain:
                for use in claims_of(template.pod):
                    self._users[use.key] += int(problem.pods_per_template[template.index])

    def concerns(self, template: Template) -> bool:
        return any(claims_of(template.pod))

    def refusal(self, template: Template) -> str | None:
        known = self.state.claims.by_key
        uses = list(claims_of(template.pod))
        for use in uses:
            if (problem := _problem_with(use, known.get(use.key), self.state.claims)) is not None:
                return problem
        stuck = [known[use.key] for use in uses if self._is_stuck(known[use.key])]
        if any(self.state.claims.is_class_unseen(claim) for claim in stuck):
            return _CLASS_UNSEEN
        return _IMMEDIATE if stuck else None

    def _is_stuck(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a claim should be bound by now and is not."""
        claims = self.state.claims
        if claims.is_bound(claim) or claims.is_served_at_once(claim):
            return False
        return not (claims.waits(claim) and not claim.spec.volume_name)

    def reject(self, template: Template, where: Where = ALL) -> Rejects:
        return self._judged(template, self.state.claims.fits(template.pod))[where]

    def _judged(self, template: Template, fits: Mask) -> Ints:
        """The reasons on every node; `fits` are those with volumes for the waiting claims."""
        claims = self.state.claims
        codes = np.zeros(self.nodes.size, np.int64)
        for volume in self._volumes(template):
            if volume is None:
                return np.full_like(codes, 4)
            codes[~claims.reachable(volume)] |= 1
        for nodes in self._of_served(template):
            codes[~nodes] |= 1
        codes[~fits] |= 2
        return codes

    def undecided(self, template: Template) -> Mask | None:
        return self.nodes.every if self.state.claims.is_unknown(template.pod) else None

    def never(self, template: Template) -> Mask | None:
        claims = self.state.claims
        volumes = (claims.volumes.get(claim.spec.volume_name) for claim in self._bound(template))
        reached = [claims.reachable(volume) for volume in volumes if volume is not None]
        return ~np.logical_and.reduce(reached) if reached else None

    def wants_pods(self, template: Template) -> bool:
        return False

    def most(self, template: Template, wanted: Mapping[int, int]) -> Ints | None:
        # That two pods may want the same volume shows only when they are bound.
        return where_accepted(self._judged(template, self._may_fit(template)))

    def takes(self, template: Template) -> Ints | None:
        return where_accepted(self.reject(template)) if self.state.claims.stay(template.pod) else None

    def _may_fit(self, template: Template) -> Mask:
        """The nodes with volumes for waiting claims; others may have bound those that they share."""
        claims = self.state.claims
        shared = any(self._users[claim.key] > 1 for claim in claims.unbound(template.pod))
        return claims.fits_each(template.pod) if shared else claims.fits(template.pod)

    def encode(self, x: Counts) -> None:
        """A waiting claim gets one volume, and all its pods come where that is reachable.

        Which nodes will reach a provisioned one is not known: its pods may come wherever the class makes one.
        Cells of several nodes say nothing of single volumes.
        """
        claims, users = self.state.claims, dict[str, dict[int, int]]()
        waiting: dict[str, PersistentVolumeClaim] = {}
        for template in x.judged() if x.cells.single else ():
            for claim in claims.open_claims(template.pod):
                waiting[claim.key] = claim
                users.setdefault(claim.key, {})[template.index] = 1
        groups = list(self._alike(waiting.values()))
        for group in groups:
            if len(group.claims) > group.number:
                takers = [x.start((self.name, key, group.name)) for key in sorted(group.claims)]
                x.require(sum(takers) <= group.number)
        for key, claim in waiting.items():
            own = [group for group in groups if key in group.claims]
            options = [x.start((self.name, key, group.name)) for group in own]
            options.append(x.start((self.name, key)))
            x.require(sum(options) <= 1)
            nodes = np.array(x.reached(users[key]), np.intp)
            reach = np.array([*(group.reach for group in own), claims.provisionable(claim)])[:, nodes]
            alike, kinds = np.unique(reach, axis=1, return_inverse=True)
            for kind, able in enumerate(alike.T):
                there = nodes[kinds == kind].tolist()
                comes = x.any_there((self.name, key, kind), users[key], there)
                if comes is not None:
                    x.require_if(comes, sum(options[number] for number in np.flatnonzero(able).tolist()) >= 1)

    def _alike(self, waiting: Iterable[PersistentVolumeClaim]) -> Iterator[_Volumes]:
        """The free volumes, those together that are alike for all these claims."""
        claims, suited = self.state.claims, defaultdict[str, list[str]](list)
        for claim in waiting:
            for volume in claims.candidates(claim):
                suited[volume.name].append(claim.key)
        alike = defaultdict[tuple[bytes, tuple[str, ...]], list[str]](list)
        for name, keys in suited.items():
            alike[claims.reachable(claims.volumes[name]).tobytes(), tuple(keys)].append(name)
        for (_, same), names in alike.items():
            yield _Volumes(names[0], frozenset(same), claims.reachable(claims.volumes[names[0]]), len(names))

    def _bound(self, template: Template) -> Iterator[PersistentVolumeClaim]:
        claims = self.state.claims
        return filter(claims.is_bound, claims.mounted_by(template.pod))

    def _volumes(self, template: Template) -> Iterator[PersistentVolume | None]:
        """The volumes of a pod's bound claims, those that others bound since the snapshot included."""
        claims = self.state.claims
        yield from (claims.volumes.get(claim.spec.volume_name) for claim in self._bound(template))
        yield from claims.given(template.pod)

    def _of_served(self, template: Template) -> Iterator[Mask]:
        """For each claim that is served at once the nodes that may reach its volume."""
        claims = self.state.claims
        served = filter(claims.is_served_at_once, claims.mounted_by(template.pod))
        yield from map(claims.provisionable, served)

    def verdict(self, template: Template, code: int) -> Verdict:
        unseen = {4: _UNSEEN} if self.state.claims.volumes_unseen else {}
        told = (text for bit, text in (_REASONS | unseen).items() if code & bit)
        return Verdict(tuple(told), unresolvable=True)

    def accepts_again(self, template: Template, pods: Codes) -> bool:
        """Whether the nodes of all these pods reach a volume for each claim, bound or waiting."""
        claims, nodes = self.state.claims, self.state.node_of[pods]
        return (
            self.refusal(template) is None
            and all(
                found is not None and bool(claims.reachable(found)[nodes].all())
                for found in self._volumes(template)
            )
            and all(bool(found[nodes].all()) for found in self._of_served(template))
            and (not claims.unbound(template.pod) or bool(self._may_fit(template)[nodes].all()))
        )

    def serves(self, pods: Codes) -> bool:
        """Whether each claim of some placed pods that waits can have a volume of its own.

        All nodes of its pods reach that, or its class makes one for each of them.
        """
        claims, node_of = self.state.claims, self.state.node_of
        nodes = defaultdict[str, set[int]](set)
        for pod in pods.tolist():
            for claim in claims.open_claims(self.problem.pods[pod]):
                nodes[claim.key].add(int(node_of[pod]))
        options = dict[str, list[str]]()
        for key, used in nodes.items():
            claim, where = claims.by_key[key], sorted(used)
            if not claims.provisionable(claim)[where].all():
                found = (v.name for v in claims.candidates(claim) if claims.reachable(v)[where].all())
                options[key] = list(found)
        return _has_one_each(options)

    def violations(self) -> Iterator[Violation]:
        """Pods on nodes that their bound volumes cannot be reached from."""
        claims = self.state.claims
        users = (template.index for template in self.problem.templates if self.concerns(template))
        for pod in self.state.placed(users):
            template, node = self.problem.template(pod), int(self.state.node_of[pod])
            for claim in self._bound(template):
                volume = claims.volumes.get(claim.spec.volume_name)
                if volume is not None and not claims.reachable(volume)[node]:
                    key, name = self.problem.pods[pod].key, self.nodes.names[node]
                    yield Violation(
                        self.name, key, name, f"{key} on {name} cannot reach volume {volume.name}"
                    )


def _problem_with(use: ClaimUse, claim: PersistentVolumeClaim | None, claims: Claims) -> str | None:
    """Why a claim cannot be used at all."""
    name = use.key.partition("/")[2]
    if claim is None and use.ephemeral:
        return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
    if claim is None:
        return claims.missing(name)
    if claim.status.phase == "Lost":
        volume = claim.spec.volume_name
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if claim.metadata.deletion_timestamp is not None:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return None


def _has_one_each(options: Mapping[str, Sequence[str]]) -> bool:
    """Whether each claim can have one of its volumes that no other has."""
    has, owner = dict[str, str](), dict[str, str]()
    for first in options:
        asked, queue = dict[str, str](), [first]
        for claim in queue:
            for volume in options[claim]:
                if volume in asked:
                    continue
                asked[volume] = claim
                if volume in owner:
                    queue.append(owner[volume])
                    continue
                _take(volume, asked, has, owner)
                queue.clear()
                break
        if first not in has:
            return False
    return True


def _take(volume: str, asked: Mapping[str, str], has: dict[str, str], owner: dict[str, str]) -> None:
    """Give a volume to the claim that asked, what it had to the one that asked for that, and so on."""
    given: str | None = volume
    while given is not None:
        claim = asked[given]
        before = has.get(claim)
        has[claim], owner[given] = given, claim
        given = before
