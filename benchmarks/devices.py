"""Whether a GPU learns what a CPU learns: ``python benchmarks/devices.py [--quick] [--envs N ...] [--methods ...]``.

A compiler can be wrong without a word, and a run on a GPU is too long to be made again elsewhere. So the first updates
of one agent are made twice, in a process on the usual device and in one on the CPU: all that training does, on pictures
that do not depend on the actions. What is compared:

- *Losses*, and the mean of the action bonus: the largest difference, relative to the largest value.
- *Entropy*: the same of how far the entropy of the bonus is below that of a flat one, which is the most delicate.
- *Networks*: how far their parameters are apart in the end, relative to how far learning has moved them; and that of
  the array in which it is the most. Roundings matter more here: Adam's first steps are as long for a gradient that is
  next to nothing as for any.

Where losses or entropy differ by more than `LIMIT`, the exit code is 1. On a machine without a GPU, only ``--quick``.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
from common import machine, table, wide_console

from action_balance.agent.config import BonusConfig, Config, HostConfig, ImageConfig, PPOConfig
from action_balance.agent.host import HostTrainer
from action_balance.envs.host import HostStep

METHODS = ("rnd", "action-balance-rnd-raw", "action-balance-rnd", "action-balance-rnd-channel")
LOSSES = ("loss_policy", "loss_value_int", "loss_next_state", "loss_action", "action_bonus_mean")
NETWORKS = {"policy": "policy", "next_state": "next-state bonus", "action": "action bonus"}
#: What roundings do not reach.
LIMIT = 0.02
SIDE, ACTIONS, GROUPS = 84, 18, 2


class Pictures:
    """Coarse patterns that drift; episodes end at random, and rewards are rare."""

    frame_shape, observation_shape = (SIDE, SIDE), (4, SIDE, SIDE)
    groups, actions = GROUPS, ACTIONS

    def __init__(self, envs: int) -> None:
        """All groups together."""
        self.envs_per_group = envs // GROUPS
        self.luck = [np.random.default_rng(group) for group in range(GROUPS)]
        self.scenes = [luck.random((self.envs_per_group, 12, 12)) for luck in self.luck]

    def _frame(self, group: int) -> np.ndarray:
        luck, scene = self.luck[group], self.scenes[group]
        scene[:] = np.where(luck.random(scene.shape) < 0.02, luck.random(scene.shape), scene)
        return np.kron(255 * scene, np.ones((7, 7))).astype(np.uint8)

    def reset(self) -> np.ndarray:
        """The first frames."""
        return np.stack([self._frame(group) for group in range(GROUPS)])

    def send(self, group: int, actions: np.ndarray) -> None:
        """Nothing depends on them."""

    def receive(self, group: int) -> HostStep:
        """What comes in any case."""
        frame, size = self._frame(group), self.envs_per_group
        over, paid = (self.luck[group].random(size) < share for share in (0.01, 0.002))
        reward = paid.astype(np.float32)
        return HostStep(frame, frame, reward, reward, over, np.zeros(size, bool))

    def close(self) -> None:
        """Nothing was started."""


def learn(method: str, envs: int, lag: int, image: ImageConfig, steps: int, updates: int) -> dict[str, np.ndarray]:
    """The parameters before and after some updates, and the numbers of each, by name."""
    config = Config(
        method=method,
        steps=updates * envs * steps,
        envs=envs,
        ppo=PPOConfig(rollout_steps=steps, learning_rate=1e-4),
        bonus=BonusConfig(share=0.25, warmup_rollouts=1),
        image=image,
        host=HostConfig(groups=GROUPS, lag=lag),
    )
    pictures = Pictures(envs)
    run = HostTrainer(config, pictures.observation_shape, pictures.actions, lambda *_: pictures)
    state = run.begin()
    found = _parameters("before", state.learned)
    run.start(state)
    told = [run.advance() for _ in range(updates)]
    found |= _parameters("after", run.state().learned)
    for name in (*LOSSES, "entropy_bonus"):
        found[name] = np.array([getattr(one, name)[0] for one in told], float)
    run.close()
    return found


def _parameters(when: str, learned: Any) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(learned)
    return {f"{when}{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}


def differences(one: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Of two runs; where nothing is learned, there is none."""
    flat = np.log(ACTIONS)
    found = {
        "losses": max(_ratio(abs(one[name] - other[name]).max(), abs(other[name]).max()) for name in LOSSES),
        "entropy": _ratio(
            abs(one["entropy_bonus"] - other["entropy_bonus"]).max(), abs(flat - other["entropy_bonus"]).max()
        ),
    }
    worst = 0.0
    for network, title in NETWORKS.items():
        names = [name.removeprefix("after") for name in other if name.startswith(f"after.{network}.")]
        apart = [float(np.linalg.norm(one[f"after{name}"] - other[f"after{name}"])) for name in names]
        moved = [float(np.linalg.norm(other[f"after{name}"] - other[f"before{name}"])) for name in names]
        found[title] = _ratio(float(np.linalg.norm(apart)), float(np.linalg.norm(moved)))
        worst = max(worst, *map(_ratio, apart, moved))
    return {**found, "worst array": worst}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def apart(asked: argparse.Namespace, method: str, envs: int, folder: Path) -> dict[str, float]:
    """The same updates on both devices, each in a process of its own."""
    platforms: list[dict[str, str]] = [{}, {"JAX_PLATFORMS": "cpu"}]

    def run(place: int) -> dict[str, np.ndarray]:
        file = folder / f"{method}-{envs}-{place}.npz"
        what = [sys.executable, __file__, "--methods", method, "--envs", str(envs), "--write", str(file)]
        what += ["--lag", str(asked.lag), "--precision", asked.precision, "--updates", str(asked.updates)]
        subprocess.run(what + ["--quick"] * asked.quick, env={**os.environ, **platforms[place]}, check=True)
        with np.load(file) as found:
            return dict(found)

    with ThreadPoolExecutor() as pool:
        return differences(*pool.map(run, range(len(platforms))))


def same(row: Mapping[str, float]) -> bool:
    """But for rounding."""
    return row["losses"] <= LIMIT and row["entropy"] <= LIMIT


def show(rows: Mapping[str, Mapping[str, float]]) -> None:
    """A table."""
    names = list(next(iter(rows.values())))
    shown = table("Differences between the usual device and the CPU", ("", *names, ""))
    for title, row in rows.items():
        shown.add_row(title, *(f"{row[name]:.2g}" for name in names), "same" if same(row) else "DIFFERENT")
    wide_console().print(shown)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description="Whether a GPU learns what a CPU learns.")
    parser.add_argument("--quick", action="store_true", help="small networks and few steps, to see that it runs")
    parser.add_argument("--envs", type=int, nargs="+", default=[32], help="numbers of environments")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--lag", type=int, default=1, choices=(0, 1))
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32", help="of convolutions")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # by the process of one device
    asked = parser.parse_args()
    if asked.write:
        small = {"channels": 4, "features": 16, "trunk": 16, "bonus_features": 16} if asked.quick else {}
        image = ImageConfig(precision=asked.precision, **small)
        steps = 8 if asked.quick else 128
        found: dict[str, Any] = learn(asked.methods[0], asked.envs[0], asked.lag, image, steps, asked.updates)
        np.savez(asked.write, **found)
        return
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or the first process leaves nothing to the others
    if jax.default_backend() == "cpu" and not asked.quick:
        print("no GPU here to compare with the CPU: --quick shows that this runs", file=sys.stderr)
        sys.exit(2)
    print(machine(jax.devices()[0].device_kind))
    with tempfile.TemporaryDirectory() as folder:
        rows = {
            f"{method}, {envs} environments": apart(asked, method, envs, Path(folder))
            for envs in asked.envs
            for method in asked.methods
        }
    show(rows)
    sys.exit(not all(map(same, rows.values())))


if __name__ == "__main__":
    main()
