"""`planner consolidate` from the shell: what is said, the forms, and one line for what cannot be used."""

import json
from pathlib import Path

import pytest

from models.words import priced
from tests.builders import node, pod
from tests.cli.conftest import Planner
from tests.cli.manifests import write

TYPE = "node.kubernetes.io/instance-type"


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """Two nodes that hold a pod each, one of which can go."""
    nodes = [node(name, labels={TYPE: "m", "pool": name}) for name in ("n1", "n2")]
    pods = [pod(f"web-{name}", name, app="web", cpu="1", owner="ReplicaSet/web") for name in ("n1", "n2")]
    return write(tmp_path / "c.json", *nodes, *pods)


def prices(tmp_path: Path, text: str) -> str:
    """A file of prices."""
    path = tmp_path / "prices.csv"
    path.write_text(text)
    return str(path)


def test_which_node_goes_is_told_with_its_price(planner: Planner, snapshot: str, tmp_path: Path) -> None:
    """More columns than name and price are welcome."""
    file = prices(tmp_path, "region,name,price\nx,m,0.35\nx,other,1\n")
    ended = planner("consolidate", "-f", snapshot, "--prices", file)
    assert ended.code == 0
    assert ended.out.startswith("1 of 2 nodes can go: cost 0.7 -> 0.35; 1 move in 1 wave, none pinned.\n")
    assert "Proved: no plan leaves cheaper nodes, or the same cost with fewer moves.\n" in ended.out


def test_names_are_those_of_the_nodes_that_go(planner: Planner, snapshot: str) -> None:
    """As kubectl takes them; --keep and --nodes choose."""
    assert planner("consolidate", "-f", snapshot, "-o", "name", "--keep", "n1").out == "node/n2\n"
    assert planner("consolidate", "-f", snapshot, "-o", "name", "--nodes", "n1").out == "node/n1\n"
    assert planner("consolidate", "-f", snapshot, "-o", "name", "--nodes", "pool=n1").out == "node/n1\n"


@pytest.mark.parametrize("limit", ["inf", "1e300", "1e9"])
def test_without_a_limit_the_search_ends_when_all_is_proved(
    planner: Planner, snapshot: str, limit: str
) -> None:
    """What went wrong: a traceback, for the solver was given a time that is no number."""
    ended = planner("consolidate", "-f", snapshot, "--time-limit", limit)
    assert ended.out == planner("consolidate", "-f", snapshot).out
    assert "Proved: no plan leaves cheaper nodes" in ended.out


def test_a_policy_lets_pods_with_local_storage_go(planner: Planner, tmp_path: Path) -> None:
    """Most nodes of a real cluster hold such a pod, and no option told that a policy lets them go."""
    scratch = [{"name": "tmp", "emptyDir": {}}]
    pods = [pod(f"web-{n}", n, cpu="1", owner="ReplicaSet/web", volumes=scratch) for n in ("n1", "n2")]
    path = write(tmp_path / "local.json", node("n1"), node("n2"), *pods)
    policy = tmp_path / "policy.yaml"
    policy.write_text(
        "{apiVersion: descheduler/v1alpha2, kind: DeschedulerPolicy, profiles: [{name: p, pluginConfig: "
        "[{name: DefaultEvictor, args: {evictLocalStoragePods: true}}]}]}"
    )
    assert planner("consolidate", "-f", path, "-o", "name").out == ""
    assert planner("consolidate", "-f", path, "-o", "name", "--policy", str(policy)).out == "node/n1\n"
    assert "no DeschedulerPolicy" in planner("consolidate", "-f", path, "--policy", path).err


def test_metrics_have_costs_nodes_and_moves(planner: Planner, snapshot: str, tmp_path: Path) -> None:
    """As the document has them, in the format of Prometheus."""
    target = tmp_path / "c.prom"
    ended = planner("consolidate", "-f", snapshot, "-o", "json", "--metrics", str(target))
    plan = json.loads(ended.out)
    text = target.read_text()
    for state, field in (("now", "before"), ("after", "after"), ("bound", "bound")):
        assert f'planner_nodes_cost{{state="{state}"}} {plan["cost"][field]}\n' in text
    assert f'planner_consolidate_nodes{{state="removed"}} {len(plan["removed"])}\n' in text
    assert f"planner_consolidate_moves {len(plan['steps'])}\n" in text
    assert "planner_consolidate_proved 1\n" in text
    missing = planner("consolidate", "-f", snapshot, "--metrics", str(tmp_path / "no" / "c.prom"))
    assert (missing.code, missing.out) == (2, "")


def test_a_reserve_keeps_nodes(planner: Planner, snapshot: str) -> None:
    """Two cpu of four are in use on one node: half of it is free, and no more."""
    assert planner("consolidate", "-f", snapshot, "-o", "name", "--reserve", "50%").out
    assert planner("consolidate", "-f", snapshot, "-o", "name", "--reserve", "51%").out == ""


def test_the_document(planner: Planner, snapshot: str) -> None:
    """What a program reads."""
    found = json.loads(planner("consolidate", "-f", snapshot, "-o", "json", "--curve").out)
    assert (found["kind"], found["status"], found["cut"]) == ("ConsolidationPlan", "Optimal", False)
    assert found["cost"] == {"before": 2.0, "after": 1.0, "bound": 1.0}
    assert [row["name"] for row in found["objective"]] == ["cost", "moves", "pinned", "softExcess"]
    assert found["frontier"] == [
        {"nodes": 0, "moves": 0, "cost": 2.0},
        {"nodes": 1, "moves": 1, "cost": 1.0},
    ]
    (step,) = found["steps"]
    assert (step["wave"], step["from"], step["landing"]) == (1, found["removed"][0]["node"], "filters")


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("name,price\nx,1\n", (), "node n1: type 'm' has no price (there are prices of x)"),
        ("name,price\nm,-1\n", (), "FILE, line 2: m: expected a price from 0 to 1,000,000, found -1"),
        ("name,price\nm,\n", (), "FILE, line 2: m: '' is not a number"),
        ("name,price\nm\n", (), "FILE, line 2: expected a name and a price"),
        ("name,price\nm,1\nm,2\n", (), "FILE, line 3: m has a price already"),
        ("name,cost\nm,1\n", (), "FILE: expected a first line with name,price, and found no column price"),
        ("", (), "FILE: expected a first line with name,price, and found no column name"),
        (None, ("--reserve", "120%"), "--reserve 120%: expected a percentage from 0% to below 100%"),
        (None, ("--reserve", "0.1"), "--reserve 0.1: expected a percentage from 0% to below 100%"),
        (None, ("--catalogue", "/nowhere.csv"), "/nowhere.csv: no such file or directory"),
        (None, ("--keep", "n9"), "--keep: there is no node n9 in the cluster"),
        (
            None,
            ("--nodes", "a b"),
            "--nodes 'a b': 'a b' is not a condition on a label (for example app=web)",
        ),
        (None, ("--nodes", "pool=x"), "--nodes pool=x: no node has this name or such labels"),
        (None, ("--prices", "/nowhere.csv"), "/nowhere.csv: no such file or directory"),
    ],
)
def test_what_cannot_be_used_is_2_with_one_line(  # noqa: PLR0913, PLR0917 - fixtures
    planner: Planner,
    snapshot: str,
    tmp_path: Path,
    text: str | None,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    """Where, what was expected, and what was found."""
    file = None if text is None else prices(tmp_path, text)
    ended = planner("consolidate", "-f", snapshot, *(("--prices", file) if file else ()), *arguments)
    assert (ended.code, ended.out) == (2, "")
    lines = ended.err.splitlines()
    assert len(lines) == 1
    assert lines[0].endswith(said.replace("FILE", file or ""))


MACHINES = "name,price,cpu,memory,pods,colour\n"


def test_machines_that_come_instead(planner: Planner, snapshot: str, tmp_path: Path) -> None:
    """One small machine for two nodes; a column that is no resource and no label is named."""
    file = prices(tmp_path, f"{MACHINES}m,0.35,8,32Gi,110,red\nsmall,0.1,2,4Gi,110,blue\n")
    ended = planner("consolidate", "-f", snapshot, "--catalogue", file)
    assert ended.out.startswith("2 of 2 nodes can go when 1 machine comes: cost 0.7 -> 0.1; 2 moves in")
    assert ["small-2", "small", "<none>", "0.1"] in [line.split() for line in ended.out.splitlines()]
    assert "catalogue: columns that are not read: colour" in ended.said
    found = json.loads(planner("consolidate", "-f", snapshot, "--catalogue", file, "-o", "json").out)
    assert found["added"] == [{"name": "small-2", "type": "small", "price": 0.1, "zone": ""}]
    assert (found["cost"], found["kept"]) == ({"before": 0.7, "after": 0.1, "bound": 0.1}, [])
    script = planner("consolidate", "-f", snapshot, "--catalogue", file, "-o", "script")
    assert (script.code, script.out) == (2, "")
    assert "-o script: it begins with 1 machine to add: add what is needed, and plan again" in script.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "name,price,memory\nm,1,4Gi\n",
            "FILE: expected a first line with name,price,cpu,memory, and found no column cpu",
        ),
        (MACHINES, "FILE: expected a line for every machine type, and found none"),
        (f"{MACHINES}m,1,,4Gi,110,\n", "catalogue: m: expected an amount of cpu, and found none"),
        (f"{MACHINES}m,1,x,4Gi,110,\n", "catalogue: m: cpu: 'x' is not a quantity"),
        (f"{MACHINES}m,1,-4,4Gi,110,\n", "catalogue: m: cpu: expected no negative amount, found -4"),
        (f"{MACHINES}m,-1,4,4Gi,110,\n", "catalogue: m: expected a price from 0 to 1,000,000, found -1"),
        (f"{MACHINES}m,x,4,4Gi,110,\n", "catalogue: m: 'x' is not a number"),
        (f"{MACHINES},1,4,4Gi,110,\n", "catalogue: expected the name of a machine type, and found none"),
        (f"{MACHINES}m,1,4,4Gi,110,\nm,2,4,4Gi,110,\n", "catalogue: m: named twice with the same labels"),
        (f"{MACHINES}x,1,4,4Gi,110,\n", "node n1: type 'm' has no price (there are prices of x)"),
    ],
)
def test_a_catalogue_that_cannot_be_used_is_2_with_one_line(
    planner: Planner, snapshot: str, tmp_path: Path, text: str, said: str
) -> None:
    """Which type and which column, what was expected, and what was found."""
    file = prices(tmp_path, text)
    ended = planner("consolidate", "-f", snapshot, "--catalogue", file)
    assert (ended.code, ended.out) == (2, "")
    (line,) = ended.err.splitlines()
    assert line.endswith(said.replace("FILE", file))


def test_a_domain_may_be_lost(planner: Planner, snapshot: str) -> None:
    """The second of two nodes stays for the loss of the first; a key that no node has is refused."""
    key = "kubernetes.io/hostname"
    ended = planner("consolidate", "-f", snapshot, "--survive", key)
    assert ended.out.startswith("No node goes: all of them cost 2.\n")
    assert f"Whichever domain of {key} is lost, no more pods than now are left without a node" in " ".join(
        ended.out.split()
    )
    refused = planner("consolidate", "-f", snapshot, "--survive", "rack")
    assert (refused.code, refused.err.split(" (")[0]) == (
        2,
        "error: --survive rack: no node has the label rack",
    )


def test_the_page_draws_cost_against_moves(planner: Planner, snapshot: str, tmp_path: Path) -> None:
    """Now and after, the bound as a line; a node that goes counts among the nodes now and not after."""
    page = tmp_path / "page.html"
    assert planner("consolidate", "-f", snapshot, "--report", str(page)).code == 0
    text = page.read_text()
    assert "now 2, after the plan 1, and no plan leaves nodes that cost less than 1." in text
    assert "<title>no moves: cost 2</title>" in text
    assert "<title>1 move: cost 1</title>" in text
    assert '<line class="least"' in text
    assert "2 nodes from 20 % of cpu, now" in text
    assert "1 node from 50 % of cpu, after" in text
    assert "no nodes from 0 % of cpu, after" in text


def test_a_limit_of_moves_is_said_with_the_bound(planner: Planner, snapshot: str, tmp_path: Path) -> None:
    """What went wrong: the page said of all sets of nodes what holds of plans without a move."""
    page = tmp_path / "page.html"
    assert planner("consolidate", "-f", snapshot, "--max-moves", "0", "--report", str(page)).code == 0
    assert "no plan without a move leaves nodes that cost less than 2." in page.read_text()


@pytest.mark.parametrize(
    ("cost", "text"), [(1234567.8, "1234567.8"), (962.512345, "962.512345"), (0.00002, "0.00002"), (3.0, "3")]
)
def test_costs_have_all_of_their_decimals(cost: float, text: str) -> None:
    """What went wrong: with six digits a bound of 1234567.8 was said to be 1.23457e+06, which is more."""
    assert priced(cost) == text


def test_a_page_with_machines_that_are_added(planner: Planner, tmp_path: Path) -> None:
    """New machines are on the page, and not among the nodes that are there now."""
    folder, page = "examples/55-fewer-larger-machines", tmp_path / "page.html"
    words = ("-f", folder, "--catalogue", f"{folder}/catalogue.csv", "--pin", "--report", str(page))
    assert planner("consolidate", *words).code == 0
    text = page.read_text()
    assert "large-zone-a-" in text
    assert "6 nodes, 6 pods on nodes" in text


def test_a_proof_names_the_limit_of_moves(planner: Planner, snapshot: str) -> None:
    """Without the limit it would be false: one move empties a node."""
    limited = planner("consolidate", "-f", snapshot, "--pin", "--max-moves", "0").out
    assert "Proved: no plan without a move leaves cheaper nodes" in limited
    assert " no plan within the limit of moves leaves cheaper nodes\n" in limited
    assert "Proved: no plan leaves cheaper nodes" in planner("consolidate", "-f", snapshot, "--pin").out
