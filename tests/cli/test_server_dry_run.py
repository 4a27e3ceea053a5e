"""`--server-dry-run` with a stand-in for kubectl: what is sent, and what is made of each kind of answer."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Planner
from tests.cli.manifests import Object, deployment, node, pod, write

#: Answers lists from a file; of what is to be created it says what `answers` has for the workload.
_KUBECTL = """#!{python} -IS
import sys
def read(name):
    with open({home!r} + "/" + name) as file:
        return file.read()
if "create" not in sys.argv and "apply" not in sys.argv:
    words = " ".join(sys.argv)
    if "/version" in words:
        print('{{"gitVersion": "v1.36.2"}}')
    elif "--all-namespaces" in words:
        print(read("list.json"))
    sys.exit(0)
import json
answers = json.loads(read("answers.json"))
if "apply" in sys.argv:
    told = answers.get("apply", "")
    print(told, file=sys.stderr)
    sys.exit(1 if told else 0)
sent = json.load(sys.stdin)["items"]
with open({home!r} + "/sent", "a") as log:
    log.write(json.dumps([item["metadata"]["name"] for item in sent]) + "\\n")
for item in sent:
    name = item["metadata"]["name"]
    told = answers.get(name.partition("-")[0], "")
    if isinstance(told, dict):
        item["spec"].update(told)
    if told == "" or isinstance(told, dict):
        print(json.dumps(item, indent=4))
    else:
        print(told.replace("NAME", name), file=sys.stderr)
sys.exit(1)
"""
_NOWHERE = (
    'Error from server (NotFound): error when creating "STDIN": namespaces "no.such.namespace" not found'
)


class Server:
    """What the stand-in answers, and what it was sent."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._home = home
        path = home / "kubectl"
        path.write_text(_KUBECTL.format(python=sys.executable, home=str(home)))
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(home), prepend=":")

    def has(self, *objects: Object) -> None:
        """The objects of the cluster."""
        listing = {"apiVersion": "v1", "items": objects, "kind": "List"}
        (self._home / "list.json").write_text(json.dumps(listing, indent=4))

    def says(self, **answers: str | Object) -> None:
        """By workload: nothing, fields that are changed in the spec, or a line of kubectl about NAME."""
        (self._home / "answers.json").write_text(json.dumps({"none": _NOWHERE, **answers}))

    @property
    def sent(self) -> list[list[str]]:
        """The names of what was to be created, call by call."""
        return [json.loads(line) for line in (self._home / "sent").read_text().splitlines()]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A stand-in for kubectl, first on the PATH."""
    return Server(tmp_path, monkeypatch)


def test_a_pod_of_every_template_is_sent_at_once(planner: Planner, server: Server) -> None:
    """Not one of a ReplicaSet that has a Deployment; a node selector that comes back is heeded."""
    web, api = deployment("web", 1), deployment("api", 1)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}
    below = {
        **web,
        "kind": "ReplicaSet",
        "metadata": {**web["metadata"], "name": "web-h1", "ownerReferences": [owner]},
    }
    server.has(node("a1", "a"), web, api, below)
    server.says(web={"nodeSelector": {"pool": "gold"}})
    ended = planner("simulate", "--server-dry-run")
    assert server.sent == [["web-dry-run-2", "api-dry-run-3", "none"]]
    assert ended.code == 1
    assert (
        "note: the API server changes pods of Deployment shop/web: node selector pool=gold; the next"
        in ended.err
    )
    assert ended.verdict == "1 pod placed, 1 stays pending."


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            'Error from server (Invalid): error when creating "STDIN": Pod "NAME" is invalid: not signed',
            "invalid: not signed",
        ),
        (
            'Error from server: error when creating "STDIN": admission webhook "w.io" denied the request: no',
            'admission webhook "w.io" denied the request: no',
        ),
        (
            'Error from server (Forbidden): error when creating "STDIN": pods "NAME" is forbidden: one\ntwo',
            "forbidden: one two",
        ),
    ],
)
def test_a_refusal_is_what_becomes_of_the_pods(
    planner: Planner, server: Server, line: str, message: str
) -> None:
    """The words of a webhook name no pod: it is asked about by itself."""
    server.has(node("a1", "a"), deployment("web", 2), deployment("api", 1))
    server.says(web=line)
    ended = planner("simulate", "--server-dry-run", "-o", "json")
    found = json.loads(ended.out)
    assert ended.code == 1
    assert [(item["pods"], item["message"]) for item in found["pending"]] == [(2, f"not created: {message}")]
    assert [len(names) for names in server.sent] == ([3] if "NAME" in line else [3, 2])


def test_a_running_pod_stays_whose_next_one_would_be_refused(planner: Planner, server: Server) -> None:
    """All three pods are in one zone, and none is moved."""
    web = deployment("web", 3)
    web["metadata"]["uid"] = "web"
    hashed = {"app": "web", "pod-template-hash": "1"}
    below: Object = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": {**web["spec"]}}
    below["spec"]["template"] = {**web["spec"]["template"], "metadata": {"labels": hashed}}
    below["metadata"] = {"name": "web-1", "namespace": "shop", "uid": "web-1", "labels": hashed}
    pods = [pod(f"web-{n}", "a1", spread="DoNotSchedule") for n in range(3)]
    for item, owner in [*((found, below) for found in pods), (below, web)]:
        named = {"name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"], "controller": True}
        item["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner["kind"], **named}]
        item["metadata"]["labels"] = hashed
    server.has(node("a1", "a"), node("b1", "b"), web, below, *pods)
    server.says()
    assert json.loads(planner("rebalance", "--server-dry-run", "-o", "json").out)["steps"]
    server.says(
        web='Error from server (Forbidden): error when creating "STDIN": pods "NAME" is forbidden: no'
    )
    assert not json.loads(planner("rebalance", "--server-dry-run", "-o", "json").out)["steps"]


def test_what_the_api_server_says_of_quotas_is_counted_here(planner: Planner, server: Server) -> None:
    """It looks at what runs now; a rollout frees some of it."""
    server.has(node("a1", "a"), deployment("web", 1))
    server.says(
        web='Error from server (Forbidden): error when creating "STDIN": pods "NAME" is forbidden: '
        "exceeded quota: q, requested: pods=1, used: pods=4, limited: pods=4"
    )
    assert planner("simulate", "--server-dry-run").code == 0


def test_what_the_same_manifests_create_is_not_missing(
    planner: Planner, server: Server, tmp_path: Path
) -> None:
    """A namespace that is yet to come refuses nothing, another one does."""
    server.has(node("a1", "a"), {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    line = 'Error from server (NotFound): error when creating "STDIN": namespaces "shop" not found'
    server.says(web=line)
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web", "namespace": "shop"}}
    both = write(tmp_path / "both.json", shop, account, deployment("web", 1))
    ended = planner("rollout", "--server-dry-run", "-f", both)
    assert (ended.code, "not found" in ended.err + ended.out) == (0, False)
    alone = write(tmp_path / "alone.json", account, deployment("web", 1))
    ended = planner("rollout", "--server-dry-run", "-f", alone)
    assert ended.code == 1
    assert 'namespaces "shop" not found' in ended.out


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            'Error from server (Forbidden): error when applying patch:\n{"spec":{"replicas":1}}\nto:\n'
            'Resource: "apps/v1, Resource=deployments"\nName: "web", Namespace: "shop"\n'
            'for: "STDIN": error when patching "STDIN": deployments.apps "web" is forbidden: '
            'User "me" cannot patch resource "deployments" in API group "apps"',
            "",
        ),
        (
            'Error from server (Conflict): error when applying patch:\n{"spec":{"secret":1}}\nto:\n'
            'Resource: "apps/v1, Resource=deployments"\nName: "web", Namespace: "shop"\n'
            'for: "STDIN": the object has been modified',
            "the API server would not apply this: the object has been modified",
        ),
        (
            "Error from server (Forbidden): error when retrieving current configuration of:\n"
            'Resource: "/v1, Resource=secrets"\nName: "s", Namespace: "shop"\n'
            'from server for: "STDIN": secrets "s" is forbidden: User "me" cannot get resource "secrets"',
            "",
        ),
        (
            'The Deployment "web" is invalid: spec.replicas: Invalid value: -1: must be greater than 0',
            'the API server would not apply this: The Deployment "web" is invalid: spec.replicas: Invalid',
        ),
        (
            'Error from server (Forbidden): error when applying "STDIN": quota is full',
            "the API server would not apply this: quota is full",
        ),
        (
            'Error from server (Forbidden): error when creating "STDIN": deployments.apps is forbidden: '
            'User "me" cannot create resource "deployments" in API group "apps"',
            "",
        ),
    ],
)
def test_what_would_not_be_applied_is_an_error(
    planner: Planner, server: Server, tmp_path: Path, line: str, error: str
) -> None:
    """In the API server's words; who has no right to apply it is still told what would come of it."""
    server.has(node("a1", "a"))
    server.says(apply=line)
    ended = planner("rollout", "--server-dry-run", "-f", write(tmp_path / "m.json", deployment("web", 1)))
    assert (ended.code, error in ended.err) == (2 if error else 0, True)


def test_who_may_not_create_pods_is_told(planner: Planner, server: Server) -> None:
    """No answer is given in its place."""
    server.has(node("a1", "a"), deployment("web", 1))
    server.says(
        web='Error from server (Forbidden): error when creating "STDIN": pods is forbidden: User "me" '
        'cannot create resource "pods" in API group "" in the namespace "shop"'
    )
    ended = planner("check", "--server-dry-run")
    assert ended.code == 2
    assert 'User "me" cannot create resource "pods"' in ended.err


def test_files_are_not_the_api_server(planner: Planner, tmp_path: Path) -> None:
    """With -f, or --snapshot, there is nothing to ask."""
    file = write(tmp_path / "c.json", node("a1", "a"), deployment("web", 1))
    ended = planner("simulate", "--server-dry-run", "-f", file)
    assert (ended.code, "--server-dry-run asks the API server of a live cluster" in ended.err) == (2, True)
    ended = planner("rollout", "--server-dry-run", "-f", file, "--snapshot", file)
    assert (ended.code, "--server-dry-run asks a live cluster's API server" in ended.err) == (2, True)
