"""The table of mistakes in workloads, asked of the API server that it was made from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.e2e.control_plane import ControlPlane, Manifest
from tests.e2e.manifests import node
from tests.invalid_workloads import ACCEPTED, REFUSED, REFUSED_PODS, Case


def refused(live: ControlPlane, items: Sequence[Manifest]) -> list[bool]:
    """Of each, whether the API server would not store it."""

    def ask(item: Manifest) -> bool:
        group = "api" if item["apiVersion"] == "v1" else "apis"
        resources = f"{item['kind'].lower()}s"
        path = f"/{group}/{item['apiVersion']}/namespaces/default/{resources}?dryRun=All"
        ended = live.run("kubectl", "create", "--raw", path, "-f", "-", given=json.dumps(item))
        reasons = (" is invalid: ", "Error from server (BadRequest)")
        assert ended.returncode == 0 or any(why in ended.stderr for why in reasons), ended.stderr
        return ended.returncode != 0

    with ThreadPoolExecutor(2) as asking:
        return list(asking.map(ask, items))


def told_apart(live: ControlPlane, cases: Sequence[Case], expected: tuple[bool, bool]) -> list[str]:
    """The cases of which the workload, or its pod where that was stored, is taken otherwise than expected."""
    workloads = refused(live, [case.manifest() for case in cases])
    pods = refused(live, [case.pod() for case in cases]) if not all(workloads) else workloads
    answers = zip(cases, workloads, pods, strict=True)
    return [f"{case}: {found}" for case, *found in answers if tuple(found) != expected]


def test_the_api_server_tells_the_same_mistakes(live: ControlPlane) -> None:
    """Every one is refused, by it or by what makes the pods; nothing else is."""
    live.create(node("n1"))
    assert told_apart(live, REFUSED, (True, True)) == []
    assert told_apart(live, REFUSED_PODS, (False, True)) == []
    assert told_apart(live, ACCEPTED, (False, False)) == []
