"""``--print-config``: settings that ``--config`` reads back."""

import subprocess
import sys
from pathlib import Path

import pytest
from command import call

from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.runs import RunFolder

KINDS = ("toml", "json")


def settings(*words: str) -> object:
    command = parse(["train", *words])
    assert isinstance(command, Train)
    return command.settings


@pytest.mark.parametrize(
    "words",
    [
        ("deep-sea", "--size", "6", "--seeds", "3"),
        ("open", "--method", "ppo", "--learning-rate", "3e-5", "--preset", "atari-paper"),
        (
            "gym:X-v0",
            "--env-kwargs",
            'a="b\\"\u00e9"',
            "c=[1, 2]",
            "--wrapper",
            "gymnasium.wrappers:FlattenObservation",
        ),
        ("gym:X-v0", "--max-grad-norm", "none", "--no-normalize-returns", "--method", "random"),
        (
            "open",
            "--method",
            "action-balance-rnd",
            "--action-coef",
            "auto",
            "--target-kl",
            "0.2",
            "--checkpoint-every",
            "7",
        ),
        ("open", "--intrinsic", "none", "--action-bonus", "ucb", "--counter", "coin-flip", "--coins", "9"),
        ("atari:pitfall", "--method", "action-balance-rnd-channel", "--lag", "0"),
    ],
)
def test_what_is_printed_has_the_same_settings_again(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected, file = settings(*words), tmp_path / "printed.toml"
    for kind in KINDS:  # each made from the one before
        before = words if kind == KINDS[0] else ("--config", str(file))
        assert call("train", *before, "--print-config", kind) == 0
        file = tmp_path / f"printed.{kind}"
        file.write_text(capsys.readouterr().out)
    assert settings("--config", str(file)) == expected
    assert call("train", "--config", str(file), "--print-config") == 0
    assert capsys.readouterr().out == (tmp_path / "printed.toml").read_text()


def test_trackers_are_printed_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--track", "wandb", "--track", "mlflow", "--track-project", "mine")
    assert call("train", "open", *words, "--print-config") == 0
    (tmp_path / "printed.toml").write_text(capsys.readouterr().out)
    command = parse(["train", "--config", str(tmp_path / "printed.toml")])
    assert isinstance(command, Train)
    assert (command.track, command.track_project) == (("wandb", "mlflow"), "mine")


def test_the_settings_of_an_earlier_run_can_be_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = parse(["train", "open", "--preset", "atari-paper", "--clip", "0.3"])
    assert isinstance(command, Train)
    RunFolder.create(tmp_path / "run", command.settings.to_dict(), ["train"]).release()
    assert call("train", "--config", str(tmp_path / "run"), "--print-config") == 0
    (tmp_path / "printed.toml").write_text(capsys.readouterr().out)
    assert settings("--config", str(tmp_path / "printed.toml")) == command.settings


def test_it_may_stand_before_the_environment_and_imports_no_jax() -> None:
    program = (
        "import sys\nfrom action_balance.cli.main import main\nmain(sys.argv[1:])\n"
        "assert not {'jax', 'gymnasium'} & {*sys.modules}"
    )
    command = [sys.executable, "-c", program, "train", "--print-config", "gym:CartPole-v1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert '\nenv = "gym:CartPole-v1"\n' in done.stdout
    assert '\npreset = "classic"\n' in done.stdout
