"""`planner consolidate` from the shell: what is said, the forms, and one line for what cannot be used."""

import json
from pathlib import Path

import pytest

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
        ("name,price\nx,1\n", (), "prices: node n1 is of type 'm', which has no price"),
        ("name,price\nm,-1\n", (), "prices: m: expected a price from 0 to 1,000,000, found -1"),
        ("name,price\nm,\n", (), "prices: m: '' is not a number"),
        ("name,price\nm\n", (), "FILE, line 2: expected a name and a price"),
        ("name,price\nm,1\nm,2\n", (), "FILE, line 3: m has a price already"),
        ("name,cost\nm,1\n", (), "FILE: expected a first line with name,price, and found no column price"),
        ("", (), "FILE: expected a first line with name,price, and found no column name"),
        (None, ("--reserve", "120%"), "--reserve 120%: expected a percentage from 0% to below 100%"),
        (None, ("--reserve", "0.1"), "--reserve 0.1: expected a percentage from 0% to below 100%"),
        (None, ("--keep", "n9"), "there is no node n9"),
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
