"""A study of the parts a, b and c."""

from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console

from action_balance.errors import UserError
from action_balance.runs.results import ResultFolder
from action_balance.studies.grid.settings import GridSettings, RunSettings
from action_balance.studies.parts import finish_part, run_missing, without_choice


def folder(path: Path) -> ResultFolder:
    return ResultFolder.open(path / "out", "study", asdict(RunSettings()), False, {})


def run(result: ResultFolder, chosen: tuple[str, ...], stop_at: str = "", kept: str = "") -> list[str]:
    """Run the chosen parts, or until one of them; the parts that ran."""
    ran = []

    def one(part: str) -> None:
        if part == stop_at:
            raise KeyboardInterrupt
        ran.append(part)
        finish_part(result, part, {"number": 1}, {"seconds": 0.5}, lambda _, summary: ",".join(summary["ours"]))

    run_missing(result, ("a", "b", "c"), chosen, one, False, Console(quiet=True), kept)
    return ran


def test_chosen_parts_run_in_order_and_finished_ones_are_kept(tmp_path: Path) -> None:
    assert run(folder(tmp_path), ("b", "a")) == ["a", "b"]
    with folder(tmp_path) as result:
        assert result.summary["timings"] == {"a": {"seconds": 0.5}, "b": {"seconds": 0.5}}
        assert run(result, ("a", "b", "c")) == ["c"]
    assert (tmp_path / "out" / "report.html").read_text() == "a,b,c"
    with pytest.raises(UserError, match="--overwrite"):
        run(folder(tmp_path), ("a",))


def test_an_interrupt_names_what_is_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt, match="no part was completed"):
        run(folder(tmp_path), ("a", "b"), stop_at="a")
    with pytest.raises(KeyboardInterrupt, match="all training runs"):
        run(folder(tmp_path), ("a", "b"), stop_at="a", kept="all training runs")
    with pytest.raises(KeyboardInterrupt, match=r"finished parts \(a\) .*the same command"):
        run(folder(tmp_path), ("a", "b"), stop_at="b")
    assert run(folder(tmp_path), ("a", "b")) == ["b"]


def test_the_choice_of_parts_does_not_make_another_result() -> None:
    settings = [without_choice(GridSettings(runs=5, studies=(part,))) for part in ("coverage", "goals")]
    assert settings[0] == settings[1]
    assert settings[0]["runs"] == 5
