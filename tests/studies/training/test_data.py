"""Training runs as the page shows them: curves over seeds, and news."""

import os
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from watched_runs import STEPS, add, begin, config_of

from action_balance.packing import unpacked
from action_balance.studies.training import data as view_data
from action_balance.studies.training.data import Watched, columns

READ = ("update", "seed", "steps", "episode_return", "states", "novelty")


def news(path: Path, place: str) -> dict[str, Any]:
    return by_name(view_data.news(Watched.open(path, live=True), place))


def by_name(found: dict[str, Any]) -> dict[str, Any]:
    """Columns with the values of each metric as points of seeds."""
    if not found["steps"]:
        return found
    values = unpacked(found["values"]).reshape(len(found["metrics"]), len(found["steps"]), -1)
    return found | {"metrics": dict(zip(found["metrics"], values.tolist(), strict=True))}


def curves(paths: Sequence[Path], pooled: bool) -> list[dict[str, Any]]:
    found = []
    for group in view_data.grouped([Watched.open(path) for path in paths], pooled):
        names = view_data.metric_names(group.runs)
        found.append(by_name(view_data.curve(group, "c", names, *view_data.read_table(group.runs, names), bucket=1)))
    return found


def test_columns_are_means_over_updates_for_each_seed() -> None:
    table = np.full((3, 2, len(READ)), nan)
    table[..., READ.index("steps")] = [[10], [20], [30]]
    table[..., READ.index("episode_return")] = [[1, 3], [3, 7], [nan, 5]]
    table[..., READ.index("states")] = 0
    found = columns(table, READ, bucket=2)
    assert (found["steps"], found["metrics"]) == ([20, 30], ["episode_return"])
    # seed 0: (1 + 3) / 2 = 2, then unknown; seed 1: (3 + 7) / 2 = 5, then 5
    np.testing.assert_array_equal(unpacked(found["values"]), [2, 5, nan, 5])
    assert (columns(table[:0], READ, 2)["steps"], columns(table[:0], READ, 2)["metrics"]) == ([], [])


def test_a_metric_that_nobody_knows_comes_after_the_others_under_its_name(tmp_path: Path) -> None:
    folder, log = begin(tmp_path / "run", config_of(seeds=1))
    rows = [{"update": 1, "seed": 0, "steps": STEPS, "my_novelty": 0.5, "counts": [1, 2], "episode_return": nan}]
    log.append([rows[0] | {"loss_policy": 2.0}])
    (curve,) = curves([folder.path], pooled=False)
    assert list(curve["metrics"].items()) == [("loss_policy", [[2.0]]), ("my_novelty", [[0.5]])]
    log.append([rows[0] | {"update": 2, "steps": 2 * STEPS, "my_novelty": 0.25}])
    assert news(folder.path, curve["place"])["metrics"] == {"my_novelty": [[0.25]]}
    folder.release()


def test_runs_that_differ_only_in_their_seeds_are_one_curve(tmp_path: Path) -> None:
    for seed in (0, 2):
        config = config_of(seed=seed)
        folder, log = begin(tmp_path / f"run{seed}", config)
        add(log, config, 1)
        folder.finish("finished")
    both = [tmp_path / f"run{seed}" for seed in (0, 2)]
    (curve,) = curves(both, pooled=True)
    assert (curve["label"], curve["environment"], curve["seeds"]) == ("RND", "Deep Sea 3\N{MULTIPLICATION SIGN}3", 4)
    assert curve["numbers"] == [0, 1, 2, 3]
    assert curve["metrics"]["episode_return"] == [[1.0, 3.0, 1.0, 3.0]]
    assert [one["label"] for one in curves(both, pooled=False)] == ["RND (run0)", "RND (run2)"]


def test_a_damaged_row_shifts_no_update_of_runs_that_are_one_curve(tmp_path: Path) -> None:
    for seed in (0, 2):
        config = config_of(seed=seed)
        folder, log = begin(tmp_path / f"run{seed}", config)
        for update in (1, 2, 3):
            add(log, config, update)
        folder.finish("finished")
    file = tmp_path / "run2" / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:3], lines[3][:20], b"\n", *lines[4:]]))  # seed 3 in update 2
    (curve,) = curves([tmp_path / f"run{seed}" for seed in (0, 2)], pooled=True)
    assert curve["steps"] == [STEPS, 3 * STEPS]
    assert curve["metrics"]["episode_return"] == [[1.0, 3.0, 1.0, 3.0], [3.0, 5.0, 3.0, 5.0]]


def test_news_are_what_is_new_and_begin_anew_with_another_file(tmp_path: Path) -> None:
    config = config_of(updates=4)
    folder, log = begin(tmp_path / "run", config)
    first = news(folder.path, "")
    assert (first["steps"], first["progress"]["status"], first["progress"]["left"]) == ([], "running", None)
    add(log, config, 1)
    second = news(folder.path, first["place"])
    assert second["metrics"]["episode_return"] == [[1.0, 3.0]]
    with open(folder.path / "metrics.jsonl", "ab") as file:
        file.write(b'{"update": 2, "seed": 0, "steps": 2048, "episode_return": 1}\n{"upd')  # one seed and a half
    third = news(folder.path, second["place"])
    assert (third["steps"], third["place"], third["restarted"]) == ([], second["place"], False)
    with open(folder.path / "metrics.jsonl", "ab") as file:
        file.write(b'\n{"update": 3, "seed": 0, "steps": 3072, "episode_return": 7}\n')  # the half line stays damaged
        file.write(b'{"update": 3, "seed": 1, "steps": 3072, "episode_return": 9}\n')
    later = news(folder.path, second["place"])
    assert (later["steps"], later["metrics"]["episode_return"]) == ([3072], [[7.0, 9.0]])
    assert news(folder.path, f"{later['place']}0")["restarted"]  # a place beyond the end
    log.truncate_after(0)  # as a resumed run does
    add(log, config, 1)
    fourth = news(folder.path, second["place"])
    assert (fourth["steps"], fourth["restarted"]) == ([STEPS], True)
    os.utime(folder.path / "timing.jsonl", (1, 1))
    assert news(folder.path, "")["progress"]["status"] == "silent"
    folder.release()
