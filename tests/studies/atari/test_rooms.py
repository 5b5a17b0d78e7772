"""Rooms in the report of ``reproduce atari``: which games are counted, and when they are played."""

import json
from pathlib import Path

import pytest
from rich.console import Console
from synthetic_runs import evaluate_run, make_run

from action_balance.cli import main as cli
from action_balance.studies.atari.reproduce import count_rooms
from action_balance.studies.atari.training import AtariTraining

FLAGS = ("--steps", "1536", "--envs", "4", "--warmup-rollouts", "1", "--channels", "4")
SMALL = AtariTraining(steps=1536, envs=4, warmup_rollouts=1, channels=4)
SEVEN = [(100, 3.0), (100, 7.0)]


def reproduce(out: Path, *words: str) -> None:
    cli.main(["reproduce", "atari", "--out", str(out), *words])


def rooms(out: Path) -> tuple[float, int]:
    """Mean and games of the only row."""
    (row,) = json.loads((out / "summary.json").read_text())["ours"]["rooms"]
    return row["mean"], row["games"]


def test_finished_runs_play_to_have_their_rooms_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[tuple[str, int]] = []

    def evaluate(path: Path, episodes: int, *_: object) -> None:
        played.append((path.name, episodes))
        evaluate_run(path, 2, [("greedy", 3)] * episodes, games=episodes)

    monkeypatch.setattr("action_balance.studies.evaluation.run.evaluate", evaluate)
    for game in ("montezuma_revenge", "venture", "pitfall"):
        path = make_run(tmp_path, SMALL.run(game, "rnd", 0), SEVEN)
        if game != "pitfall":  # which is a copy
            (path / "checkpoints" / "00000002").mkdir()
    words = ("--games", "montezuma_revenge", "venture", "pitfall", "--methods", "rnd", "--seeds", "1", *FLAGS)
    reproduce(tmp_path, *words, "--evaluate", "4")
    assert played == [("montezuma_revenge-rnd-0", 4)]
    assert rooms(tmp_path) == (3, 4)
    run, config = tmp_path / "runs" / "montezuma_revenge-rnd-0", SMALL.run("montezuma_revenge", "rnd", 0)
    assert not count_rooms(run, config, Console(), games=3)  # there are enough
    assert count_rooms(run, config, Console(), games=5)
    evaluate_run(run, 1, [("greedy", 9)] * 7, games=7)  # of another update
    assert count_rooms(run, config, Console(), games=5)
    assert played[1:] == [("montezuma_revenge-rnd-0", 5)] * 2


def test_a_damaged_evaluation_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_run(tmp_path, SMALL.run("pitfall", "rnd", 0), SEVEN)
    evaluate_run(path, 2, [("greedy", 3)], games=1)
    (path / "evaluation" / "evaluation.json").write_text('{"checkpoint": {"update": 2}}')
    with pytest.raises(SystemExit) as stop:
        reproduce(tmp_path, "--report-only")
    assert stop.value.code == 2
    assert "evaluation is damaged: evaluate the run again" in capsys.readouterr().err
