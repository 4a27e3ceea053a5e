"""Other names in the same order."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.objects.kinds import MODELS
from models.sharing.kept import kept
from models.sharing.names import NewNames, OldNames
from models.sharing.renamed import renamed
from tests.models.sharing.full import full

PARTS = st.text("ab0129_Zz", min_size=1, max_size=3)
#: Three numbers in a row would be an address with the number of a replica behind them.
NUMBERS = re.compile(r"(?:(?:^|-)[0-9]+){3}(?:-|$)")
NAME = st.lists(PARTS, min_size=1, max_size=4).map("-".join).filter(lambda name: not NUMBERS.search(name))
NAMES = st.lists(NAME, min_size=2, max_size=12)


def new_names(names: list[str]) -> NewNames:
    """The renaming of these names."""
    old = OldNames()
    for name in names:
        old.name(name)
    return NewNames(old.parts)


@given(NAMES)
def test_the_order_of_names_stays(names: list[str]) -> None:
    """For any names, and for any two of them with a slash between, as keys have it."""
    new = new_names(names)
    keys = [*names, *(f"{one}/{other}" for one, other in pairwise(names)), *(f"{name}-1" for name in names)]
    ordered = sorted(set(keys))
    after = [new.name(key) for key in ordered]
    assert after == sorted(set(after))


@given(NAMES)
def test_names_with_common_parts_still_have_them(names: list[str]) -> None:
    """A pod's name still begins with that of its owner, and numbers are what they were."""
    new = new_names(names)
    for name in names:
        assert new.name(f"{name}-17") == f"{new.name(name)}-17"


@given(NAMES)
def test_no_part_stays_but_numbers(names: list[str]) -> None:
    """A search for an old word does not find it."""
    new = new_names(names)
    old = {part for name in names for part in name.split("-") if not part.isdecimal()}
    assert not old & {part for name in names for part in new.name(name).split("-")}


ADDRESSES = st.lists(st.tuples(*[st.integers(0, 255)] * 4), min_size=2, max_size=8, unique=True)


@given(ADDRESSES, st.sampled_from("-."))
def test_of_an_address_no_number_stays(found: list[tuple[int, ...]], sign: str) -> None:
    """Names with addresses in them are in the same order, and what holds the same address still does."""
    addresses = [sign.join(map(str, numbers)) for numbers in found]
    names = [f"ip-{address}.internal" for address in addresses]
    new = new_names([*names, "kube-proxy-x"])
    after = [new.name(name) for name in sorted(names)]
    assert after == sorted(set(after))
    assert not any(re.search("[0-9]", name) for name in after)
    for name, address in zip(names, addresses, strict=True):
        assert new.name(name).split("-", 1)[1].startswith(new.name(address))
        assert new.name(f"kube-proxy-{name}").endswith(new.name(name))


def test_what_is_no_address_keeps_its_numbers() -> None:
    """Three numbers, or four that are longer, are versions, dates and replicas."""
    new = new_names(["db-2024-10-31-0", "v-1.2.3", "web-1-2"])
    assert [re.findall("[0-9]+", new.name(name)) for name in ("db-2024-10-31-0", "v-1.2.3", "web-1-2")] == [
        ["2024", "10", "31", "0"],
        ["1", "2", "3"],
        ["1", "2"],
    ]


def test_addresses_of_ports_on_hosts_are_others() -> None:
    """The same one for the same, and those that stand for all addresses stay."""
    ports = [{"hostPort": 80, "hostIP": text} for text in ("10.0.3.17", "0.0.0.0", "10.0.3.17", "fd00::1")]
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p"}}
    item = {**pod, "spec": {"containers": [{"name": "c", "ports": ports}]}}
    old = OldNames()
    renamed(item, old)
    found = renamed(item, NewNames(old.parts))["spec"]["containers"][0]["ports"]
    first, every, again, last = (port["hostIP"] for port in found)
    assert (every, first == again, first != last) == ("0.0.0.0", True, True)
    assert not re.search("[0-9]", first + last)


def test_what_kubernetes_gives_a_meaning_keeps_it() -> None:
    """The tag `latest`, a digest, the scheduler's own name."""
    new = new_names(["nginx", "docker.io", "sha256", "latest", "default-scheduler", "0ab1"])
    assert re.fullmatch(r"\w+\.\w+/\w+:latest", new.image("docker.io/nginx:latest"))
    assert re.fullmatch(r"\w+@sha256:0\w+", new.image("nginx@sha256:0ab1"))
    assert new.name("default-scheduler") == "default-scheduler"


@pytest.mark.long
def test_every_kind_can_be_renamed() -> None:
    """With every field that is read: nothing is lost, and keys are as before."""
    for kind in MODELS:
        item = kept(full(kind))
        old = OldNames()
        renamed(item, old)
        found = renamed(item, NewNames(old.parts))
        assert _keys(found) == _keys({name: part for name, part in item.items() if name in found})


def _keys(value: object) -> list[str]:
    """The keys in a value but those that are pods' names."""
    found = re.findall(r'"([^"]+)": ', json.dumps(value, sort_keys=True))
    return [key for key in found if key != "app" and len(key) > 1]


def test_words_keep_their_meaning() -> None:
    """Operating system, architecture and uids as labels; the pool and the token volume that all know."""
    labels = {"kubernetes.io/os": "linux", "controller-uid": "a-b", "pool": "gpu", "gen": "7"}
    pod = {
        "kind": "Pod",
        "metadata": {"name": "web-0", "labels": labels},
        "spec": {
            "nodeSelector": {"kubernetes.io/os": "linux", "pool": "gpu"},
            "tolerations": [{"key": "gpu", "value": "gpu", "operator": "Equal"}],
            "volumes": [{"name": "kube-api-access-x7k2p"}, {"name": "d", "rbd": {"pool": "rbd"}}],
            "priorityClassName": "system-node-critical",
        },
    }
    old = OldNames()
    renamed(pod, old)
    new = NewNames(old.parts)
    found = renamed(pod, new)
    gpu = new.name("gpu")
    assert gpu != "gpu"
    assert found["metadata"]["labels"] == {**labels, "pool": gpu}
    assert found["metadata"]["namespace"] == new.name("default") != "default"
    assert found["spec"]["nodeSelector"] == {"kubernetes.io/os": "linux", "pool": gpu}
    assert found["spec"]["tolerations"] == [{"key": "gpu", "value": gpu, "operator": "Equal"}]
    assert found["spec"]["volumes"][0]["name"] == "kube-api-access-x7k2p"
    assert found["spec"]["volumes"][1]["rbd"] == {"pool": "rbd"}
    assert found["spec"]["priorityClassName"] == "system-node-critical"


def test_a_class_in_the_name_of_a_resource_is_renamed_with_it() -> None:
    """A quota goes on counting the claims of its StorageClass, and no name of a class is told."""
    storage, device = "storageclass.storage.k8s.io", "deviceclass.resource"
    items: list[dict[str, Any]] = [
        {"kind": "StorageClass", "metadata": {"name": "fast.ssd"}, "provisioner": "ebs.csi.aws.com"},
        {"kind": "DeviceClass", "metadata": {"name": "gold"}},
        {
            "kind": "ResourceQuota",
            "metadata": {"name": "team", "namespace": "shop"},
            "spec": {
                "hard": {
                    f"fast.ssd.{storage}/requests.storage": "1Gi",
                    f"gold.{device}.k8s.io/devices": "1",
                    f"requests.{device}.kubernetes.io/gold": "1",
                    "requests.example.com/gold": "1",
                }
            },
        },
        {
            "kind": "Pod",
            "metadata": {"name": "web-0", "namespace": "shop"},
            "spec": {
                "containers": [
                    {"name": "c", "resources": {"requests": {f"{device}.kubernetes.io/gold": "1"}}},
                ]
            },
        },
    ]
    old = OldNames()
    for item in items:
        renamed(item, old)
    new = NewNames(old.parts)
    *classes, quota, pod = (renamed(item, new) for item in items)
    disks, devices = (found["metadata"]["name"] for found in classes)
    assert "gold" not in devices
    assert list(quota["spec"]["hard"]) == [
        f"{disks}.{storage}/requests.storage",
        f"{devices}.{device}.k8s.io/devices",
        f"requests.{device}.kubernetes.io/{devices}",
        "requests.example.com/gold",
    ]
    (container,) = pod["spec"]["containers"]
    assert list(container["resources"]["requests"]) == [f"{device}.kubernetes.io/{devices}"]
