"""Which pods are alike in all that decides on their places; without a controller they are one workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tests.truth.manifests import ANYWHERE, Object, controller, is_live, key_of, spelled

#: What of a spec says nothing about which nodes are open to a pod, or is looked at by itself.
_NOT_OF_PLACES = ("nodeName", "volumes", "terminationGracePeriodSeconds")


def named_after(pods: Iterable[Object], objects: Iterable[Object]) -> dict[str, str]:
    """For every pod the name of the first that is like it in all that decides on its place."""
    selected = set(_selected_keys(objects))
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for pod in pods:
        labels = {k: v for k, v in (pod["metadata"].get("labels") or {}).items() if k in selected}
        spec = {k: v for k, v in pod["spec"].items() if k not in _NOT_OF_PLACES}
        volumes = [
            # The claim of an ephemeral volume is named after its pod.
            {**item, "of": key_of(pod)} if "ephemeral" in item and controller(pod) is None else item
            for item in pod["spec"].get("volumes") or ()
            if not ANYWHERE & item.keys()
        ]
        key = spelled([pod["metadata"]["namespace"], labels, spec, volumes, is_live(pod), controller(pod)])
        found[key_of(pod)] = first.setdefault(key, pod["metadata"]["name"])
    return found


def _selected_keys(part: object) -> Iterator[str]:
    """Every label key that some selector names."""
    if isinstance(part, Mapping):
        for name, value in part.items():
            if name == "matchLabels":
                yield from value
            elif name in ("matchLabelKeys", "mismatchLabelKeys"):
                yield from value or ()
            elif name == "matchExpressions":
                yield from (item["key"] for item in value or ())
            else:
                yield from _selected_keys(value)
    elif isinstance(part, list | tuple):
        for item in part:
            yield from _selected_keys(item)
