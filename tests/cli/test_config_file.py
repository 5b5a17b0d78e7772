"""``train --config my.toml``: the settings of a person, as the flags that they stand for."""

from pathlib import Path
from typing import Any

import pytest
from command import call

from action_balance.cli.config_file import is_settings_file, read_settings
from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.errors import UserError

MINE = """
env = "deep-sea"
size = 6
steps = 2e4
method = "rnd"
learning-rate = 1e-3
track = ["wandb", "mlflow"]
out = "there"
normalize-returns = true
"""
SAME = ("deep-sea", "--size", "6", "--steps", "20000", "--method", "rnd", "--learning-rate", "1e-3")
MORE = ("--track", "wandb", "--track", "mlflow", "--out", "there", "--normalize-returns")


def train(*words: str) -> Train:
    command = parse(["train", *words])
    assert isinstance(command, Train)
    return command


def file(path: Path, content: str) -> str:
    path.write_text(content)
    return str(path)


@pytest.fixture
def mine(tmp_path: Path) -> str:
    return file(tmp_path / "my.toml", MINE)


def test_a_file_stands_for_its_flags(mine: str) -> None:
    assert train("--config", mine) == train(*SAME, *MORE)


def test_flags_that_are_typed_win(mine: str) -> None:
    typed = ("--steps", "8192", "--track", "tensorboard", "--no-normalize-returns")
    for words in ((f"--config={mine}", *typed), (*typed, "--config", mine)):
        found = train(*words)
        assert (found.settings.agent.steps, found.track) == (8192, ("tensorboard",))
        assert found.settings.agent.algorithm.normalize_returns is False
        assert found.settings.agent.algorithm.learning_rate == 1e-3


def test_another_environment_can_be_typed(tmp_path: Path) -> None:
    other = file(tmp_path / "other.toml", 'env = "deep-sea"\nsize = 6\nclip = 0.3\n')
    assert train("open", "--config", other).settings == train("open", "--size", "6", "--clip", "0.3").settings


NESTED = """{
"seed": 3,
"env": {"name": "gym:FrozenLake-v1", "env_kwargs": {"is_slippery": false, "map_name": "4x4"}, "stack": 2},
"agent": {
    "intrinsic": "coin-flip",
    "action_bonus": "ucb",
    "steps": 1e5,
    "algorithm": {"clip": 0.2, "entropy_coef": null},
    "bonus_settings": {"coin-flip": {"coins": 9}, "ucb": {"counter": "hash"}, "hash": {"table_bits": 9}}
},
"checkpoint_every": null
}"""


def test_the_tables_of_the_settings_classes_are_accepted_too(tmp_path: Path) -> None:
    words = ("--env-kwargs", "is_slippery=false", "map_name=4x4", "--stack", "2", "--intrinsic", "coin-flip")
    more = ("--action-bonus", "ucb", "--counter", "hash", "--coins", "9", "--table-bits", "9", "--clip", "0.2")
    expected = train("gym:FrozenLake-v1", *words, *more, "--steps", "1e5", "--seed", "3", "--entropy-coef", "none")
    assert train("--config", file(tmp_path / "my.json", NESTED)) == expected


def test_a_preset_may_be_typed_beside_a_file_or_stand_in_it(tmp_path: Path) -> None:
    plain = file(tmp_path / "my.json", '{"env": "open", "envs": 16}')
    own = file(tmp_path / "own.json", '{"env": "open", "envs": 16, "preset": "atari-paper"}')
    expected = train("open", "--preset", "atari-paper", "--envs", "16")
    assert train("--config", plain, "--preset", "atari-paper") == expected
    assert train("--config", own) == expected


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("stepz = 3", "line 2: stepz is not a setting: did you mean steps?"),
        (
            "[agent.algorithm]\nclipp = 3",
            "line 3: agent.algorithm.clipp is not a setting: did you mean agent.algorithm.clip?",
        ),
        ('steps = "many"', "line 2: steps takes a whole number, not 'many'"),
        ("steps = 1.5", "line 2: steps takes a whole number, not '1.5'"),
        ("seed = true", "line 2: seed takes a whole number, not true"),
        ("clip = [0.1]", "line 2: clip takes a number, not [0.1]"),
        ("steps = 1979-05-27", "line 2: steps takes a whole number"),
        ("normalize-returns = 1", "line 2: normalize-returns takes true or false, not 1"),
        ('view = "one-hto"', "line 2: view does not apply to this environment"),
        ("env-kwargs = { a = 1 }", "line 2: env-kwargs does not apply to this environment"),
        ("clip = -1", "line 2: clip is refused: --clip must be above 0"),
        ('method = "ppoo"', "line 2: method is refused: unknown --method 'ppoo': did you mean ppo?"),
        ('method = "ppo"\ngamma-int = 0.5', "line 3: gamma-int is refused: --gamma-int needs a next-state bonus"),
        ("features = 9", "line 2: features is refused: deep-sea has no images"),
        ("coins = 3", "line 2: coins does not apply to this environment and method"),
        ("trust = true", "line 2: trust cannot be set in a file"),
        ('config = "other.toml"', "line 2: config cannot be set in a file"),
        ('intrinsic = "stranger:Bonus"', "would import the module stranger: add --trust"),
        ("learning-rate = 1\nlearning_rate = 2", "learning-rate and learning_rate, which are the same setting"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(
    content: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = file(tmp_path / "my.toml", f'env = "deep-sea"\n{content}\n')
    assert call("train", "--config", path, "--print-config") == 2
    error = capsys.readouterr().err
    assert hint in error
    assert path in error
    assert error.count("\n") == 1


def test_lines_are_found_in_tables_and_in_json(tmp_path: Path) -> None:
    table = file(tmp_path / "a.toml", '# mine\nenv = "open"\n\n[agent.algorithm]\nclip = 0.2\n"learning_rate" = -1\n')
    nested = file(tmp_path / "a.json", '{"env": "open",\n  "agent": {"algorithm": {\n    "learning_rate": -1}}}')
    for path, line in ((table, 6), (nested, 3)):
        with pytest.raises(UserError, match=rf"line {line}: agent.algorithm.learning_rate is refused"):
            train("--config", path)


def test_an_unknown_environment_in_a_file_is_located(tmp_path: Path) -> None:
    path = file(tmp_path / "my.toml", 'seed = 1\nenv = "opn"\n')
    with pytest.raises(UserError, match=r"line 2: env is refused: unknown environment 'opn': did you mean open"):
        train("--config", path)


def test_a_typed_mistake_is_not_blamed_on_the_file(mine: str) -> None:
    with pytest.raises(UserError, match=r"^--steps must be 1 or more"):
        train("--config", mine, "--steps", "-1")


def test_what_a_file_names_is_imported_only_if_it_is_trusted_or_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_module.py").write_text(
        "from dataclasses import dataclass\n"
        "from action_balance.config.env import DeviceEnvConfig\n"
        "@dataclass(frozen=True)\n"
        "class Maze(DeviceEnvConfig):\n"
        "    walls: int = 3\n"
        "    def make(self, key): ...\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = file(tmp_path / "my.toml", 'env = "their_module:Maze"\nwalls = 7\n')
    with pytest.raises(UserError, match=r"my.toml: .*would import the module their_module: add --trust"):
        train("--config", path)
    expected = train("their_module:Maze", "--walls", "7")
    assert train("--config", path, "--trust") == expected
    assert train("their_module:Maze", "--config", path) == expected
    file(tmp_path / "my.toml", 'env = "gym:X-v0"\nwrapper = ["their_module:Wrap"]\n')
    with pytest.raises(UserError, match="--wrapper their_module:Wrap"):
        train("--config", path)
    with pytest.raises(UserError, match="--trust needs --config"):
        train("open", "--trust")


@pytest.mark.parametrize(
    ("name", "content", "is_one"),
    [
        ("a.toml", "", True),
        ("a.json", "{}", True),
        ("a.json", '{"format": "action-balance run"}', False),
        ("config.json", "{}", False),
        ("a.txt", "", False),
    ],
)
def test_a_run_and_its_config_are_no_settings_of_a_person(
    name: str, content: str, is_one: bool, tmp_path: Path
) -> None:
    assert is_settings_file(Path(file(tmp_path / name, content))) is is_one


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("a.toml", "seed = [", "cannot be read as TOML"),
        ("a.toml", "seed = 1\nseed = 2", "cannot be read as TOML"),
        ("a.toml", "seed = " + "[" * 100_000, "too many nested tables"),
        ("a.toml", "# " + "x" * 300_000, "300,002 bytes"),
        ("a.json", "[1]", "has no named settings"),
        ("a.json", '{"a": NaN}', "not a finite number"),
        ("missing.toml", None, "No such file"),
    ],
)
def test_a_file_that_holds_something_else_is_one_line(name: str, content: Any, hint: str, tmp_path: Path) -> None:
    if content is not None:
        file(tmp_path / name, content)
    with pytest.raises(UserError) as error:
        read_settings(tmp_path / name)
    assert name in str(error.value)
    assert hint in str(error.value)
    assert "\n" not in str(error.value)
