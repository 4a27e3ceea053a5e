"""What a snapshot may have more, or in another order, and the answers are the same."""

import copy
import random
from collections.abc import Callable, Sequence

import pytest

from models import Cluster, InputError
from planner import capacity, check, explain, rebalance, simulate, solve, survive
from planner.documents.plan import Document, Objective
from tests import seeds
from tests.truth import wide
from tests.truth.manifests import Object
from tests.truth.templates import ZONE

#: Seconds for each command.
_SHARE = 0.1

ASKED: dict[str, Callable[[Cluster], Document]] = {
    "check": check,
    "simulate": lambda cluster: simulate(cluster, verbose=True),
    "capacity": capacity,
    "survive": lambda cluster: survive(cluster, ZONE),
    "explain": explain,
    "solve": solve,
    "rebalance": rebalance,
}
SEARCHES = {
    "solve": lambda cluster: solve(cluster).objective,
    "solve --allow-moves": lambda cluster: solve(cluster, allow_moves=True).objective,
    "rebalance": lambda cluster: rebalance(cluster).objective,
}


@pytest.mark.parametrize("name", ASKED)
def test_finished_pods_change_nothing(name: str) -> None:
    """Pods that have succeeded or failed hold no room, no port and no place in a domain."""
    for seed in seeds.seeds_for(_SHARE):
        objects = wide.draw(seed).objects
        more = [*copy.deepcopy(objects), *finished(random.Random(seed), objects)]
        assert _told(ASKED[name], more) == _told(ASKED[name], objects), f"seed {seed}"


@pytest.mark.parametrize("command", SEARCHES)
def test_the_order_of_the_objects_changes_nothing_that_is_proved(command: str) -> None:
    """Ties are decided by order, so a plan may be another one; what is best may not."""
    for seed in seeds.seeds_for(_SHARE):
        objects = wide.draw(seed, command).objects
        others = random.Random(seed).sample(objects, len(objects))
        first, second = (_objective(command, each) for each in (objects, others))
        assert not contradiction(first, second), f"seed {seed}: {first} {second}"


def finished(chance: random.Random, objects: Sequence[Object]) -> list[Object]:
    """Copies of some pods without their controllers, ended on any node."""
    nodes = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"]
    pods = [item for item in objects if item["kind"] == "Pod"]
    found = []
    for number, pod in enumerate(chance.sample(pods, min(3, len(pods)))):
        ended = copy.deepcopy(pod)
        metadata = ended["metadata"]
        for field in ("ownerReferences", "deletionTimestamp", "uid"):
            metadata.pop(field, None)
        metadata["name"] += f"-ended-{number}"
        ended["spec"]["nodeName"] = chance.choice(nodes)
        ended["status"] = {"phase": chance.choice(("Succeeded", "Failed"))}
        found.append(ended)
    return found


def contradiction(first: Sequence[Objective], second: Sequence[Objective]) -> str:
    """The stage of which both have proved another value, all stages before it being equal and proved."""
    for one, other in zip(first, second, strict=False):
        if not (one.value == one.bound and other.value == other.bound):
            return ""
        if (one.name, one.value) != (other.name, other.value):
            return one.name
    return ""


def _told(ask: Callable[[Cluster], Document], objects: Sequence[Object]) -> str:
    try:
        return ask(Cluster.from_objects(copy.deepcopy(objects))).model_dump_json()
    except InputError as error:
        return str(error)


def _objective(command: str, objects: Sequence[Object]) -> Sequence[Objective]:
    try:
        return SEARCHES[command](Cluster.from_objects(copy.deepcopy(objects)))
    except InputError:
        return ()
