"""``reproduce atari`` from run folders whose numbers are known; nothing is trained here."""

import csv
import json
import shutil
from pathlib import Path

import pytest
from browser import check_page
from page_text import counts_of_runs, section
from playwright.sync_api import Browser
from synthetic_runs import Episodes, evaluate_run, make_run, strip, tree

from action_balance.cli import main as cli
from action_balance.studies.atari.training import AtariTraining

FLAGS = ("--steps", "1536", "--envs", "4", "--warmup-rollouts", "1", "--channels", "4")
SMALL = AtariTraining(steps=1536, envs=4, warmup_rollouts=1, channels=4)
SEVEN: Episodes = [(100, 3.0), (100, 7.0)]


def reproduce(out: Path, *words: str) -> None:
    cli.main(["reproduce", "atari", "--out", str(out), *words])


def refused(capsys: pytest.CaptureFixture[str], out: Path, *words: str) -> str:
    """What the command says when it ends with exit code 2."""
    with pytest.raises(SystemExit) as stop:
        reproduce(out, *words)
    assert stop.value.code == 2
    return capsys.readouterr().err


def rows(file: Path) -> list[dict[str, str]]:
    with open(file, newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two games: one with two finished runs of RND and one of ours, one with a run that was interrupted."""
    out = tmp_path_factory.mktemp("partial")
    make_run(out, SMALL.run("montezuma_revenge", "rnd", 0), [(100, 0.0), (100, 100.0)])
    make_run(out, SMALL.run("montezuma_revenge", "rnd", 1), [(100, 50.0), (100, 300.0)])
    ours = make_run(out, SMALL.run("montezuma_revenge", "action-balance-rnd-channel", 0), [(10, 0.0), (50, 600.0)])
    make_run(out, SMALL.run("solaris", "action-balance-rnd", 0), [(20, 40.0)], "interrupted")
    evaluate_run(ours, 2, [("behaviour", 4), ("behaviour", 7), ("greedy", 1)], games=2)
    evaluate_run(out / "runs" / "montezuma_revenge-rnd-0", 1, [("greedy", 20)], games=1)  # not of the last update
    for path in (out / "runs").iterdir():
        strip(path)
    reproduce(out, "--report-only", "--seeds", "2")
    return out


def test_final_returns_stand_beside_the_papers(partial: Path) -> None:
    found = rows(partial / "final_returns.csv")
    assert [(row["game"], row["method"]) for row in found] == [
        ("montezuma_revenge", "rnd"),
        ("montezuma_revenge", "action-balance-rnd-channel"),
        ("solaris", "action-balance-rnd"),
    ]
    rnd, ours, unfinished = found
    assert (rnd["paper"], rnd["mean"], rnd["finished_runs"]) == ("3812", "200.0", "2")
    assert rnd["low"] == ""  # two runs give no interval
    assert (ours["paper"], ours["mean"], ours["low"]) == ("4864", "500.0", "")  # (10 x 0 + 50 x 600) / 60
    assert (unfinished["mean"], unfinished["unfinished_mean"], unfinished["finished_runs"]) == ("", "40.0", "0")
    page = (partial / "report.html").read_text()
    for said in (
        "3,812",
        "4,864",
        "1,051",
        "so far, at 512 steps per run, 20 games<",
        "2 runs<",
        "no final return yet",
    ):
        assert said in page
    assert [row["fewest_episodes"] for row in found] == ["200", "60", "20"]
    assert "1 run, 60 games<" in page


def test_curves_are_over_steps_and_frames(partial: Path) -> None:
    curve = [row for row in rows(partial / "learning_curves.csv") if row["method"] == "rnd"]
    assert [(row["steps"], row["frames"], row["mean"]) for row in curve] == [
        ("512", "2048", "25.0"),
        ("1024", "4096", "200.0"),
    ]
    svg = (partial / "figures" / "learning_curves.svg").read_text()
    for said in ("emulator frames", "environment steps", "Montezuma's Revenge", "Solaris", "not finished"):
        assert said in svg


def test_the_report_names_what_is_missing_and_how_it_differs_from_the_paper(partial: Path) -> None:
    page = (partial / "report.html").read_text()
    summary = json.loads((partial / "summary.json").read_text())
    assert counts_of_runs(page) == [36, 3, 1, 32]
    assert "interrupted, 33\u00a0%" in section(page, "runs")
    # three runs at 1,333 (1,024 steps in 512 / 1,000 + 512 / 2,000 seconds), one at 1,000
    assert "1,250 steps/s" in section(page, "runs")
    made = section(page, "made")
    for number in ("1,536", "42,000,000", "0.01", "--envs 4", "--warmup-rollouts 1", "--channels 4"):
        assert number in made
    assert summary["command"].endswith("--seeds 2 --steps 1536 --envs 4 --warmup-rollouts 1 --channels 4")
    assert summary["command"] in made
    found = summary["deviations"]
    presets = {one["flag"]: one["preset"] for one in found["settings"]}
    assert presets == {"--envs": 32, "--warmup-rollouts": 50, "--channels": 32}
    assert (found["steps"], found["paper_steps"], found["finished"]) == (1536, 42_000_000, [0, 2])
    assert "too few runs" in page
    assert summary["ours"]["games"]["montezuma_revenge"]["more"]["action-balance-rnd-channel"]["value"] == 300
    assert summary["ours"]["games"]["montezuma_revenge"]["methods"]["rnd"]["agrees"] is None
    speeds = {row["name"]: row["steps_per_second"] for row in rows(partial / "runs.csv")}
    assert float(speeds["montezuma_revenge-rnd-0"]) == pytest.approx(1333.33)
    assert float(speeds["solaris-action-balance-rnd-0"]) == 1000


def test_rooms_are_told_where_a_run_was_evaluated(partial: Path) -> None:
    drawn, greedy = _rooms(partial)
    assert {row["method"] for row in (drawn, greedy)} == {"action-balance-rnd-channel"}  # RND's is of an earlier update
    assert (drawn["mode"], greedy["mode"]) == ("behaviour", "greedy")
    assert (drawn["games"], drawn["mean"], drawn["most"]) == (2, 5.5, 7)
    assert (greedy["games"], greedy["mean"]) == (1, 1)
    page = (partial / "report.html").read_text()
    assert "byte for byte" not in page
    assert 'id="rooms"' in page
    assert "5.5" in page


def _rooms(out: Path) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads((out / "summary.json").read_text())["ours"]["rooms"]
    return found


def test_a_report_needs_no_checkpoints_and_changes_no_run(partial: Path) -> None:
    before = tree(partial)
    assert not any("checkpoints" in name for name in before)
    reproduce(partial, "--report-only", "--seeds", "2")
    assert tree(partial) == before


def test_the_page_is_accessible_and_stands_alone(partial: Path, browser: Browser) -> None:
    check_page(browser, partial / "report.html")


def test_runs_that_do_not_belong_together_are_not_told_of_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, SMALL.run("venture", "rnd", 0), SEVEN)
    make_run(tmp_path, AtariTraining(steps=1536, envs=4, warmup_rollouts=2, channels=4).run("venture", "rnd", 1), SEVEN)
    assert "differ in warmup_rollouts" in refused(capsys, tmp_path, "--report-only")


def test_wrong_words_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert "has no run with a completed update" in refused(capsys, out, "--report-only")
    assert "choose one" in refused(capsys, out, "--report-only", "--overwrite")
    assert "does not play games" in refused(capsys, out, "--report-only", "--evaluate", "3")
    assert "--evaluate must be 0 or more" in refused(capsys, out, "--evaluate", "-1")
    assert "--evaluate must be at most 128" in refused(capsys, out, "--evaluate", "129")
    assert not out.exists()


def test_other_folders_are_left_out_and_named(tmp_path: Path) -> None:
    make_run(tmp_path, SMALL.run("venture", "rnd", 0), SEVEN)
    raw = make_run(tmp_path, SMALL.run("venture", "action-balance-rnd", 0, "raw"), SEVEN)
    assert raw.name == "venture-action-balance-rnd-raw-0"
    shutil.copytree(tmp_path / "runs" / "venture-rnd-0", tmp_path / "runs" / "copy")
    (tmp_path / "runs" / "notes").mkdir()
    reproduce(tmp_path, "--report-only")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert [run["name"] for run in summary["runs"]] == ["venture-rnd-0"]
    assert [note.split()[0] for note in summary["notes"]] == ["copy", "notes", raw.name]


def test_a_curve_of_five_runs_has_a_band_and_five_runs_need_no_excuse(tmp_path: Path) -> None:
    for seed in range(5):
        make_run(tmp_path, SMALL.run("venture", "rnd", seed), [(100, 1.0 * seed), (100, 2.0 * seed)])
    reproduce(tmp_path, "--report-only", "--games", "venture", "--methods", "rnd")
    page = (tmp_path / "report.html").read_text()
    assert "FillBetweenPolyCollection" in (tmp_path / "figures" / "learning_curves.svg").read_text()
    assert "The paper averages" not in page
    summary = json.loads((tmp_path / "summary.json").read_text())
    final = summary["ours"]["games"]["venture"]["methods"]["rnd"]["final"]
    # of 0, 2, 4, 6, 8: standard deviation sqrt 10, divided by sqrt 5, times 2.7764
    assert final["value"] == 4
    assert final["high"] - 4 == pytest.approx(2.7764 * 2**0.5, abs=1e-3)
