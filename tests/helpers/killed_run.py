"""A training in miniature that kills itself: ``python killed_run.py RUN UPDATES [OPERATION N]`` begins or resumes it.

The process dies just before its N-th operation of a kind on files of the run, e.g. ``open timing.jsonl`` to write to it
or ``rename checkpoints/``.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.runs import RunFolder

State = dict[str, Any]


def initial_state() -> State:
    return {"key": jax.random.key(3), "weights": np.zeros(2000, np.float32), "seen": 0}


def one_update(state: State) -> State:
    rng = np.random.default_rng(np.asarray(jax.random.key_data(state["key"])))
    key = jax.random.wrap_key_data(jnp.asarray(rng.integers(2**32, size=2, dtype=np.uint32)))
    weights = state["weights"] * np.float32(0.9) + rng.normal(size=2000).astype(np.float32)
    return {"key": key, "weights": weights, "seen": state["seen"] + 10}


def die_before(operation: str, count: int, path: Path) -> None:
    """Count what happens to files, and kill this process in time."""
    left = count

    def watch(event: str, about: tuple[Any, ...]) -> None:
        nonlocal left
        writes = event == "os.rename" or (event == "open" and about[2] & (os.O_WRONLY | os.O_RDWR))
        if writes and str(about[0]).startswith(str(path)):
            left -= operation in f"{event} {Path(about[0]).relative_to(path)}"
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def main(path: Path, updates: int) -> None:
    first, state = 0, initial_state()
    if path.exists():
        folder = RunFolder.open(path)
        restored, log = folder.resume(state, sys.argv)
        first, state = restored.update, restored.state
        for warning in restored.warnings:
            print(warning, flush=True)
    else:
        folder = RunFolder.create(path, {"updates": updates}, sys.argv)
        log = folder.metrics()
    checkpoints = folder.checkpoints()
    for update in range(first + 1, updates + 1):
        state = one_update(state)
        mean = float(state["weights"].mean())
        rows = [
            {"update": update, "seed": seed, "steps": state["seen"], "mean": mean + seed, "few": state["weights"][:3]}
            for seed in range(2)
        ]
        log.append(rows, {"steps_per_second": 10.0})
        if update % 3 == 0:
            checkpoints.save(update, state, score=mean)
    folder.finish("finished")


if __name__ == "__main__":
    run = Path(sys.argv[1])
    if len(sys.argv) > 3:
        die_before(sys.argv[3], int(sys.argv[4]), run)
    main(run, int(sys.argv[2]))
