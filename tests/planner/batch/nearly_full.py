"""Batches that nearly fill their nodes, of workloads with ScheduleAnyway constraints over zones and nodes."""

from random import Random

from tests.builders import HOST, SOFT, ZONE, Object, node, pod, spread

_CPU_MILLI = 16_000


def nearly_full(seed: int, nodes: int, fill: float) -> list[Object]:
    """Nodes of three zones, and pending pods that ask for so much of their cpu."""
    draw, left = Random(seed), int(nodes * _CPU_MILLI * fill)
    found = [node(f"n{place}", zone="abc"[place % 3], cpu="16", memory="64Gi") for place in range(nodes)]
    for number in range(left):
        app, memory = f"w{number}", draw.choice((1, 2, 3, 5, 8))
        cpu = draw.choice((500, 700, 1000, 1300, 2000, 2700))
        goals = [spread(key, 1, app, when=SOFT) for key in (ZONE, HOST)]
        for replica in range(draw.randint(6, 2 * nodes)):
            left -= cpu
            if left < 0:
                return found
            found.append(pod(f"{app}-{replica}", cpu=f"{cpu}m", memory=f"{memory}Gi", app=app, spread=goals))
    return found
