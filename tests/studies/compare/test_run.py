"""``compare`` with the folder of a sweep."""

import csv
import json
from pathlib import Path

import pytest
from rich.console import Console
from sweeps import EPOCHS, RATE, SPACE, settings, write_run

from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.studies.compare.run import compare_runs
from action_balance.studies.sweep.trials import final_runs


def sweep(folder: Path, *names: str) -> Path:
    """A sweep with these runs, of which the second has other values."""
    plan = settings(final_seeds=5)
    found: Data = {"kind": "sweep", "ours": {"finals": [{"name": name} for name in names]}}
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(found))
    for place, name in enumerate(names[:2]):
        config = SPACE.apply(plan.fresh, {RATE: 0.002, EPOCHS: 4}) if place else plan.fresh
        write_run(folder / "final" / name, config, [[1.0 + place] * 18] * 5)
    return folder


def test_a_sweep_stands_for_its_runs_with_fresh_seeds(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "s", "baseline", "trial-0003", "trial-0009")
    write_run(folder / "trials" / "0000", settings().base, [[9.0] * 18] * 2)
    assert final_runs(folder) == [folder / "final" / "baseline", folder / "final" / "trial-0003"]
    compare_runs([folder], "episode_return", None, tmp_path / "out", Console(quiet=True))
    with (tmp_path / "out" / "comparison.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["curve"], row["seeds"], row["mean"]) for row in rows] == [
        ("rnd, learning_rate 0.0003", "5", "1.0"),
        ("rnd, learning_rate 0.002", "5", "2.0"),
    ]


def test_a_sweep_can_be_compared_with_other_runs(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "s", "baseline")
    config = SPACE.apply(settings(final_seeds=5).fresh, {RATE: 0.009, EPOCHS: 4})
    other = write_run(tmp_path / "other", config, [[7.0] * 18] * 5)
    compare_runs([folder, other], "episode_return", None, tmp_path / "out", Console(quiet=True))
    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    assert summary["runs"] == ["baseline", "other"]


@pytest.mark.parametrize("names", [(), ("../s",), ("/tmp",)])
def test_a_sweep_without_fresh_seeds_is_one_line(tmp_path: Path, names: tuple[str, ...]) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    finals = [{"name": name} for name in names]
    (folder / "summary.json").write_text(json.dumps({"kind": "sweep", "ours": {"finals": finals}}))
    with pytest.raises(UserError, match="not trained with fresh seeds yet"):
        compare_runs([folder], "episode_return", None, tmp_path / "out", Console(quiet=True))
