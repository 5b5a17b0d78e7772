"""Commands as processes: started from a warm interpreter or as real commands, watched, interrupted and killed."""

import contextlib
import itertools
import json
import os
import select
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

#: Seconds after which a command that does not end hangs.
HANG = 60.0
#: Most memory of a command, in bytes.
MAX_MEMORY = 4 * 10**9
#: Address space of commands whose settings may be of any size; a part of it is reserved and never used.
ROOM = 42 * 10**8
#: Seconds that a warm interpreter has to end.
CLOSING = 5.0
#: Seconds between two looks at a process.
TICK = 0.02
#: Bytes of output that are kept.
MAX_OUTPUT = 200_000

#: Flags of a simpler code generator, without threads for each program.
FAST_COMPILER = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"

#: What a command does with compiled programs: read those of the fixtures, or compile everything itself. A folder stands
#: for reading and writing there; it must not be read by others, who could see what is half written.
Cache = Literal["read", "compile"] | Path
READ: Cache = "read"
COMPILE: Cache = "compile"


class StoppedError(Exception):
    """The campaign is over: no further command is started, and a case that needs one is given up."""


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    words: tuple[str, ...]
    """The command line, without the name of the program."""
    code: int
    """Its exit code; the negative number of the signal that ended it."""
    out: str
    """Standard output."""
    err: str
    """Standard error."""
    seconds: float
    """How long it ran."""
    peak: int = 0
    """Its largest memory in bytes."""
    hung: bool = False
    """Whether it had to be killed because it did not end."""
    interrupted: bool = False
    """Whether it was sent SIGINT or SIGTERM."""
    imports: tuple[str, ...] = ()
    """Modules that it imported, beyond those of the warm interpreter; unknown for a real command."""
    executions: tuple[str, ...] = ()
    """Programs that it started; unknown for a real command."""

    @property
    def shown(self) -> str:
        """The command as it is typed."""
        return shlex.join(
            ["action-balance", *(word.encode("utf-8", "backslashreplace").decode() for word in self.words)]
        )


@dataclass
class Process:
    """A process that was started."""

    pid: int
    words: tuple[str, ...]
    files: dict[str, Path]
    began: float = field(default_factory=time.monotonic)
    popen: "subprocess.Popen[bytes] | None" = None
    interrupted: bool = False

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send a signal; nothing happens if it has ended."""
        self.interrupted = self.interrupted or number in (signal.SIGINT, signal.SIGTERM)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def interrupt(self) -> None:
        """Send SIGINT, unless nobody would answer it yet or any more."""
        if self.answers_signals():
            self.kill(signal.SIGINT)

    def memory(self) -> int:
        """Its largest memory so far, in bytes; 0 if it has ended."""
        with contextlib.suppress(OSError, IndexError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        return 0

    def answers_signals(self) -> bool:
        """Whether its handlers of signals are installed; that of SIGTERM is the last one."""
        with contextlib.suppress(OSError, IndexError):
            for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
                if line.startswith("SigCgt:"):
                    return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
        return False


def child_environment(scratch: Path) -> dict[str, str]:
    """The environment of all commands: the package that this process uses, on CPUs, with few threads."""
    path = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), str(Path(__file__).parents[1])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(os.path.abspath(one) for one in path),
        "JAX_PLATFORMS": "cpu",
        "JAX_NUM_CPU_DEVICES": "2",
        # Most of a command is compilation, which is faster without optimisation; all runs have the same settings.
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        "XLA_FLAGS": f"{FAST_COMPILER} {os.environ.get('XLA_FLAGS', '')}".strip(),
        "OPENBLAS_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "4",  # others would count towards a limit of memory without being used
        "MPLCONFIGDIR": str(scratch / "matplotlib"),
        "TERM": "dumb",
        "COLUMNS": "100",
    }


class Runner:
    """Runs commands, one warm interpreter per runner; for one thread."""

    #: CPU seconds of all commands that have ended.
    cpu: float = 0.0

    def __init__(self, scratch: Path, name: str, stop: threading.Event | None = None) -> None:
        """No command is running yet.

        Args:
            scratch: folder for everything that is written.
            name: which no other runner has.
            stop: set when no further command may be started.
        """
        self._stop = stop or threading.Event()
        self._running: set[int] = set()
        self.environment = child_environment(scratch)
        self.cache = scratch / "cache"
        self._files = scratch / f"output-{name}"
        self._files.mkdir(parents=True, exist_ok=True)
        self._numbers = itertools.count()
        self._server: subprocess.Popen[bytes] | None = None
        self._buffered = b""
        self._ended: dict[int, dict[str, Any]] = {}

    def start(
        self, words: Sequence[str], cwd: Path, cache: Cache = READ, real: bool = False, room: int = 0, **more: str
    ) -> Process:
        """Start a command.

        Args:
            words: its arguments.
            cwd: its working folder.
            cache: what it does with compiled programs.
            real: whether to start an interpreter of its own.
            room: bytes of address space that it may take, so that it has to refuse what needs more on a large machine;
                0 for any. Not for a real command.
            more: more variables of the environment, for a real command.

        Returns:
            The process.
        """
        if self._stop.is_set():
            raise StoppedError
        number = next(self._numbers)
        files = {name: self._files / f"{number}.{name}" for name in ("out", "err", "audit")}
        if real:
            return self._start_real(words, cwd, cache, files, more)
        settings = {key.lower(): value for key, value in self._cache_settings(cache).items()}
        request = {"words": list(words), "cwd": str(cwd), "jax": settings, "room": room}
        request |= {name: str(file) for name, file in files.items()}
        server = self._warm()
        assert server.stdin is not None
        server.stdin.write((json.dumps(request) + "\n").encode())
        server.stdin.flush()
        pid = self._answer("started", HANG)
        self._running.add(pid)
        return Process(pid, tuple(words), files)

    def wait(self, process: Process, interrupt_after: float | None = None, hang: float = HANG) -> Ended:
        """Wait for the end of a process.

        Args:
            process: the process.
            interrupt_after: seconds after which it is interrupted as by Ctrl-C.
            hang: seconds after which it is killed.

        Returns:
            How it ended.
        """
        hung, peak = False, 0
        while True:
            now = time.monotonic() - process.began
            ended = self._poll(process)
            if ended is not None:
                break
            peak = max(peak, process.memory())
            if now > hang or peak > MAX_MEMORY + 10**9:
                hung = hung or now > hang
                _kill_group(process.pid)
            elif interrupt_after is not None and now > interrupt_after and not process.interrupted:
                process.interrupt()
        seconds = time.monotonic() - process.began
        _kill_group(process.pid)  # what it may have left behind
        self._running.discard(process.pid)
        self.cpu += ended.get("cpu", 0.0)
        out, err = (_read(process.files[name]) for name in ("out", "err"))
        events = [json.loads(line) for line in _read(process.files["audit"], 10**8).splitlines()]
        for file in process.files.values():
            file.unlink(missing_ok=True)
        return Ended(
            *(process.words, ended["code"], out, err, seconds),
            peak=max(peak, ended.get("peak", 0)),
            hung=hung,
            interrupted=process.interrupted,
            imports=tuple(name for event, name in events if event == "import"),
            executions=tuple(name for event, name in events if event != "import"),
        )

    def has_ended(self, process: Process) -> bool:
        """Whether a process has ended; `wait` says how."""
        if process.popen is not None:
            return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        self._message(0.0)
        return process.pid in self._ended

    def run(
        self, words: Sequence[str], cwd: Path, interrupt_after: float | None = None, hang: float = HANG, **more: Any
    ) -> Ended:
        """Start a command, and wait for its end; see `start` and `wait`."""
        return self.wait(self.start(words, cwd, **more), interrupt_after, hang)

    def close(self) -> None:
        """End the warm interpreter and all commands; another thread that waits for one of them gets an error."""
        self._stop.set()
        if (server := self._server) is not None and server.stdin is not None:
            with contextlib.suppress(OSError):
                server.stdin.close()  # it then ends its commands
            try:
                server.wait(CLOSING)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        for pid in list(self._running):
            _kill_group(pid)

    def _cache_settings(self, cache: Cache) -> dict[str, Any]:
        if cache == COMPILE:
            return {}
        return {
            "JAX_COMPILATION_CACHE_DIR": str(cache if isinstance(cache, Path) else self.cache),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 0.0 if isinstance(cache, Path) else 1e9,
            "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": -1,
        }

    def _start_real(
        self, words: Sequence[str], cwd: Path, cache: Cache, files: dict[str, Path], more: Mapping[str, str]
    ) -> Process:
        environment = {**self.environment, **{k: str(v) for k, v in self._cache_settings(cache).items()}, **more}
        with open(files["out"], "wb") as out, open(files["err"], "wb") as err:
            command = [sys.executable, "-m", "action_balance", *words]
            popen = subprocess.Popen(
                [os.fsencode(word) for word in command],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self._running.add(popen.pid)
        return Process(popen.pid, tuple(words), files, popen=popen)

    def _poll(self, process: Process) -> dict[str, Any] | None:
        """How a process ended; None while it runs, after a short wait."""
        if process.popen is not None:
            try:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            except ChildProcessError:
                return {"code": process.popen.returncode if process.popen.returncode is not None else 0}
            if pid:
                process.popen.returncode = os.waitstatus_to_exitcode(status)
                cpu = usage.ru_utime + usage.ru_stime
                return {"code": process.popen.returncode, "peak": usage.ru_maxrss * 1024, "cpu": cpu}
            time.sleep(TICK)
            return None
        if process.pid not in self._ended:
            self._message(TICK)
        return self._ended.pop(process.pid, None)

    def _warm(self) -> "subprocess.Popen[bytes]":
        if self._server is None or self._server.poll() is not None:
            self._buffered, self._ended = b"", {}
            command = [sys.executable, "-m", "campaign.warm"]
            with open(self._files / "server.err", "ab") as err:
                pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": err}
                self._server = subprocess.Popen(command, env=self.environment, start_new_session=True, **pipes)
            self._answer("ready", HANG * 3)
        return self._server

    def _answer(self, key: str, timeout: float) -> int:
        """Wait for an answer of the warm interpreter; one that is too late means that it hangs."""
        latest = time.monotonic() + timeout
        while (left := latest - time.monotonic()) > 0:
            message = self._message(left)
            if key in message:
                return int(message[key])
        raise self._given_up(f"did not answer within {timeout:.0f} s")

    def _given_up(self, why: str) -> Exception:
        """End a warm interpreter that is of no use, with its commands; the next command starts another."""
        server, self._server = self._server, None
        assert server is not None
        server.kill()
        code = server.wait()
        for pipe in (server.stdin, server.stdout):
            with contextlib.suppress(OSError):  # of a request that it did not read
                if pipe is not None:
                    pipe.close()
        for pid in self._running:
            _kill_group(pid)
        self._running.clear()
        if self._stop.is_set():
            return StoppedError()
        reason = _read(self._files / "server.err").strip().splitlines()
        return RuntimeError(f"the warm interpreter {why} (exit code {code}): {reason[-1] if reason else 'no reason'}")

    def _message(self, timeout: float) -> dict[str, Any]:
        """The next message of the warm interpreter; empty if there is none in time."""
        assert self._server is not None
        assert self._server.stdout is not None
        if b"\n" not in self._buffered and select.select([self._server.stdout], [], [], timeout)[0]:
            read = os.read(self._server.stdout.fileno(), 65536)
            if not read:
                raise self._given_up("has ended")
            self._buffered += read
        if b"\n" not in self._buffered:
            return {}
        line, _, self._buffered = self._buffered.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        if "ended" in message:
            self._ended[message["ended"]] = message
        return message


def _read(file: Path, most: int = MAX_OUTPUT) -> str:
    """The beginning of what a process wrote."""
    try:
        with open(file, "rb") as opened:
            return opened.read(most).decode("utf-8", "backslashreplace")
    except OSError:
        return ""


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
