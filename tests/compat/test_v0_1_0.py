"""Run folders and results of version 0.1.0, as it wrote them, still open and continue as it would have continued them.

``tests/fixtures/v0_1_0`` holds runs that were interrupted after 4 of 10 updates, results, and under ``expected`` what
0.1.0 made of each run: ``NAME.evaluation.json`` of its checkpoint, ``NAME.metrics.jsonl`` and ``NAME.visits.jsonl`` of
the whole run once it was resumed, and ``NAME.finished.evaluation.json`` of its end.
"""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import call

from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.config.train import TrainConfig
from action_balance.runs import RunFolder
from action_balance.runs.legacy import renamed
from action_balance.runs.manifest import versions
from action_balance.runs.results import PACKAGES, ResultFolder
from action_balance.web.files import read_table

OLD = Path(__file__).parents[1] / "fixtures" / "v0_1_0"
EXPECTED = OLD / "expected"

RUNS = ("run_device", "run_device_count", "run_ppo", "run_gym", "run_atari")
RESULTS = ("result_compare", "result_entropy", "result_explore", "result_grid", "result_neural")
#: Metrics that a method without the bonus does not have any more, nor an environment without enumerable states.
GONE = {
    "run_device": set(),
    "run_device_count": {"entropy_added", "entropy_bonus", "kl_beta_pi", "action_bonus_mean"}
    | {"loss_action", "loss_next_state"},
    "run_ppo": {"entropy_added", "entropy_bonus", "kl_beta_pi", "action_bonus_mean", "loss_action"}
    | {"loss_next_state", "bonus_mean", "bonus_scale"},
    "run_gym": {"states"},
    "run_atari": {"states"},
}

EXPLORE = ("--runs", "3", "--episodes", "2", "--episode-steps", "30", "--update-every", "16", "--max-steps", "2000")


def copied(name: str, to: Path) -> Path:
    return Path(shutil.copytree(OLD / name, to / name))


def load(file: Path) -> Any:
    return json.loads(file.read_bytes())


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def values(data: Any) -> Any:
    """Plain data without intervals: from fewer than five runs there were intervals, and are ranges."""
    if isinstance(data, list):
        return [values(one) for one in data]
    if not isinstance(data, dict):
        return data
    return {name: values(value) for name, value in data.items() if name not in ("low", "high", "range")}


def assert_close(found: Any, expected: Any, where: str = "") -> None:
    """The same plain data, except for rounding."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for name, value in expected.items():
            assert_close(found[name], value, f"{where}.{name}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            assert_close(found[place], value, f"{where}[{place}]")
    elif isinstance(expected, float) and not isinstance(found, str | None):
        # Of rewards that hardly vary, the explained variance is a quotient of two roundings.
        tolerance = 1e-3 if "explained" in where else 1e-5
        assert math.isclose(found, expected, rel_tol=1e-5, abs_tol=tolerance), f"{where}: {found}, not {expected}"
    else:
        assert found == expected, where


def assert_evaluated(run: Path, expected: Path) -> None:
    """An evaluation has the numbers of 0.1.0, and an environment only the settings of its family, with newer ones."""
    found, before = load(run / "evaluation" / "evaluation.json"), renamed(load(expected))
    files, environment = found.pop("files"), found.pop("environment")
    assert "episodes.csv" in files
    newer = {"distractors": 0, "action_masks": "ignore", "layout": "flat", "max_image_side": 0}
    assert environment.items() <= {**newer, **before.pop("environment")}.items()
    for numbers in before["modes"].values():
        for one in (one for one in numbers.values() if isinstance(one, dict) and "low" in one):
            one |= {"low": None, "high": None}  # an interval from so few episodes or seeds is not given any more
    assert_close(found, before)


@pytest.mark.parametrize("name", [*RUNS, *RESULTS])
def test_a_run_or_result_is_shown(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert call("view", str(copied(name, tmp_path)), "--save", str(page)) == 0
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    if name in RUNS:
        config = TrainConfig.from_dict(RunFolder.open(OLD / name).config)
        assert config.env.title in text
        assert f'"method": "{config.agent.method}"' in text or f'"method":"{config.agent.method}"' in text


def test_runs_are_compared_as_before(tmp_path: Path) -> None:
    runs = [str(OLD / name) for name in ("run_device", "run_device_count", "run_ppo")]
    out = copied("result_compare", tmp_path)  # which has no summary, and is replaced
    for old in out.glob("*.csv"):
        old.write_text(old.read_text().splitlines()[0] + "\n")
    assert call("compare", *runs, "--baseline", "ppo", "--metric", "entropy_beta", "--out", str(out)) == 0
    # Two seeds had an interval of the mean, which is gone; curves have the range of the seeds.
    for table, changed in (("comparison.csv", {"mean_low", "mean_high"}), ("curves.csv", {"low", "high"})):
        found, expected = (read_table(one / table, ()) for one in (out, OLD / "result_compare"))
        kept = expected[0].keys() - changed
        assert [{name: row[name] for name in kept} for row in found] == [
            {name: row[name] for name in kept} for row in expected
        ]


@pytest.mark.parametrize("name", [name for name in RUNS if name != "run_ppo"])  # less of the same
def test_a_run_is_evaluated_and_resumed_as_before(name: str, tmp_path: Path) -> None:
    run = copied(name, tmp_path)
    if name != "run_atari":  # three games and their film take longer than everything else here
        assert call("evaluate", str(run), "--episodes", "3") == 0
        assert_evaluated(run, EXPECTED / f"{name}.evaluation.json")
    assert call("resume", str(run)) == 0
    folder = RunFolder.open(run)
    assert (folder.manifest["status"], folder.manifest["resumes"]) == ("finished", 1)
    assert folder.checkpoints().updates() == [4, 10]
    found, expected = rows(run / "metrics.jsonl"), rows(EXPECTED / f"{name}.metrics.jsonl")
    begun = len(rows(OLD / name / "metrics.jsonl"))
    assert found[:begun] == expected[:begun]  # as 0.1.0 wrote it
    kept = [{metric: value for metric, value in row.items() if metric not in GONE[name]} for row in expected[begun:]]
    assert_close(found[begun:], kept)
    visits = EXPECTED / f"{name}.visits.jsonl"
    assert not visits.exists() or (run / "visits.jsonl").read_bytes() == visits.read_bytes()
    if name == "run_device":  # from a checkpoint of this version, beside the one of 0.1.0
        assert call("evaluate", str(run), "--episodes", "3") == 0
        assert_evaluated(run, EXPECTED / f"{name}.finished.evaluation.json")


def test_a_new_run_starts_from_the_settings_of_an_old_one() -> None:
    command = parse(["train", "--config", str(OLD / "run_gym"), "--seed", "7"])
    assert isinstance(command, Train)
    assert command.settings == replace(TrainConfig.from_dict(RunFolder.open(OLD / "run_gym").config), seed=7)


def test_a_copy_without_checkpoints_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = copied("run_ppo", tmp_path)
    shutil.rmtree(run / "checkpoints")
    for command in ("resume", "evaluate"):
        assert call(command, str(run)) == 2
        error = capsys.readouterr().err
        assert "is a copy without checkpoints/" in error
        assert error.count("\n") == 1


def made_with(result: Path, **others: str) -> None:
    """Let a result be of the packages that are installed, except for ``others``."""
    summary = load(result / "summary.json")
    summary["versions"] = versions(PACKAGES) | others
    (result / "summary.json").write_text(json.dumps(summary))


def forget(result: Path, part: str) -> None:
    """Let a study have been interrupted before one of its parts."""
    summary = load(result / "summary.json")
    del summary["ours"][part], summary["timings"][part]
    (result / "summary.json").write_text(json.dumps(summary))


def test_a_finished_result_is_not_made_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = copied("result_explore", tmp_path)
    (result / "report.html").write_text("of the result")
    words = ("explore", str(EXPECTED / "map.txt"), *EXPLORE, "--out", str(result))
    made_with(result)
    assert call(*words) == 2
    error = capsys.readouterr().err
    assert "already contains this result" in error
    made_with(result, jax="0.0.1")
    assert call(*words) == 2
    error += capsys.readouterr().err
    assert "already contains a result with different versions" in error
    assert error.count("\n") == 2
    (result / "mine.txt").write_text("not of the result")
    assert call(*words, "--overwrite") == 0
    for table in ("coverage_final.csv", "reach.csv"):  # curves of fewer than five runs have no interval any more
        assert (result / table).read_bytes() == (OLD / "result_explore" / table).read_bytes()
    assert (result / "mine.txt").exists()
    assert (result / "report.html").read_text() != "of the result"
    assert {"coverage.csv", "heatmaps.npz"} <= {*ResultFolder.read(result).summary["files"]}


def test_an_interrupted_study_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = copied("result_grid", tmp_path)
    made_with(result)
    forget(result, "corridor")
    (result / "corridor.csv").unlink()
    words = ("--runs", "3", "--size", "6", "--goals", "3,3", "5,0", "--episode-steps", "40", "--episodes", "2")
    assert call("reproduce", "grid", *words, "--max-steps", "5000", "--out", str(result)) == 0
    assert "already has coverage and goals: continuing with corridor" in capsys.readouterr().out
    assert (result / "corridor.csv").read_bytes() == (OLD / "result_grid" / "corridor.csv").read_bytes()
    found, before = (values(load(one / "summary.json")["ours"]) for one in (result, OLD / "result_grid"))
    assert_close(found, before)


def test_a_study_is_reported_again_from_its_runs(tmp_path: Path) -> None:
    result = copied("result_entropy", tmp_path)
    assert call("reproduce", "entropy", "--report-only", "--out", str(result)) == 0
    for table in ("entropy.csv", "entropy_curves.csv"):
        assert (result / table).read_bytes() == (OLD / "result_entropy" / table).read_bytes()
    assert_close(load(result / "summary.json")["ours"], load(OLD / "result_entropy" / "summary.json")["ours"])
