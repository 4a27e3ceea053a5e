"""The documentation does what it says: commands print what is shown, snippets run, schemas are current."""

import contextlib
import io
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cli.main import run
from models import Cluster
from planner import check, compare, explain, rebalance, scale_down, simulate, solve, survive
from planner.constraints import FILTERS, WEIGHTS
from planner.constraints.family import Filter, Score
from planner.documents.plan import Document
from planner.proof.effort import STANDARD
from tests import seeds
from tools.make_schema import DOCS, DOCUMENTS, FOLDER, schemas
from tools.make_schema import page as formats_page

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        *(ROOT / "docs").glob("*.md"),
        ROOT / "benchmarks" / "README.md",
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
    ]
)
GUIDE = ROOT / "docs" / "adding-a-constraint.md"
FAMILY = "planner.constraints.host_network_quota"
#: Each is built once: what classes say of themselves does not change.
written = cache(schemas)

page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


def blocks(path: Path, language: str) -> list[str]:
    """The code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)


def dialogues(path: Path) -> Iterator[tuple[str, str]]:
    """(command, what is shown below it) of every console block, in order."""
    for block in blocks(path, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown.rstrip("\n")


def run_snippet(text: str, module: ModuleType) -> dict[str, Any]:
    """The names that a Python block defines, as the content of a module."""
    exec(compile(text, module.__name__, "exec"), module.__dict__)
    return module.__dict__


@pytest.fixture
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are meant to be run from the project's folder, and not on a narrow screen."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the guide's blocks define; the first is importable as the module that it stands for."""
    first, *others = blocks(GUIDE, "python")
    module = ModuleType(FAMILY)
    monkeypatch.setitem(sys.modules, FAMILY, module)
    found = dict(run_snippet(first, module))
    for text in others:
        found |= run_snippet(text, ModuleType("guide"))
    return found


@page
@pytest.mark.usefixtures("at_root")
def test_commands_print_what_is_shown(page: Path) -> None:
    """Every `$ planner ...` of a console block is run, and `$ echo $?` is its exit code."""
    code = 0
    for command, shown in dialogues(page):
        if command == "echo $?":
            assert shown == str(code), f"the exit code before: {command}"
            continue
        program, *arguments = shlex.split(command)
        assert program == "planner", command
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = run(arguments)
        assert output.getvalue().rstrip("\n") == shown, command


@page
@pytest.mark.usefixtures("at_root")
def test_python_blocks_run(page: Path) -> None:
    """A page's Python blocks run one after the other, as a reader would type them."""
    if page == GUIDE:
        pytest.skip("has tests of its own below")
    run_snippet("\n".join(blocks(page, "python")), ModuleType(page.stem))


@page
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link of a page is a file or folder that is there."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@page
def test_anchors_are_headings(page: Path) -> None:
    """A link into a page leads to one of its headings: when a section is renamed, every link to it is."""
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]*)\)", page.read_text())
    lost = []
    for path, anchor in links:
        target = page.parent / path if path else page
        headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
        if anchor not in map(slug, headings):
            lost.append(f"{path}#{anchor}")
    assert lost == []


def test_schemas_are_current() -> None:
    """The shipped JSON Schemas and formats.md are those that tools/make_schema.py writes."""
    shipped = {path.name: path.read_text() for path in FOLDER.iterdir()}
    assert shipped == written()
    assert (DOCS / "formats.md").read_text() == formats_page()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_field_of_a_document_is_explained(name: str) -> None:
    """No field is printed without a word about it."""
    schema = json.loads(written()[name])
    parts = {schema["title"]: schema, **schema.get("$defs", {})}
    said = {
        f"{part}.{field}": "description" in told
        for part, content in parts.items()
        for field, told in content["properties"].items()
    }
    assert [field for field, told in said.items() if not told] == []


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("check-report.json", check),
        ("explanation-list.json", explain),
        ("survival.json", lambda cluster: survive(cluster, "kubernetes.io/hostname")),
        ("simulation.json", simulate),
        ("simulation.json", lambda cluster: simulate(cluster, verbose=True)),
        ("placement-plan.json", solve),
        ("placement-plan.json", lambda cluster: solve(cluster, final_state=True)),
        ("comparison.json", compare),
        ("scale-down.json", lambda cluster: scale_down(cluster, halved(cluster))),
        ("move-plan.json", lambda cluster: rebalance(cluster, curve=True)),
    ],
    ids=[
        "check",
        "explain",
        "survive",
        "simulate",
        "simulate -v",
        "solve",
        "solve --final-state",
        "compare",
        "scale-down",
        "rebalance",
    ],
)
def test_documents_follow_their_schema(name: str, make: Callable[[Cluster], Document]) -> None:
    """What is printed has every field that the schema demands and none that it does not know."""
    schema = json.loads((FOLDER / name).read_text())
    for example in seeds.some(sorted((ROOT / "examples").glob("*/")), 14):
        document = make(Cluster.load(example))
        assert list(strangers(json.loads(document.to_json()), schema, schema)) == []


def halved(cluster: Cluster) -> dict[str, int]:
    """Every Deployment with half of its replicas."""
    return {
        f"deployment/{item.name}.{item.namespace}": item.spec.replicas // 2 for item in cluster.deployments
    }


def strangers(value: Any, part: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    """The fields of a value that are missing or unknown, by the part of the schema it belongs to."""
    if "anyOf" in part:
        choices = [c for c in part["anyOf"] if (c.get("type") == "null") == (value is None)]
        # Of several forms the value has to follow one.
        part = min(choices, key=lambda choice: len([*strangers(value, choice, schema)]))
    if "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    if "properties" in part:
        yield from (f"no {field}" for field in part["required"] if field not in value)
        yield from (f"unknown {field}" for field in value if field not in part["properties"])
        for field in value.keys() & part["properties"].keys():
            yield from strangers(value[field], part["properties"][field], schema)
    elif isinstance(value, dict) and part["additionalProperties"] is not True:
        for inner in value.values():
            yield from strangers(inner, part["additionalProperties"], schema)
    elif isinstance(value, list):
        for inner in value:
            yield from strangers(inner, part["items"], schema)


def test_the_guides_own_test_passes(family: dict[str, Any]) -> None:
    """The test that the guide shows holds for the family that it shows."""
    family["test_a_full_node_is_refused"]()


def test_the_guides_filter_works_when_registered(
    family: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entered in FILTERS as the guide says, the family speaks up in a simulation."""
    added: tuple[type[Filter], ...] = (family["HostNetworkQuota"], family["ReservedNodes"])
    monkeypatch.setattr("planner.scheduler.profile.FILTERS", (*FILTERS, *added))
    node, pod = family["node"], family["pod"]
    reserved = node("c", "9")
    reserved["metadata"]["labels"]["example.com/reserved"] = ""
    cluster = Cluster.from_objects(
        [node("a", "1"), node("b", "1"), reserved, pod("p1", "a"), pod("p2"), pod("p3")]
    )
    placed, left = simulate(cluster, preemption=False).decisions
    assert placed.node == "b"
    assert left.message == (
        "0/3 nodes are available: 1 node(s) were reserved, 2 node(s) had too many pods with hostNetwork. "
        "no new claims to deallocate"
    )


def test_the_guides_encoding_is_in_the_solvers_model(
    family: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `encode` it is proved without trying all sequences that a third pod has no place."""
    quota = family["HostNetworkQuota"]
    monkeypatch.setattr("planner.scheduler.profile.FILTERS", (*FILTERS, quota))
    effort = replace(STANDARD, sequences=replace(STANDARD.sequences, pods=0))
    node, pod = family["node"], family["pod"]
    other = pod("p3")
    other["spec"]["preemptionPolicy"] = "Never"
    cluster = Cluster.from_objects([node("a", "1"), node("b", "1"), pod("p1"), pod("p2"), other])
    plan = solve(cluster, effort=effort)
    assert (len(plan.steps), plan.status) == (2, "Optimal")
    monkeypatch.setattr(quota, "encode", Filter.encode)
    plan = solve(cluster, effort=effort)
    assert (len(plan.steps), plan.status) == (2, "Feasible")


def test_the_guides_score_works_when_registered(
    family: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entered in WEIGHTS with a large weight, the score decides."""
    weights: dict[type[Score], int] = {**WEIGHTS, family["CheapNodes"]: 100}
    monkeypatch.setattr("planner.scheduler.profile.WEIGHTS", weights)
    dear, cheap = family["node"]("a", "9"), family["node"]("b", "9")
    dear["metadata"]["labels"]["example.com/cost"] = "5"
    cluster = Cluster.from_objects([dear, cheap, family["pod"]("new")])
    decision = simulate(cluster, verbose=True).decisions[0]
    assert decision.node == "b"
    assert decision.scores is not None
    assert decision.scores["CheapNodes"] == {"a": 0, "b": 10_000}


def packages_named() -> list[str]:
    """The files and folders in the tables of packages in docs/architecture.md."""
    text = (ROOT / "docs" / "architecture.md").read_text().partition("\n## What is where\n")[2]
    return [
        name for row in re.findall(r"^\|.*$", text, re.MULTILINE) for name in re.findall(r"`([\w/.]+)`", row)
    ]


def test_the_architecture_names_no_package_that_is_gone() -> None:
    """Every file and folder in the tables of docs/architecture.md is there."""
    named = [name for name in packages_named() if "/" in name]
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_architecture_names_every_package() -> None:
    """A new folder, or file at the top of one of the three packages, comes with what it holds."""
    named = " ".join(packages_named())
    tops = [path for top in ("models", "planner") for path in (ROOT / top).glob("[!_]*")]
    packages = [path for path in tops if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert [path.name for path in packages if path.relative_to(ROOT).as_posix() not in named] == []


def test_the_semantics_have_every_family() -> None:
    """docs/semantics.md has a section for each filter and each score."""
    headings = "\n".join(re.findall(r"^#+ (.*)$", (ROOT / "docs" / "semantics.md").read_text(), re.MULTILINE))
    families = {kind.name for kind in (*FILTERS, *WEIGHTS)}
    assert [name for name in sorted(families) if name not in headings] == []
