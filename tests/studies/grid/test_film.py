"""Counting covered cells and visits over time."""

import numpy as np

from action_balance.studies.grid import film

#: Two runs of four steps in a world of five cells.
TRACE = np.array([[0, 1, 0, 2], [3, 3, 0, 3]])


def test_a_cell_is_covered_once_it_was_acted_from() -> None:
    first = film.first_visits(TRACE, cells=5)
    assert first.tolist() == [[0, 1, 3, 4, 4], [2, 4, 4, 0, 4]]  # 4: never
    assert film.covered_cells(first, np.array([1, 2, 3, 4]), steps=4).tolist() == [[1, 2, 2, 3], [1, 1, 2, 2]]


def test_visits_add_up_until_each_moment() -> None:
    assert film.visits_until(TRACE, (1, 4), cells=5).tolist() == [[1, 0, 0, 1, 0], [3, 1, 1, 3, 0]]


def test_shares_of_covered_cells_add_up_to_the_mean_number_of_cells() -> None:
    walks = film.Walks.create(2, np.array([1, 2, 3, 4]), (1, 3, 4), cells=5)
    walks.add(slice(1, 2), TRACE[1:])  # chunks of runs arrive in any order
    walks.add(slice(0, 1), TRACE[:1])
    assert walks.covered.tolist() == [[0.5, 0, 0, 0.5, 0], [1, 0.5, 0, 0.5, 0], [1, 0.5, 0.5, 0.5, 0]]
    assert walks.covered.sum(axis=1).tolist() == [1, 2, 2.5] == walks.cells.mean(axis=0)[[0, 2, 3]].tolist()
    assert walks.visits.sum(axis=1).tolist() == [1, 3, 4]


def test_a_large_world_has_fewer_moments_but_always_the_last_and_the_papers() -> None:
    assert film.film_moments(2500, 200_000, (700, 9000)) == (500, 700, 1000, 1500, 2000, 2500)
