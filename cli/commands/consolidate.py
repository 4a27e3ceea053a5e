"""`planner consolidate`: which nodes can go, and the waves of evictions that empty them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from cli.input import options
from cli.input.what_if import Changes

if TYPE_CHECKING:
    from models import Cluster
    from planner.consolidate.removable import NodeChoice

Prices = Annotated[
    str | None,
    typer.Option("--prices", metavar="FILE", help="A CSV file: name,price. Without it every node costs 1."),
]
CatalogueFile = Annotated[
    str | None,
    typer.Option(
        "--catalogue",
        metavar="FILE",
        help="A CSV file of machines that may be added: name,price,cpu,memory, more resources, labels.",
    ),
]
PriceLabel = Annotated[
    str,
    typer.Option(
        "--price-label", metavar="KEY", help="The node label whose value is looked up in the prices."
    ),
]
Nodes = Annotated[
    str | None,
    typer.Option("--nodes", metavar="NODE|SELECTOR", help="Only this node, or those with these labels."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="NODE", help="A node that stays. May be repeated."),
]
Reserve = Annotated[
    str,
    typer.Option("--reserve", metavar="PERCENT", help="Keep this share of every resource free, such as 10%."),
]
Survive = Annotated[
    str | None,
    typer.Option(
        "--survive",
        metavar="KEY",
        help="Keep enough that everything still fits when any one domain of this node label is lost.",
    ),
]
Pin = Annotated[
    bool,
    typer.Option("--pin", help="Replacements may be pinned to nodes where evictions alone are not enough."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics", metavar="FILE", help="Also write the figures for Prometheus: costs, nodes and moves."
    ),
]
DeleteNodes = Annotated[
    bool,
    typer.Option(
        "--delete-nodes",
        help="With -o script: in the end the script prints the commands that delete the nodes.",
    ),
]


def consolidate(
    filename: options.Filename = None,
    recursive: options.Recursive = False,
    prices: Prices = None,
    catalogue: CatalogueFile = None,
    price_label: PriceLabel = "node.kubernetes.io/instance-type",
    nodes: Nodes = None,
    keep: Keep = None,
    policy: options.Policy = None,
    reserve: Reserve = "0%",
    survive: Survive = None,
    max_moves: options.MaxMoves = None,
    max_unavailable: options.MaxUnavailable = 1,
    pin: Pin = False,
    curve: options.Curve = False,
    time_limit: options.TimeLimit = 60.0,
    delete_nodes: DeleteNodes = False,
    output: options.ScriptFormat = None,
    report: options.Report = None,
    metrics: Metrics = None,
    verbose: options.Verbose = False,
    context: options.Context = None,
    kubeconfig: options.Kubeconfig = None,
    changes: Changes = (),
) -> None:
    """Which nodes can go, and what moves for that?

    The cheapest set of nodes that holds every pod, with a bound: what no such set can cost less than. Then
    waves of evictions that empty the others: nodes that kube-scheduler must not choose are cordoned until the
    replacements of the wave have landed, and budgets hold. When a wave has ended no hard constraint is worse
    than with the nodes that go cordoned before; in the end none is worse than now, neither while the empty
    nodes are there, nor when they are deleted. Nodes that no safe wave empties are kept. With --pin
    replacements are sent to nodes, in fewer waves. With --max-unavailable a wave moves several replicas of a
    workload, mostly those that no hard spread constraint or affinity asks about.

    Pods move as with `rebalance`. A node that holds any other pod stays, and the answer says which pod;
    pods of DaemonSets and static pods go with their node. Control-plane nodes and those of virtual-kubelet
    stay unless --nodes names them. With a --policy that has evictLocalStoragePods or evictSystemCriticalPods
    such pods move, too.

    With --catalogue machines may be added where that makes the whole cheaper: they come first, with the pods
    of their DaemonSets. A row is a type, in every zone of the cluster or in that of its column
    topology.kubernetes.io/zone; its nodes have the labels that all nodes share. Without --prices its prices
    are those of the nodes. A script needs machines that are there: add them, and plan again.

    With --survive KEY enough stays for the loss of any one domain of KEY: of the pods that are made again
    kube-scheduler leaves no more without a node than it would now, as `planner check --survive` simulates it.

    -o script prints a shell script that cordons the nodes, evicts wave by wave, sees that they are empty, and
    leaves them cordoned and marked; interrupted, or where a wave does not end, it opens them again.

    `-o name` prints the nodes that go.
    """
    from cli.commands.steps import Answer, cluster_asked, searching
    from cli.input.prices import read_catalogue, read_prices, share
    from cli.input.source import with_policy
    from cli.output.consolidation_metrics import write_consolidation_metrics
    from cli.output.views.scripts import consolidation as script
    from planner import consolidate as plan_nodes
    from planner.consolidate.setting import with_added

    cluster = with_policy(cluster_asked(filename, recursive, context, kubeconfig, changes), policy)
    by_type = None if prices is None else read_prices(prices)
    machines = None if catalogue is None else read_catalogue(catalogue)
    with searching("nodes that can go") as (_, stop_requested):
        plan = plan_nodes(
            cluster,
            prices=by_type,
            price_label=price_label,
            catalogue=machines,
            choice=_choice(cluster, nodes, keep or ()),
            reserve=share(reserve),
            survive=survive,
            max_moves=max_moves,
            max_unavailable=max_unavailable,
            pins=pin,
            curve=curve,
            time_limit=time_limit,
            stop_event=stop_requested,
        )
    if metrics is not None:
        write_consolidation_metrics(metrics, plan, time.time())
    if report is not None:
        from cli.output.report.publish import publish

        publish(report, "consolidate", plan, with_added(cluster, plan.added, machines or (), price_label))
    answer = Answer(output=output, verbose=verbose)
    lines = partial(script.lines, delete_nodes=delete_nodes)
    answer.give("consolidate", plan, cluster, findings=False, script=lines)


def _choice(cluster: Cluster, nodes: str | None, keep: list[str] | tuple[str, ...]) -> NodeChoice:
    """The nodes that are looked at, by a name or by labels."""
    from cli.input.selector import parse_selector
    from models import InputError
    from planner.consolidate.removable import NodeChoice
    from planner.whatif.named import node_name

    kept = _kept(cluster, keep)
    if nodes is None:
        return NodeChoice(kept)
    name = node_name(nodes)
    if any(node.name == name for node in cluster.nodes):
        return NodeChoice(kept, named=frozenset({name}))
    selector = parse_selector(nodes, "--nodes")
    if not any(selector.matches(node.metadata.labels) for node in cluster.nodes):
        raise InputError([f"--nodes {nodes}: no node has this name or such labels"])
    return NodeChoice(kept, selector=selector)


def _kept(cluster: Cluster, keep: Iterable[str]) -> frozenset[str]:
    """The names of the nodes that stay."""
    from models import InputError
    from planner.whatif.named import nodes_named

    try:
        return frozenset(node.name for node in nodes_named(cluster, keep))
    except InputError as error:
        raise InputError(f"--keep: {problem}" for problem in error.problems) from None
