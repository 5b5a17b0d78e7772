"""A training in miniature, to be killed: ``python killed_run.py RUN UPDATES`` begins or resumes it."""

import sys
import time
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
    print("started", flush=True)
    for update in range(first + 1, updates + 1):
        began = time.perf_counter()
        state = one_update(state)
        time.sleep(0.02)  # long enough to be killed in
        mean = float(state["weights"].mean())
        rows = [
            {"update": update, "seed": seed, "steps": state["seen"], "mean": mean + seed, "few": state["weights"][:3]}
            for seed in range(2)
        ]
        log.append(rows, {"steps_per_second": 10 / (time.perf_counter() - began)})
        if update % 3 == 0:
            checkpoints.save(update, state, score=mean)
    folder.finish("finished")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
