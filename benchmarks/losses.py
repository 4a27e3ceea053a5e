"""`planner check --survive` and `planner drain` of most nodes: seconds, CPU and peak memory, as a table.

`python benchmarks/losses.py --nodes 3000 --pods 30000 --seed 5` draws a cluster that runs, with spread,
budgets, DaemonSets and volumes, as benchmarks/same_answers.py does; seeds 5, 12 and 13 have three priorities
and anti-affinity. The drain is of all nodes but one in nineteen, 2,842 of 3,000, one at a time.
"""

import argparse
import json
import tempfile
from pathlib import Path

from large import measured
from pages import machine, table_head, table_line
from same_answers import drawn
from shapes import ZONE

#: Of so many nodes one stays.
_STAYS = 19
QUESTIONS = {"survive": ("check", "--survive", ZONE), "drain": ("drain", "-l", "leaving=yes")}


def main() -> None:
    """A line for each question and seed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=3_000)
    parser.add_argument("--pods", type=int, default=30_000)
    parser.add_argument("--seed", type=int, action="append", help="default: 1")
    parser.add_argument("--ask", action="append", choices=QUESTIONS, help="default: both")
    asked = parser.parse_args()
    print(machine("numpy", "pydantic"))
    print(*table_head(("question", "seed", "seconds", "CPU s", "peak MiB", "exit", "result")), sep="\n")
    with tempfile.TemporaryDirectory() as name:
        for seed in asked.seed or [1]:
            items = drawn(seed, asked.nodes, asked.pods)
            for number, node in enumerate(item for item in items if item["kind"] == "Node"):
                if number % _STAYS:
                    node["metadata"]["labels"]["leaving"] = "yes"
            path = Path(name) / "cluster.json"
            path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
            for question in asked.ask or QUESTIONS:
                words = [*QUESTIONS[question], "-f", str(path)]
                cells = measured(words, Path(name) / "answer.json")
                print(table_line([question, str(seed), *cells]), flush=True)


if __name__ == "__main__":
    main()
