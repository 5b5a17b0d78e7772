"""``evaluate`` on a real run in a small deep sea."""

import csv
import errno
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import call
from PIL import Image

from action_balance.runs import RunFolder, read_metrics

#: Ten updates, in a deep sea with the program of `api/test_run.py`.
SMALL = (
    *("--size", "4", "--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1"),
    *("--warmup-rollouts", "1", "--hidden", "8", "--steps", "352", "--checkpoint-every", "4"),
)
BONUS = ("--method", "action-balance-rnd", "--bonus-hidden", "8", "--bonus-outputs", "4")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with two seeds."""
    out = tmp_path_factory.mktemp("runs") / "sea"
    assert call("train", "deep-sea", "--out", str(out), "--seeds", "2", *SMALL, *BONUS) == 0
    return out


@pytest.fixture(scope="module")
def evaluated(trained: Path) -> Path:
    """Its evaluation."""
    assert call("evaluate", str(trained), "--episodes", "5") == 0
    return trained / "evaluation"


def rows_of(evaluated: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((evaluated / "episodes.csv").read_text())))


def summary_of(evaluated: Path) -> Any:
    return json.loads((evaluated / "evaluation.json").read_text())


def test_the_summary_agrees_with_the_episodes(evaluated: Path) -> None:
    rows, summary = rows_of(evaluated), summary_of(evaluated)
    assert [row["mode"] for row in rows[::10]] == list(summary["modes"]) == ["greedy", "sampled", "behaviour"]
    assert [(row["seed"], row["episode"]) for row in rows[:10:3]] == [("0", "0"), ("0", "3"), ("1", "1"), ("1", "4")]
    assert summary["seeds"] == [0, 1]
    assert summary["intervals_over"] == "seeds"
    for mode, found in summary["modes"].items():
        returns = np.array([float(row["return"]) for row in rows if row["mode"] == mode]).reshape(2, 5)
        assert found["return"]["mean"] == pytest.approx(returns.mean(), abs=1e-7)
        assert (found["return"]["low"], found["return"]["high"]) == (None, None)  # two seeds have no interval
        assert found["return"]["median"] == pytest.approx(np.median(returns), abs=1e-7)
        assert (found["return"]["min"], found["return"]["max"]) == pytest.approx((returns.min(), returns.max()))
        assert found["mean_length"] == 4
        assert found["ended_by_task"] == 1
    assert {row["ended"] for row in rows} == {"task"}


def test_coverage_in_training_is_that_of_the_metrics(trained: Path, evaluated: Path) -> None:
    coverage = summary_of(evaluated)["coverage"]
    assert coverage["reachable"] == 10
    assert coverage["reached"]["training"] == np.mean([row["states"] for row in read_metrics(trained)[-2:]])
    assert coverage["reached"]["greedy"] == 4  # every row once, by one way only


def test_the_film_has_a_frame_for_every_step_and_one_for_the_end(evaluated: Path) -> None:
    with Image.open(evaluated / "episode.gif") as film:
        assert getattr(film, "n_frames", 1) == 4 + 1
    with Image.open(evaluated / "heatmap.png") as heatmap:
        assert heatmap.size[0] == 1200


def test_the_same_seed_gives_the_same_files_and_another_evaluation_replaces_them(
    trained: Path, evaluated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run, ignore=shutil.ignore_patterns("evaluation"))
    assert call("evaluate", str(run), "--episodes", "5") == 0
    shown = capsys.readouterr().out
    assert all(
        word in shown for word in ("greedy", "sampled", "behaviour", "no interval", "states reached", "episode.gif")
    )
    files, others = (
        {path.name: path.read_bytes() for path in where.iterdir()} for where in (run / "evaluation", evaluated)
    )
    assert files.keys() == {"evaluation.json", "episodes.csv", "heatmap.png", "episode.gif"}
    assert files == others
    assert call("evaluate", str(run), "--episodes", "1", "--checkpoint", "8", "--seed", "1") == 0
    assert len(rows_of(run / "evaluation")) == 6
    assert summary_of(run / "evaluation")["checkpoint"] == {"update": 8, "steps": 9 * 32}
    RunFolder.create(run, {}, ["train"], overwrite=True).release()
    assert not (run / "evaluation").exists()


def test_a_random_agent_in_a_grid_world_is_evaluated(tmp_path: Path) -> None:
    run = tmp_path / "run"
    where = ("goal", "--view", "coordinates", "--episode-steps", "20", "--method", "random", "--seed", "7")
    assert call("train", *where, "--out", str(run), *SMALL) == 0
    assert call("evaluate", str(run), "--episodes", "30", "--checkpoint", "best") == 0
    summary, rows = summary_of(run / "evaluation"), rows_of(run / "evaluation")
    assert list(summary["modes"]) == ["sampled"]
    assert summary["intervals_over"] == "episodes"
    assert summary["seeds"] == [7]
    assert {row["seed"] for row in rows} == {"7"}
    assert summary["coverage"]["reachable"] == 16
    assert {(row["ended"], row["return"]) for row in rows} == {("task", "1"), ("time limit", "0")}
    assert all(row["length"] == "20" for row in rows if row["ended"] == "time limit")
    found, returns = summary["modes"]["sampled"], np.array([float(row["return"]) for row in rows])
    assert found["ended_by_task"] == pytest.approx(returns.mean())
    half = 2.04523 * returns.std(ddof=1) / np.sqrt(30)  # Student's t with 29 degrees of freedom
    assert found["return"]["high"] - found["return"]["low"] == pytest.approx(2 * half, rel=1e-4)
    with Image.open(run / "evaluation" / "episode.gif") as film:
        assert getattr(film, "n_frames", 1) == int(rows[0]["length"]) + 1


def test_a_run_that_is_read_only_is_evaluated_and_nothing_is_written(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run, ignore=shutil.ignore_patterns("evaluation"))
    really_make = os.mkdir

    def refuse(path: Any, *rest: Any) -> None:
        if Path(path).is_relative_to(run):
            raise OSError(errno.EROFS, "Read-only file system")
        really_make(path, *rest)

    monkeypatch.setattr("os.mkdir", refuse)
    assert call("evaluate", str(run), "--episodes", "5") == 0
    out, error = capsys.readouterr()
    assert error == ""
    assert "greedy" in out
    assert f"nothing was written: cannot write {run / 'evaluation'}: Read-only file system" in out
    assert not (run / "evaluation").exists()


@pytest.mark.parametrize(
    ("spoiled", "arguments", "hint"),
    [
        ("config.json", (), "is not a run"),
        ("checkpoints", (), "is a copy without checkpoints/ and cannot be evaluated: copy the whole run"),
        ("", ("--checkpoint", "9"), "has no checkpoint 9: choose from latest, best, "),
        ("", ("--episodes", "100000000"), "use at most --episodes"),
    ],
)
def test_what_cannot_be_evaluated_is_told_in_one_line(
    spoiled: str,
    arguments: tuple[str, ...],
    hint: str,
    trained: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run, ignore=shutil.ignore_patterns("evaluation", spoiled or "evaluation"))
    assert call("evaluate", str(run), *arguments) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1
    assert not (run / "evaluation" / "evaluation.json").exists()
