"""ImageLocality by release: whose size an image has, and what images of volumes count."""

from typing import Any

import pytest

from models import Cluster
from planner import simulate
from tests.builders import Object, node, pod

MIB = 2**20
VOLUME = {"name": "data", "image": {"reference": "data:v1"}}


def scores(wanted: Object, *machines: Object, kubernetes: str = "1.36") -> dict[str, int]:
    """ImageLocality's score of every node for a pod."""
    found = simulate(
        Cluster.from_objects([*machines, wanted], kubernetes=kubernetes), verbose=True
    ).decisions[0]
    return (found.scores or {})["ImageLocality"]


def holding(name: str, image: str, size: int) -> Object:
    """A node that has an image."""
    return node(name, images=[{"names": [image], "sizeBytes": size * MIB}])


def using(*images: str, **fields: Any) -> Object:
    """A pod with a container for each image."""
    return pod(
        "p", containers=[{"name": f"c{i}", "image": image} for i, image in enumerate(images)], **fields
    )


def test_an_image_has_the_size_that_the_first_node_of_the_list_reports() -> None:
    """Whatever its name: the list of the API server counts, not the alphabet."""
    machines = [holding("n2", "app:v1", 1000), holding("n1", "app:v1", 100), node("n3")]
    half = 100 * (1000 * 2 // 3 * MIB - 23 * MIB) // (1000 * MIB - 23 * MIB)
    assert scores(using("app:v1"), *machines) == pytest.approx({"n1": half, "n2": half, "n3": 0}, abs=1)


@pytest.mark.parametrize(("kubernetes", "expected"), [("1.35", 0), ("1.36", 48), ("1.37", 24)])
def test_an_image_that_is_mounted(kubernetes: str, expected: int) -> None:
    """1.36 counts its size, 1.37 also lets it raise the upper bound from 1000 to 2000 MiB."""
    machines = [holding("n1", "data:v1", 1000), node("n2")]
    found = scores(using("app:v1", volumes=[VOLUME]), *machines, kubernetes=kubernetes)
    assert found["n1"] == expected
