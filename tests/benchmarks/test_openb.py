"""The openb trace as a cluster: GPUs, their models, and which pods may use them."""

import gzip
from pathlib import Path

import pytest
from openb import shapes_of, trace
from shapes import Manifest

from models import Cluster
from planner import simulate, solve

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
bare,32000,262144,0,
small,8000,32768,1,T4
large,8000,32768,2,P100
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
late,1000,1024,1,1000,P100,LS,Running,90000,99999,90000
part,1000,1024,1,460,T4,LS,Failed,10,99999,10
choosy,1000,1024,1,1000,P100|T4|P100,LS,Pending,20,99999,
whole,1000,1024,2,1000,,LS,Running,30,99999,30
plain,30000,1024,0,0,,BE,Running,40,99999,40
"""


@pytest.fixture
def objects(tmp_path: Path) -> list[Manifest]:
    """A trace of three nodes and five pods, in files like the real one's."""
    for name, table in {"nodes": NODES, "pods_default": PODS}.items():
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress(table.encode()))
    return trace(tmp_path, "default")


def test_pods_come_in_the_order_of_their_creation(objects: list[Manifest]) -> None:
    """The scheduler takes the pods as they came, whatever became of them, not as the table lists them."""
    decisions = simulate(Cluster.from_objects(objects)).decisions
    assert [decision.pod for decision in decisions] == [
        f"openb/{name}" for name in ("part", "choosy", "whole", "plain", "late")
    ]


def test_gpus_are_whole_and_models_are_kept_to(objects: list[Manifest]) -> None:
    """A part of a GPU takes a whole one, so of the pods with GPUs the one that asks for two must wait."""
    plan = solve(Cluster.from_objects(objects), time_limit=10)
    placed = {step.pod.removeprefix("openb/"): step.node for step in plan.steps}
    assert placed == {"part": "small", "choosy": "large", "late": "large", "plain": "bare"}


def test_node_shapes_are_told_apart_by_model(objects: list[Manifest]) -> None:
    """Nodes that differ in room or in the GPU's model are of different shapes."""
    assert shapes_of(objects) == 3
