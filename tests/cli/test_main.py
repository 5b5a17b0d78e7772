"""The program as a whole: what it runs, and how it ends."""

import errno
import subprocess
import sys

import pytest
from command import call
from jax.errors import JaxRuntimeError

import action_balance
from action_balance import __main__ as program
from action_balance import signals
from action_balance.cli import main as cli
from action_balance.cli.commands import Resume
from action_balance.errors import WriteError


def refused(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert call(*words) == 2
    error = capsys.readouterr().err
    assert error.startswith("action-balance: ")
    assert error.count("\n") == 1
    return error


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--version") == 0
    assert capsys.readouterr().out == f"action-balance {action_balance.__version__}\n"


@pytest.mark.parametrize(
    ("words", "hints"),
    [
        (("reprodce",), ("did you mean reproduce?",)),
        (("xyz",), ("reproduce, explore",)),
        (("reproduce",), ("grid, neural",)),
        (("reproduce", "--runs", "3"), ("grid, neural",)),
        (("reproduce", "gird"), ("did you mean grid?",)),
        (("--seed", "3", "train"), ("--seed", "action-balance --help")),
        (("train", "open", "--games", "pitfall"), ("an option of reproduce atari", "action-balance train --help")),
        (("train", "open", "--stesp", "3"), ("did you mean --steps?", "action-balance train --help")),
        (("resume",), ("needs RUN", "action-balance resume --help")),
        (("compare",), ("needs RUN", "action-balance compare --help")),
        (("doctor", "now"), ("'now'", "action-balance doctor --help")),
    ],
)
def test_mistakes_are_one_line(
    words: tuple[str, ...], hints: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(*words, capsys=capsys)
    assert all(hint in error for hint in hints), error


@pytest.mark.parametrize("odd", ["a\nb", "\x1b[31m", "tr[/x]", "\udcff", "y" * 300, "z" * 100_000])
@pytest.mark.parametrize(
    "command", ["resume {}", "evaluate {}", "view {}", "compare {}", "train --config {}", "{}", "explore {}"]
)
def test_the_error_is_one_printable_line_whatever_is_typed(
    command: str, odd: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(*(word.format(odd) for word in command.split()), capsys=capsys)
    assert error[:-1].isprintable()
    assert len(error) < 2100


def test_a_pipe_that_closes_during_the_help_is_no_error() -> None:
    help_text = f"PYTHONUNBUFFERED=1 {sys.executable} -m action_balance train --help-all"
    shell = ["bash", "-c", f"{help_text} | head -n 1; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(shell, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "not enough memory"),
        (JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating"), "not enough memory"),
        (JaxRuntimeError("INTERNAL: the driver\nhas failed"), "INTERNAL: the driver has failed"),
        (
            WriteError("cannot write a: Read-only file system", OSError(errno.EROFS, "Read-only file system")),
            "a: Read-only file system; make the file system writable, then run the same command again\n",
        ),
    ],
)
def test_what_the_machine_refuses_is_one_line(
    error: Exception, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Resume, "load", lambda _: fail)
    assert says in refused("resume", "somewhere", capsys=capsys)


def test_code_of_others_that_ends_python_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        sys.exit("so long\nand thanks")

    monkeypatch.setattr(Resume, "load", lambda _: fail)
    assert "SystemExit: so long (test_main.py" in refused("resume", "somewhere", capsys=capsys)


def test_other_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(Resume, "load", lambda _: fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        call("resume", "somewhere")


def test_an_interrupt_ends_with_what_is_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt("half of it is kept")

    monkeypatch.setattr(Resume, "load", lambda _: interrupted)
    assert call("resume", "somewhere") == 130
    assert capsys.readouterr().err == "action-balance: interrupted; half of it is kept\n"


@pytest.mark.parametrize("moment", ["an error is shown", "all is done"])
def test_an_interrupt_after_the_work_is_one_line(
    moment: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left: list[int] = []
    watcher = signals.Watcher(left.append)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(signals, "watch", lambda: watcher)
    if moment == "all is done":
        monkeypatch.setattr(cli, "main", lambda: None)
        monkeypatch.setattr(watcher, "finish", lambda code: left.append(code) if code else interrupted())
    else:
        monkeypatch.setattr(sys, "argv", ["action-balance", "xyz"])
        monkeypatch.setattr(cli, "_end", interrupted)
    program.main()
    assert left == [signals.INTERRUPTED]
    assert capsys.readouterr().err == "action-balance: interrupted; what was saved before is kept\n"


def test_commands_are_parsed_to_their_classes() -> None:
    for name, kind in cli.COMMANDS.items():
        own = {"explore": ["map"], "train": ["open"], "doctor": [], "list": ["methods"]}
        words = {**own, "sweep": ["open", "--set", "algorithm.epochs=2,4"]}.get(name, ["run"])
        words = [] if name.startswith("reproduce") else words
        assert type(cli.parse([*name.split(), *words])) is kind


def test_a_package_that_cannot_be_loaded_is_one_line() -> None:
    program = "import sys; sys.modules['tomllib'] = None; from action_balance.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("action-balance: ")
    assert "tomllib" in done.stderr
    assert done.stderr.endswith("pip install --force-reinstall action-balance\n")
    assert done.stderr.count("\n") == 1
