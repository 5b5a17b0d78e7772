"""``reproduce grid``, end to end, as a user calls it."""

import contextlib
import csv
import hashlib
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command import call

from action_balance.studies.grid import page
from action_balance.studies.grid.verdict import conclusion

# Small, and as few compiled programs as possible: the corridor has a size of its own.
SMALL = ("--runs", "6", "--size", "6", "--episode-steps", "100", "--episodes", "3", "--goals", "3,3", "5,0")


def reproduce(out: Path, *arguments: str) -> int:
    return call("reproduce", "grid", "--out", str(out), *SMALL, *arguments)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A finished small study, and the lines that it has printed."""
    out = tmp_path_factory.mktemp("study") / "grid"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert reproduce(out) == 0
    return out, printed.getvalue().splitlines()


@pytest.fixture
def result(finished: tuple[Path, list[str]]) -> Path:
    """A finished small study."""
    return finished[0]


def test_reproduce_writes_every_file(result: Path) -> None:
    assert {path.name for path in result.iterdir()} == {
        "goals.csv",
        "coverage.csv",
        "coverage_final.csv",
        "corridor.csv",
        "corridor_coverage.csv",
        "heatmaps.npz",
        "recording.npz",
        "summary.json",
        "figures",
        "report.html",
    }
    names = {path.stem for path in (result / "figures").glob("*.svg")}
    assert names == {path.stem for path in (result / "figures").glob("*.png")}
    assert names == {
        "coverage_rate",
        "relative_increase",
        "heatmaps",
        "final_cells",
        "goal_boxes",
        "corridor_visits",
        "treasure_steps",
    }


def test_tables_have_their_columns_and_rows(result: Path) -> None:
    goals = rows(result / "goals.csv")
    assert list(goals[0]) == ["method", "goal_x", "goal_y", "run", "steps"]
    assert len(goals) == 4 * 2 * 6
    coverage = rows(result / "coverage.csv")
    assert list(coverage[0]) == ["method", "step", "mean", "low", "high"]
    assert [row["step"] for row in coverage[:30]] == [str(step) for step in range(10, 301, 10)]
    final = rows(result / "coverage_final.csv")
    assert list(final[0]) == ["method", "run", "cells"]
    corridor = rows(result / "corridor.csv")
    assert list(corridor[0]) == ["method", "run", "steps"]
    assert len(final) == len(corridor) == 4 * 6
    random_cells = [int(row["cells"]) for row in final if row["method"] == "random"]
    assert float(coverage[29]["mean"]) == pytest.approx(np.mean(random_cells) / 36, abs=1e-6)


def test_heat_maps_hold_every_step(result: Path) -> None:
    with np.load(result / "heatmaps.npz") as maps:
        assert maps["moments"].tolist() == [300 * (i + 1) // 80 for i in range(80)]
        assert maps["rnd"].shape == (80, 6, 6)
        assert maps["rnd"].sum(axis=(1, 2)) == pytest.approx(maps["moments"])
        assert maps["corridor_rnd"].shape == (4, 11, 31)


def test_summary_holds_settings_versions_ours_and_timings(result: Path) -> None:
    summary = json.loads((result / "summary.json").read_text())
    assert summary["settings"]["size"] == 6
    assert summary["settings"]["goals"] == [[3, 3], [5, 0]]
    assert not summary["as_in_paper"]
    assert summary["paper"]["goals"]["ratio"] == 1.23
    assert set(summary["ours"]) == {"coverage", "goals", "corridor"}
    assert summary["timings"]["coverage"]["simulated_steps"] == 4 * 6 * 300
    cell = summary["ours"]["goals"]["methods"]["rnd"]["goals"][0]
    steps = [int(row["steps"]) for row in rows(result / "goals.csv") if row["method"] == "rnd" and row["goal_x"] == "3"]
    assert cell["goal"] == [3, 3]
    assert cell["mean"]["value"] == pytest.approx(np.mean(steps))


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "summary.json"
    }


def test_studies_are_added_also_by_another_process_whose_reader_goes_away_and_the_same_seed_gives_the_same_files(
    result: Path, tmp_path: Path
) -> None:
    out = tmp_path / "again"
    command = [sys.executable, "-m", "action_balance", "reproduce", "grid", "--out", str(out), *SMALL]
    shell = ["bash", "-c", f"{shlex.join([*command, '--studies', 'corridor'])} | true; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for study in ("goals", "coverage"):
        assert reproduce(out, "--studies", study) == 0
    assert digests(out) == digests(result)
    one, other = (json.loads((folder / "summary.json").read_text()) for folder in (result, out))
    assert sorted(one.pop("files")) == sorted(other.pop("files"))  # those of a study follow each other
    assert {**one, "timings": None} == {**other, "timings": None}


def test_another_seed_gives_other_runs_and_more_runs_keep_the_first(result: Path, tmp_path: Path) -> None:
    reproduce(tmp_path / "seed", "--seed", "1", "--studies", "goals")
    reproduce(tmp_path / "more", "--runs", "9", "--studies", "goals")
    first, seed, more = (rows(folder / "goals.csv") for folder in (result, tmp_path / "seed", tmp_path / "more"))
    assert [row["steps"] for row in first] != [row["steps"] for row in seed]
    assert first == [row for row in more if int(row["run"]) < 6]


def test_last_lines_are_the_verdict_and_where_the_report_is(finished: tuple[Path, list[str]]) -> None:
    out, lines = finished
    summary = json.loads((out / "summary.json").read_text())
    last = conclusion(summary, out)
    assert lines[-len(last) :] == last
    assert str(out / "report.html") in last[-1]


def test_a_finished_result_is_not_overwritten_silently(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = digests(result)
    assert reproduce(result) == 2
    error = capsys.readouterr().err
    assert "--overwrite" in error
    assert error.count("\n") == 1
    assert digests(result) == before


def test_one_run_one_method_and_overwrite(tmp_path: Path) -> None:
    small = ("--methods", "action-balance-rnd", "--runs", "1")
    assert reproduce(tmp_path, *small) == 0
    assert reproduce(tmp_path, *small, "--studies", "coverage", "--overwrite") == 0
    assert rows(tmp_path / "coverage.csv")[0]["low"] == ""


def test_runs_that_timed_out_are_reported_and_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--runs", "3", "--max-steps", "100", "--studies", "goals", "--methods", "rnd", "action-balance-rnd")
    assert call("reproduce", "grid", "--out", str(tmp_path), *arguments) == 0
    assert "30 runs timed out" in capsys.readouterr().out
    assert {row["steps"] for row in rows(tmp_path / "goals.csv")} == {""}
    numbers = json.loads((tmp_path / "summary.json").read_text())["ours"]["goals"]
    assert numbers["compared"] == 0


BAD = {
    "a goal outside": ("--goals", "6,0"),
    "a goal on the start": ("--goals", "0,0"),
    "a goal that is no cell": ("--goals", "here"),
    "the same goal twice": ("--goals", "1,1", "1,1"),
    "a goal too far for an episode": ("--goals", "5,5", "--episode-steps", "9"),
    "size 1": ("--size", "1"),
    "zero runs": ("--runs", "0"),
    "negative runs": ("--runs", "-3"),
    "runs that are no number": ("--runs", "many"),
    "zero episodes": ("--episodes", "0"),
    "zero steps": ("--episode-steps", "0"),
    "no update": ("--update-every", "0"),
    "a negative seed": ("--seed", "-1"),
    "a coefficient that is no number": ("--action-coef", "nan"),
    "a negative coefficient": ("--state-coef", "-1"),
    "a coefficient beyond all numbers": ("--action-coef", "1e300"),
    "a world beyond all memory": ("--size", "10000000"),
    "walks beyond all counting": ("--episode-steps", "100000000", "--episodes", "1"),
    "an unknown method": ("--methods", "rdn"),
    "no method": ("--methods",),
    "an unknown study": ("--studies", "goal"),
    "an unknown flag": ("--rnus", "3"),
}


@pytest.mark.parametrize("arguments", BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_and_writes_nothing(
    arguments: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(tmp_path / "out", *arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("action-balance: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--methods", "rdn"), "did you mean rnd?"),
        (("--studies", "goal"), "did you mean goals?"),
        (("--rnus", "3"), "--runs"),
        (("--goals", "6,0"), "x is from 0 to 5"),
    ],
)
def test_errors_say_what_to_do(arguments: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    reproduce(Path("unused"), *arguments)
    assert hint in capsys.readouterr().err


def test_a_file_as_output_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    assert reproduce(tmp_path / "file") == 2
    assert "is a file, not a folder" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/proc").exists():
        pytest.skip("needs a folder in which nobody can write, such as /proc")
    assert reproduce(Path("/proc/result")) == 2
    assert "choose another --out" in capsys.readouterr().err


def test_interrupted_study_keeps_what_was_finished_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the middle of a long second study; then the same command again, for its shorter kind."""
    out = tmp_path / "out"
    arguments = ["reproduce", "grid", "--out", str(out), *SMALL, "--runs", "2000"]
    arguments += ["--methods", "rnd", "--studies", "coverage", "goals"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "action_balance", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("goals:"):
            break
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in error
    assert "interrupted; " in error
    assert "coverage" in error
    assert str(out) in error
    assert (out / "report.html").exists()
    assert len(rows(out / "coverage_final.csv")) == 2000
    assert not (out / "goals.csv").exists()
    before = (out / "coverage.csv").read_bytes()
    assert call(*arguments) == 0
    begun = {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert "goals" in begun
    assert "coverage" not in begun
    assert (out / "coverage.csv").read_bytes() == before
    assert len(rows(out / "goals.csv")) == 2 * 2000


def test_a_study_counts_as_finished_only_when_its_page_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(page, "result_page", interrupted)
        assert reproduce(tmp_path, "--studies", "goals") == 130
    assert "interrupted; " in capsys.readouterr().err
    assert json.loads((tmp_path / "summary.json").read_text())["ours"] == {}
    assert reproduce(tmp_path, "--studies", "goals") == 0
    assert (tmp_path / "report.html").exists()


def test_the_page_names_the_command_that_makes_it(tmp_path: Path) -> None:
    small = ("--runs", "2", "--size", "6", "--episode-steps", "100", "--episodes", "3")
    assert call("reproduce", "grid", "--out", str(tmp_path), *small, "--studies", "coverage") == 0
    command = re.search(
        r'id="made".*?<code>action-balance (.*?)</code>', (tmp_path / "report.html").read_text(), re.DOTALL
    )
    assert command is not None
    assert call(*command[1].split(), "--out", str(tmp_path / "again")) == 0
    assert digests(tmp_path / "again") == {
        name: digest for name, digest in digests(tmp_path).items() if "again" not in name
    }
