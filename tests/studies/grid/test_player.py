"""What the page of a tabular result shows by script."""

from pathlib import Path

import numpy as np

from action_balance.studies.grid.player import _clearest, _reach, cells_of


def test_cells_of_a_map_count_from_below() -> None:
    assert cells_of(["#.G", "S.."], "#") == [3]
    assert cells_of(["#.G", "S.."], "G") == [5]
    assert cells_of(["#.G", "S.."], "S") == [0]


def test_first_reach_distributions_count_runs_that_never_arrive(tmp_path: Path) -> None:
    rows = [
        "method,goal_x,goal_y,run,steps",
        "rnd,0,2,0,30",
        "rnd,0,2,1,10",
        "rnd,0,2,2,",
        "rnd,0,2,3,20",
        "rnd,1,1,0,5",
    ]
    (tmp_path / "goals.csv").write_text("\n".join(rows))
    (tmp_path / "reach.csv").write_text("method,run,steps\nrandom,0,\nrandom,1,\n")
    goals, reach = _reach(tmp_path)
    assert (goals["id"], [group["label"] for group in goals["groups"]]) == ("goals", ["(0, 2)", "(1, 1)"])
    first = goals["groups"][0]["methods"][0]
    assert (first["steps"], first["shares"], first["median"]) == ([10, 20, 30], [0.25, 0.5, 0.75], 25)
    never = reach["groups"][0]["methods"][0]
    assert (never["steps"], never["shares"], never["median"]) == ([], [], None)


def test_maps_are_first_shown_where_the_methods_are_apart() -> None:
    slow = np.array([[[1.0, 0.0]], [[1.0, 0.5]], [[1.0, 1.0]]])
    fast = np.array([[[1.0, 0.25]], [[1.0, 1.0]], [[1.0, 1.0]]])
    assert _clearest((10, 20, 30), [slow, fast]) == 20  # 0.5 cells apart; at the end, both cover all
    assert _clearest((10, 20), [slow, fast]) == 20
    assert _clearest((10, 20, 30), [slow, 0.5 * fast]) == 30
    assert _clearest((10, 20, 30), []) == 30
