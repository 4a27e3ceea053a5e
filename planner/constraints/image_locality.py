"""ImageLocality: nodes that already hold a pod's images are a little better.

Kubernetes: every image of the pod that a node holds adds its size, scaled by the share of nodes that
hold it; the sum is mapped from 23 MiB .. 1000 MiB per container onto 0 .. 100.  From 1.36 on images that
are mounted as volumes add theirs; from 1.37 on they raise the upper bound as a container does.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

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
        self._known: ArrayCache[Ints] = ArrayCache(self.nodes.size)

    @cached_property
    def _sizes(self) -> dict[str, dict[int, int]]:
        """The size of every image on the nodes, by position, that have it; read when nodes compete."""
        found: dict[str, dict[int, int]] = defaultdict(dict)
        sizes: dict[str, int] = {}
        for node in (node for node in self.problem.cluster.nodes if node.status.images):
            position = self.nodes.index[node.name]
            for image in node.status.images:
                for name in image.names:
                    # The program's cache keeps the size that it heard of first, for all nodes.
                    found[name][position] = sizes.setdefault(name, image.size_bytes)
        return found

    def is_of_node(self, template: Template) -> bool:
        return True

    def score(self, template: Template, feasible: Feasible) -> Ints | int:
        if not self._sizes:
            return 0
        images, counted = self._images(template)
        return self._known.get((images, counted), lambda: self._judge(images, counted))

    def _images(self, template: Template) -> tuple[tuple[str, ...], int]:
        """The images of a pod, and how many of them set the threshold."""
        spec, behaviour = template.pod.spec, self.problem.behaviour
        images = [found.image for found in spec.all_containers]
        counted = len(images)
        if behaviour.counts_image_volumes:
            images += [volume.image.reference for volume in spec.volumes if volume.image is not None]
        if behaviour.image_volumes_raise_threshold:
            counted = len(images)
        return tuple(map(_full_name, images)), counted

    def _judge(self, images: tuple[str, ...], counted: int) -> Ints:
        held = np.zeros(self.nodes.size, np.int64)
        for image in images:
            sizes = self._sizes.get(image, {})
            share = len(sizes) / self.nodes.size
            for position, size in sizes.items():
                held[position] += int(size * share)
        most = _MOST_PER_CONTAINER * counted
        return MAX_SCORE * (np.clip(held, _LEAST, most) - _LEAST) // (most - _LEAST)


def _full_name(image: str) -> str:
    """The name under which a node lists an image: with the tag latest when it has none."""
    return image if image.rfind(":") > image.rfind("/") else f"{image}:latest"
