import math
from io import StringIO

from rich.console import Console

from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.engines.metrics_rows import Progress
from action_balance.terminal.training import training_progress


def lines(environment: str, *updates: Progress, name: str = "", seeds: str = "1") -> list[str]:
    command = parse(["train", environment, "--steps", "2048", "--seeds", seeds])
    assert isinstance(command, Train)
    screen = StringIO()
    with training_progress(Console(file=screen, width=200), command.settings, name) as report:
        for one in updates:
            report(one)
    return screen.getvalue().splitlines()


def test_a_world_shows_its_states_after_compiling() -> None:
    compiling, first, line = lines("open", Progress(2, 2048, 1.0, 1.0, 7.0, 0.25), name="1/3 ")
    assert compiling.startswith("1/3 compiling (usually ")
    assert first.startswith("1/3 first update after ")
    assert line == "update 2 of 2: 1/3 2,048 steps, return 1, states 7, bonus 0.25"


def test_a_game_shows_its_best_return() -> None:
    *_, line = lines(
        "atari:pitfall", Progress(1, 1024, 50.0, 400.0, bonus=0.5), Progress(2, 2048, math.nan, math.nan, bonus=0.25)
    )
    assert line.startswith("update 2 of 2: 2,048 steps, ")
    assert line.endswith("/s, return -, best 400, bonus 0.25")


def test_steps_are_those_of_one_seed() -> None:
    assert "1,024 steps per seed, " in lines("open", Progress(2, 2048, 1.0, 1.0, 7.0), seeds="2")[-1]
