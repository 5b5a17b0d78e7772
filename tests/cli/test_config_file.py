"""``train --config my.toml``: the settings of a person, as the flags that they stand for."""

from pathlib import Path

import pytest
from command import call

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


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "my.toml").write_text(MINE)
    return str(tmp_path / "my.toml")


def test_a_file_stands_for_its_flags(mine: str) -> None:
    assert train("--config", mine) == train(*SAME, *MORE)


def test_flags_that_are_typed_win(mine: str) -> None:
    typed = ("--steps", "8192", "--track", "tensorboard", "--no-normalize-returns")
    for words in ((f"--config={mine}", *typed), (*typed, "--config", mine)):
        found = train(*words)
        assert (found.settings.agent.steps, found.track) == (8192, ("tensorboard",))
        assert found.settings.agent.ppo.normalize_returns is False
        assert found.settings.agent.ppo.learning_rate == 1e-3


def test_another_environment_can_be_typed(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text('env = "deep-sea"\nsize = 6\nclip = 0.3\n')
    assert (
        train("open", "--config", str(tmp_path / "other.toml")).settings
        == train("open", "--size", "6", "--clip", "0.3").settings
    )


NESTED = """{
"seed": 3,
"env": {"name": "gym:FrozenLake-v1", "env_kwargs": {"is_slippery": false, "map_name": "4x4"}, "stack": 2},
"agent": {
    "intrinsic": "coin-flip",
    "action_bonus": "ucb",
    "steps": 1e5,
    "ppo": {"clip": 0.2, "entropy_coef": null},
    "bonus_settings": {"coin-flip": {"coins": 9}, "ucb": {"counter": "hash"}, "hash": {"table_bits": 9}}
},
"checkpoint_every": null
}"""


def test_the_tables_of_the_settings_classes_are_accepted_too(tmp_path: Path) -> None:
    (tmp_path / "my.json").write_text(NESTED)
    words = ("--env-kwargs", "is_slippery=false", "map_name=4x4", "--stack", "2", "--intrinsic", "coin-flip")
    more = ("--action-bonus", "ucb", "--counter", "hash", "--coins", "9", "--table-bits", "9", "--clip", "0.2")
    expected = train("gym:FrozenLake-v1", *words, *more, "--steps", "1e5", "--seed", "3", "--entropy-coef", "none")
    assert train("--config", str(tmp_path / "my.json")) == expected


def test_a_preset_may_be_typed_beside_a_file_or_stand_in_it(tmp_path: Path) -> None:
    (tmp_path / "my.json").write_text('{"env": "open", "envs": 16}')
    (tmp_path / "own.json").write_text('{"env": "open", "envs": 16, "preset": "atari-paper"}')
    expected = train("open", "--preset", "atari-paper", "--envs", "16")
    assert train("--config", str(tmp_path / "my.json"), "--preset", "atari-paper") == expected
    assert train("--config", str(tmp_path / "own.json")) == expected


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("stepz = 3", "line 2: stepz is not a setting: did you mean steps?"),
        ("learning_rte = 3", "did you mean learning-rate?"),
        ("[agent.ppo]\nclipp = 3", "line 3: agent.ppo.clipp is not a setting: did you mean agent.ppo.clip?"),
        ('steps = "many"', "line 2: steps takes a whole number, not 'many'"),
        ("steps = 1.5", "line 2: steps takes a whole number, not '1.5'"),
        ("seed = true", "line 2: seed takes a whole number, not true"),
        ("clip = [0.1]", "line 2: clip takes a number, not [0.1]"),
        ("steps = 1979-05-27", "line 2: steps takes a whole number"),
        ("normalize-returns = 1", "line 2: normalize-returns takes true or false, not 1"),
        ('view = "one-hto"', "line 2: view does not apply to this environment"),
        ("clip = -1", "line 2: clip is refused: --clip must be above 0"),
        ('method = "ppoo"', "line 2: method is refused: unknown --method 'ppoo': did you mean ppo?"),
        ('method = "ppo"\ngamma-int = 0.5', "line 3: gamma-int is refused: --gamma-int needs a next-state bonus"),
        ("features = 9", "line 2: features is refused: deep-sea has no images"),
        ("coins = 3", "line 2: coins does not apply to this environment and method"),
        ("trust = true", "line 2: trust cannot be set in a file"),
        ("overwrite = true", "line 2: overwrite cannot be set in a file"),
        ('config = "other.toml"', "line 2: config cannot be set in a file"),
        ('intrinsic = "stranger:Bonus"', "would import the module stranger: add --trust"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(
    content: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "my.toml").write_text(f'env = "deep-sea"\n{content}\n')
    assert call("train", "--config", str(tmp_path / "my.toml"), "--print-config") == 2
    error = capsys.readouterr().err
    assert hint in error
    assert f"{tmp_path / 'my.toml'}" in error
    assert error.count("\n") == 1


def test_an_unknown_environment_in_a_file_is_located(tmp_path: Path) -> None:
    (tmp_path / "my.toml").write_text('seed = 1\nenv = "opn"\n')
    with pytest.raises(
        UserError, match=r"my.toml, line 2: env is refused: unknown environment 'opn': did you mean open"
    ):
        train("--config", str(tmp_path / "my.toml"))


def test_a_typed_mistake_is_not_blamed_on_the_file(mine: str) -> None:
    with pytest.raises(UserError, match=r"^--clip must be above 0"):
        train("--config", mine, "--clip", "-1")


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
    (tmp_path / "my.toml").write_text('env = "their_module:Maze"\nwalls = 7\n')
    file = str(tmp_path / "my.toml")
    with pytest.raises(UserError, match=r"my.toml: .*would import the module their_module: add --trust"):
        train("--config", file)
    expected = train("their_module:Maze", "--walls", "7")
    assert train("--config", file, "--trust") == expected
    assert train("their_module:Maze", "--config", file) == expected
    (tmp_path / "my.toml").write_text('env = "gym:X-v0"\nwrapper = ["their_module:Wrap"]\n')
    with pytest.raises(UserError, match="--wrapper their_module:Wrap"):
        train("--config", file)
    with pytest.raises(UserError, match="--trust needs --config"):
        train("open", "--trust")
