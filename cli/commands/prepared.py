"""What the first question to a worker imports and builds, done once in the process that all are forked from.

Only that process imports this: it takes as long as a small `planner simulate`.
"""

import cli.commands.asking
import cli.commands.steps
import cli.output.scope  # noqa: F401 - with the two before it what every command imports when it runs
from cli.main import run
from cli.output.outcome import captured
from models import Cluster
from planner import check, simulate


def _prepare() -> None:
    """Have the models of all kinds built, and the options of all commands."""
    with captured():
        run(["version"])
    cluster = Cluster.from_objects([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "any"}}])
    check(cluster)
    simulate(cluster)


_prepare()
