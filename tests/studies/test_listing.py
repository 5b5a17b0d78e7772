"""Commands of single runs are complete: the command line reads the study\'s own settings from them."""

import shlex
from pathlib import Path

import pytest
from command import call

from action_balance.cli import main as cli
from action_balance.cli.reproduce import Atari
from action_balance.studies.atari.settings import AtariSettings
from action_balance.studies.atari_training import AtariTraining
from action_balance.studies.listing import run_commands


def test_a_command_has_all_settings_of_its_study(tmp_path: Path) -> None:
    settings = AtariSettings(("venture", "pitfall"), ("rnd",), 3, 5, AtariTraining(steps=8192, lag=0))
    out = tmp_path / "a folder"
    lines = run_commands("reproduce atari", settings, out, ["venture-rnd-5", "pitfall-rnd-6"], ["--evaluate", "3"])
    for line, name in zip(lines, ("venture-rnd-5", "pitfall-rnd-6"), strict=True):
        program, *words = shlex.split(line)
        command = cli.parse(words)
        assert program == "action-balance"
        assert isinstance(command, Atari)
        assert (command.settings, command.out, command.runs.only, command.evaluate) == (settings, out, name, 3)


def test_commands_work_from_any_folder() -> None:
    (line,) = run_commands("reproduce atari", AtariSettings(), Path("here"), ["venture-rnd-0"])
    assert line == f"action-balance reproduce atari --out {Path.cwd() / 'here'} --only venture-rnd-0"


@pytest.mark.parametrize(
    ("study", "words", "runs"),
    [
        ("atari", (), 90),
        ("entropy", (), 3),
        ("neural", ("--studies", "open", "counting"), 6),
        ("exploration", (), 10),
        ("bonuses", ("--worlds", "deep-sea-10", "--studies", "worth", "--intrinsic", "rnd"), 9),
    ],
)
def test_every_study_of_training_runs_lists_them(
    study: str, words: tuple[str, ...], runs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("reproduce", study, "--out", str(tmp_path / "out"), "--list-runs", *words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len({*lines}) == runs
    assert all(line.startswith(f"action-balance reproduce {study} --out ") and " --only " in line for line in lines)
    assert not (tmp_path / "out").exists()
