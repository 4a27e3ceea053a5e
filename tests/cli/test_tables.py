"""What a person reads."""

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import PydanticUndefined

from cli.output.blocks import Cell, SpreadRow, text_of
from cli.output.forms.spreads import matrix
from cli.output.page import Page
from cli.output.render import view_of
from cli.output.screen import Screen
from cli.output.table import JOINT, table
from cli.output.views.rollout import ends_of
from cli.output.views.verdict import reasons
from planner import documents
from planner.documents.plan import Document
from planner.documents.rollout import RolloutEnd
from tests import builders
from tests.cli.conftest import Planner
from tests.cli.manifests import deployment, lopsided, node, pod, write


def test_every_document_has_a_view() -> None:
    """Views are found by name when a document is shown: none is missing, and none misspelled."""
    for module in pkgutil.iter_modules(documents.__path__):
        found = vars(import_module(f"{documents.__name__}.{module.name}")).values()
        for kind in (kind for kind in found if isinstance(kind, type) and issubclass(kind, Document)):
            if kind.model_fields["kind"].default is not PydanticUndefined:
                view = view_of(kind.__new__(kind))
                assert callable(view.sections), kind
                assert callable(view.names), kind


def test_check_names_the_domain_that_is_too_full(planner: Planner, tmp_path: Path) -> None:
    """The verdict first, and below it every domain with a bar and what is too much."""
    ended = planner("check", "-f", write(tmp_path / "lopsided.json", *lopsided()))
    assert ended.out.splitlines() == [
        "1 constraint does not hold: 2 pods too many.",
        "",
        "shop Pod/web-0 over zone, DoNotSchedule: skew 3, maxSkew 1",
        "  a   ███ 3   2 too many",
        "  b       0",
        "",
        "Each domain is compared with the emptiest one, so moving one pod there may repair several:",
        "`planner rebalance` finds the fewest moves.",
    ]


def test_what_counts_for_a_pinned_pod_alone_is_told_apart(planner: Planner, tmp_path: Path) -> None:
    """What went wrong: the same line above three zones and above the one that a pinned pod may use."""
    nodes = [builders.node(f"{zone}1", zone) for zone in "abc"]
    web: dict[str, Any] = {"app": "web", "owner": "ReplicaSet/web", "spread": [builders.spread()]}
    pods = [builders.pod(f"web-{number}", "a1", **web) for number in range(2)]
    pinned = builders.pod("web-2", "b1", **web, node_selector={builders.ZONE: "b"})
    ended = planner("check", "-f", write(tmp_path / "c.json", *nodes, *pods, pinned))
    assert [line for line in ended.out.splitlines() if "over zone" in line] == [
        "default ReplicaSet/web over zone (3 domains), DoNotSchedule: skew 2, maxSkew 1",
        "default ReplicaSet/web over zone (1 domain), DoNotSchedule: skew 0, maxSkew 1",
    ]


def test_a_soft_constraint_that_is_exceeded_is_no_finding(planner: Planner, tmp_path: Path) -> None:
    """ScheduleAnyway is a preference; it is shown and not counted."""
    pods = [pod(f"web-{number}", on="a1", spread="ScheduleAnyway") for number in range(3)]
    ended = planner("check", "-f", write(tmp_path / "c.json", node("a1", "a"), node("b1", "b"), *pods))
    assert ended.code == 0
    assert ended.verdict.endswith("; 1 ScheduleAnyway constraint is exceeded, which is allowed.")


def test_wide_has_the_whole_key(planner: Planner, tmp_path: Path) -> None:
    """Short names are for conversation, the label itself is in -o wide."""
    ended = planner("check", "-f", write(tmp_path / "l.json", *lopsided()), "-o", "wide")
    assert "topology.kubernetes.io/zone" in ended.out
    assert "app=web" in ended.out


def test_other_findings_have_a_table_of_their_own(planner: Planner, tmp_path: Path) -> None:
    """A node with more on it than it has."""
    path = write(tmp_path / "c.json", node("a1", cpu="1"), *(pod(f"p{n}", "a1", cpu="700m") for n in (1, 2)))
    ended = planner("check", "-f", path)
    assert ended.code == 1
    assert "NodeResourcesFit" in ended.out


def test_of_thousands_of_nodes_those_that_change_are_told(planner: Planner, tmp_path: Path) -> None:
    """The others are counted."""
    asked = builders.spread(builders.HOST)
    objects = [builders.node(f"n{number}") for number in range(1_001)]
    path = write(tmp_path / "c.json", *objects, builders.pod("new", app="web", spread=[asked]))
    ended = planner("simulate", "-f", path)
    assert ended.out.splitlines()[-3:] == [
        "default Pod/new over hostname, DoNotSchedule: skew 0 -> 1, maxSkew 1; 1000 nodes as before",
        "  now     1 node holds 0",
        "  after   1 node holds 1",
    ]


def test_simulate_says_where_and_what_it_did_to_the_spread(planner: Planner, tmp_path: Path) -> None:
    """A row for the pod, a row for its constraint with the counts before and after."""
    path = write(
        tmp_path / "c.json",
        *(node("a1", "a"), node("b1", "b"), pod("old", "a1")),
        pod("new", spread="DoNotSchedule"),
    )
    lines = planner("simulate", "-f", path).out.splitlines()
    assert lines[0] == "1 pod placed."
    assert lines[3].split() == ["shop", "new", "b1"]
    assert lines[5].endswith("skew 1 -> 0, maxSkew 1")
    assert [line.split() for line in lines[-2:]] == [["a", "█", "1", "█", "1"], ["b", "0", "█", "1"]]


def test_victims_are_shown_when_there_are_any(planner: Planner, tmp_path: Path) -> None:
    """Which pod loses its place is no detail."""
    path = write(
        tmp_path / "c.json",
        *(node("a1", cpu="1"), pod("low", "a1", cpu="900m"), pod("high", cpu="900m", priority=9)),
    )
    lines = planner("simulate", "-f", path).out.splitlines()
    assert lines[0] == "1 pod placed, 1 preempted."
    assert lines[2].split() == ["NAMESPACE", "NAME", "NODE", "VICTIMS"]
    assert lines[3].split() == ["shop", "high", "a1", "shop/low"]


def test_a_large_batch_is_summed_up(planner: Planner, tmp_path: Path) -> None:
    """Hundreds of lines are not read: a row for each workload, and every pod in -o wide."""
    path = write(tmp_path / "c.json", node("a1", "a", cpu="4"), deployment("web", 60, cpu="100m"))
    short, wide = planner("simulate", "-f", path), planner("simulate", "-f", path, "-o", "wide")
    assert short.out.splitlines()[3].split() == ["shop", "Deployment/web", "60", "40", "20", "1"]
    assert "20 pods stay pending, shop/web-" in short.out
    assert sum(" a1 " in line for line in wide.out.splitlines()) == 40


def test_verbose_shows_every_node(planner: Planner, tmp_path: Path) -> None:
    """The score of those that fit, the refusal of those that do not."""
    path = write(tmp_path / "c.json", node("a1"), node("b1"), node("c1", taint="gpu"), pod("new"))
    out = planner("simulate", "-f", path, "-v").out
    assert "shop/new -> a1\n" in out
    assert "NodeResourcesFit 9" in out
    assert "TaintToleration: node(s) had untolerated taint(s)" in out


def test_a_verdict_is_a_list_of_reasons() -> None:
    """kube's line taken apart, the reason of most nodes first."""
    message = (
        "0/12 nodes are available: 10 Insufficient cpu, 2 node(s) had untolerated taint {a: b}. "
        "preemption: 0/12 nodes are available: 12 Preemption is not helpful for scheduling."
    )
    assert list(reasons(message)) == [
        "0/12 nodes are available:",
        "  10  Insufficient cpu",
        "   2  node(s) had untolerated taint {a: b}",
        "preemption: 0/12 nodes are available:",
        "  12  Preemption is not helpful for scheduling",
    ]


@pytest.mark.parametrize("message", ["scheduling gated", "0/0 nodes are available."])
def test_a_verdict_without_counts_stays_as_it_is(message: str) -> None:
    """Not every verdict counts nodes."""
    assert [line.rstrip(":.") for line in reasons(message)] == [message.rstrip(".")]


HEADS, ROW = ("NAME", "PARTS"), ("web", ", ".join(f"part{JOINT}{number}" for number in range(6)))


def test_a_pipe_never_folds() -> None:
    """Without a width each row is one line."""
    assert len(list(table(HEADS, [ROW], Screen()))) == 2


def test_a_terminal_folds_the_last_column_below_itself() -> None:
    """Parts stay in one piece, and no line is wider than the screen."""
    lines = list(table(HEADS, [ROW], Screen(40)))
    assert max(map(len, lines)) <= 40
    assert all(line.startswith(" " * 7 + "part") for line in lines[2:])
    assert all(line.endswith((",", "5")) for line in lines[1:])


def test_a_narrow_terminal_folds_it_below_the_row() -> None:
    """Where there is no room beside it, the last column goes below, and its head with it.

    What went wrong: without the head `NodeResourcesFit` below a row of `capacity` said nothing.
    """
    lines = list(table(HEADS, [ROW], Screen(34)))
    assert lines[:3] == ["NAME", "    PARTS", "web"]
    assert lines[3].startswith("    part 0, part 1")


def test_ends_that_read_alike_are_told_once() -> None:
    """What went wrong: `hostname 13 domains, 0 to 1 each (1 of 3)` was told twice, of other nodes each."""
    hosts = [f"n{number:02}" for number in range(13)]
    ends = [
        RolloutEnd(
            runs=runs, completes=True, domains={"kubernetes.io/hostname": dict.fromkeys(hosts, 0) | {on: 1}}
        )
        for on, runs in (("n00", 2), ("n01", 1))
    ]
    assert ends_of(ends, Page(Screen())).replace(JOINT, " ") == "hostname 13 domains, 0 to 1 each"
    assert ends_of(ends, Page(Screen(), verbose=True)).count(" of 3)") == 2


def test_ends_over_nodes_with_long_names_are_summed_up() -> None:
    """What went wrong: ten nodes of a cloud took twenty lines, a name and its number on a line each."""
    hosts = dict.fromkeys((f"ip-10-0-0-{number}.eu-west-1.compute.internal" for number in range(10)), 1)
    ends = [RolloutEnd(runs=1, completes=True, domains={"kubernetes.io/hostname": hosts})]
    assert ends_of(ends, Page(Screen())).replace(JOINT, " ") == "hostname 10 domains, 1 each"
    assert "compute.internal" in ends_of(ends, Page(Screen(), verbose=True))


def test_a_long_head_does_not_send_a_number_below_its_row() -> None:
    """What went wrong: beside long names of nodes the wave stood under the row, a number without a head."""
    name = "ip-10-0-2-101.eu-central-1.compute.internal"
    lines = list(table(("NODE", "EMPTY AFTER WAVE"), [(name, "7")], Screen(60)))
    assert lines == [f"{'NODE':46}EMPTY AFTER", f"{'':46}WAVE", f"{name}   7"]


def test_no_word_is_cut_while_another_column_can_give_way() -> None:
    """What went wrong: the widest column gave way first, so that it said `ScheduleAnywa` and below it `y`."""
    rows = [("shop-frontend", "Deployment/image-resizer", "ScheduleAnyway", "0 -> 1")]
    assert list(table(("NAMESPACE", "WORKLOAD", "WHEN", "SKEW"), rows, Screen(50))) == [
        "NAMESPACE    WORKLOAD      WHEN             SKEW",
        "shop-        Deployment/   ScheduleAnyway   0 -> 1",
        "frontend     image-",
        "             resizer",
    ]


def test_colours_take_no_room() -> None:
    """Escape codes do not disturb the columns."""
    screen = Screen(None, coloured=True)
    lines = list(table(("A", "B"), [(Cell("x", "bad"), "y"), ("xx", "y")], screen))
    assert lines[1] == "\x1b[31mx\x1b[0m    y"


def test_what_would_steer_the_terminal_is_spelled_out(planner: Planner, tmp_path: Path) -> None:
    """A label can hold anything: an escape code in it is shown, and not obeyed."""
    path = write(tmp_path / "c.json", *lopsided(), node("n", zone="\x1b[31mred\u202eder\n"))
    out = planner("check", "-f", path).out
    assert "\x1b" not in out
    assert "\\x1b[31mred\\x202eder\\x0a" in out


LONG = "payments-gateway-with-a-name-that-somebody-found-telling-7f9c6d8b5b"


@pytest.mark.parametrize("words", [(), ("-v",), ("-o", "wide")])
@pytest.mark.parametrize("command", ["check", "simulate", "solve"])
def test_names_are_whole_in_a_pipe(
    command: str, words: tuple[str, ...], planner: Planner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They can be searched for and pasted, and so with `-o wide` on any screen."""
    if "wide" in words:
        monkeypatch.setenv("COLUMNS", "60")
    else:
        monkeypatch.delenv("COLUMNS", raising=False)
    nodes = [f"ip-10-20-30-{zone}.some-region-of-the-world.compute.internal" for zone in "ab"]
    known = [*nodes, *(f"{LONG}-{number}" for number in range(4))]
    pods = [pod(name, nodes[0], spread="DoNotSchedule", cpu="900m") for name in known[2:5]]
    path = write(
        tmp_path / "long.json",
        *(node(name, zone, cpu="2") for name, zone in zip(nodes, "ab", strict=True)),
        *pods,
        pod(known[5], spread="DoNotSchedule", cpu="900m"),
    )
    out = planner(command, "-f", path, *words).out
    assert "7f9c6d8b5b" in out
    broken = [part for name in known for cut in range(8, len(name)) if (part := name[:cut] + "\n") in out]
    assert not broken, out


def test_a_few_domains_are_told_by_name_where_a_matrix_is_too_wide() -> None:
    """`1 zone holds 1, 1 holds 2, 1 holds 3 (1 too many: b)` is longer, and says nothing of a and c."""
    row = SpreadRow(
        namespace="shop",
        workload="Deployment/web",
        topology_key="topology.kubernetes.io/zone",
        when="DoNotSchedule",
        max_skew=1,
        selector="",
        skews=(2,),
        domains={"a": (1,), "b": (3,), "c": (2,)},
        surplus={"b": 1},
    )
    ((*_, told),) = matrix(("now",), [row], listed=False).rows
    assert text_of(told).replace(JOINT, " ") == "a 1, b 3 (1 too many), c 2"
