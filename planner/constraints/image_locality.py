"""ImageLocality: nodes that already hold a pod's images are a little better.

Kubernetes 1.34: every image of the pod that a node holds adds its size, scaled by the share of nodes
that hold it; the sum is mapped from 23 MiB .. 1000 MiB per container onto 0 .. 100.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from planner.constraints.family import MAX_SCORE, Score
from planner.problem.array_cache import ArrayCache
from planner.problem.nodes import Feasible, Ints
from planner.problem.problem import Problem
from planner.problem.templates import Template
from planner.state.state import State

_MIB = 1024 * 1024
_LEAST = 23 * _MIB
_MOST_PER_CONTAINER = 1000 * _MIB


class ImageLocality(Score):
    """Likes nodes that hold the pod's images."""

    name = "ImageLocality"

    def __init__(self, problem: Problem, state: State) -> None:
        super().__init__(problem, state)
        self._sizes: dict[str, dict[int, int]] = defaultdict(dict)
        for position, node in enumerate(self.nodes.nodes):
            for image in node.status.images:
                for name in image.names:
                    self._sizes[name][position] = image.size_bytes
        self._known: ArrayCache[Ints] = ArrayCache(self.nodes.size)

    def score(self, template: Template, feasible: Feasible) -> Ints | int:
        if not self._sizes:
            return 0
        spec = template.pod.spec
        images = tuple(_full_name(c.image) for c in (*spec.init_containers, *spec.containers))
        return self._known.get(images, lambda: self._judge(images))

    def _judge(self, images: tuple[str, ...]) -> Ints:
        held = np.zeros(self.nodes.size, np.int64)
        for image in images:
            sizes = self._sizes.get(image, {})
            share = len(sizes) / self.nodes.size
            for position, size in sizes.items():
                held[position] += int(size * share)
        most = _MOST_PER_CONTAINER * len(images)
        return MAX_SCORE * (np.clip(held, _LEAST, most) - _LEAST) // (most - _LEAST)


def _full_name(image: str) -> str:
    """The name under which a node lists an image: with the tag latest when it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
