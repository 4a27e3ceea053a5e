"""Manifests are read as strictly as `kubectl --validate=strict` has them; the words are the API server's."""

import json
from pathlib import Path
from typing import Any

import pytest

from models import Cluster, InputError
from planner.simulation.rollout import rollout

Object = dict[str, Any]


def deployment(namespace: str = "default", **spec: Any) -> Object:
    """A Deployment as a manifest has it."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def problems(*objects: Object) -> list[str]:
    """What is wrong with some manifests, without the place."""
    with pytest.raises(InputError) as caught:
        Cluster.from_objects(objects)
    return [line.partition(": ")[2] for line in caught.value.problems]


def test_fields_that_the_api_does_not_have_are_refused() -> None:
    """At every depth, each with the field that is near."""
    wrong = deployment(replica=2)
    wrong["metadata"]["lables"] = {}
    wrong["spec"]["template"]["spec"] |= {"nodeSelectr": {}, "Containers": []}
    wrong["spec"]["template"]["spec"]["containers"][0]["resource"] = {}
    assert problems(wrong) == [
        'unknown field "metadata.lables", did you mean "labels"?',
        'unknown field "spec.template.spec.containers[0].resource", did you mean "resources"?',
        'unknown field "spec.template.spec.nodeSelectr", did you mean "nodeSelector"?',
        'unknown field "spec.template.spec.Containers", did you mean "containers"?',
        'unknown field "spec.replica", did you mean "replicas"?',
    ]


@pytest.mark.parametrize("sign", [{"uid": "1"}, {"creationTimestamp": "2026-01-01T00:00:00Z"}])
def test_what_comes_from_an_api_server_is_not_looked_at(sign: Object) -> None:
    """A newer server has fields that this table lacks."""
    newer = deployment(brandNew=True)
    newer["metadata"] |= sign
    assert Cluster.from_objects([newer]).deployments


@pytest.mark.parametrize("known", [{"replicas": 2}, {"strategy": {"rollingUpdate": {"maxSurge": "10%"}}}])
def test_known_fields_pass(known: Object) -> None:
    """Also what the planner itself does not read: environment, probes, volumes of any kind."""
    good = deployment(**known)
    good["spec"]["template"]["spec"] |= {
        "volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"key": "a", "path": "b"}]}}],
        "securityContext": {"fsGroup": 1},
    }
    good["spec"]["template"]["spec"]["containers"][0] |= {
        "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "livenessProbe": {
            "httpGet": {"path": "/", "port": "http", "httpHeaders": [{"name": "a", "value": "b"}]}
        },
    }
    good["status"] = {}
    assert Cluster.from_objects([good]).deployments


def test_a_key_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    """In JSON the last one would count without a word."""
    text = json.dumps(deployment(replicas=3)).replace('"replicas": 3', '"replicas": 3, "replicas": 1')
    (tmp_path / "web.json").write_text(text)
    with pytest.raises(InputError, match='duplicate field "replicas"'):
        Cluster.load(tmp_path / "web.json")


_NAMESPACES = [{"kind": "Namespace", "metadata": {"name": name}} for name in ("kube-system", "shop")]
_NOT_FOUND = 'Deployment shp/web: namespaces "shp" not found, did you mean "shop"?'


def test_a_namespace_that_is_nowhere_is_an_error() -> None:
    """As the API server says it; one that the files bring along is there."""
    with pytest.raises(InputError, match=_NOT_FOUND.replace("?", r"\?")):
        Cluster.from_objects([*_NAMESPACES, deployment("shp")])
    assert Cluster.from_objects([*_NAMESPACES, deployment("shop")]).deployments
    brought = {"kind": "Namespace", "metadata": {"name": "shp"}}
    assert Cluster.from_objects([*_NAMESPACES, brought, deployment("shp")]).deployments


def test_a_rollout_into_no_namespace_is_an_error() -> None:
    """The cluster's namespaces count, and those of the manifests."""
    running = Cluster.from_objects([*_NAMESPACES, {"kind": "Node", "metadata": {"name": "n1"}}])
    with pytest.raises(InputError, match=_NOT_FOUND.replace("?", r"\?")):
        rollout(running, Cluster.from_objects([deployment("shp")], partial=True))


def test_without_all_namespaces_none_is_missing() -> None:
    """Nodes and pods alone say nothing about namespaces."""
    assert Cluster.from_objects([deployment("shp")]).deployments
