"""Which release is copied, and what its row says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models import Cluster, InputError
from models.objects.kubernetes_version import KubernetesVersion
from planner import simulate
from planner.problem.kubernetes_version import BEHAVIOURS, NEWEST, behaviour_of, copied_for
from tests.builders import Object, cluster, node, pod


def aged(name: str, kubelet: str) -> Object:
    """A node that tells the version of its kubelet."""
    found = node(name)
    found["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    return found


def origin(version: str) -> Object:
    """What `planner snapshot` writes down about a server."""
    return {"apiVersion": "planner/v1alpha1", "kind": "SnapshotOrigin", "serverVersion": version}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.36", (1, 36, 0)),
        ("v1.34.9", (1, 34, 9)),
        ("v1.35.1-gke.1200", (1, 35, 1)),
        ("v1.36.2+k3s1", (1, 36, 2)),
        ("1.34+", (1, 34, 0)),
    ],
)
def test_versions_are_read_as_vendors_write_them(text: str, expected: tuple[int, int, int]) -> None:
    """What follows the numbers does not matter."""
    assert KubernetesVersion.parse(text) == KubernetesVersion(*expected)


@pytest.mark.parametrize("text", ["", "one", "1", "1.x", "1.36.2.1", "36"])
def test_what_is_no_version_is_an_error(text: str) -> None:
    """One line, with an example."""
    assert KubernetesVersion.parse(text) is None
    with pytest.raises(InputError, match="is not a version of Kubernetes"):
        Cluster.from_objects([node("n1")], kubernetes=text)


def test_what_is_asked_for_comes_first_then_the_server_then_the_kubelets() -> None:
    """And with none of them the newest release that was compared with real decisions."""
    objects = [aged("n1", "v1.34.2"), aged("n2", "v1.35.0")]
    told = origin("v1.36.2")
    asked = Cluster.from_objects([*objects, told], kubernetes="1.37")
    found = [asked, cluster(*objects, told), cluster(*objects), cluster(node("n1"))]
    expected = [("1.37", "asked"), ("1.36", "server"), ("1.35", "kubelets"), ("1.36", "newest")]
    copied = [copied_for(item).document for item in found]
    assert [(item.version, item.source) for item in copied] == expected
    assert [simulate(item).kubernetes for item in found] == copied


def test_a_server_that_does_not_tell_is_passed_over() -> None:
    """A user who may not ask for the version still has kubelets."""
    assert copied_for(cluster(aged("n1", "v1.34.9"), origin(""))).document.version == "1.34.9"


@pytest.mark.parametrize(
    ("kubernetes", "words"),
    [("1.40", "newer than"), ("1.29", "older than"), ("1.37", "release notes"), ("1.36.9", None)],
)
def test_what_the_table_does_not_have_is_a_note(kubernetes: str, words: str | None) -> None:
    """Newer, older, and what is known by announcement alone."""
    notes = simulate(Cluster.from_objects([node("n1"), pod("p", on="n1")], kubernetes=kubernetes)).notes
    assert notes == () if words is None else any(words in note for note in notes)


@given(st.integers(0, 3), st.integers(0, 60), st.integers(0, 30))
def test_a_release_has_the_row_of_the_newest_one_not_after_it(major: int, minor: int, patch: int) -> None:
    """Whatever the version; before the first row it is the first."""
    version = KubernetesVersion(major, minor, patch)
    row = behaviour_of(version)
    later = [found.version for found in BEHAVIOURS if found.version > row.version]
    assert row.version <= version or row is BEHAVIOURS[0]
    assert all(found > version for found in later)


def test_rows_follow_one_another() -> None:
    """Every release says how it differs from the one before, and is recorded up to the default."""
    versions = [row.version for row in BEHAVIOURS]
    assert versions == sorted(set(versions))
    assert NEWEST.recorded
    assert not any(row.recorded for row in BEHAVIOURS if row.version > NEWEST.version)


@pytest.mark.parametrize(
    ("kubernetes", "reasons"),
    [
        ("1.34.8", "1 node(s) had untolerated taint {a: }, 1 node(s) had untolerated taint {b: }"),
        ("1.34.9", "2 node(s) had untolerated taint(s)"),
        ("1.35", "2 node(s) had untolerated taint(s)"),
    ],
)
def test_patches_count_where_they_changed_something(kubernetes: str, reasons: str) -> None:
    """The words for taints came to 1.34 with its ninth patch."""
    objects = [node("n1", taints=["a:NoSchedule"]), node("n2", taints=["b:NoSchedule"]), pod("p")]
    found = simulate(Cluster.from_objects(objects, kubernetes=kubernetes), preemption=False).decisions[0]
    assert found.message == f"0/2 nodes are available: {reasons}. no new claims to deallocate"
