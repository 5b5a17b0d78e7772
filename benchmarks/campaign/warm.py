"""A warm interpreter: it has loaded everything that the commands need, and forks a process for each of them.

``python -m campaign.warm`` reads one JSON request per line: a command line, its folder and where its output goes. It
answers with the number of the new process, and later with how that process ended. The process runs the same ``main`` as
``python -m action_balance``, and ends like any other interpreter.
"""

import contextlib
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import warnings
from pathlib import Path
from typing import Any

#: Seconds between two looks at the processes.
TICK = 0.01
#: Further packages that commands load while they run.
ALSO = (
    *("gymnasium", "gymnasium.vector", "ale_py", "jax.experimental.multihost_utils", "rich._emoji_codes"),
    *("tensorboard.compat.proto.event_pb2", "tensorboard.summary.writer.record_writer"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
)
#: Packages of environments whose libraries start JAX when they are imported, and what can be imported of them.
STARTS_JAX, WITHOUT = ("action_balance.envs.navix.", "action_balance.envs.xminigrid."), (".config", ".names")
#: Modules that import Ray, as no other command does; it would import more of itself when a process ends.
WITH_RAY = tuple(f"action_balance.studies.sweep.{name}" for name in ("halving", "trial", "tuning"))
#: Audit events that say that another program is started.
EXECUTIONS = ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen")


def load_everything() -> None:
    """Import the package and what it uses; JAX itself does not start, since its threads would not survive a fork."""
    import action_balance

    for module in pkgutil.walk_packages(action_balance.__path__, "action_balance."):
        starts_jax = module.name.startswith(STARTS_JAX) and not module.name.endswith(WITHOUT)
        if not module.name.endswith("__main__") and not starts_jax and module.name not in WITH_RAY:
            importlib.import_module(module.name)
    for name in ALSO:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def serve() -> dict[str, Any]:
    """Answer requests until there are no more.

    Returns:
        The request, in the process that is to execute it; the server itself ends here.
    """
    requests = sys.stdin.fileno()  # unbuffered, so that `select` sees every line
    buffered, children = b"", set[int]()
    _say({"ready": os.getpid()})
    while True:
        if select.select([requests], [], [], TICK if children else None)[0]:
            read = os.read(requests, 65536)
            if not read:
                for child in children:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                os._exit(0)
            buffered += read
            *lines, buffered = buffered.split(b"\n")
            for line in lines:
                request: dict[str, Any] = json.loads(line)
                child = os.fork()
                if child == 0:
                    return request
                children.add(child)
                _say({"started": child})
        for child in list(children):
            pid, status, usage = os.wait4(child, os.WNOHANG)
            if pid:
                children.discard(child)
                code = os.waitstatus_to_exitcode(status)
                cpu = usage.ru_utime + usage.ru_stime
                _say({"ended": child, "code": code, "peak": usage.ru_maxrss * 1024, "cpu": cpu})


def become(request: dict[str, Any]) -> None:
    """Turn a fresh fork into the process of a command: its folder, its output, its settings of JAX."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for descriptor, path in ((1, request["out"]), (2, request["err"])):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, descriptor)
        os.close(file)
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]  # as `python -m` has it
    sys.argv = ["action-balance", *request["words"]]
    _use_few_cores()
    if request["room"]:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (used + request["room"], resource.RLIM_INFINITY))
    import jax

    for name, value in request["jax"].items():
        jax.config.update(name, value)
    record = os.open(request["audit"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def audit(event: str, about: tuple[Any, ...]) -> None:
        if event == "import" or event in EXECUTIONS:
            what = about[0] if event != "subprocess.Popen" else about[1]
            os.write(record, (json.dumps([event, str(what)]) + "\n").encode())

    sys.addaudithook(audit)


def _use_few_cores() -> None:
    """Run on two cores: libraries start threads for all cores they see, whose stacks count towards a memory limit."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(cores)
        os.sched_setaffinity(0, (cores[first], cores[(first + 1) % len(cores)]))


def _say(message: dict[str, Any]) -> None:
    os.write(1, (json.dumps(message) + "\n").encode())


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # JAX and Python warn of a fork with threads, of which none is running yet
        load_everything()
        asked = serve()
    become(asked)
    from action_balance.__main__ import main

    main()
