"""Every size that the real Deployment controller gives a ReplicaSet is the one that was computed."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence

from models.objects.workload import UpdateStrategy
from planner.simulation.rollout.arithmetic import Margins, Size, rolled
from tests.e2e.contact_record import Recorder
from tests.e2e.control_plane import ControlPlane, Manifest, wait_for
from tests.e2e.manifests import node, workload

_MOST = 20
#: One Deployment of each size rolls at once: the stand-in for kubelets is good for some hundreds of pods.
_ROUNDS = 2
_SHARES: tuple[int | str, ...] = (0, 1, 2, 3, 7, "1%", "10%", "25%", "34%", "50%", "99%", "100%")
_REVISION = "deployment.kubernetes.io/revision"


def _deployment(chance: random.Random, name: str, replicas: int) -> Manifest:
    surge, unavailable = chance.choice(_SHARES), chance.choice(_SHARES)
    if surge == 0 and unavailable == 0:
        unavailable = 1
    found = workload(name, replicas, cpu="10m")
    found["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    return found


def _are_rolled_out(live: ControlPlane) -> bool:
    def done(item: Manifest) -> bool:
        wanted, status = item["spec"]["replicas"], item["status"]
        seen = status.get("observedGeneration") == item["metadata"]["generation"]
        counts = {status.get(key) for key in ("replicas", "updatedReplicas", "availableReplicas")}
        return seen and counts == {wanted}

    return all(map(done, live.get("deployments")))


def _watched(live: ControlPlane, items: Sequence[Manifest]) -> dict[str, list[Manifest]]:
    """Every state of every ReplicaSet while changed templates are rolled out, by Deployment."""
    with Recorder(live, "replicasets") as recorder:
        for item in items:
            item["spec"]["template"]["metadata"]["annotations"] = {"revision": "2"}
        listing = {"apiVersion": "v1", "kind": "List", "items": items}
        live.kubectl("apply", "-f", "-", given=json.dumps(listing))
        wait_for("the end of all rollouts", lambda: _are_rolled_out(live))
    found: dict[str, list[Manifest]] = defaultdict(list)
    for event in recorder.events:
        found[event.owner.partition("/")[2]].append(event.item)
    return found


Sizes = tuple[int, int | None]
"""What the old and the new ReplicaSet are asked for, the new one None before it is there."""


def _wrong(item: Manifest, states: Sequence[Manifest]) -> Iterator[str]:
    """The writes that no state seen since the one before explains."""
    spec = item["spec"]
    margins = Margins.of(UpdateStrategy.model_validate(spec["strategy"]), spec["replicas"])
    known: dict[str, Size] = {}
    foreseen: set[Sizes] = set()
    asked: Sizes | None = None
    for state in states:
        number = state["metadata"]["annotations"][_REVISION]
        known[number] = Size(state["spec"]["replicas"], state["status"].get("availableReplicas", 0))
        new = known.get("2")
        now = known["1"].replicas, None if new is None else new.replicas
        if asked is not None and now != asked:
            if now not in foreseen:
                yield f"{item['metadata']['name']} {spec}: {asked} became {now}, foreseen {foreseen}"
            foreseen = set()
        asked = now
        size, (old,) = rolled(spec["replicas"], margins, new, [known["1"]])
        # Where one sync makes two writes, the new ReplicaSet is written first.
        foreseen |= {(now[0], size), (old, size)}
    if asked != (0, spec["replicas"]):
        yield f"{item['metadata']['name']}: ended with {asked}"


def test_sizes_after_every_sync(live: ControlPlane) -> None:
    """Replicas 1 to 20, surge and unavailable by number and percentage, many at once."""
    seed = random.SystemRandom().randrange(1_000_000)
    chance, writes = random.Random(seed), 0
    live.create(*(node(f"n{number}", cpu="64") for number in range(8)))
    for _ in range(_ROUNDS):
        items = [_deployment(chance, f"w{number}", number) for number in range(1, _MOST + 1)]
        live.create(*items)
        wait_for("all pods", lambda: _are_rolled_out(live))
        states = _watched(live, items)
        wrong = [line for item in items for line in _wrong(item, states[item["metadata"]["name"]])]
        assert not wrong, (seed, wrong)
        writes += sum(map(len, states.values()))
        live.kubectl("delete", "deployments", "--all", "--cascade=foreground")
        wait_for("no pods", lambda: not live.get("pods"))
    assert writes > _ROUNDS * _MOST * 4
