"""The command line: what can be called, and how errors are told. No logic."""

import argparse
import contextlib
import functools
import io
import json
import operator
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import tyro
from jax.errors import JaxRuntimeError
from rich.console import Console

from action_balance.cli.atari import AtariStudy, Entropy
from action_balance.cli.gym import GymFlags
from action_balance.cli.screen import PROGRAM, Page, Screen, one_line, write_nowhere
from action_balance.cli.view import View
from action_balance.config.agent import Config
from action_balance.config.presets import PRESETS
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.seeds import use_all_cores
from action_balance.envs.grid.world import Cell
from action_balance.envs.host_base import EmulatorsLost
from action_balance.errors import UserError, check_name
from action_balance.files import reason
from action_balance.runs import read_config
from action_balance.studies.grid.settings import GridSettings, RunSettings, parse_goal
from action_balance.studies.neural.settings import NeuralSettings

ABOUT = f"""Action balance exploration: reproduce the paper, explore your own worlds.

Tab completion (bash, zsh, fish): {PROGRAM} --tyro-print-completion bash"""


@dataclass(frozen=True)
class Grid:
    """The paper's grid worlds: coverage, goals and the corridor, with a report."""

    out: Path = Path("results/grid")
    """Folder for tables, figures and report.html; a study interrupted there is continued."""
    overwrite: bool = False
    """Replace a result that is already in that folder."""
    settings: GridSettings = field(default_factory=GridSettings)

    def run(self, console: Console) -> None:
        """Run the studies."""
        from action_balance.studies.grid.reproduce import reproduce_grid

        reproduce_grid(self.settings, self.out, self.overwrite, console)


@dataclass(frozen=True)
class Neural:
    """The neural agent on open grid, corridor and deep sea, with a report; about ten minutes on two cores."""

    out: Path = Path("results/neural")
    """Folder for training runs, tables, figures and report.html; what was interrupted there is continued."""
    overwrite: bool = False
    """Replace a result that is already in that folder."""
    settings: NeuralSettings = field(default_factory=NeuralSettings)

    def run(self, console: Console) -> None:
        """Run the studies."""
        from action_balance.studies.neural.reproduce import reproduce_neural

        reproduce_neural(self.settings, self.out, self.overwrite, console)


@dataclass(frozen=True)
class Reproduce:
    """Reproduce the paper's experiments."""

    experiment: (
        Annotated[Grid, tyro.conf.subcommand("grid")]
        | Annotated[Neural, tyro.conf.subcommand("neural")]
        | Annotated[AtariStudy, tyro.conf.subcommand("atari")]
        | Annotated[Entropy, tyro.conf.subcommand("entropy")]
    )

    def run(self, console: Console) -> None:
        """Run the chosen experiment."""
        self.experiment.run(console)


@dataclass(frozen=True)
class Explore:
    """Explore your own map: coverage and, if it has goals, steps to reach one."""

    map: tyro.conf.Positional[Path]
    """Text file that draws the world: # wall, . free, S start, G goal."""
    out: Path | None = None
    """Folder for tables, heat maps and figures; without it, only the screen."""
    overwrite: bool = False
    """Replace a result that is already in that folder."""
    settings: RunSettings = field(default_factory=RunSettings)

    def run(self, console: Console) -> None:
        """Explore the map."""
        from action_balance.studies.explore.run import explore_map

        explore_map(self.map, self.settings, self.out, self.overwrite, console)


@dataclass(frozen=True)
class Train:
    """Train the neural agent; the run can be interrupted and resumed at any time."""

    env: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")]
    """open, goal, corridor, deep-sea, atari:GAME (atari:pitfall), or gym:ID (gym:CartPole-v1)."""
    preset: str | None = None
    """Begin with these settings: study, atari-paper or atari-rnd; flags change them."""
    config: Path | None = None
    """Begin with the settings of an earlier run, environment included: its config.json or its folder."""
    out: Path | None = None
    """Folder of the run; usual: runs/ENV-METHOD-SEED."""
    overwrite: bool = False
    """Replace a run that is already in that folder."""
    seed: int = 0
    """Seed of the first agent; the others follow."""
    seeds: int = 1
    """Agents that are trained together, each as it would be alone."""
    checkpoint_every: int | None = None
    """Updates between two checkpoints; usual: 50, or what takes five minutes in Atari."""
    size: int | None = None
    """Cells along a side, of a room in the corridor, or N of the deep sea."""
    episode_steps: int = 200
    """Time limit of the grid worlds."""
    view: Literal["coordinates", "one-hot"] = "one-hot"
    """What is seen of a cell of a grid world."""
    gym: GymFlags = field(default_factory=GymFlags)
    agent: Config = field(default_factory=Config)

    def run(self, console: Console) -> None:
        """Train."""
        from action_balance.cli.train_screen import train

        given = {"size": self.size, "episode_steps": self.episode_steps, "view": self.view, **self.gym.settings()}
        usual = {"size": None, "episode_steps": 200, "view": "one-hot", **GymFlags().settings()}
        environment = env_config(self.env, **{name: one for name, one in given.items() if one != usual[name]})
        config = TrainConfig(environment, self.agent, self.seed, self.seeds, self.checkpoint_every).with_defaults()
        out = self.out or Path("runs") / f"{environment.slug}-{self.agent.method}-{self.seed}"
        train(config, out, self.overwrite, console)


@dataclass(frozen=True)
class Resume:
    """Go on with a run that was interrupted."""

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """Its folder."""

    def run(self, console: Console) -> None:
        """Resume."""
        from action_balance.cli.train_screen import resume

        resume(self.run_folder, console)


@dataclass(frozen=True)
class Evaluate:
    """Play full episodes with the agents of a run, without learning."""

    run_folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """Its folder; what was found is written to its subfolder evaluation."""
    episodes: int = 20
    """Episodes of each agent for each way of acting."""
    checkpoint: str = "latest"
    """latest, best (the highest return in training), or the number of an update."""
    seed: int = 0
    """Of what is random in the episodes."""

    def run(self, console: Console) -> None:
        """Evaluate."""
        from action_balance.studies.evaluation.run import evaluate

        evaluate(self.run_folder, self.episodes, self.checkpoint, self.seed, console)


@dataclass(frozen=True)
class Compare:
    """Compare training runs: learning curves over seeds, and where they end."""

    runs: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN...")]
    """Their folders; runs that differ only in their seeds are one curve."""
    metric: str = "episode_return"
    """What is compared: a number of each update; more of it is better."""
    baseline: str | None = None
    """The curve that others are measured against, e.g. rnd; not needed if there are two."""
    out: Path = Path("results/compare")
    """Folder for the figure and the tables; a comparison that is there is replaced."""

    def run(self, console: Console) -> None:
        """Compare."""
        from action_balance.studies.compare.run import compare_runs

        compare_runs(self.runs, self.metric, self.baseline, self.out, console)


@dataclass(frozen=True)
class Doctor:
    """Show versions, devices and extras, and test whether everything works."""

    def run(self, console: Console) -> None:
        """Examine."""
        from action_balance.cli.doctor import examine

        examine(console)


def _beginning(arguments: Sequence[str]) -> Train | None:
    """The settings that ``train --preset`` or ``train --config`` begin with, before other flags change them."""
    if not arguments or arguments[0] != "train":
        return None
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    for name in ("--preset", "--config"):
        early.add_argument(name, nargs="?")
    named = early.parse_known_args(arguments[1:])[0]
    if named.preset and named.config:
        raise UserError("--preset and --config both say what to begin with: choose one")
    if named.preset:
        return Train(tyro.MISSING, agent=PRESETS[check_name("preset", named.preset, PRESETS)])
    if not named.config:
        return None
    earlier = _earlier(Path(named.config))
    return Train(
        earlier.env.name,
        seed=earlier.seed,
        seeds=earlier.seeds,
        checkpoint_every=earlier.checkpoint_every,
        **{name: one for name, one in asdict(earlier.env).items() if name in ("size", "episode_steps", "view")},
        gym=GymFlags.of(earlier.env),
        agent=earlier.agent,
    )


def _earlier(path: Path) -> TrainConfig:
    """The config of an earlier run, of its folder or its config.json."""
    if path.is_file() and path.name != "config.json":
        try:
            json.loads(path.read_bytes())
        except OSError as error:
            raise UserError(f"cannot read {path}: {reason(error)}") from None
        except (ValueError, RecursionError):
            raise UserError(f"{path} is not the config.json of a run: give that file, or the run's folder") from None
    return TrainConfig.from_dict(read_config(path))


Command = Reproduce | Explore | Train | Resume | Evaluate | Compare | View | Doctor


def _commands(train: Train | None) -> Any:
    """The commands as the parser wants them."""
    kinds = []
    for kind in get_args(Command):
        name = kind.__name__.lower()
        begins = tyro.conf.subcommand(name, default=train) if kind is Train and train else tyro.conf.subcommand(name)
        kinds.append(Annotated[kind, begins])
    return functools.reduce(operator.or_, kinds)


_registry = tyro.constructors.ConstructorRegistry()


@_registry.primitive_rule
def _cell(info: tyro.constructors.PrimitiveTypeInfo) -> tyro.constructors.PrimitiveConstructorSpec[Any] | None:
    """Cells are written x,y."""
    if get_args(info.type) != get_args(Cell):
        return None
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="X,Y",
        instance_from_str=lambda words: parse_goal(words[0]),
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda cell: [",".join(map(str, cell))],
    )


def parse(arguments: Sequence[str]) -> Command:
    """The command that these words give. A mistake in them is a `UserError` of one line."""
    told = io.StringIO()
    page: Any = Page(sys.stdout) if {"-h", "--help"} & {*arguments} else sys.stdout
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(page):
            command: Command = tyro.cli(
                _commands(_beginning(arguments)),
                prog=PROGRAM,
                description=ABOUT,
                args=list(arguments),
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes, tyro.conf.FlagCreatePairsOff),
                registry=_registry,
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        raise UserError(one_line(told.getvalue())) from None
    except BrokenPipeError:  # nobody reads the completion script on
        write_nowhere()
        sys.exit()
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {reason(error)}") from None
    return command


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. Exit code 2 with one line for what the user can mend, 130 when interrupted."""
    console = Screen()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    use_all_cores()
    try:
        command = parse(sys.argv[1:] if arguments is None else arguments)
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, interrupt)  # in place of that in `__main__`
        command.run(console)
    except (UserError, EmulatorsLost) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, JaxRuntimeError) as error:
        if isinstance(error, JaxRuntimeError) and not str(error).startswith("RESOURCE_EXHAUSTED"):
            raise
        hint = "ask for a smaller world, fewer steps or fewer agents at once"
        print(f"{PROGRAM}: not enough memory for these settings: {hint}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        print(f"{PROGRAM}: interrupted; {str(stop) or 'nothing was finished'}", file=sys.stderr)
        sys.exit(130)
