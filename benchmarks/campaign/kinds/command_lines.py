"""Command lines: valid, nearly valid and wild ones, from the real forms of the commands.

Every command is executed as it is. Most are refused; one that trains for long is interrupted, which is also a test.
"""

import os
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_origin

from action_balance.cli.form import Flag, Form
from action_balance.cli.main import COMMANDS
from action_balance.config import fields as values
from campaign import hostile
from campaign.context import CaseContext
from campaign.fixtures import GRID, MAP, TINY, TINY_GRID, TINY_IMAGES
from campaign.processes import ROOM

#: Proportion of real commands, which have an interpreter of their own.
REAL = 0.04
ENVIRONMENTS = ("deep-sea", "open", "goal", "corridor", "gym:CartPole-v1", "gym:MountainCar-v0", "atari:pong")
STEPS = ("--steps", "64")

#: Tiny settings of each command; flags that follow override them.
SETTINGS: dict[str, tuple[str, ...]] = {
    "reproduce grid": (*TINY_GRID, *GRID),
    "reproduce neural": ("--seeds", "1", "--steps", "1024", "--studies", "deep-sea", "--methods", "ppo"),
    "reproduce bonuses": ("--seeds", "1", "--steps", "1024"),
    "reproduce exploration": ("--seeds", "1", "--steps", "1024", "--tasks", "deep-sea-10"),
    "reproduce atari": ("--report-only",),
    "reproduce entropy": ("--report-only",),
    "explore": TINY_GRID,
    "evaluate": ("--episodes", "1"),
}

#: Flags of libraries that start programs and connect to servers, which are not ours to judge.
ELSEWHERE = ("--track",)


def run(context: CaseContext) -> None:
    """Run one command line, in a folder with a run, a result and some strange files."""
    rng = context.rng
    words = generate(rng)
    context.plant()
    if any("run" in word for word in words):
        context.copy("sea" if rng.random() < 0.5 else "sea-half", "run")
    if "result" in words:
        context.copy("explored", "result")
    furnish(context.folder)
    real = rng.random() < REAL
    if real:
        words = [word.replace("\0", "") for word in words]
        context.notes["as real commands"] += 1
    context.command(*words, real=real, room=ROOM)


def furnish(folder: Path) -> None:
    """Put the files into a folder that the words of `hostile` name."""
    (folder / "map.txt").write_text(MAP)
    (folder / "dir").mkdir()
    os.mkfifo(folder / "fifo")
    for name, target in (("zero", "/dev/zero"), ("loop", "loop"), ("dangling", "nowhere")):
        (folder / name).symlink_to(target)
    (folder / "sparse").touch()
    os.truncate(folder / "sparse", 3 * 2**30)
    hostile.bomb(folder / "bomb.gz")


def generate(rng: random.Random) -> list[str]:
    """A command line.

    Args:
        rng: random numbers.

    Returns:
        Its words, without the name of the program.
    """
    kind = rng.random()
    if kind < 0.08:
        return [hostile.word(rng) for _ in range(rng.randint(0, 6))]
    if kind < 0.13:
        return rng.choice((["--help"], ["--version"], ["--print-completion", hostile.word(rng)], [], ["doctor"]))
    name = rng.choice(("train", "train", "train", *COMMANDS))
    form, words = _valid(rng, name)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        words += _option(rng, form, hostile_value=False)
    if kind < 0.4:
        return words
    for _ in range(rng.choice((1, 1, 2))):
        words = _spoilt(rng, form, words) or [hostile.word(rng)]
    return words


@cache
def _forms(name: str) -> tuple[Form, ...]:
    return tuple(COMMANDS[name].variants(name).values())


def _valid(rng: random.Random, name: str) -> tuple[Form, list[str]]:
    """A form of a command, and the words of a small valid command of it."""
    form, words = rng.choice(_forms(name)), name.split()
    if name == "train":
        env = rng.choice(ENVIRONMENTS)
        tiny = TINY_IMAGES if env.startswith("atari:") else TINY
        size = ("--size", "4") if env in ("deep-sea", "open") else ()
        return form, [*words, env, *tiny, *STEPS, *size, "--out", rng.choice(("out", "out", "out", hostile.word(rng)))]
    given = {"resume": ["run"], "evaluate": ["run"], "compare": ["run", "run"], "view": ["run"], "explore": ["map.txt"]}
    words += given.get(name, [])
    if name in ("compare", "explore") or name.startswith("reproduce"):
        words += ["--out", "out"]
    if name == "view":
        words = ["view", rng.choice(("run", "result")), *rng.choice((("--save", "page.html"), ("--live",), ()))]
    return form, [*words, *SETTINGS.get(name, ())]


def _option(rng: random.Random, form: Form, hostile_value: bool) -> list[str]:
    """A flag of a form with a value."""
    flags = [one for one in form.flags if not one.positional and one.name not in ELSEWHERE]
    if not flags:
        return []
    one = rng.choice(flags)
    if one.kind is bool and not hostile_value:
        return [one.name]
    texts = [hostile.word(rng) if hostile_value else _value(rng, one)]
    if one.many and rng.random() < 0.5:
        texts.append(_value(rng, one))
    return [f"{one.name}={texts[0]}"] if rng.random() < 0.2 else [one.name, *texts]


def _value(rng: random.Random, one: Flag) -> str:
    """A text that a flag takes, if small numbers are in its range."""
    kind = values.element(one.kind) or one.kind
    if one.names:
        return rng.choice(one.names)
    return _text(rng, rng.choice([option for option in values.options(kind) if option is not type(None)] or [str]))


def _text(rng: random.Random, kind: Any) -> str:
    if get_origin(kind) is tuple:
        return "1,2"
    numbers: dict[Any, Sequence[str]] = {
        int: ("1", "2", "3", "4", "8", "64"),
        float: ("0", "0.1", "0.5", "1", "3e-4"),
        bool: ("true", "false"),
        Path: ("out", "new/folder", "run", "x [lr=0.1]", "ü"),
    }
    return rng.choice(numbers.get(kind, ("name", "run", "rnd", "latest", "size=3")))


def _spoilt(rng: random.Random, form: Form, words: list[str]) -> list[str]:
    """The words of a command with one thing wrong."""
    place = rng.randrange(len(words))
    match rng.randrange(8):
        case 0 | 1 | 2:
            return words + _option(rng, form, hostile_value=True)
        case 3:
            return [*words[:place], hostile.word(rng), *words[place + 1 :]]
        case 4:
            return [*words[:place], *words[place + 1 :]]
        case 5:
            return [*words[:place], hostile.word(rng), *words[place:]]
        case 6:
            letters = list(words[place]) or ["x"]
            letters[rng.randrange(len(letters))] = rng.choice("abcxyz-=.[]\n")
            return [*words[:place], "".join(letters), *words[place + 1 :]]
        case _:
            return rng.sample(words, len(words))
