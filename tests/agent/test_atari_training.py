"""``train`` and ``resume`` of an Atari game from the command line: what they tell and keep."""

import json
import math
import shutil
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from action_balance import cli
from action_balance.agent.config import Config
from action_balance.agent.loop import BEGIN_ANEW, Progress, TrainConfig
from action_balance.envs.ready import EnvConfig
from action_balance.report.training import shown
from action_balance.runs import read_metrics

SMALL = (
    *("--envs", "2", "--rollout-steps", "4", "--minibatches", "1", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--channels", "2", "--features", "8", "--trunk", "8", "--bonus-features", "8", "--threads", "1"),
    *("--steps", "24", "--checkpoint-every", "1", "--method", "random"),  # which compiles soonest
)


def test_a_game_tells_its_best_return_where_a_world_tells_its_states() -> None:
    agent = Config(steps=2048)
    screen = StringIO()
    with shown(Console(file=screen, width=200), TrainConfig(EnvConfig("atari:pitfall"), agent)) as tell:
        tell(Progress(1, 1024, 50.0, 400.0, 0.0, 0.5))
        tell(Progress(2, 2048, math.nan, math.nan, 0.0, 0.25))
    (line,) = screen.getvalue().splitlines()
    assert line.startswith("update 2 of 2: 2,048 steps, ")
    assert line.endswith("/s, return -, best 400, bonus 0.25")
    screen = StringIO()
    with shown(Console(file=screen, width=200), TrainConfig(EnvConfig("open"), agent)) as tell:
        tell(Progress(2, 2048, 1.0, 1.0, 7.0, 0.25))
    assert screen.getvalue() == "update 2 of 2: 2,048 steps, return 1, states 7, bonus 0.25\n"


def test_a_resumed_game_says_that_its_emulators_began_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    cli.main(["train", "atari:pitfall", "--out", str(out), *SMALL])
    line = capsys.readouterr().out.splitlines()[0]
    assert "return -, best -, bonus" in line
    assert "states" not in line
    assert json.loads((out / "config.json").read_text())["config"]["agent"]["host"]["lag"] == 0

    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    shutil.rmtree(out / "checkpoints" / "00000003")
    cli.main(["resume", str(out)])
    assert BEGIN_ANEW in capsys.readouterr().out.splitlines()
    found = json.loads((out / "manifest.json").read_text())
    assert found["starts"][-1]["warnings"] == [BEGIN_ANEW]
    assert [row["update"] for row in read_metrics(out)] == [1, 2, 3]
