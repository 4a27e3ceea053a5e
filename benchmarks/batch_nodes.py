"""The nodes of a batch: three zones, four pools, one of them tainted."""

import random
from dataclasses import dataclass

from shapes import HOSTNAME, ZONE, Manifest, node_name, pod

ZONES = ("zone-a", "zone-b", "zone-c")
TAINT = "reserved"


@dataclass(frozen=True, slots=True)
class Room:
    """An amount of the two resources."""

    cpu_milli: int
    memory_mib: int

    @staticmethod
    def of(requests: dict[str, str]) -> "Room":
        """Read back from what `requests` printed."""
        return Room(int(requests["cpu"][:-1]), int(requests["memory"][:-2]))

    def __add__(self, other: "Room") -> "Room":
        return Room(self.cpu_milli + other.cpu_milli, self.memory_mib + other.memory_mib)

    def __sub__(self, other: "Room") -> "Room":
        return Room(self.cpu_milli - other.cpu_milli, self.memory_mib - other.memory_mib)

    def times(self, factor: float) -> "Room":
        """Rounded down, so that a fill is never exceeded."""
        return Room(int(self.cpu_milli * factor), int(self.memory_mib * factor))

    @property
    def requests(self) -> dict[str, str]:
        """As a manifest spells it."""
        return {"cpu": f"{self.cpu_milli}m", "memory": f"{self.memory_mib}Mi"}


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one shape."""

    name: str
    room: Room


GENERAL = Pool("general", Room(8_000, 32 * 1024))
COMPUTE = Pool("compute", Room(16_000, 32 * 1024))
MEMORY = Pool("memory", Room(8_000, 64 * 1024))
RESERVED = Pool("reserved", Room(16_000, 64 * 1024))
POOLS = (GENERAL, COMPUTE, MEMORY, RESERVED)

# Of ten nodes of a zone; the tainted pool is small, since few templates may use it.
_TEN = (GENERAL, COMPUTE, GENERAL, MEMORY, GENERAL, RESERVED, GENERAL, COMPUTE, GENERAL, MEMORY)


def pool_of(index: int) -> Pool:
    """Zones are given one node at a time, pools one round of zones at a time."""
    return _TEN[index // len(ZONES) % len(_TEN)]


def zone_of(index: int) -> int:
    """Which of ZONES the node is in."""
    return index % len(ZONES)


def pool_node(index: int) -> Manifest:
    """The node with this number."""
    pool = pool_of(index)
    room = pool.room.requests | {"pods": "110"}
    name = node_name(index)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {HOSTNAME: name, ZONE: ZONES[zone_of(index)], "pool": pool.name},
        },
        "spec": {"taints": [{"key": TAINT, "effect": "NoSchedule"}]} if pool is RESERVED else {},
        "status": {
            "capacity": room,
            "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def spoken_for(dice: random.Random, index: int, pool: Pool) -> Manifest:
    """A running pod that takes a quarter to a half of the node, hardly ever twice the same amount."""
    cpu, memory = (dice.uniform(0.25, 0.5) for _ in range(2))
    taken = Room(int(pool.room.cpu_milli * cpu), int(pool.room.memory_mib * memory))
    return pod(f"local-{index:05d}", labels={"app": "local"}, **taken.requests, nodeName=node_name(index)) | {
        "status": {"phase": "Running"}
    }
