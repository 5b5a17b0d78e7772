"""``sweep``: its flags are those of ``train``, and more."""

from pathlib import Path

import pytest
from command import call

from action_balance.cli.help import command_help
from action_balance.cli.main import parse
from action_balance.cli.sweep import Sweep
from action_balance.cli.train import Train
from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError
from action_balance.studies.sweep.space import Choice, Range

RATE = ("--set", "algorithm.learning_rate=1e-4,3e-4")


def sweep(*words: str) -> Sweep:
    command = parse(["sweep", *words])
    assert isinstance(command, Sweep)
    return command


def test_a_sweep_starts_from_the_settings_of_train() -> None:
    words = ("deep-sea", "--size", "7", "--method", "rnd", "--steps", "1e5", "--seeds", "5", "--clip", "0.2")
    trained = parse(["train", *words])
    assert isinstance(trained, Train)
    assert sweep(*words, *RATE).sweep.base == trained.settings


def test_flags_of_the_search_may_stand_anywhere() -> None:
    clip, rate = Range("algorithm.clip", 0.1, 0.3), Choice("algorithm.learning_rate", (1e-4, 3e-4))
    words = ("--trials", "4", *RATE, "deep-sea", "--set=algorithm.clip=0.1:0.3", "--size", "4")
    found = sweep(*words, "--no-early-stopping")
    assert found.sweep.space.axes == (rate, clip)
    assert (found.search.trials, found.search.early_stopping) == (4, False)
    assert found.settings.env.name == "deep-sea"


def test_a_value_of_the_search_is_not_taken_for_the_environment() -> None:
    found = sweep("--metric", "states", "open", *RATE)
    assert (found.settings.env.name, found.search.metric) == ("open", "states")


def test_settings_can_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('env = "open"\nmethod = "rnd"\nsteps = 20000\n')
    found = sweep(*RATE, "--config", str(file), "--trials", "3")
    assert (found.settings.env.name, found.settings.agent.steps, found.search.trials) == ("open", 20_000, 3)


def test_a_sweep_always_uses_ray() -> None:
    words = ("--address", "auto", "--cpus-per-run", "2", "--gpus-per-run", "0.5", "--max-crashes", "3")
    assert sweep("deep-sea", *RATE, *words).cluster == ClusterConfig("ray", "auto", 2.0, 0.5, 3)


def test_settings_of_the_bonus_in_use_can_vary() -> None:
    words = ("deep-sea", "--method", "action-balance-hash", "--set", "hash-bits=8:32", "--set", "target-kl=0.01,0.1")
    assert sweep(*words).sweep.space.names == ("bonus_settings.hash.hash_bits", "exploration.target_kl")


def test_a_setting_has_an_effect_if_it_has_one_with_a_value_of_another() -> None:
    words = ("open", "--method", "rnd", "--set", "memory_units=8,16")
    with pytest.raises(UserError, match="memory_units needs --memory gru"):
        sweep(*words)
    assert sweep(*words, "--set", "memory=none,gru").sweep.space.size == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--set NAME=VALUES"),
        (("--method", "ppo", "--set", "intrinsic_coef=1,2"), "algorithm.intrinsic_coef needs a next-state bonus"),
        (("--method", "ppo", "--set", "network.bonus_hidden=8,16"), "needs a bonus with networks"),
        ((*RATE, "--set", "learning-rate=1:2"), "2 times"),
        ((*RATE, "--metric", "episode_returns"), "did you mean episode_return"),
        ((*RATE, "--trials", "0"), "--trials must be 1 or more"),
        ((*RATE, "--address", "there"), "--address must be HOST:PORT"),
        ((*RATE, "--track", "wandb"), "sweep does not take --track, an option of train"),
        ((*RATE, "--trial", "4"), "did you mean --trials"),
        (("--set",), "--set"),
    ],
)
def test_mistakes_are_one_line(words: tuple[str, ...], says: str) -> None:
    with pytest.raises(UserError) as error:
        sweep("deep-sea", *words)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_help_shows_the_search_and_the_environment() -> None:
    text = command_help(Sweep.form("sweep", ["deep-sea"]), everything=False)
    for flag in ("--set NAME=VALUES", "--trials", "--finalists", "--size", "--method", "--address"):
        assert flag in text
    assert "--track" not in text
    assert "action-balance sweep ENV --help" in command_help(Sweep.form("sweep", []), everything=False)


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert call("sweep", "deep-sea", *RATE) == 2
    error = capsys.readouterr().err
    assert "ray is not installed, but sweep needs it" in error
    assert error.count("\n") == 1
