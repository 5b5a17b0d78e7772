"""What `benchmarks/baselines.py` reports of its trainings."""

import math
from pathlib import Path

import pytest
from baselines import Row, append_row, last_episodes, read_rows, summary


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([(50, 1.0), (60, 2.0), (0, math.nan), (40, 4.0)], 2.8),  # 60 x 2 and 40 x 4 are 100 episodes
        ([(50, 1.0), (30, 2.0), (40, 4.0)], (50 + 60 + 160) / 120),  # whole updates: all 120
        ([(2, 3.0)], 3.0),  # fewer than 100 in all
    ],
)
def test_the_last_episodes_are_those_of_whole_updates(groups: list[tuple[int, float]], expected: float) -> None:
    assert last_episodes(groups) == pytest.approx(expected)


def test_without_episodes_there_is_no_return() -> None:
    assert math.isnan(last_episodes([(0, math.nan)]))


def test_rows_are_read_as_they_were_written_and_summarised_by_agent(tmp_path: Path) -> None:
    file = tmp_path / "new" / "runs.csv"
    assert read_rows(file) == []
    rows = [Row("Pole-v1", "ppo", seed, 1000, 10.0, 7, 1.0 + seed, 2.0) for seed in range(5)]
    rows.append(Row("Pole-v1", "other", 0, 1000, -5.5, 7, 1.25, 1.0))
    rows.append(Row("Pole-v1", "ppo", 0, 64, 1.0, 1, 1.0, 1.0))  # of another length
    for row in rows:
        append_row(file, row)
    assert read_rows(file) == rows
    assert list(summary(rows, ["other", "ppo"], 1000)) == [
        ("Pole-v1", "other", "1", "-5.5", "1.2", "1.0"),
        ("Pole-v1", "ppo", "5", "10.0 [10.0, 10.0]", "3.0", "2.0"),
    ]
