"""A large cluster as `kubectl get nodes,pods -A -o json` prints it, and how long reading it takes.

`python benchmarks/snapshot_dump.py write /tmp/dump.json`: 5,000 nodes, 50,000 pods, 550 MB.
`python benchmarks/snapshot_dump.py time /tmp/dump.json`: load, compile, peak memory.
"""

import argparse
from pathlib import Path

from dump_writer import Dump
from measure import measure_apart


def main() -> None:
    """Write a dump, or time the reading of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    write = commands.add_parser("write", help="make a dump up")
    write.add_argument("file", type=Path)
    write.add_argument("--nodes", type=int, default=5_000)
    write.add_argument("--pods", type=int, default=50_000)
    write.add_argument("--apps", type=int, default=500)
    write.add_argument("--seed", type=int, default=1)
    write.add_argument("--managed-fields", action="store_true", help="as --show-managed-fields")
    read = commands.add_parser("time", help="read and compile a dump in a process of its own")
    read.add_argument("file", type=Path)
    asked = parser.parse_args()
    if asked.command == "time":
        result = measure_apart(asked.file, repeats=0)
        size = asked.file.stat().st_size // 1024**2
        print(f"{size} MiB: load {result['load']:.1f} s, compile {result['compile']:.1f} s, ", end="")
        print(f"peak {result['peak_mib']:,} MiB")
        return
    dump = Dump(asked.nodes, asked.pods, asked.apps, asked.seed, asked.managed_fields)
    with asked.file.open("w") as out:
        dump.write(out)


if __name__ == "__main__":
    main()
