"""``explore``, end to end, as a user calls it."""

import csv
from pathlib import Path

import pytest
from command import call

from action_balance.envs.grid.maps import corridor_world, draw_map
from action_balance.studies.explore import analysis as explore


def test_interrupted_exploration_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(explore, "run", interrupted)
    (tmp_path / "map.txt").write_text("S.\n..\n")
    assert call("explore", str(tmp_path / "map.txt")) == 130
    assert capsys.readouterr().err == "action-balance: interrupted; nothing was completed\n"


def test_explore_reports_coverage_and_first_reach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "map.txt").write_text(draw_map(corridor_world()))
    arguments = ("explore", str(tmp_path / "map.txt"), "--runs", "3", "--episodes", "2")
    assert call(*arguments) == 0
    text = capsys.readouterr().out
    assert "action-balance-rnd" in text
    assert "steps to a goal" in text
    out = tmp_path / "out"
    assert call(*arguments, "--out", str(out)) == 0
    assert {path.name for path in out.iterdir()} == {
        "coverage.csv",
        "coverage_final.csv",
        "reach.csv",
        "heatmaps.npz",
        "recording.npz",
        "summary.json",
        "report.html",
        "figures",
    }
    assert "<h1>map:" in (out / "report.html").read_text()  # the name of the map, not of the folder
    with (out / "reach.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 12
    assert (out / "figures" / "first_reach.png").stat().st_size > 1000
    assert call(*arguments, "--out", str(out)) == 2


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("..\n..\n", "exactly one"),
        ("S.\n.S\n", "exactly one"),
        ("S..\n..\n", "make them equal"),
        ("S#G\n", "cannot be reached"),
        ("S x\n", "use only"),
        ("S#.\n", "start"),
        ("", "empty"),
    ],
)
def test_explore_refuses_bad_maps(text: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "map.txt").write_text(text)
    assert call("explore", str(tmp_path / "map.txt"), "--out", str(tmp_path / "out")) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()
