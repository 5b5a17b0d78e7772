"""What the settings of the agent may be, as flags, in Python and in the config of a run."""

import copy
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from action_balance.envs.registry import EnvConfig
from command import call
from rich.console import Console

from action_balance.cli import main as cli
from action_balance.config.agent import METHODS, BonusConfig, Config, NetConfig, PPOConfig
from action_balance.config.presets import PRESETS
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies.evaluation.run import _show

COUNTS = [
    *("--steps", "--envs", "--rollout-steps", "--epochs", "--minibatches"),
    *("--hidden", "--layers", "--bonus-hidden", "--bonus-outputs"),
]
BAD_FLAGS = [
    *((name, "0", "must be 1 or more") for name in COUNTS),
    *((name, "99999999999", "must be at most 2147483647") for name in COUNTS),
    ("--predictor-layers", "-1", "must be 0 or more"),
    ("--warmup-rollouts", "-1", "must be 0 or more"),
    ("--learning-rate", "-1", "must be above 0"),
    ("--learning-rate", "0", "must be above 0"),
    ("--clip", "-0.5", "must be above 0"),
    ("--observation-clip", "0", "must be above 0"),
    ("--share", "0", "must be above 0"),
    ("--share", "1.5", "must be at most 1"),
    ("--gamma-ext", "-0.1", "must be 0 or more"),
    ("--gamma-int", "2", "must be at most 1"),
    ("--gae-lambda", "nan", "must be a finite number"),
    ("--entropy-coef", "-1", "must be 0 or more"),
    ("--extrinsic-coef", "inf", "must be a finite number"),
    ("--intrinsic-coef", "1e300", "must be at most 1000000"),
    ("--action-coef", "-1", "must be 0 or more"),
    ("--action-coef-end", "nan", "must be a finite number"),
    ("--episode-steps", "99999999999", "must be at most 2147483647"),
    ("--size", "100000", "must be at most 1000"),
]


@pytest.mark.parametrize(("name", "value", "hint"), BAD_FLAGS)
def test_a_number_that_cannot_be_names_its_flag(
    name: str, value: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("train", "open", "--out", str(tmp_path / "out"), name, value) == 2
    error = capsys.readouterr().err
    assert f"{name} {hint}" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_sea_beyond_memory_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "deep-sea", "--size", "100000", "--out", str(tmp_path / "out")) == 2
    assert capsys.readouterr().err.endswith("does not fit into memory: use 1000 or less\n")


def test_the_ends_of_what_is_allowed_are_allowed() -> None:
    PPOConfig(1, 1, 1, 1e30, 1e-9, 0, 0, 1, 0, 0, 0)
    BonusConfig(0, 0, share=1, warmup_rollouts=0)
    NetConfig(1, 1, 1, 1, 0)
    EnvConfig("open", 1000)
    EnvConfig("deep-sea", 1000)


def test_words_are_checked_where_no_parser_did() -> None:
    word: Any = "nevr"
    with pytest.raises(UserError, match=r"unknown --intrinsic-ends 'nevr': did you mean never\?"):
        PPOConfig(intrinsic_ends=word)
    with pytest.raises(UserError, match="unknown --normalize"):
        BonusConfig(normalize=word)
    with pytest.raises(UserError, match="unknown --learns-from"):
        BonusConfig(learns_from=word)
    with pytest.raises(UserError, match="unknown --view"):
        EnvConfig("open", view=word)


UNUSED = {"--action-coef": "0.5", "--action-coef-end": "0.5", "--normalize": "raw", "--learns-from": "all"}


@pytest.mark.parametrize(("name", "value"), UNUSED.items())
def test_settings_of_the_action_bonus_are_refused_without_one(
    name: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("train", "open", "--method", "rnd", name, value) == 2
    assert f"method rnd has no action bonus: leave out {name}, or set it back to" in capsys.readouterr().err
    assert isinstance(cli.parse(["train", "open", "--method", "action-balance", name, value]), cli.Train)


CHANNEL = "action-balance-rnd-channel"
NOT_FOR_THIS = [
    *(("open", name, "8", f"open has no images: leave out {name}") for name in ("--channels", "--features", "--trunk")),
    ("deep-sea", "--bonus-features", "8", "deep-sea has no images: leave out --bonus-features"),
    ("deep-sea", "--precision", "bfloat16", "deep-sea has no images: leave out --precision"),
    *(("open", name, "1", f"open does not run on the host: leave out {name}") for name in ("--groups", "--threads")),
    *(("goal", "--lag", lag, "goal does not run on the host: leave out --lag") for lag in ("0", "1")),
    *(
        ("atari:pitfall", name, "8", f"an Atari game has networks for images: leave out {name}")
        for name in ("--hidden", "--layers", "--bonus-hidden", "--bonus-outputs", "--predictor-layers")
    ),
    *(("atari:pitfall", name, "8", f"has no {name}: leave it out") for name in ("--size", "--episode-steps")),
    ("atari:pitfall", "--view", "coordinates", "an Atari game has no --view: leave it out"),
    ("open", "--method", CHANNEL, "an action channel is for images, and open has none: use action-balance-rnd"),
    ("atari:pitfall", "--method", "count", "cannot be counted: use another --method, e.g. rnd"),
    ("atari:pitfall", "--groups", "3", "8 environments cannot be split into 3 equal groups: choose --groups or --envs"),
    ("atari:pitfall", "--groups", "0", "--groups must be 1 or more"),
    ("atari:pitfall", "--lag", "2", "--lag must be at most 1"),
    ("atari:montezumas_revenge", "--seed", "0", "did you mean montezuma_revenge?"),
    ("atari:combat", "--seed", "0", "combat is for several players"),
    ("montezuma_revenge", "--seed", "0", "did you mean atari:montezuma_revenge?"),
    *((name, "--seed", "0", f"{name} needs a game: e.g. atari:pitfall") for name in ("atari", "atari:")),
    *(
        (name, "--seed", "0", f"{name} needs the id of an environment: e.g. gym:CartPole-v1")
        for name in ("gym", "gym:")
    ),
    ("atari:pitfall", "--games", "pitfall", "train does not take --games; see action-balance train --help"),
]


@pytest.mark.parametrize(("environment", "name", "value", "hint"), NOT_FOR_THIS)
def test_what_the_environment_cannot_use_is_refused_in_one_line(
    environment: str, name: str, value: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("train", environment, name, value, "--out", str(tmp_path / "out")) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", [["train", "atari:pitfall"], ["reproduce", "atari", "--games", "pitfall"]])
@pytest.mark.parametrize(("module", "package"), [("ale_py", "ale-py"), ("ale_py.vector_env", "gymnasium")])
def test_without_emulators_a_game_says_what_to_install_and_leaves_no_folder(
    words: list[str],
    module: str,
    package: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert call(*words, "--out", str(tmp_path / "out")) == 2
    error = capsys.readouterr().err
    assert f'{package} is not installed, and Atari needs it: pip install ".[atari]" in the folder' in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_errors_name_flags_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "open", "--minibatches", "3") == 2
    assert "choose --minibatches or --envs" in capsys.readouterr().err


def test_every_method_has_every_preset_and_its_config_another_method(tmp_path: Path) -> None:
    impossible = {"open": "action-balance-rnd-channel", "atari:pitfall": "count"}
    for preset in PRESETS.values():
        for method in METHODS:
            for name in (name for name in impossible if method != impossible[name]):
                config = TrainConfig(EnvConfig(name), replace(preset, method=method))
                assert TrainConfig.from_data(json.loads(json.dumps(config.as_data()))) == config
    saved = TrainConfig(EnvConfig("open"), replace(PRESETS["atari-paper"], method="action-balance"))
    RunFolder.create(tmp_path / "run", saved.as_data(), ["test"]).release()
    command = cli.parse(["train", "--config", str(tmp_path / "run"), "--method", "ppo"])
    assert isinstance(command, cli.Train)
    assert command.agent == replace(saved.agent, method="ppo")


def test_the_presets_of_atari_have_the_numbers_of_paper_and_rnd() -> None:
    paper, rnd = PRESETS["atari-paper"], PRESETS["atari-rnd"]
    assert (paper.envs, paper.steps, paper.bonus.share) == (32, 42_000_000, 0.25)
    assert (rnd.method, rnd.envs, rnd.updates, rnd.bonus.share) == ("rnd", 128, 30_000, 0.25)
    for preset in (paper, rnd):
        ppo = preset.ppo
        assert (ppo.rollout_steps, ppo.epochs, ppo.minibatches, ppo.learning_rate) == (128, 4, 4, 1e-4)
        assert (ppo.gamma_ext, ppo.gamma_int, ppo.gae_lambda) == (0.999, 0.99, 0.95)
        assert (ppo.extrinsic_coef, ppo.intrinsic_coef, ppo.intrinsic_ends) == (2, 1, "never")
        assert (ppo.clip, ppo.entropy_coef) == (0.1, 0.001)
        assert (preset.bonus.warmup_rollouts, preset.bonus.observation_clip) == (50, 5)
        image = preset.image
        assert (image.channels, image.features, image.trunk, image.bonus_features) == (32, 256, 448, 512)
    # The balance of the paper: the coefficient of Eq. 5, l2, and the pair that was taken.
    assert (paper.bonus.action_coef, paper.bonus.action_coef_end) == (1, None)
    assert (paper.bonus.normalize, paper.bonus.learns_from) == ("l2", "taken")


def changed(*path: str, to: Any) -> Callable[[Any], None]:
    """Sets one setting of a config."""

    def change(config: Any) -> None:
        for name in path[:-1]:
            config = config[name]
        config[path[-1]] = to

    return change


def without(*path: str) -> Callable[[Any], None]:
    """Takes a part out of a config."""

    def change(config: Any) -> None:
        for name in path[:-1]:
            config = config[name]
        del config[path[-1]]

    return change


DAMAGED = {
    "no agent": (without("agent"), "it lacks agent"),
    "no environment": (without("env"), "it lacks env"),
    "no part": (without("agent", "ppo"), "it lacks ppo"),
    "no name": (without("env", "name"), "it lacks name"),
    "an agent that is nothing": (changed("agent", to=None), "agent = null, which is not a group of settings"),
    "a part that is a list": (changed("agent", "net", to=[1]), "net = [1], which is not a group of settings"),
    "a word for a count": (changed("agent", "envs", to="four"), 'envs = "four", which is not a whole number'),
    "half a unit": (changed("agent", "net", "hidden", to=8.5), "hidden = 8.5, which is not a whole number"),
    "a truth for a count": (changed("seeds", to=True), "seeds = true, which is not a whole number"),
    "a word for a number": (changed("agent", "ppo", "clip", to="x"), 'clip = "x", which is not a number'),
    "no method": (changed("agent", "method", to=None), "method = null, which is not a word"),
    "a list for a size": (changed("env", "size", to=[3]), "size = [3], which is not a whole number or null"),
    "an unknown word": (changed("env", "view", to="on-hot"), "which is not one of coordinates, one-hot"),
    "a number out of range": (changed("agent", "net", "hidden", to=0), "--hidden must be 1 or more"),
    "not a number": (changed("agent", "ppo", "clip", to=math.nan), "--clip must be a finite number"),
    "an unknown setting": (changed("agent", "ppo", "clop", to=1), "does not know: clop"),
}


@pytest.mark.parametrize(("change", "hint"), DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_config_is_one_line_for_every_command(
    change: Callable[[Any], None], hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    RunFolder.create(run, TrainConfig(EnvConfig("deep-sea", 4)).as_data(), ["test"]).release()
    file = run / "config.json"
    content = json.loads(file.read_text())
    change(content["config"])
    file.write_text(json.dumps(content))
    for command in (("train", "--config"), ("resume",), ("evaluate",), ("compare",)):
        assert call(*command, str(run)) == 2
        error = capsys.readouterr().err
        assert hint in error
        assert error.count("\n") == 1


def test_settings_that_a_config_does_not_name_have_their_defaults() -> None:
    config = TrainConfig(EnvConfig("deep-sea", 4), Config(ppo=PPOConfig(learning_rate=1)))
    data = copy.deepcopy(config.as_data())
    del data["seeds"], data["agent"]["net"]["layers"], data["env"]["view"]
    assert TrainConfig.from_data(data) == config


@pytest.mark.parametrize("content", [b"root:x:0:0", b"\xff\xfe"])
def test_a_file_that_is_no_config_is_told_to_be_none(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, hint in {"passwd": "is not the config.json of a run", "config.json": "is damaged"}.items():
        (tmp_path / name).write_bytes(content)
        assert call("train", "--config", str(tmp_path / name)) == 2
        error = capsys.readouterr().err
        assert f"{tmp_path / name} {hint}" in error
        assert error.count("\n") == 1


@pytest.mark.parametrize("value", [-0.012345678, -123.456, -1.23456e-5, -123456.7, -1.5e12])
def test_the_table_of_an_evaluation_is_whole_on_80_columns(value: float) -> None:
    returns = {"mean": value, "low": value * 2, "high": value / 3, "median": value, "min": value * 9, "max": value}
    one = {"return": returns, "mean_length": 12345.678, "ended_by_task": 1.0}
    unknown = {**one, "return": {**returns, "low": None, "high": None}}
    action_modes = {"greedy": one, "sampled": one, "behaviour": unknown}
    screen = StringIO()
    summary = {"seeds": [0, 1], "intervals_over": "seeds", "ways": action_modes}
    _show(summary, "action-balance-rnd in deep-sea after 1,000 updates", Console(file=screen, width=80))
    shown = screen.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    for word in ("greedy", "sampled", "behaviour", "mean return", "95 % from", "95 % to", "ended by the task"):
        assert word in shown
    rows = {line.split("│")[1].strip(): line.split("│")[2:5] for line in shown.splitlines() if "│" in line}
    assert [float(cell.replace(",", "")) for cell in rows["mean return"]] == pytest.approx([value] * 3, rel=1e-3)
    assert [cell.strip() for cell in rows["95 % from"]][2] == "-"
