"""README and docs are true: code runs, commands are valid, short ones run, and the table of metrics is complete.

A page is worked through from top to bottom, with one set of names, in a folder that all pages share: a command that
several of them show is run once. Python is run unless its title says ``not run``; a block whose title is the name of a
file is saved under it. Commands are parsed by the real command line, and run where the title of their block mentions
seconds.
"""

import contextlib
import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import pytest
import small_agent
from command import call
from rich.console import Console

import action_balance
from action_balance.algorithms.base import Metrics
from action_balance.algorithms.learner import init_state, train_step
from action_balance.algorithms.pqn.config import PQNConfig
from action_balance.cli.commands import Explore
from action_balance.cli.form import PROGRAM, Command
from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.config.agent import AgentConfig
from action_balance.config.bonuses import bonus_parts
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE, WITHOUT_NETWORKS
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.runs.folder import RunFolder
from action_balance.terminal import training

ROOT = Path(__file__).parent.parent
LOGS = ("metrics.jsonl", "timing.jsonl")
SHELLS = {"sh", "bash", "shell", "console"}
#: Programs of others that a page may name.
OTHERS = {"cp", "eval", "gunzip", "ln", "mkdir", "ray", "source", "tensorboard"}


class Block(NamedTuple):
    """A fenced block of a page."""

    language: str
    title: str
    text: str

    @property
    def file(self) -> str | None:
        """The name under which a reader saves it."""
        return self.title if re.fullmatch(r"\w+\.(py|toml)", self.title) else None

    @property
    def runs(self) -> bool:
        if self.language == "python":
            return "not run" not in self.title and not self.file
        return self.language in SHELLS and "second" in self.title

    def commands(self) -> Iterator[list[str]]:
        """The words of each command, without comments, prompts and output."""
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
    """The text with the files that it includes."""
    return re.sub(r'^--8<-- "(.*)"$', lambda found: (ROOT / found[1]).read_text(), text, flags=re.MULTILINE)


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILES = {block.file: block.text for path in PAGES for block in blocks(path) if block.file}
COMMANDS = [
    pytest.param(words, id=f"{path.relative_to(ROOT)}, {'run' if block.runs else 'only parsed'}: {' '.join(words)}")
    for path in PAGES
    for block in blocks(path)
    if block.language in SHELLS
    for words in block.commands()
]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, ...], int]]:
    """Exit codes of the commands that were run, all in one folder, beside the agents of the repository."""
    import torch

    before, threads = list(sys.path), torch.get_num_threads()
    torch.set_num_threads(1)  # the networks of the examples are small: several threads mostly wait for each other
    with contextlib.chdir(tmp_path_factory.mktemp("reader")):
        Path("pretrained").symlink_to(ROOT / "pretrained")
        sys.path.append(str(Path.cwd()))  # where the Python of a reader finds the files of the pages
        yield {}
    torch.set_num_threads(threads)
    sys.path[:] = before
    jax.clear_caches()


#: Environment steps that are enough to run an example, whose agents are not expected to learn anything.
ENOUGH = 4096


def _shorter(text: str) -> str:
    """The code of a page with fewer environment steps."""
    return re.sub(r"(?<=\bsteps=)[\d_]+", lambda found: str(min(int(found[0]), ENOUGH)), text)


def _run(words: list[str], done: dict[tuple[str, ...], int]) -> None:
    """Run a command, unless it was run before."""
    assert words[0] == PROGRAM
    before = ["", *words]
    words = [str(min(int(word), ENOUGH)) if before[i] == "--steps" else word for i, word in enumerate(words)]
    key = tuple(_without_output(words[1:]))
    done[key] = done[key] if key in done else call(*key)
    assert done[key] == 0, words


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_code_of_a_page_runs(path: Path, done: dict[tuple[str, ...], int]) -> None:
    with _fast_compiler():  # the examples are small, so that compiling takes most of their time
        _work_through(path, done)


@contextlib.contextmanager
def _fast_compiler() -> Iterator[None]:
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", False)


def _work_through(path: Path, done: dict[tuple[str, ...], int]) -> None:
    names: dict[str, Any] = {"__name__": path.stem}
    for block in blocks(path):
        if block.file:
            Path(block.file).write_text(block.text)
        if block.language == "python":
            code = compile(_shorter(block.text), str(path), "exec")
            if block.runs:
                exec(code, names)
        elif block.runs:
            for words in block.commands():
                _run(words, done)


def test_every_public_name_occurs_in_an_example_that_runs() -> None:
    code = "\n".join(
        block.text for path in PAGES for block in blocks(path) if block.language == "python" and block.runs
    )
    used = re.findall(r"\b(?:ab|action_balance)\.(\w+)|from action_balance import (\w+)", code)
    assert {*action_balance.__all__} <= {name for names in used for name in names}


@pytest.fixture(scope="module")
def folders() -> dict[Path, list[str]]:
    """The command that writes to each folder: a reader of several pages is never refused."""
    return {}


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_is_understood_and_has_a_folder_of_its_own(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: dict[Path, list[str]]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # which `parse` changes
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    program, *rest = words
    if "=" in program and program.partition("=")[0].isupper():  # an environment variable
        program, *rest = rest
    if program == "srun":
        program, *rest = rest
    if program == "ray":  # which executes a command: its last words, or one quoted word
        quoted = [word for word in rest if word.startswith(f"{PROGRAM} ")]
        words = shlex.split(quoted[0]) if quoted else rest[rest.index("--") + 1 :] if "--" in rest else [program]
        program, *rest = words
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
    elif program in ("python", "python3"):
        assert rest[0] == "-m" or (ROOT / rest[0]).is_file()
    else:
        assert program in OTHERS or re.match(r"[a-z]+=\$\(", program)  # a variable of a script


def _parse(arguments: list[str]) -> Command:
    earlier = arguments[arguments.index("--config") + 1] if "--config" in arguments else None
    if earlier is not None and earlier not in FILES:  # a run, which must be there
        RunFolder.create(Path(earlier), TrainConfig(env_config("deep-sea")).to_dict(), ["train"]).release()
    return parse(arguments)


def _folder(command: Command, monkeypatch: pytest.MonkeyPatch) -> Path | None:
    """Where a command writes what it would not write a second time; studies continue where they stopped."""
    if isinstance(command, Train) and command.cluster.is_wanted:  # it continues where it stopped
        return None
    if isinstance(command, Train) and not command.is_light:
        found: list[Path] = []
        monkeypatch.setattr(training, "train", lambda _, out, *__, **___: found.append(out))
        command.load()(Console())
        return found[0]
    return command.out if isinstance(command, Explore) else None


def _without_output(words: list[str]) -> list[str]:
    """Without ``> FILE``."""
    return words[: words.index(">")] if ">" in words else words


def _counters(config: AgentConfig) -> tuple[str, ...]:
    """The action bonus and what it is made of."""
    name = config.action_bonus_name
    return name, *bonus_parts(name, config.settings_of(name))


#: When each part in the table of metrics writes, given the settings of the agent and whether states are enumerable.
WRITES: dict[str, Callable[[AgentConfig, bool], bool]] = {
    "every row": lambda *_: True,
    "every method": lambda *_: True,
    "enumerable states": lambda _, states: states,
    "discrete actions": lambda *_: True,
    "continuous actions": lambda *_: False,  # see `test_gaussian_actions.py`
    "Craftax": lambda *_: False,  # see `envs/craftax/test_environment.py`
    "every algorithm": lambda config, _: not config.uniform,
    "PPO": lambda config, _: not config.uniform and config.algorithm.name == "ppo",
    "PQN": lambda config, _: config.algorithm.name == "pqn",
    "changing epsilon": lambda config, _: config.exploration.epsilon_spread,
    "`--normalize-returns`": lambda config, _: config.algorithm.normalize_returns,
    "intrinsic bonus": lambda config, _: config.intrinsic_name != NONE,
    "trained intrinsic bonus": lambda config, _: config.intrinsic_name not in WITHOUT_NETWORKS,
    "`icm`, `ngu`, `e3b`": lambda config, _: config.intrinsic_name in ("icm", "ngu", "e3b"),
    "`ngu`": lambda config, _: config.intrinsic_name == "ngu",
    "action bonus": lambda config, _: config.balances,
    "PPO with an action bonus or epsilon": lambda config, _: config.beta_differs and config.algorithm.name == "ppo",
    "PQN with an action bonus or epsilon": lambda config, _: config.beta_differs and config.algorithm.name == "pqn",
    "changing coefficient": lambda config, _: config.adapts or config.exploration.action_coef_end is not None,
    "trained action bonus": lambda config, _: not {*_counters(config)} <= WITHOUT_NETWORKS,
    "hash counts of states": lambda config, _: config.intrinsic_name == "hash",
    "hash counts of pairs": lambda config, _: "hash" in _counters(config),
    "coin flips of states": lambda config, _: config.intrinsic_name == "coin-flip",
    "coin flips of pairs": lambda config, _: "coin-flip" in _counters(config),
    "elliptical counts of states": lambda config, _: config.intrinsic_name == "elliptical",
    "elliptical counts of pairs": lambda config, _: "elliptical" in _counters(config),
}
TIMING = "`timing.jsonl`"


def _metrics_table() -> dict[str, str]:
    """The part that writes each metric, as documented."""
    page = (ROOT / "docs" / "howto" / "metrics.md").read_text()
    section = page.partition("\n## All metrics\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, re.MULTILINE))


def _documented(config: AgentConfig, states: bool) -> set[str]:
    """The metrics that a run with these settings writes, as documented."""
    return {name for name, part in _metrics_table().items() if part != TIMING and WRITES[part](config, states)}


def _with_bonus(name: str) -> AgentConfig:
    """PPO with a bonus, for states, for actions or for both."""
    intrinsic, action = (name if name in known else NONE for known in (INTRINSIC_BONUSES, ACTION_BONUSES))
    return replace(small_agent.SMALL, method="ppo", intrinsic=intrinsic, action_bonus=action)


AGENTS = {
    **{name: _with_bonus(name) for name in sorted({*INTRINSIC_BONUSES, *ACTION_BONUSES})},
    **{name: replace(small_agent.SMALL, method=name) for name in ("random", "epsilon-greedy", "action-balance-hash")},
    "PQN": replace(
        small_agent.SMALL,
        algorithm=PQNConfig(rollout_steps=16, minibatches=2),
        exploration=replace(small_agent.SMALL.exploration, epsilon_spread=True),
    ),
    "normalised returns": replace(
        small_agent.SMALL, algorithm=replace(small_agent.SMALL.algorithm, normalize_returns=True)
    ),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_table_of_metrics_has_the_metrics_of(agent: str) -> None:
    _check_metrics(AGENTS[agent])


def _check_metrics(config: AgentConfig) -> None:
    algorithm = small_agent.algorithm(config)

    def metrics(key: jax.Array) -> Metrics:
        return train_step(small_agent.WORLD, init_state(small_agent.WORLD, algorithm, key), algorithm)[1]

    written = jax.eval_shape(metrics, jax.random.key(0))  # traced, not compiled: the names are all that counts
    assert _documented(config, states=True) == {"update", "seed", "steps", *written}


@pytest.mark.parametrize(("page", "out", "states"), [("start", "first", True), ("howto/environment", "lock", False)])
def test_the_table_of_metrics_has_everything_that_a_run_writes(
    page: str, out: str, states: bool, done: dict[tuple[str, ...], int]
) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    run = Path("runs") / out
    commands = [words for block in blocks(ROOT / "docs" / f"{page}.md") if block.runs for words in block.commands()]
    with _fast_compiler():
        _run(next(words for words in commands if words[1] == "train" and str(run) in words), done)
    rows, timing = ([json.loads(line) for line in (run / file).read_text().splitlines()] for file in LOGS)
    agent = TrainConfig.for_display(RunFolder.open(run).config).agent
    assert all(row.keys() == _documented(agent, states) for row in rows)
    documented = {name for name, part in _metrics_table().items() if part == TIMING}
    found = set(timing[0]) - {"update", "steps"}
    assert found <= documented
    assert documented - found <= {"host_memory", "device_memory"}  # which not every system reports
