"""What the terminal says before and after a training."""

import math
from pathlib import Path

import pytest

from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.config.train import TrainConfig
from action_balance.runs.metrics import TENSORBOARD
from action_balance.runs.rows import METRICS
from action_balance.terminal import summary
from action_balance.terminal.summary import describe_finals, final_return, next_commands, start_lines


def settings(*words: str) -> TrainConfig:
    command = parse(["train", *words])
    assert isinstance(command, Train)
    return command.settings.with_defaults()


def test_the_start_names_method_environment_seeds_steps_device_and_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "device", lambda _: "H200")
    config = settings("open", "--method", "rnd", "--seed", "3", "--seeds", "2", "--steps", "2500")
    rows = dict(line.split(maxsplit=1) for line in start_lines(config, Path("runs/my run")))
    assert rows == {
        "method": "rnd",
        "environment": config.env.title,
        "training": "2 seeds (3 to 4), 2,048 steps each",  # two updates of 8 environments x 128 steps
        "device": "H200",
        "folder": "runs/my run",
    }


def test_the_next_commands_are_quoted_for_the_shell(tmp_path: Path) -> None:
    run = tmp_path / "it's mine"
    run.mkdir()
    quoted = f"'{tmp_path}/it'\"'\"'s mine'"
    first = [f"action-balance evaluate {quoted}", f"action-balance view {quoted}"]
    assert next_commands(settings("open"), run) == first
    (run / TENSORBOARD).mkdir()
    assert next_commands(settings("open"), run) == [*first, f"tensorboard --logdir {quoted}"]


def test_the_final_return_is_the_mean_over_seeds_with_their_range(tmp_path: Path) -> None:
    rows = [f'{{"update": {i}, "seed": 0, "steps": 1, "episode_return": {i}}}\n' for i in range(20)]
    rows += [f'{{"update": {i}, "seed": 1, "steps": 1, "episode_return": 1}}\n' for i in range(20)]
    (tmp_path / METRICS).write_text("".join(rows))
    # the last two of twenty updates: (18 + 19) / 2 = 18.5, and 1
    assert final_return(tmp_path).startswith("return 9.75, mean of 2 seeds (1 to 18.5)")


def test_seeds_without_an_episode_are_not_counted() -> None:
    assert describe_finals([math.nan, 2.0, 4.0]).startswith("return 3, mean of 2 of 3 seeds (2 to 4)")
    assert describe_finals([math.nan]) == "no episode has ended"
    assert describe_finals([0.5]).startswith("return 0.5, over")
