"""Where agents acted, as the page plays it."""

import json
import shutil
from pathlib import Path

import pytest
from watched_runs import STEPS

from action_balance.packing import unpacked
from action_balance.studies.training import maps as view_maps
from action_balance.studies.training.data import Watched


def test_visits_are_drawn_where_the_diver_is_and_by_what_actions_do(runs: list[Path]) -> None:
    (found,) = view_maps.players([Watched.open(runs[0])])
    assert (found["width"], found["height"], found["start"], found["goals"]) == (3, 3, 6, [2])
    assert found["walls"] == [5, 7, 8]  # what lies above the diagonal
    assert found["mean"]["moments"] == {"p0": [STEPS, 2 * STEPS, 3 * STEPS, 4 * STEPS]}
    total = unpacked(found["mean"]["counts"]["p0"]).reshape(4, 9, 2)
    assert (total == total[0]).all()  # as much more at every moment
    # state 0 is the top left cell, 6; its actions were counted 0 and 1, whichever of them is right
    assert sorted(total[0, 6].tolist()) == [0, 1]
    assert sorted(total[0, 0].tolist()) == [12, 13]  # state 6, the lower left


OWN = """
from dataclasses import dataclass
from action_balance.envs.deep_sea.config import DeepSeaConfig

@dataclass(frozen=True)
class Sea(DeepSeaConfig):
    pass
"""


def test_the_map_of_a_family_of_a_user_is_shown_if_the_run_is_trusted(
    runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_sea.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    run = Path(shutil.copytree(runs[0], tmp_path / "run"))
    stored = json.loads((run / "config.json").read_bytes())
    stored["config"]["env"]["name"] = "own_sea:Sea"
    (run / "config.json").write_text(json.dumps(stored))
    assert view_maps.players([Watched.open(run)]) == []
    assert view_maps.news(run, "", "")["visits"] is None
    (found,) = view_maps.players([Watched.open(run, trust=True)])
    assert (found["title"], found["width"], found["walls"]) == ("own_sea:Sea 3", 3, [5, 7, 8])
    assert len(view_maps.news(run, "", "", trust=True)["visits"]["moments"]) == 4
