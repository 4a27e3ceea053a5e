"""Nodes that the solver treats as one."""

import numpy as np

from planner.problem.node_groups import NodeGroups


def test_nodes_that_no_trait_tells_apart_are_one_cell() -> None:
    """Two traits with two values each make four cells of the nodes that have each combination."""
    zone = np.array([0, 0, 1, 1] * 4)
    shape = np.array([0, 1, 0, 1] * 4)
    cells = NodeGroups.alike(16, [zone, shape], most=100)
    assert cells.size == 4
    assert cells.nodes_in.tolist() == [4, 4, 4, 4]
    assert cells.tells(zone)
    assert cells.tells(shape)
    assert not cells.single


def test_a_trait_that_names_nearly_every_node_is_passed_over() -> None:
    """The hostname tells all nodes apart, and would leave nothing to be treated as one."""
    cells = NodeGroups.alike(8, [np.arange(8), np.array([0, 1] * 4)], most=100)
    assert cells.size == 2
    assert not cells.tells(np.arange(8))


def test_a_trait_that_makes_too_many_cells_is_passed_over() -> None:
    """What came before it is kept, and what comes after it may still count."""
    first, second, third = np.array([0, 1] * 8), np.array([0, 0, 1, 1] * 4), np.array([0] * 16)
    cells = NodeGroups.alike(16, [first, second, third], most=3)
    assert (cells.size, cells.tells(first), cells.tells(second)) == (2, True, False)


def test_nothing_that_tells_apart_makes_one_cell() -> None:
    """Without any trait all nodes are alike."""
    cells = NodeGroups.alike(5, [], most=100)
    assert (cells.size, cells.nodes_in.tolist()) == (1, [5])


def test_amounts_and_members_belong_to_cells() -> None:
    """Every node is the member of exactly one cell, and its amount counts there."""
    cells = NodeGroups(np.array([1, 0, 1, 0, 2]))
    assert cells.sums(np.array([1, 10, 2, 20, 5])).tolist() == [30, 3, 5]
    assert [found.tolist() for found in cells.members()] == [[1, 3], [0, 2], [4]]
    assert cells.first.tolist() == [1, 0, 4]


def test_single_nodes_leave_amounts_as_they_are() -> None:
    """Every node by itself: nothing is added up, and every trait is told."""
    cells = NodeGroups.single_nodes(3)
    assert cells.sums(np.array([4, 5, 6])).tolist() == [4, 5, 6]
    assert cells.single
    assert cells.tells(np.array([1, 2, 1]))


def test_nodes_by_themselves_in_another_order_are_not_single() -> None:
    """Only where the cell has the number of its node amounts of nodes are those of cells."""
    cells = NodeGroups(np.array([2, 0, 1], np.intp))
    assert not cells.single
    assert cells.sums(np.array([10, 20, 30])).tolist() == [20, 30, 10]
    assert NodeGroups(np.arange(3)).single
