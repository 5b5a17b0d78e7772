"""Tab completion in shells."""

import subprocess

import pytest
from command import call

from action_balance.cli.main import COMMANDS


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--print-completion", shell) == 0
    printed = capsys.readouterr()
    flags = ("intrinsic-coef", "env-kwargs", "games")
    assert all(word in printed.out for word in (*(name.split()[-1] for name in COMMANDS), *flags))
    assert printed.err == ""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("doc",), ["doctor"]),
        (("reproduce", "n"), ["neural"]),
        (("train", "--chec"), ["--checkpoint-every"]),
        (("train", "deep"), ["deep-sea"]),
        (("train", "--view", ""), ["coordinates", "one-hot"]),
        (("train", "--preset", "s"), ["study"]),
        (("train", "--track", "m"), ["mlflow"]),
        (("list", "me"), ["methods"]),
    ],
)
def test_bash_completes(words: tuple[str, ...], offered: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--print-completion=bash") == 0
    typed = " ".join(f"'{word}'" for word in words)
    script = f"""{capsys.readouterr().out}
COMP_WORDS=(action-balance {typed}) COMP_CWORD={len(words)}
_shtab_action_balance
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash"], input=script, capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (offered, "")


def test_an_unknown_shell_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (("--print-completion",), ("--print-completion", "bsh")):
        assert call(*words) == 2
        error = capsys.readouterr().err
        assert "bash" in error
        assert error.count("\n") == 1
