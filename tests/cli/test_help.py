"""Help that fits the screen and reads like English."""

import subprocess
import sys
from dataclasses import dataclass, field

import pytest
from command import call

from action_balance.cli.form import Form
from action_balance.cli.help import command_help
from action_balance.cli.main import COMMANDS
from action_balance.config.fields import number


@dataclass(frozen=True)
class Inner:
    """Settings ``inside``."""

    rate: float = number(0.5, high=1)
    """A rate of 100 %."""
    seed: int = 3
    """A seed."""


@dataclass(frozen=True)
class Work:
    """Do something."""

    map_file: str = field(metadata={"metavar": "MAP"})
    """A map."""
    size: int | None = None
    """A size (default: any)."""
    fast: bool = False
    """Hurry."""
    careful: bool = True
    """Take care."""
    names: tuple[str, ...] = ("a", "b")
    """Some names."""
    inner: Inner = field(default_factory=Inner)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def words_of(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_flags_have_their_documentation_and_default() -> None:
    lines = words_of(command_help(Form("work", Work), everything=True))
    assert lines[0] == "usage: action-balance work MAP [options]"
    assert "MAP A map" in lines
    assert "--size N A size (default: any)" in lines
    assert "--fast Hurry" in lines
    assert "--careful, --no-careful Take care (default: on)" in " ".join(lines)
    assert "--names [NAME ...] Some names (default: a b)" in lines
    assert "inner settings:" in lines
    assert "Settings inside." in lines
    assert "--rate X A rate of 100 % (default: 0.5; 0 to 1)" in lines


def test_the_short_help_shows_common_flags_only() -> None:
    form = Form("work", Work, common=("inner.seed", "size"))
    lines = words_of(command_help(form, everything=False))
    flags = [line.split()[0] for line in lines if line.startswith("-")]
    assert flags == ["--seed", "--size", "-h,", "--help-all"]
    assert "--rate" in command_help(form, everything=True)


def test_a_variant_adds_its_own_flags() -> None:
    @dataclass(frozen=True)
    class Other:
        """Other settings."""

        rate: str = "slow"
        """Another rate."""

    form = Form("work", Work, more=(Form("work", Work, kinds={"inner": Other}),))
    text = command_help(form, everything=True)
    assert text.count("--rate") == 2
    assert text.count("--size") == 1


@pytest.mark.parametrize("option", ["--help", "--help-all"])
def test_help_fits_80_columns(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    environments = ("open", "deep-sea", "atari:pitfall", "gym:CartPole-v1")
    known = [name.split() for name in COMMANDS] + ([[], ["reproduce"]] if option == "--help" else [])
    for command in (*known, *(["train", name] for name in environments)):
        assert call(*command, option) == 0
        shown = capsys.readouterr().out
        assert max(len(line) for line in shown.splitlines()) <= 80
        assert shown.startswith(
            " ".join(["usage: action-balance", *(one for one in command if one not in environments)])
        )
        assert not any(odd in shown for odd in ("`", "{None}", "MISSING", "…"))


def test_help_loads_no_large_library() -> None:
    program = (
        "import sys\nfrom action_balance.cli.main import parse\n"
        "parse(['train', 'gym:CartPole-v1', '--help'])\n"
        "print({'jax', 'numpy', 'jaxtyping', 'gymnasium', 'matplotlib', 'rich', 'shtab', 'argparse'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("set()\n", "")


def test_no_command_shows_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert call() == 0
    shown = capsys.readouterr().out
    lines = words_of(shown)
    for name in COMMANDS:
        assert sum(line.startswith(f"{name.split()[0]} ") for line in lines) == 1
    assert sum(line.startswith("action-balance ") for line in lines) >= 2
    assert "--print-completion SHELL" in shown
    call("--help")
    assert capsys.readouterr().out == shown


def test_train_shows_common_flags_and_all_flags(capsys: pytest.CaptureFixture[str]) -> None:
    call("train", "--help")
    short = capsys.readouterr().out
    call("train", "--help-all")
    everything = capsys.readouterr().out
    common = ("--method", "--steps", "--envs", "--seed", "--seeds", "--out", "--overwrite", "--preset", "--config")
    for name in (*common, "--checkpoint-every", "--learning-rate"):
        assert f" {name}" in short
    assert "--gae-lambda" not in short
    for name in (*common, "--gae-lambda", "--hidden", "--channels", "--lag", "--env-kwargs", "--view"):
        assert f" {name}" in everything


def test_train_shows_the_flags_of_an_environment(capsys: pytest.CaptureFixture[str]) -> None:
    for words, shown, hidden in (
        (("gym:CartPole-v1", "--help"), "--env-kwargs", "--view"),
        (("--help", "open"), "--view", "--env-kwargs"),
    ):
        call("train", *words)
        text = capsys.readouterr().out
        assert shown in text
        assert hidden not in text


def test_train_shows_the_flags_of_the_bonuses_that_were_chosen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("action_balance.config.tuned._chosen", dict)  # whatever the tuning has chosen

    def shown(*words: str) -> set[str]:
        call("train", *words, "--help")
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  --")]
        names = {"--neighbours", "--counter", "--hash-bits", "--coins", "--learns-from", "--target-kl"}
        return names & {line.split()[0] for line in lines}

    assert shown("open") == set()
    assert shown("open", "--intrinsic", "ngu") == {"--neighbours"}
    assert shown("--intrinsic", "ngu") == {"--neighbours"}
    assert shown("open", "--action-bonus", "ucb") == {"--counter", "--hash-bits"}
    assert shown("open", "--action-bonus", "ucb", "--counter", "coin-flip") == {"--counter", "--coins"}
    assert shown("open", "--method", "action-balance-hash") == {"--hash-bits", "--target-kl"}
    assert shown("open", "--action-coef", "auto") == {"--target-kl"}
