"""What README and docs say is true: code runs, commands are understood, and short ones run.

A page is worked through from top to bottom, with one set of names, in a folder that all pages share: a command that
several of them show is run once. Python is run unless its title says ``not run``. Commands are parsed by the real
command line, and run where the title of their block tells of seconds.
"""

import contextlib
import re
import runpy
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import pytest
from command import call
from rich.console import Console

from action_balance.cli.explore import Explore
from action_balance.cli.form import PROGRAM, Command
from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.runs.folder import RunFolder
from action_balance.terminal import training

ROOT = Path(__file__).parent.parent
SHELLS = {"sh", "bash", "shell", "console"}
#: Programs of others that a page may name.
OTHERS = {"cp", "gunzip", "ln", "mkdir", "source", "tensorboard"}


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str
    text: str

    @property
    def runs(self) -> bool:
        if self.language == "python":
            return "not run" not in self.title
        return self.language in SHELLS and "second" in self.title

    def commands(self) -> Iterator[list[str]]:
        """The words of each command; comments, prompts and what a console answers are left out."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        for line in lines:
            words = shlex.split(line, comments=True)
            if words:
                yield words


def blocks(path: Path) -> list[Block]:
    found = re.findall(r"^( *)```(\w+)([^\n]*)\n(.*?)^\1```", path.read_text(), re.DOTALL | re.MULTILINE)
    return [Block(language, _title(options), _whole(text)) for _, language, options, text in found]


def _title(options: str) -> str:
    found = re.fullmatch(r'\s*(?:title="([^"]*)")?\s*', options)
    assert found, f"only a title can follow the language of a block, not {options!r}"
    return found[1] or ""


def _whole(text: str) -> str:
    """With the files that it includes."""
    return re.sub(r'^--8<-- "(.*)"$', lambda found: (ROOT / found[1]).read_text(), text, flags=re.MULTILINE)


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMANDS = [
    pytest.param(words, id=f"{path.relative_to(ROOT)}, {'run' if block.runs else 'only parsed'}: {' '.join(words)}")
    for path in PAGES
    for block in blocks(path)
    if block.language in SHELLS
    for words in block.commands()
]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, ...], int]]:
    """Exit codes of the commands that were run, in a folder where they found what others had left."""
    with contextlib.chdir(tmp_path_factory.mktemp("reader")):
        yield {}
    jax.clear_caches()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_shows_runs(path: Path, done: dict[tuple[str, ...], int]) -> None:
    # The examples in docs are small: most of their time would be that of the compiler.
    jax.config.update("jax_disable_most_optimizations", path.is_relative_to(ROOT / "docs"))
    try:
        _work_through(path, done)
    finally:
        jax.config.update("jax_disable_most_optimizations", False)


def _work_through(path: Path, done: dict[tuple[str, ...], int]) -> None:
    names: dict[str, Any] = {"__name__": path.stem}
    for block in blocks(path):
        if block.language == "python":
            code = compile(block.text, str(path), "exec")
            if block.runs:
                exec(code, names)
        elif block.runs:
            for words in block.commands():
                assert words[0] == PROGRAM
                key = tuple(_without_output(words[1:]))
                done[key] = done[key] if key in done else call(*key)
                assert done[key] == 0, words


@pytest.fixture(scope="module")
def folders() -> dict[Path, list[str]]:
    """Where commands write to, and which: whoever follows one page after the other is never refused."""
    return {}


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_understood_and_has_a_folder_of_its_own(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: dict[Path, list[str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *rest = words
    if "=" in program and program.partition("=")[0].isupper():  # a variable of the environment
        program, *rest = rest
    if program == PROGRAM:
        folder = _folder(_parse(_without_output(rest)), monkeypatch)
        assert folder is None or folders.setdefault(folder, words) is words
    elif program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        assert rest[0] in targets
        options = [one for word in rest[1:] for one in shlex.split(word.removeprefix("ARGS="))]
        if rest[0] == "reproduce":
            _parse(["reproduce", "grid", *options])
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        asked = [name for word in rest for name in re.findall(r"^\.\[(.*)\]$|$", word)[0].split(",") if name]
        assert set(asked) <= set(extras)
    elif program == "python":
        assert rest[0] == "-m" or (ROOT / rest[0]).is_file()
    else:
        assert program in OTHERS


def _parse(arguments: list[str]) -> Command:
    if "--config" in arguments:  # an earlier run, which must be there
        earlier = Path(arguments[arguments.index("--config") + 1])
        RunFolder.create(earlier, TrainConfig(env_config("deep-sea")).to_dict(), ["train"]).release()
    return parse(arguments)


def _folder(command: Command, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """Where a command writes what it would not write a second time; studies continue where they stopped."""
    if isinstance(command, Train):
        found: list[Path] = []
        monkeypatch.setattr(training, "train", lambda _, out, *__: found.append(out))
        command.load()(Console())
        return found[0]
    return command.out if isinstance(command, Explore) else None


def _without_output(words: list[str]) -> list[str]:
    """Without ``> FILE``."""
    return words[: words.index(">")] if ">" in words else words


def test_own_agent_sees_more_with_action_balance() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "own_agent.py"))
    cells_seen = jax.jit(example["cells_seen"], static_argnums=0)
    seen = [sum(int(cells_seen(coef, jax.random.key(seed))) for seed in range(3)) for coef in (0.0, 3.0)]
    assert seen[1] > 1.2 * seen[0]


def test_foreign_agent_finds_the_treasure_with_action_balance_only() -> None:
    explore = runpy.run_path(str(ROOT / "examples" / "foreign_agent.py"))["explore"]
    for seed in range(2):
        (cells, treasures), (more_cells, more_treasures) = explore(0.0, seed), explore(2.0, seed)
        assert more_cells > 1.2 * cells
        assert treasures < 10
        assert more_treasures > 100


def test_the_example_map_is_one() -> None:
    from action_balance.envs.grid.maps import read_map

    assert read_map(ROOT / "examples" / "maps" / "four_rooms.txt").goals.sum() == 1
