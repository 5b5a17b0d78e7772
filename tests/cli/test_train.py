"""``train``: where its settings come from."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from command import call
from rich.console import Console

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.cli.help import command_help
from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.presets import PRESETS, agent_config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder


@pytest.fixture(autouse=True)
def untuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings that the tuning has chosen, whatever they are, and one default method in all worlds."""
    monkeypatch.setattr("action_balance.config.tuned._chosen", dict)
    for name in ("study", "rooms", "chains"):
        monkeypatch.setitem(PRESETS, name, replace(PRESETS[name], method="action-balance-rnd"))


def train(*words: str) -> Train:
    command = parse(["train", *words])
    assert isinstance(command, Train)
    return command


def saved(path: Path, *words: str) -> TrainConfig:
    """The settings of a run that was begun in a folder."""
    config = train(*words).settings
    RunFolder.create(path, config.to_dict(), ["train"]).release()
    return config


def test_flags_set_the_environment_the_agent_and_the_run() -> None:
    words = ("--size", "7", "--view", "coordinates", "--method", "rnd", "--steps", "1e5", "--clip", "0.2")
    config = train("open", *words, "--seed", "3", "--seeds", "2", "--out", "x", "--overwrite")
    assert config.settings.env == env_config("open", size=7, view="coordinates")
    agent = config.settings.agent
    assert (agent.method, agent.steps, agent.algorithm) == ("rnd", 100_000, PPOConfig(clip=0.2, epochs=4))
    assert (config.settings.seed, config.settings.seeds, config.out, config.overwrite) == (3, 2, Path("x"), True)


def test_the_environment_may_stand_anywhere() -> None:
    for words in (("--size", "7", "open"), ("--size=7", "--seed", "0", "open")):
        assert train(*words).settings == train("open", "--size", "7").settings


def test_gymnasium_environments_have_arguments_and_wrappers() -> None:
    words = ("--env-kwargs", 'map_name="4x4"', "is_slippery=False", "--wrapper", "a:B", "--wrapper", "c:D")
    options = {"map_name": "4x4", "is_slippery": False}
    expected = env_config("gym:FrozenLake-v1", env_kwargs=options, wrapper=("a:B", "c:D"))
    assert train(*words, "gym:FrozenLake-v1").settings.env == expected


@pytest.mark.parametrize(
    ("words", "need"),
    [
        (("--method", "ppo", "--bonus-hidden", "9"), "--bonus-hidden needs a bonus with networks"),
        (("--intrinsic", "hash", "--action-bonus", "ucb", "--bonus-hidden", "9"), "--bonus-hidden needs a bonus with"),
        (("--method", "action-balance", "--gamma-int", "0.9"), "--gamma-int needs a next-state bonus"),
    ],
)
def test_flags_without_effect_are_errors(words: tuple[str, ...], need: str) -> None:
    with pytest.raises(UserError, match=f"{need}.*: leave it out, or choose another --method"):
        train("open", *words)


def test_a_preset_may_have_settings_that_the_method_does_not_use() -> None:
    agent = train("open", "--preset", "atari-paper", "--method", "ppo").settings.agent
    assert agent.exploration.update_proportion == 0.25
    with_rnd = train("open", "--method", "ppo", "--intrinsic", "rnd", "--bonus-hidden", "9")
    assert with_rnd.settings.agent.network.bonus_hidden == 9


def test_a_memory_works_with_a_preset_whose_minibatches_are_samples() -> None:
    agent = train("open", "--preset", "vectorized", "--memory", "gru", "--memory-units", "16").settings.agent
    assert (agent.recurrent_units, agent.minibatch_of) == (16, "environments")


def test_a_task_has_the_same_settings_in_every_library() -> None:
    assert train("gymnax:MountainCar-v0").settings.agent == train("gym:MountainCar-v0").settings.agent
    assert train("gymnax:Breakout-MinAtar").settings.agent == PRESETS["vectorized"]


def test_flags_override_a_preset() -> None:
    agent = train("open", "--preset=atari-paper", "--envs", "8").settings.agent
    preset = PRESETS["atari-paper"]
    assert (agent.envs, agent.steps, agent.algorithm) == (8, preset.steps, preset.algorithm)


def test_a_method_has_its_tuned_settings_and_flags_override_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rnd = {"algorithm.learning_rate": 0.25, "algorithm.clip": 0.3}
    icm = {"algorithm.clip": 0.2, "bonus_settings.icm.features": 64}
    monkeypatch.setattr("action_balance.config.tuned._chosen", lambda: {"chains": {"rnd": rnd, "icm": icm}})
    words = "deep-sea", "--preset", "chains"
    assert train(*words, "--method", "rnd").settings.agent == agent_config("chains", method="rnd")
    ppo: Any = train(*words, "--method", "rnd", "--clip", "0.1").settings.agent.algorithm
    assert (ppo.learning_rate, ppo.clip) == (0.25, 0.1)
    with_icm = *words, "--method", "ppo", "--intrinsic", "icm"
    assert train(*with_icm).settings.agent == agent_config("chains", method="ppo", intrinsic="icm")
    assert train(*with_icm, "--icm-features", "9").settings.agent.bonus_settings == {"icm": {"features": 9}}
    study = train("deep-sea", "--method", "rnd", "--preset", "study").settings.agent
    assert study.algorithm == PRESETS["study"].algorithm
    ppo = train("open", "--method", "rnd", "--preset", "chains").settings.agent.algorithm
    assert ppo.clip == 0.3


def test_a_family_has_the_preset_of_its_kind_of_world() -> None:
    usual = {name: train(name).settings.agent for name in ("deep-sea", "lock", "open")}
    assert {name: agent.preset for name, agent in usual.items()} == {
        "deep-sea": "chains",
        "lock": "chains",
        "open": "rooms",
    }
    for agent in usual.values():
        assert agent.method == PRESETS[agent.preset or ""].method
    assert train("deep-sea", "--preset", "classic").settings.agent.method == PRESETS["classic"].method


def test_flags_override_the_settings_of_an_earlier_run(tmp_path: Path) -> None:
    earlier = saved(tmp_path, "deep-sea", "--size", "4", "--seeds", "3", "--clip", "0.3", "--checkpoint-every", "7")
    for path in (tmp_path, tmp_path / "config.json"):
        assert train("--config", str(path)).settings == earlier
    changed = train("--config", str(tmp_path), "--seeds", "5", "--checkpoint-every", "none").settings
    assert changed == replace(earlier, seeds=5, checkpoint_every=None)


def test_an_earlier_run_can_be_repeated_in_another_environment(tmp_path: Path) -> None:
    earlier = saved(tmp_path, "open", "--size", "9", "--clip", "0.3")
    same_family = train("corridor", "--config", str(tmp_path)).settings
    assert (same_family.env, same_family.agent) == (env_config("corridor", size=9), earlier.agent)
    other_family = train("gym:CartPole-v1", "--config", str(tmp_path), "--stack", "2").settings
    assert other_family == train("gym:CartPole-v1", "--preset", "rooms", "--clip", "0.3", "--stack", "2").settings


@pytest.mark.parametrize(
    ("words", "hints"),
    [
        ((), ("needs ENV", "action-balance train --help")),
        (("opn",), ("did you mean open?",)),
        (("open", "--preset", "study", "--config", "x"), ("--preset", "--config", "one of them")),
        (("open", "--config", "nowhere"), ("nowhere",)),
        (("open", "--view", "one-hto"), ("did you mean one-hot?",)),
        (("open", "--env-kwargs", "size=6"), ("--env-kwargs", "gym:")),
        (("--unknown", "3", "open"), ("unknown option --unknown",)),
        (("open", "--action-coef", "atuo"), ("--action-coef takes a number, auto or none, not 'atuo'",)),
        (("open", "--target-kl", "0.1"), ("--target-kl needs --action-coef auto: leave it out, or add",)),
        (("open", "--memory", "gru", "--minibatch-of", "samples"), ("--minibatch-of needs --memory none",)),
        (("open", "--memory-units", "8"), ("--memory-units needs --memory gru",)),
        (("gym:CartPole-v1", "--memory", "gru"), ("on the host", "leave out --memory")),
        (("open", "--action-coef", "auto", "--action-coef-end", "1"), ("leave out --action-coef-end",)),
        (("open", "--action-bonus", "ucb", "--counter", "hsh", "--coins", "3"), ("--counter", "did you mean hash?")),
        (("open", "--action-bonus", "ucb", "--counter", "hash", "--coins", "3"), ("--coins", "--counter coin-flip")),
        (("open", "--coins", "3"), ("--coins", "--intrinsic coin-flip")),
        (("open", "--intrinsic", "icm", "--features", "4"), ("open has no images: leave out --features",)),
        (("gym:CartPole-v1", "--env-kwargs", "size"), ("--env-kwargs size", "KEY=VALUE")),
    ],
)
def test_mistakes_are_one_line(
    words: tuple[str, ...], hints: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("train", *words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert all(hint in error for hint in hints), error


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_a_file_that_is_no_config_is_one_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.json").write_bytes(content)
    assert call("train", "--config", str(tmp_path / "mine.json")) == 2
    error = capsys.readouterr().err
    assert "mine.json" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        (("deep-sea", "--method", "rnd", "--seed", "3"), "runs/deep-sea-rnd-3"),
        (("gym:ActionBalance/Grid-v0",), "runs/gym-ActionBalance-Grid-v0-rnd-0"),
        (("open", "--out", "there"), "there"),
    ],
)
def test_a_run_has_a_folder(words: tuple[str, ...], folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Path] = []
    monkeypatch.setattr("action_balance.terminal.training.train", lambda _, out, *__, **___: found.append(out))
    train(*words).load()(Console())
    assert found == [Path(folder)]


OWN = """
from dataclasses import dataclass
from action_balance.bonuses.base import Bonus
from action_balance.config.env import DeviceEnvConfig

@dataclass(frozen=True)
class Maze(DeviceEnvConfig):
    \"\"\"A maze.\"\"\"

    walls: int = 3
    \"\"\"Walls of the maze.\"\"\"
    seed: int = 0
    \"\"\"Seed of the maze.\"\"\"
    dark: bool = True
    \"\"\"Turn off the light.\"\"\"

    def make(self, key): ...

class MyBonus(Bonus):
    @dataclass(frozen=True)
    class Config:
        \"\"\"A bonus.\"\"\"

        width: int = 4
        \"\"\"Width of the bonus.\"\"\"
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with an environment and a bonus of one's own."""
    (tmp_path / "own_module.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("own")
def test_an_environment_of_ones_own_has_its_flags(capsys: pytest.CaptureFixture[str]) -> None:
    command = train("own_module:Maze", "--walls", "7", "--maze-seed", "5", "--seed", "2", "--no-dark")
    assert asdict(command.settings.env) == {"name": "own_module:Maze", "walls": 7, "seed": 5, "dark": False}
    assert command.settings.seed == 2
    call("train", "own_module:Maze", "--help")
    assert "Walls of the maze (default: 3)" in capsys.readouterr().out


@pytest.mark.usefixtures("own")
def test_an_environment_of_ones_own_is_named_again_or_the_config_is_trusted(tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    earlier = saved(tmp_path / "run", "own_module:Maze", "--walls", "7", "--method", "rnd")
    for trusted in ("--trust", "own_module:Maze"):
        assert train("--config", run, trusted).settings == earlier
    with pytest.raises(UserError, match=r"would import the module own_module: .*--trust.* give the environment on the"):
        train("--config", run)
    # Another environment takes its place, with the settings of the agent.
    other = train("deep-sea", "--config", run).settings
    assert (other.env, other.agent) == (env_config("deep-sea"), earlier.agent)


def test_what_is_typed_replaces_what_a_file_names(tmp_path: Path) -> None:
    run = str(tmp_path)
    saved(tmp_path, "gym:stranger:make", "--wrapper", "stranger:Wrap", "--env-kwargs", "file=a/b", "--stack", "2")
    typed: tuple[str, ...] = ("--config", run)
    for more, refused in (
        ((), "the environment gym:stranger:make, .* or give the environment on"),
        (("gym:CartPole-v1",), "--wrapper stranger:Wrap, .* or give --wrapper on"),
        (("--wrapper", "mine:Wrap"), "--env-kwargs file=a/b, .* or give --env-kwargs on"),
    ):
        typed += more
        with pytest.raises(UserError, match=refused):
            train(*typed)
    expected = env_config("gym:CartPole-v1", wrapper=("mine:Wrap",), env_kwargs={"file": "c/d"}, stack=2)
    assert train(*typed, "--env-kwargs", "file=c/d").settings.env == expected
    # Nothing of a Gymnasium environment is kept in another family.
    assert train("open", "--config", run).settings.env == env_config("open")


@pytest.mark.usefixtures("own")
def test_a_bonus_of_ones_own_has_its_flags(tmp_path: Path) -> None:
    words = ("open", "--intrinsic", "own_module:MyBonus")
    agent = train(*words, "--width", "6", "--learns-from", "all").settings.agent
    assert agent.intrinsic == "own_module:MyBonus"
    assert agent.bonus_settings == {"own_module:MyBonus": {"width": 6}, "distillation": {"learns_from": "all"}}
    assert train(*words).settings.agent.bonus_settings == {}
    saved(tmp_path / "run", *words, "--width", "6")
    for trusted in (("--trust",), ("--intrinsic", "own_module:MyBonus")):
        again = train("--config", str(tmp_path / "run"), *trusted, "--learns-from", "all").settings.agent
        assert again == agent
    with pytest.raises(UserError, match=r"would import the module own_module: .*--trust.* give --intrinsic on the"):
        train("--config", str(tmp_path / "run"))
    other = train("--config", str(tmp_path / "run"), "--intrinsic", "rnd").settings.agent
    assert other.bonus_settings == {}


@pytest.mark.parametrize(
    ("words", "names", "settings"),
    [
        (("--intrinsic", "hash", "--action-bonus", "hash", "--hash-bits", "9"), "hash", {"hash": {"hash_bits": 9}}),
        (("--action-bonus", "ucb", "--table-bits", "9"), "rnd ucb hash", {"hash": {"table_bits": 9}}),
        (
            ("--action-bonus", "ucb", "--counter", "coin-flip", "--coins", "9"),
            "rnd ucb coin-flip",
            {"ucb": {"counter": "coin-flip"}, "coin-flip": {"coins": 9}},
        ),
        (("--intrinsic", "icm", "--icm-features", "9"), "icm distillation", {"icm": {"features": 9}}),
        (("--intrinsic", "e3b", "--ridge", "9"), "e3b distillation", {"e3b": {"ridge": 9.0}}),
    ],
)
def test_every_bonus_has_its_flags_and_those_of_its_parts(
    words: tuple[str, ...], names: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    agent = train("open", *words).settings.agent
    assert agent.bonus_names == tuple(names.split())
    assert agent.bonus_settings == settings
    saved(tmp_path / "run", "open", *words)
    assert train("--config", str(tmp_path / "run")).settings.agent == agent
    other = train("--config", str(tmp_path / "run"), "--intrinsic", "rnd", "--action-bonus", "none")
    assert other.settings.agent.bonus_settings == {}


def test_a_flag_of_the_networks_keeps_its_name_whatever_the_bonus() -> None:
    with_images = train("atari:pitfall", "--intrinsic", "icm", "--features", "9").settings.agent
    assert (with_images.network.features, with_images.bonus_settings) == (9, {})


def test_a_coefficient_that_adapts_has_its_flags(tmp_path: Path) -> None:
    words = ("--action-coef", "auto", "--target-kl", "0.2", "--action-coef-min", "0.5")
    found = saved(tmp_path / "run", "open", *words).agent.exploration
    assert (found.action_coef, found.target_kl, found.action_coef_min) == ("auto", 0.2, 0.5)
    # A number replaces it, and what it was adapted to.
    again = train("--config", str(tmp_path / "run"), "--action-coef", "2").settings.agent.exploration
    assert again == ExplorationConfig(action_coef=2.0)


def test_flags_of_a_bonus_need_that_bonus(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "open", "--method", "rnd", "--learns-from", "all") == 2
    assert "--action-bonus distillation" in capsys.readouterr().err
    help_text = command_help(Train.form("train", ["open", "--method", "action-balance-rnd-channel"]), everything=True)
    assert "(default: channel)" in " ".join(help_text.split())
