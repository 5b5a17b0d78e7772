"""Try to break it: ``python benchmarks/chaos.py [--quick] [--seed N] [--minutes M] [--only KIND] [--case N]``.

Kinds of cases:

- *kills*: a training is killed at a random or aimed moment, resumed, and compared with an undisturbed one.
- *signals*: Ctrl-C once or twice, or SIGTERM; then the same.
- *command-lines*: valid, nearly valid and wild ones, with the flags of all commands, and wild maps.
- *configs*: a mutated or hostile config or manifest; nothing that it names may be imported or executed.
- *damage*: damaged or replaced files of runs and results; nothing may be deleted.
- *folders*: links and lists of files that lead out of a folder, a hostile repository.
- *disk*: a file system that fills up (needs root); the run is then resumed on a larger one.
- *pairs*: two processes on one folder.

Every command must end within two minutes with exit code 0, 2 or 130, without a traceback, in at most 4 GB of memory.
One that would train for longer is interrupted as by Ctrl-C, which is part of the test. Commands are forks of processes
that have imported everything. The exit code is 1 if a case failed, or if one of the kinds was not tried.
"""

import argparse
import contextlib
import hashlib
import importlib
import io
import json
import multiprocessing
import os
import pkgutil
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import hostile
import numpy as np
from rich.console import Console

from action_balance.machine import cores

#: Seconds after which a command is interrupted, and after which it hangs; most memory of a command, in bytes.
PATIENCE, HANG, MAX_MEMORY = 8.0, 120.0, 4 * 10**9
TINY = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--method", "action-balance-rnd", "--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4"),
)
TINY_GRID = ("--runs", "2", "--episodes", "2", "--episode-steps", "8", "--max-steps", "100")
GRID = ("reproduce", "grid", *TINY_GRID, "--size", "4", "--goals", "3,3", "--studies", "coverage", "goals")
MAP = "########\n#S.....#\n#.##.#.#\n#....#G#\n########\n"
#: Trainings: command, updates, seeds, and whether a resumed run is equal to an undisturbed one, byte for byte.
SEA = ("train", "deep-sea", "--size", "4", *TINY, "--seeds", "2")
TRAININGS: dict[str, tuple[tuple[str, ...], int, int, bool]] = {
    "sea": ((*SEA, "--steps", "288", "--checkpoint-every", "2"), 8, 2, True),
    "long-sea": ((*SEA, "--steps", "3872", "--checkpoint-every", "5"), 120, 2, True),
    "long-pole": (("train", "gym:CartPole-v1", *TINY, "--steps", "3232", "--checkpoint-every", "5"), 100, 1, False),
}
#: The commands that read a run.
READERS: dict[str, tuple[str, ...]] = {
    "resume": ("resume", "run"),
    "evaluate": ("evaluate", "run", "--episodes", "1"),
    "train": ("train", "--config", "run", "--out", "new"),
    "view": ("view", "run", "--save", "page.html"),
    "compare": ("compare", "run", "intact", "--out", "compared"),
}
#: Content of a file that no command may read from outside a folder, and a module that shows that it was imported.
SECRET = "secret-of-another-folder"
CANARY = 'open("canary-imported", "w").close()\ndef go(*_, **__):\n    open("canary-called", "w").close()\nThing = go\n'
CANARIES = ("canary_module", "this", "antigravity", "idlelib")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass
class Ended:
    """How a command ended."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str
    peak: int
    hung: bool
    events: list[tuple[str, str]]  # imports, and programs that were started


@dataclass
class Command:
    """A command in a fork of this process, with the address space that it may take beyond what is used now."""

    words: tuple[str, ...]
    cwd: Path
    room: int = 0
    files: dict[str, Path] = field(default_factory=dict)
    status: tuple[int, Any] | None = None

    def __post_init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="output-", dir=os.environ["CHAOS_SCRATCH"]))
        self.files = {name: folder / name for name in ("out", "err", "events")}
        sys.stdout.flush()
        self.began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            self._become()

    def _become(self) -> NoReturn:
        code = 1
        try:
            os.setsid()
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            out, err, events = (os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) for path in self.files.values())
            for target, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, err)):
                os.dup2(source, target)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", errors="backslashreplace") for number in (1, 2))
            os.chdir(self.cwd)
            sys.path[0], sys.argv = str(self.cwd), ["action-balance", *self.words]
            if self.room:
                used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
                resource.setrlimit(resource.RLIMIT_AS, (used + self.room, resource.RLIM_INFINITY))

            def record(event: str, about: tuple[Any, ...]) -> None:
                if event in ("import", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen"):
                    what = about[1] if event == "subprocess.Popen" else about[0]
                    os.write(events, (json.dumps([event, str(what)]) + "\n").encode())

            sys.addaudithook(record)
            importlib.import_module("action_balance.__main__").main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except BaseException:
            traceback.print_exc()
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)

    @property
    def alive(self) -> bool:
        if self.status is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            self.status = (status, usage) if pid else None
        return self.status is None

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def wait(self, interrupt_after: float = HANG) -> Ended:
        """Wait for the end; after a time, interrupt it, and in the end kill it."""
        interrupted = hung = False
        while self.alive:
            passed = time.monotonic() - self.began
            if passed > HANG:
                hung = True
                self.send(signal.SIGKILL)
            elif passed > interrupt_after and not interrupted:
                interrupted = True
                self.send(signal.SIGINT)
            time.sleep(0.02)
        self.send(signal.SIGKILL)  # what it may have left behind
        assert self.status is not None
        out, err, events = (path.read_bytes()[: 10**7].decode(errors="replace") for path in self.files.values())
        shutil.rmtree(self.files["out"].parent, ignore_errors=True)
        code = os.waitstatus_to_exitcode(self.status[0])
        code = 130 if interrupted and code == -signal.SIGINT else code
        known = [(event, name) for event, name in map(json.loads, events.splitlines())]
        return Ended(self.words, code, out[:200_000], err[:200_000], self.status[1].ru_maxrss * 1024, hung, known)


class Case:
    """One attempt, with random numbers and a folder of its own, and what is wrong with what happened."""

    def __init__(self, scratch: Path, seed: int, kind: str, number: int) -> None:
        self.name, self.kind, self.scratch = f"{kind}-{number}", kind, scratch
        self.again = f"python benchmarks/chaos.py --seed {seed} --only {kind} --case {number}"
        self.rng, self.folder = Random(f"{seed}/{kind}/{number}"), scratch / "cases" / self.name
        self.problems: list[str] = []
        self.notes: Counter[str] = Counter()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def fixture(self, name: str) -> Path:
        return self.scratch / "fixtures" / name

    def copy(self, name: str, to: str) -> Path:
        return Path(shutil.copytree(self.fixture(name), self.folder / to, symlinks=True))

    def plant(self) -> Path:
        """A module that must not be imported, and a folder with a secret beside the case's own."""
        (self.folder / "canary_module.py").write_text(CANARY)
        outside = self.folder / "outside"
        (outside / "folder").mkdir(parents=True)
        for file in (outside / "secret", outside / "folder" / "file"):
            file.write_text(SECRET)
        return outside

    def run(self, *words: str, about: str = "", room: int = 0) -> Ended:
        """Run a command, which is interrupted if it takes long."""
        return self.judge(Command(words, self.folder, room).wait(PATIENCE), (0, 2, 130), about)

    def finish(self, *words: str, codes: Collection[int] = (0,), about: str = "") -> Ended:
        """Run a command that must end by itself."""
        return self.judge(Command(words, self.folder).wait(), codes, about)

    def judge(self, ended: Ended, codes: Collection[int], about: str = "") -> Ended:
        """Add what is wrong with how a command ended."""
        self.notes[{0: "ran", 2: "refused", 130: "interrupted"}.get(ended.code, "other")] += 1
        errors = [line for line in ended.err.splitlines() if line.startswith("action-balance: ")]
        last = (ended.err.strip().splitlines() or [""])[-1][:300]
        found = {
            f"did not end within {HANG:.0f} s": ended.hung,
            f"used {ended.peak / 1e9:.1f} GB of memory": ended.peak > MAX_MEMORY,
            f"printed a traceback: {last}": "Traceback (most recent call last)" in ended.err + ended.out,
            f"ended with exit code {ended.code}: {last}": ended.code not in codes,
            f"exit code 2 without one line that says why: {ended.err.strip()[-300:]!r}": ended.code == 2
            and (len(errors) != 1 or not ended.err.strip().endswith(errors[0].strip())),
            "printed control characters": bool(CONTROL.search(ended.out) or CONTROL.search(ended.err)),
            "imported what only a hostile file names": any(
                event == "import" and name.partition(".")[0] in CANARIES for event, name in ended.events
            ),
            "executed what only a hostile file names": any(
                event != "import" and "canary" in name for event, name in ended.events
            ),
        }
        for problem in (one for one, is_true in found.items() if is_true):
            self.complain(problem, ended, about)
        for canary in self.folder.rglob("canary-*"):
            self.complain(f"executed code of a file: {canary.name}", ended, about)
            canary.unlink()
        page = self.folder / "page.html"
        if page.is_file() and not page.is_symlink() and SECRET in page.read_text(errors="replace"):
            self.complain("a page contains a file from outside of its folder", ended, about)
        return ended

    def complain(self, problem: str, ended: Ended | None = None, about: str = "") -> None:
        command = f" [{' '.join(ended.words)[:300]!r}]" if ended else ""
        self.problems.append(f"{problem}{f' ({about[:300]})' if about else ''}{command}")


# --- Files of a folder, and trainings that are compared ----------------------


def snapshot(folder: Path) -> dict[str, str]:
    """All files and links below a folder by their content."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in (*folders, *files)):
            if path.is_symlink():
                found[str(path.relative_to(folder))] = f"link {os.readlink(path)}"
            elif path.is_file():
                with path.open("rb") as file:
                    found[str(path.relative_to(folder))] = hashlib.sha256(file.read(2**24)).hexdigest()
    return found


def lost(before: dict[str, str], after: dict[str, str], may_replace: Callable[[str], bool]) -> list[str]:
    """Files that are neither where they were nor anywhere else with the same content."""
    contents = set(after.values())
    return [path for path, content in before.items() if content not in contents and not may_replace(path)]


def updates_of(file: Path) -> list[int]:
    """The updates of the intact rows of a file."""
    found = []
    with contextlib.suppress(OSError):
        for line in file.read_bytes().splitlines():
            with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError):
                found.append(int(json.loads(line)["update"]))
    return found


def newest(folder: Path) -> int:
    """The update of the newest checkpoint of a run; 0 if there is none."""
    return max((int(one.name) for one in (folder / "checkpoints").glob("*") if one.name.isdigit()), default=0)


def arrays(file: Path) -> dict[str, tuple[str, bytes]]:
    with np.load(file) as found:
        return {name: (str(found[name].dtype), found[name].tobytes()) for name in found.files}


def begin(name: str, folder: Path) -> tuple[str, ...]:
    """The command that begins a run, or resumes one that has begun."""
    has_begun = (folder / "config.json").exists()
    return ("resume", str(folder)) if has_begun else (*TRAININGS[name][0], "--out", str(folder))


def compare(case: Case, name: str, folder: Path) -> None:
    """Compare a finished run with an undisturbed one; one on the host has begun new episodes."""
    _, updates, seeds, exact = TRAININGS[name]
    reference, last = case.fixture(name), f"checkpoints/{updates:08d}/arrays.npz"
    if updates_of(folder / "metrics.jsonl") != [one for one in range(1, updates + 1) for _ in range(seeds)]:
        case.complain("metrics.jsonl does not have every update once, in order")
    if updates_of(folder / "timing.jsonl") != list(range(1, updates + 1)):
        case.complain("timing.jsonl does not have every update once, in order")
    if exact and (folder / "metrics.jsonl").read_bytes() != (reference / "metrics.jsonl").read_bytes():
        case.complain("metrics.jsonl differs from that of an undisturbed run")
    if not (folder / last).exists():
        case.complain("the last checkpoint is missing")
    elif exact and arrays(folder / last) != arrays(reference / last):
        case.complain("the last checkpoint differs from that of an undisturbed run")


def await_moment(rng: Random, folder: Path, command: Command) -> str:
    """Wait for a moment of a training, such as the writing of a checkpoint; its name."""

    def prepares(where: Path) -> bool:
        with contextlib.suppress(OSError):
            return any(name.startswith(".") and name != ".lock" for name in os.listdir(where))
        return False

    def rows() -> int:
        return len(updates_of(folder / "metrics.jsonl"))

    number, until = rng.randint(1, 150), time.monotonic() + rng.uniform(0, 6)
    moments: dict[str, Callable[[], bool]] = {
        "any time": lambda: time.monotonic() > until,
        "it has begun": (folder / "config.json").exists,
        "after a row": lambda: rows() >= number,
        "a checkpoint is written": lambda: rows() >= number and prepares(folder / "checkpoints"),
        "a file is replaced": partial(prepares, folder),
    }
    moment = rng.choice(list(moments))
    while command.alive and not moments[moment]() and time.monotonic() - command.began < HANG / 2:
        time.sleep(0.0005)
    return moment


# --- Kinds of cases ----------------------------------------------------------


def kills(case: Case) -> None:
    name, folder = case.rng.choice(("long-sea", "long-sea", "long-pole")), case.folder / "run"
    for _ in range(case.rng.choice((1, 1, 2, 3))):
        command = Command(begin(name, folder), case.folder)
        moment, before = await_moment(case.rng, folder, command), newest(folder)
        command.send(signal.SIGKILL)
        if command.wait().code == -signal.SIGKILL:
            case.notes[f"killed: {moment}"] += 1
        if newest(folder) < before:
            case.complain(f"the checkpoint of update {before} is gone after a kill")
    case.finish(*begin(name, folder))
    compare(case, name, folder)


def signals(case: Case) -> None:
    name, folder = case.rng.choice(("long-sea", "long-pole")), case.folder / "run"
    sent = case.rng.choice(("Ctrl-C once", "Ctrl-C twice", "SIGTERM"))
    command = Command(begin(name, folder), case.folder)
    while command.alive and not (folder / "config.json").exists():  # before that, nobody answers
        time.sleep(0.01)
    about = f"{sent}, {await_moment(case.rng, folder, command)}"
    command.send(signal.SIGTERM if sent == "SIGTERM" else signal.SIGINT)
    if sent == "Ctrl-C twice":
        time.sleep(case.rng.uniform(0.2, 1.5))
        command.send(signal.SIGINT)
    ended = case.judge(command.wait(), (0, 130, 143), about)
    if ended.code and "action-balance: " not in ended.err:
        case.complain(f"exit code {ended.code} without a line that says so: {ended.err[-200:]!r}", ended, about)
    case.finish(*begin(name, folder), about=about)
    compare(case, name, folder)


def command_lines(case: Case) -> None:
    rng = case.rng
    case.plant()
    case.copy(rng.choice(("sea", "sea-half")), "run")
    case.copy("explored", "result")
    content = rng.choice((MAP.encode(), hostile.map_text(rng)))
    (case.folder / "map.txt").write_bytes(content)
    (case.folder / "dir").mkdir()
    os.mkfifo(case.folder / "fifo")
    for name, target in (("zero", "/dev/zero"), ("loop", "loop"), ("dangling", "nowhere")):
        (case.folder / name).symlink_to(target)
    hostile.sparse(case.folder / "sparse")
    hostile.bomb(case.folder / "bomb.gz")
    case.run(*command_line(rng), room=MAX_MEMORY)


#: Small valid commands, and the flags of each command; those of other programs are not ours to judge.
VALID = (
    *(
        *READERS.values(),
        ("compare", "run", "--out", "out"),
        ("explore", "map.txt", *TINY_GRID),
        ("list",),
        ("doctor",),
    ),
    *(
        (*SEA, "--steps", "64", "--out", "out"),
        ("train", "open", "--size", "4", *TINY, "--steps", "64", "--out", "out"),
    ),
    *(("train", "gym:CartPole-v1", *TINY, "--steps", "64", "--out", "out"), (*GRID, "--out", "out")),
    *(("reproduce", "atari", "--report-only", "--out", "out"), ("view", "result", "--save", "page.html"), ("--help",)),
)
FLAGS: dict[str, list[str]] = {}


def flags_of(command: str) -> list[str]:
    """The flags of a command, from its help."""
    if command not in FLAGS:
        text = io.StringIO()
        main = importlib.import_module("action_balance.cli.main").main
        more = [command, "deep-sea", "--help-all"] if command == "train" else [command, "--help"]
        argv, sys.argv = sys.argv, ["action-balance", *more]
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            main()
        sys.argv = argv
        FLAGS[command] = sorted({*re.findall(r"(?<!\S)--[a-z][\w-]+", text.getvalue())} - {"--track", "--help"})
    return FLAGS[command]


def command_line(rng: Random) -> list[str]:
    """A command line, of which one in three is valid but for a flag with a small value."""
    if rng.random() < 0.1:
        return [hostile.word(rng) for _ in range(rng.randint(0, 6))]
    words = list(rng.choice(VALID))
    wild, flags = rng.random() < 0.67, flags_of(words[0])
    for _ in range(rng.choice((0, 1, 1, 2)) if flags else 0):
        value = hostile.word(rng) if wild else rng.choice(("0", "1", "3", "64", "0.5", "rnd", "true", "none"))
        words += [f"{rng.choice(flags)}={value}"] if rng.random() < 0.3 else [rng.choice(flags), value]
    place = rng.randrange(len(words))
    changes: tuple[list[str], ...] = (
        [words[place]],
        [hostile.word(rng)],
        [],
        [words[place], hostile.word(rng)],
        [words[place] + "x"],
    )
    return [*words[:place], *(rng.choice(changes) if wild else changes[0]), *words[place + 1 :]]


def configs(case: Case) -> None:
    rng = case.rng
    case.plant()
    folder = case.copy(rng.choice(("sea", "sea-half")), "run")
    case.copy("sea", "intact")
    config, manifest = (json.loads((folder / name).read_bytes()) for name in ("config.json", "manifest.json"))
    kind, name = rng.random(), rng.choice(hostile.HOSTILE_NAMES)
    if kind < 0.4:  # something that would be imported or executed
        settings, about = config["config"], f"hostile {name}"
        kwargs = json.dumps({"command": "touch canary-x", "entry_point": name})
        gym = {
            "name": "gym:CartPole-v1",
            "env_kwargs": kwargs,
            "wrapper": [name.removeprefix("gym:")],
            "vectorize": "sync",
        }
        bonus = {rng.choice(("intrinsic", "action_bonus")): name.removeprefix("gym:")}
        rng.choice((partial(settings.update, env={"name": name}), partial(settings.update, env=gym)))()
        settings["agent"] |= rng.choice((bonus, {"bonus_settings": {name: {"command": "touch canary-x"}}}, {}))
        (folder / "config.json").write_text(json.dumps(config))
    else:
        file, data = ("config.json", config) if kind < 0.8 else ("manifest.json", manifest)
        content, about = hostile.json_bytes(rng, data)
        (folder / file).write_bytes(content)
    if kind < 0.8 and rng.random() < 0.7:  # the manifest fits, as somebody who means harm would have it
        manifest.pop("config_sha256", None)
        (folder / "manifest.json").write_text(json.dumps(manifest | {"status": "interrupted"}))
    before = snapshot(case.folder)
    ended = case.run(*rng.choice(list(READERS.values())), about=about, room=MAX_MEMORY)
    if ended.code == 2:
        for path in lost(before, snapshot(case.folder), lambda _: False):
            case.complain(f"{path} is gone although the command was refused", ended, about)


def damage(case: Case) -> None:
    rng = case.rng
    outside = case.plant()
    if rng.random() < 0.65:
        folder = case.copy(rng.choice(("sea-half", "sea-half", "sea")), "run")
        case.copy("sea", "intact")
        words = READERS[rng.choice(("resume", "resume", *READERS))]
    else:
        name = rng.choice(("explored", "grid"))
        folder = case.copy(name, "result")
        (case.folder / "map.txt").write_text(MAP)
        again = (
            ("explore", "map.txt", *TINY_GRID, "--out", "result") if name == "explored" else (*GRID, "--out", "result")
        )
        words = rng.choice((("view", "result", "--save", "page.html"), again, (*again, "--overwrite")))
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    popular = [path for path in files if path.suffix in (".jsonl", ".npz", ".json")]
    target = rng.choice(popular if rng.random() < 0.7 else files)
    if rng.random() < 0.75:
        content, about = hostile.damaged_bytes(rng, target.read_bytes())
        target.write_bytes(content)
    else:
        about = rng.choice(list(hostile.REPLACEMENTS))
        target.unlink()
        hostile.REPLACEMENTS[about](target)
    about = f"{target.relative_to(folder)}: {about}"
    rows = {
        name: set(updates_of(folder / name)) for name in ("timing.jsonl", "metrics.jsonl") if (folder / name).is_file()
    }
    before, secret = snapshot(case.folder), snapshot(outside)

    def may_replace(path: str) -> bool:
        """Whether the command is documented to replace a file; what became of rows is checked below."""
        grows = ("metrics.jsonl", "timing.jsonl", "visits.jsonl", "manifest.json", ".lock")
        return path.startswith(
            {"evaluate": "run/evaluation/", "resume": "run/tensorboard/"}.get(words[0], "result/")
        ) or (words[0] == "resume" and os.path.basename(path) in grows)

    ended = case.run(*words, about=about, room=MAX_MEMORY)
    for path in lost(before, snapshot(case.folder), may_replace):
        case.complain(f"{path} is gone", ended, about)
    if snapshot(outside) != secret:
        case.complain("changed a file outside of its folder", ended, about)
    for name, known in rows.items() if words[0] == "resume" else ():
        kept = {update for path in folder.rglob(f"{name}*") if path.is_file() for update in updates_of(path)}
        if known - kept:
            case.complain(f"rows of {name} are gone: updates {sorted(known - kept)[:5]}", ended, about)


#: Names under which a file might be prepared, folders of a run that might lead out, and names that a result may claim.
PREPARED = (
    *(".manifest.json.part", ".metrics.jsonl.part", ".summary.json.part", ".page.html.part", ".evaluation.json.part"),
    *(".comparison.csv.part", "manifest.json", "timing.jsonl", "metrics.jsonl", "visits.jsonl", ".lock", "page.html"),
)
SUBFOLDERS = ("checkpoints", "evaluation", "tensorboard", "tensorboard/seed-0", "checkpoints/00000006")
CLAIMED = ("..", "a/../../outside/secret", "../outside/secret", "../outside", "", ".", "x\0y")


def folders(case: Case) -> None:
    rng, run = case.rng, case.copy(case.rng.choice(("sea", "sea-half")), "run")
    outside, words = case.plant(), rng.choice(list(READERS.values()))
    case.copy("sea", "intact")
    kind = rng.choice(("links", "subfolder", "files", "repository"))
    if kind == "links":
        for folder in (run, run / "evaluation", run / "checkpoints", case.folder, case.folder / "compared"):
            folder.mkdir(exist_ok=True)
            for name in rng.sample(PREPARED, 6):
                (folder / name).unlink(missing_ok=True)
                (folder / name).symlink_to(outside / rng.choice(("secret", "new")))
    elif kind == "subfolder":
        name, target = rng.choice(SUBFOLDERS), outside / rng.choice(("moved", "folder"))
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        if (run / name).exists():
            shutil.move(run / name, outside / "moved")
        (run / name).symlink_to(target)
    elif kind == "files":
        file = case.copy("explored", "result") / "summary.json"
        data = json.loads(file.read_bytes())
        file.write_text(json.dumps(data | {"files": [*data["files"], *CLAIMED, str(outside / "secret")]}))
        (case.folder / "map.txt").write_text(MAP)
        words = ("explore", "map.txt", *TINY_GRID, "--out", "result", *rng.choice(((), ("--overwrite",))))
    elif shutil.which("git"):
        script, git = case.folder / "script.sh", ("git", "-C", str(case.folder))
        script.write_text(f"#!/bin/sh\ntouch {case.folder}/canary-git\n")
        script.chmod(0o755)
        subprocess.run([*git, "init", "--quiet"], check=False)
        for name in ("core.fsmonitor", "core.pager", "diff.external", "filter.x.clean", "filter.x.smudge"):
            subprocess.run([*git, "config", name, str(script)], check=False)
        (case.folder / ".gitattributes").write_text("* filter=x\n")
        words = READERS[rng.choice(("resume", "train"))]
    before = snapshot(outside)
    ended = case.run(*words, about=kind)
    if snapshot(outside) != before:
        case.complain("changed a file outside of its folder", ended, kind)


def disk(case: Case) -> None:
    kilobytes, small = (
        case.rng.choice((case.rng.randrange(4, 200, 4), case.rng.randrange(4, 1200, 4))),
        case.folder / "disk",
    )
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(small)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        case.notes["skipped: a small file system can be mounted by root only"] += 1
        return
    try:
        ended = case.finish(*begin("long-sea", small / "run"), codes=(0, 2), about=f"a disk of {kilobytes} kB")
        case.notes["full"] += ended.code == 2
        if (small / "run").exists():
            shutil.copytree(small / "run", case.folder / "run")
    finally:
        subprocess.run(["umount", "--lazy", str(small)], capture_output=True, check=False)
    case.finish(*begin("long-sea", case.folder / "run"), about=f"on a larger disk than {kilobytes} kB")
    compare(case, "long-sea", case.folder / "run")


def pairs(case: Case) -> None:
    train, explore = begin("sea", case.folder / "run"), ("explore", "map.txt", *TINY_GRID, "--out", "out")
    (case.folder / "map.txt").write_text(MAP)
    first, second, fixture = case.rng.choice(
        (
            *((train, train, ""), (train, (*train, "--overwrite"), ""), (explore, explore, "")),
            *((READERS["resume"], READERS["resume"], "sea-half"), (READERS["resume"], READERS["evaluate"], "sea-half")),
            *((READERS["evaluate"], READERS["evaluate"], "sea"), (READERS["view"], READERS["view"], "sea")),
        )
    )
    if fixture:
        case.copy(fixture, "run")
    one = Command(first, case.folder)
    time.sleep(case.rng.choice((0.0, case.rng.uniform(0.0, 2.0))))
    two = Command(second, case.folder)
    about = f"{first[0]} and {second[0]}"
    if all(case.judge(command.wait(), (0, 2), about).code == 2 for command in (one, two)):
        case.complain("both were refused", about=about)
    if "train" in about or "resume" in about:
        compare(case, "sea", case.folder / "run")
    for file in case.folder.rglob("*"):
        if file.name.endswith(".part"):
            case.complain(f"{file.relative_to(case.folder)} was left behind", about=about)


#: Each kind with its number of cases, in full and quick.
KINDS: dict[str, tuple[Callable[[Case], None], int, int]] = {
    **{"kills": (kills, 200, 5), "signals": (signals, 60, 4), "command-lines": (command_lines, 1000, 26)},
    **{"configs": (configs, 1000, 14), "damage": (damage, 1000, 14), "folders": (folders, 100, 6)},
    **{"disk": (disk, 30, 1), "pairs": (pairs, 40, 3)},
}


# --- The campaign ------------------------------------------------------------


def load_everything() -> None:
    """Import what commands use; JAX itself does not start, since its threads would not survive a fork."""
    import action_balance

    for module in pkgutil.walk_packages(action_balance.__path__, "action_balance."):
        starts_jax = module.name.startswith(("action_balance.envs.navix", "action_balance.envs.xminigrid"))
        if not module.name.endswith("__main__") and not starts_jax:
            importlib.import_module(module.name)
    for name in ("gymnasium", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"):
        importlib.import_module(name)


def make_fixtures(scratch: Path) -> None:
    """The runs and results that cases begin with, and the compiled programs of all commands."""
    folder = scratch / "fixtures"
    folder.mkdir()
    (scratch / "map.txt").write_text(MAP)
    commands = [(*words, "--out", str(folder / name)) for name, (words, *_) in TRAININGS.items()]
    commands += [("evaluate", str(folder / "sea"), "--episodes", "1"), (*GRID, "--out", str(folder / "grid"))]
    commands += [("explore", "map.txt", *TINY_GRID, "--out", str(folder / "explored"))]
    for words in commands:
        ended = Command(words, scratch).wait(300)
        if ended.code:
            raise SystemExit(f"{' '.join(words)}: exit code {ended.code}: {ended.err[-500:]}")
    half = Path(shutil.copytree(folder / "sea", folder / "sea-half"))  # as a kill leaves it
    shutil.rmtree(half / "checkpoints" / f"{TRAININGS['sea'][1]:08d}")
    manifest = json.loads((half / "manifest.json").read_bytes())
    (half / "manifest.json").write_text(json.dumps(manifest | {"status": "running", "end": None}))


def in_turn(counts: dict[str, int]) -> list[tuple[str, int]]:
    """All cases, so that every part of the list has all kinds in proportion: a campaign may end early."""
    places = [((number + 0.5) / count, kind, number) for kind, count in counts.items() for number in range(count)]
    return [(kind, number) for _, kind, number in sorted(places)]


def attempt(scratch: Path, seed: int, deadline: float, case: tuple[str, int]) -> Case | None:
    """Try one case; None if time is up."""
    if time.monotonic() > deadline:
        return None
    tried = Case(scratch, seed, *case)
    try:
        KINDS[tried.kind][0](tried)
    except Exception as error:
        tried.complain(f"the campaign itself failed: {type(error).__name__}: {error} {traceback.format_exc()[-600:]}")
    if not tried.problems:
        shutil.rmtree(tried.folder, ignore_errors=True)
    return tried


def outcomes(cases: list[tuple[str, int]], jobs: int, trial: Callable[[Any], Case | None]) -> Iterator[Case | None]:
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap_unordered(trial, cases)


def report(found: Iterable[Case | None], counts: dict[str, int], console: Console) -> int:
    """Print what failed, what was tried and what happened; the exit code."""
    tried, failed, notes = Counter[str](), Counter[str](), {kind: Counter[str]() for kind in counts}
    for case in found:
        if case is None:
            continue
        tried[case.kind] += 1
        failed[case.kind] += bool(case.problems)
        notes[case.kind].update(case.notes)
        for problem in case.problems:
            console.print(f"FAILED {case.name}: {problem}\n  again: {case.again}", soft_wrap=True)
        if sum(tried.values()) % 10 == 0:
            console.print(f"{sum(tried.values())} of {sum(counts.values())} cases, {sum(failed.values())} failed")
    for kind, count in counts.items():
        happened = ", ".join(f"{number} {what}" for what, number in sorted(notes[kind].items()))
        console.print(f"{kind}: {tried[kind]} of {count}, {failed[kind]} failed; {happened}", soft_wrap=True)
    untried = [kind for kind in counts if not tried[kind]]
    if untried:
        console.print(f"the time was too short to try {', '.join(untried)}")
    console.print(f"{sum(tried.values()) - sum(failed.values())} passed, {sum(failed.values())} failed")
    return int(bool(sum(failed.values()) or untried))


def main() -> None:
    """Run the campaign, and end with its exit code."""
    parser = argparse.ArgumentParser(description="Try to break it, and count what breaks.")
    parser.add_argument("--quick", action="store_true", help="few cases, in a few minutes on two cores")
    parser.add_argument("--seed", type=int, default=0, help="random seed; the same seed tries the same cases")
    parser.add_argument("--minutes", type=float, default=24 * 60.0, help="time limit, after which nothing is started")
    parser.add_argument("--only", action="append", choices=KINDS, help="only this kind; may be given several times")
    parser.add_argument("--case", type=int, help="only the case with this number, whose folder is kept")
    parser.add_argument("--jobs", type=int, default=cores(), help="cases at the same time")
    flags = parser.parse_args()
    counts = {
        kind: quick if flags.quick else full
        for kind, (_, full, quick) in KINDS.items()
        if kind in (flags.only or KINDS)
    }
    cases = in_turn(counts) if flags.case is None else [(kind, flags.case) for kind in counts]
    scratch = Path(tempfile.mkdtemp(prefix="chaos-"))
    os.environ |= {
        "CHAOS_SCRATCH": str(scratch),
        "ACTION_BALANCE_CACHE": str(scratch / "cache"),
        "CUDA_VISIBLE_DEVICES": "",
    }
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false", "COLUMNS": "100"}
    warnings.simplefilter("ignore")  # JAX and Python warn of a fork with threads, of which none is running yet
    load_everything()
    for words in VALID:
        flags_of(words[0])
    make_fixtures(scratch)
    trial = partial(attempt, scratch, flags.seed, time.monotonic() + 60 * flags.minutes)
    console = Console(highlight=False, markup=False, width=130)
    code = report(outcomes(cases, max(1, flags.jobs), trial), counts, console)
    if code:
        console.print(f"the files of failed cases are in {scratch / 'cases'}")
    else:
        shutil.rmtree(scratch, ignore_errors=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
