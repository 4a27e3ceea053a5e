"""`--server-dry-run`: what the API server itself does to pods, before there are any to be seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.control_plane import ControlPlane, Manifest, is_ready, wait_for
from tests.e2e.manifests import HOSTNAME, ZONE, node, pod_spec, spread, workload
from tests.e2e.stories import carried_out, lopsided, planned
from tests.e2e.test_admission import at_rest, refusal, told

GROUP = "admissionregistration.k8s.io/v1"
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def policy(kind: str, **spec: Any) -> tuple[Manifest, Manifest]:
    """A policy over all pods, and its binding."""
    more = {"validationActions": ["Deny"]} if kind.startswith("Validating") else {}
    return (
        {
            "apiVersion": GROUP,
            "kind": kind,
            "metadata": {"name": "p"},
            "spec": {"matchConstraints": {"resourceRules": [PODS]}, **spec},
        },
        {
            "apiVersion": GROUP,
            "kind": f"{kind}Binding",
            "metadata": {"name": "p"},
            "spec": {"policyName": "p", **more},
        },
    )


def mutating(*changes: str) -> tuple[Manifest, Manifest]:
    """A policy that does this to every pod."""
    patches = [{"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{text}]"}} for text in changes]
    return policy("MutatingAdmissionPolicy", reinvocationPolicy="Never", mutations=patches)


def at_work(live: ControlPlane, does: Any) -> None:
    """Wait until the policies do this to a pod that is tried."""
    probe = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": pod_spec()}
    tried = ("kubectl", "create", "--dry-run=server", "-f", "-", "-o", "json")
    wait_for("policy", lambda: does(live.run(*tried, given=json.dumps(probe))))


def test_a_policy_that_no_pod_shows_is_found(live: ControlPlane) -> None:
    """It chooses nodes by an affinity and raises requests: of three pods one fits, and that was said."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity, terms = "Object.spec.affinity.nodeAffinity", f"{required}.nodeSelectorTerms"
    asked = f'{affinity}.{terms}.matchExpressions{{key: "{ZONE}", operator: "In", values: ["b"]}}'
    chosen = (
        f"{affinity}.{required}{{nodeSelectorTerms: [{affinity}.{terms}{{matchExpressions: [{asked}]}}]}}"
    )
    rule = f"Object.spec.affinity{{nodeAffinity: {affinity}{{{required}: {chosen}}}}}"
    live.create(
        node("a1", zone="a"),
        node("b1", zone="b"),
        *mutating(
            f'JSONPatch{{op: "add", path: "/spec/affinity", value: {rule}}}',
            'JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/cpu", value: "3"}',
        ),
    )
    at_work(live, lambda ended: '"cpu": "3"' in ended.stdout)
    web = workload("web", 3)
    code, rollout = told(live, "rollout", "-f", "-", given=web)
    assert code == 0, "no pod shows the policy yet"
    assert any("MutatingAdmissionPolicy p may change Deployment" in note for note in rollout["notes"])
    code, rollout = told(live, "rollout", "--server-dry-run", "-f", "-", given=web)
    assert (code, rollout["completes"]) == (1, False)
    (note,) = [note for note in rollout["notes"] if note.startswith("the API server changes")]
    assert note == (
        "the API server changes pods of Deployment default/web: c requests 3 of cpu instead of 100m; "
        "another affinity; the next pod is made as they are"
    )
    live.create(web)
    pods = at_rest(live)
    assert sorted(is_ready(pod) for pod in pods) == [False, False, True]
    assert {pod["spec"].get("nodeName") for pod in pods} == {"b1", None}


def test_a_refusal_is_told_in_the_words_of_the_api_server(live: ControlPlane) -> None:
    """A policy, and the level of Pod Security of a namespace; what is not refused is played."""
    text = "object.spec.containers.all(c, has(c.resources.limits))"
    rules = [{"expression": text, "message": "no limits"}]
    live.create(node("n1"), *policy("ValidatingAdmissionPolicy", validations=rules))
    at_work(live, lambda ended: "no limits" in ended.stderr)
    web = workload("web", 2)
    _, rollout = told(live, "rollout", "-f", "-", given=web)
    assert any("ValidatingAdmissionPolicy p may refuse Deployment" in note for note in rollout["notes"])
    code, rollout = told(live, "rollout", "--server-dry-run", "-f", "-", given=web)
    assert not any("not evaluated here" in note for note in rollout["notes"])
    live.create(web)
    assert (code, rollout["workloads"][0]["message"]) == (1, f"not created: {refusal(live)}")
    code, found = told(live, "simulate", "--server-dry-run")
    assert (code, found["pending"][0]["message"]) == (1, f"not created: {refusal(live)}")
    locked = {"name": "locked", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    live.kubectl("delete", "validatingadmissionpolicy", "p")
    live.create({"apiVersion": "v1", "kind": "Namespace", "metadata": locked})
    at_work(live, lambda ended: ended.returncode == 0)
    api = workload("api", 1)
    api["metadata"]["namespace"] = "locked"
    code, rollout = told(live, "rollout", "--server-dry-run", "-f", "-", given=api)
    assert code == 1
    words = 'not created: forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation'
    assert rollout["workloads"][0]["message"].startswith(words)


def test_what_is_as_foretold_changes_nothing(live: ControlPlane) -> None:
    """Every kind of workload, its defaults filled in by the API server: no note, and the same answer."""
    alike = spread("web") | {"matchLabelKeys": ["pod-template-hash"]}
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}}
    required = [term | {"matchLabelKeys": ["pod-template-hash"]}]
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    priority = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "gold"}}
    bounds = {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "200m"}}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "default"}}
    live.create(
        *(node(name, zone=name[0]) for name in ("a1", "b1")),
        priority | {"value": 7, "globalDefault": True, "preemptionPolicy": "Never"},
        limits | {"spec": {"limits": [bounds]}},
        workload("web", 2, alike, affinity=apart),
        workload("db", 2, kind="StatefulSet"),
    )
    live.at_rest(4)
    asked = ("simulate", "-o", "json")
    plain, tried = live.planner(*asked), live.planner(*asked, "--server-dry-run")
    assert (plain.returncode, plain.stdout, plain.stderr) == (tried.returncode, tried.stdout, tried.stderr)
    assert "changes pods" not in plain.stdout


def test_what_would_not_be_applied_is_told(live: ControlPlane) -> None:
    """A container without an image; a namespace may come with its pods."""
    live.create(node("n1"))
    web = workload("web", 1)
    del web["spec"]["template"]["spec"]["containers"][0]["image"]
    given = json.dumps(web)
    for more in ((), ("--server-dry-run",)):
        ended = live.run(*live.command("rollout", "-f", "-", *more), given=given)
        assert ended.returncode == 2
        assert "spec.template.spec.containers[0].image: Required value" in " ".join(ended.stderr.split())
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    api = workload("api", 1)
    api["metadata"]["namespace"] = "shop"
    both = {"apiVersion": "v1", "kind": "List", "items": [shop, api]}
    code, found = told(live, "rollout", "--server-dry-run", "-f", "-", given=both)
    assert (code, found["completes"]) == (0, True)


def test_a_policy_that_is_newer_than_the_pods(live: ControlPlane, tmp_path: Path) -> None:
    """Without the flag pods are evicted that are not made again: scripts say why, and the next plan knows."""
    lopsided(live)
    (tmp_path / "drain").mkdir()
    drain = planned(live, tmp_path / "drain", "drain", "a1", "a2")
    rule = {"expression": "!has(object.metadata.labels)", "message": "no labels"}
    live.create(*policy("ValidatingAdmissionPolicy", validations=[rule]))
    at_work(live, lambda _: "no labels" in _refused(live))
    found = told(live, "drain", "a1", "--server-dry-run")[1]
    assert {row["lands"] for step in found["steps"] for row in step["evictions"]} == {None}
    ended = carried_out(live, planned(live, tmp_path, "rebalance"), TIMEOUT="15")
    assert ended.returncode == 1
    assert "no pod is made in place of default/web-" in ended.stderr
    assert "denied request: no labels" in ended.stderr
    code, plan = told(live, "rebalance")
    assert (code, plan["steps"]) == (1, [])
    ended = carried_out(live, drain, TIMEOUT="15")
    assert ended.returncode == 1
    assert "ready, no pod is made: forbidden: " in ended.stderr


def _refused(live: ControlPlane) -> str:
    """What the API server says of a pod with a label."""
    probe = ("kubectl", "run", "probe", "--image=none", "--labels=a=b", "--dry-run=server")
    return live.run(*probe).stderr


def test_what_kubectl_leaves_as_it_is_stays(live: ControlPlane) -> None:
    """A number that no manifest has; a node selector that somebody added, if the API server is asked."""
    live.create(*(node(name, zone=name, cpu="4") for name in ("a", "b")))
    web = workload("web", 1, cpu="1900m")
    del web["spec"]["replicas"]
    live.kubectl("apply", "-f", "-", given=json.dumps(web))
    live.kubectl("scale", "deployment/web", "--replicas=4")
    live.at_rest(4)
    web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "2100m"
    for more in ((), ("--server-dry-run",)):
        code, rollout = told(live, "rollout", "-f", "-", *more, given=web)
        assert (code, rollout["completes"]) == (1, False), more
    web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "100m"
    live.kubectl("apply", "-f", "-", given=json.dumps(web))
    live.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
    on_a = [{"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {HOSTNAME: "a"}}]
    live.kubectl("patch", "deployment/web", "--type=json", "-p", json.dumps(on_a))
    live.kubectl("rollout", "status", "deployment/web", "--timeout=120s")
    web["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1500m"
    code, rollout = told(live, "rollout", "-f", "-", "--server-dry-run", given=web)
    assert (code, rollout["completes"]) == (1, False)
    live.kubectl("apply", "-f", "-", given=json.dumps(web))
    pods = wait_for(
        "a pod that finds no room", lambda: [pod for pod in live.pods() if _is_unschedulable(pod)]
    )
    assert all(pod["spec"]["nodeSelector"] == {HOSTNAME: "a"} for pod in pods)


def _is_unschedulable(pod: Manifest) -> bool:
    return any(one.get("reason") == "Unschedulable" for one in pod["status"].get("conditions", ()))
