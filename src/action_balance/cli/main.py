"""The program: its commands, and how it ends."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from action_balance import signals
from action_balance._version import __version__
from action_balance.cli.commands import Compare, Doctor, Evaluate, Explore, List, Resume, View
from action_balance.cli.form import PROGRAM, Command
from action_balance.cli.help import COMPLETION, HELP, HELP_ALL, command_help, overview, wants_help
from action_balance.cli.parser import parse as parse_form
from action_balance.cli.reproduce import REPRODUCE
from action_balance.cli.sweep import Sweep
from action_balance.cli.train import Train
from action_balance.errors import UserError, WriteError, check_name
from action_balance.machine import failure
from action_balance.printable import printable

ABOUT = "Action balance exploration: reproduce the paper, train agents, explore your own worlds."
EXAMPLES = ("reproduce grid --runs 20", "train deep-sea --size 10 --steps 1e5")

#: The commands by name; those of a group have two words.
COMMANDS: dict[str, type[Command]] = {
    **REPRODUCE,
    "explore": Explore,
    "train": Train,
    "resume": Resume,
    "sweep": Sweep,
    "evaluate": Evaluate,
    "compare": Compare,
    "view": View,
    "list": List,
    "doctor": Doctor,
}
GROUPS = {"reproduce": "Reproduce the paper's experiments"}


@dataclass(frozen=True)
class Show(Command):
    """Print a text."""

    text: str

    def show(self) -> None:
        """Print it; a pipe that closes early is not an error."""
        try:
            print(self.text, end="", flush=True)
        except BrokenPipeError:
            from action_balance.terminal.console import discard_output

            discard_output()


def parse(arguments: Sequence[str]) -> Command:
    """The command that these words ask for; a mistake in them is a `UserError` of one line."""
    if not arguments or arguments[0] in HELP:
        return Show(overview(f"{PROGRAM} COMMAND [options]", ABOUT, _commands(), EXAMPLES))
    name, rest = arguments[0], list(arguments[1:])
    if name == "--version":
        return Show(f"{PROGRAM} {__version__}\n")
    if name.partition("=")[0] == COMPLETION:
        return Show(_completion(name.partition("=")[2] or " ".join(rest)))
    if name.startswith("-"):
        raise UserError(f"unknown option {name}: give a command first; see {PROGRAM} --help")
    check_name("command", name, _commands())
    if name in GROUPS:
        members = _commands(name)
        if wants_help(rest[:1]):
            return Show(overview(f"{PROGRAM} {name} EXPERIMENT [options]", f"{GROUPS[name]}.", members))
        if not rest or rest[0].startswith("-"):
            raise UserError(f"{name} needs an experiment: choose from {', '.join(members)}")
        name, rest = f"{name} {check_name('experiment', rest[0], members)}", rest[1:]
    form = COMMANDS[name].form(name, rest)
    if wants_help(rest):
        return Show(command_help(form, everything=HELP_ALL in rest))
    try:
        command: Command = parse_form(form, rest, partial(_owner, arguments))
    except UserError as error:
        raise form.located(error) from None
    return command


def _commands(group: str = "") -> dict[str, str]:
    """What the commands do, by name: of the program, or of one group."""
    if group:
        return {name.split()[1]: kind.summary() for name, kind in COMMANDS.items() if name.startswith(f"{group} ")}
    names = dict.fromkeys(name.split()[0] for name in COMMANDS)
    return {name: GROUPS[name] if name in GROUPS else COMMANDS[name].summary() for name in names}


def _owner(arguments: Sequence[str], option: str) -> str | None:
    """The command that has an option: of several, the one that most resembles what was typed."""
    forms = {label: form for name, kind in COMMANDS.items() for label, form in kind.variants(name).items()}
    owners = [label for label, form in forms.items() if any(one.name == option for one in form.flags)]
    return max(owners, key=lambda label: len({*label.split()} & {*arguments}), default=None)


def _completion(shell: str) -> str:
    from action_balance.cli.completion import completion

    return completion(shell, {name: [*kind.variants(name).values()] for name, kind in COMMANDS.items()}, GROUPS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command: exit code 2 and one line for what the user can fix, 130 if interrupted."""
    try:
        command = parse(sys.argv[1:] if arguments is None else arguments)
        if isinstance(command, Show):
            command.show()
        else:
            _run(command)
    except WriteError as error:
        _end(str(error.then("run the same command again")), 2)
    except UserError as error:
        _end(str(error), 2)
    except KeyboardInterrupt as stop:
        _end(f"interrupted; {str(stop) or 'nothing was completed'}", 130)
    except Exception as error:
        why = failure(error)
        if why is None:
            raise
        _end(f"{why}: use a smaller world, fewer steps or fewer agents at once", 2)


def _run(command: Command) -> None:
    from action_balance.terminal.console import OutputConsole

    if command.is_light:
        command.load()(OutputConsole())
        return
    from action_balance.config.registry import describe_error
    from action_balance.core.program_cache import use_program_cache
    from action_balance.engines.device.devices import use_all_cores
    from action_balance.plots.settings import ignore_settings_here

    ignore_settings_here()
    use_all_cores()
    use_program_cache()
    execute = command.load()
    try:
        signals.loaded()
        execute(OutputConsole())
    except SystemExit as error:  # of an environment or a bonus; our own code ends in `main` only
        raise UserError(f"the code of the environment or of a bonus exited Python: {describe_error(error)}") from None


def _end(message: str, code: int) -> NoReturn:
    print(f"{PROGRAM}: {printable(message)}", file=sys.stderr)
    sys.exit(code)
