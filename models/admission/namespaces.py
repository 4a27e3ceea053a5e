"""What annotations of a namespace add to its pods, where running pods show that the plugins are on.

PodNodeSelector and PodTolerationRestriction are off by default, and only pods tell whether they are on.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from models.objects.affinity import Toleration
from models.objects.annotations import DEFAULT_TOLERATIONS, NODE_SELECTOR
from models.objects.pod import PodSpec
from models.snapshot import Snapshot

Asked = TypeVar("Asked")


def shown_selectors(cluster: Snapshot) -> Iterator[tuple[str, dict[str, str]]]:
    """The node selectors of namespaces all of whose pods have them."""
    asked = {
        item.name: dict(part.strip().split("=", 1) for part in text.split(",") if "=" in part)
        for item in cluster.namespaces
        if (text := item.metadata.annotations.get(NODE_SELECTOR))
    }
    return _shown(cluster, asked, lambda spec, wanted: wanted.items() <= spec.node_selector.items())


def shown_tolerations(cluster: Snapshot) -> Iterator[tuple[str, tuple[Toleration, ...]]]:
    """The default tolerations of namespaces all of whose pods have them."""
    asked = {
        item.name: found
        for item in cluster.namespaces
        if (found := tuple(_tolerations(item.metadata.annotations.get(DEFAULT_TOLERATIONS, ""))))
    }
    return _shown(cluster, asked, lambda spec, wanted: all(one in spec.tolerations for one in wanted))


def _shown(
    cluster: Snapshot, asked: Mapping[str, Asked], has: Callable[[PodSpec, Asked], bool]
) -> Iterator[tuple[str, Asked]]:
    shown: dict[str, bool] = {}
    for pod in cluster.pods if asked else ():
        if pod.namespace in asked and pod.metadata.creation_timestamp:
            shown[pod.namespace] = has(pod.spec, asked[pod.namespace]) and shown.get(pod.namespace, True)
    yield from ((name, wanted) for name, wanted in asked.items() if shown.get(name))


def toleration_list(text: str) -> list[dict[str, Any]]:
    """The maps in such an annotation; none where it is no list of maps."""
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return []
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _tolerations(text: str) -> Iterator[Toleration]:
    for item in toleration_list(text):
        try:
            yield Toleration.model_validate(item, by_alias=True, by_name=False)
        except ValidationError:
            return
