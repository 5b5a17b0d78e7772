"""Whether a GPU learns what a CPU learns: ``python benchmarks/devices.py [--quick] [--envs N ...] [--variants ...]``.

A compiler can be wrong without a word, and a run on a GPU is too long to be made again elsewhere. So the first updates
of one agent are made twice, in a process on the usual device and in one on the CPU: all that training does, on pictures
that do not depend on the actions. What is compared:

- *Losses*, and the mean of the action bonus: the largest difference, relative to the largest value.
- *Entropy*: the same of how far the entropy of the bonus is below that of a flat one, which is the most delicate; what
  is less than float32 can tell of it does not count.
- *Actions*: the share of those that came to the environments as others than were noted, on either device.
- *Start*: the parameters before learning, relative to the largest of their array.
- *Networks*: how differently learning has moved their parameters, relative to how far it has; and that of the array in
  which it is the most. They are only shown: Adam's first steps are as long for a gradient that is next to nothing as
  for any, so that roundings alone can move parameters far apart.

Where one of the first four differs by more than `LIMITS`, or anything is not finite, the exit code is 1. A small
mistake, such as biases that are not trained, can pass. On a machine without a GPU, there is only ``--quick``.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from atari import SMALL, Settings
from common import machine, table, wide_console

from action_balance.config.agent import ImageConfig
from action_balance.core.balance import Normalization
from action_balance.engines.host.actor import Rollout
from action_balance.engines.host.trainer import HostTrainer, Learner
from action_balance.envs.host_base import HostStep
from action_balance.envs.spec import EnvSpec
from action_balance.studies.entropy import settings as entropy
from action_balance.studies.entropy.analysis import RESOLUTION

#: Method, and what the bonus vector is divided by: RND, and the paper's three.
VARIANTS: dict[str, tuple[str, Normalization]] = {
    "rnd": ("rnd", "l2"),
    **{name.removesuffix(" + L2"): pair for name, pair in entropy.VARIANTS.items()},
}
LOSSES = ("loss_policy", "loss_value_int", "loss_value_ext", "loss_next_state", "loss_action", "action_bonus_mean")
NETWORKS = {"policy": "policy", "next_state": "next-state bonus", "action": "action bonus"}
#: What roundings do not reach; a program that learned wrongly was 0.006 off in a loss after one update.
LIMITS = {"losses": 0.005, "entropy": 0.02, "actions": 0.0, "start": 0.001}
SIDE, GROUPS = 84, 2


class Pictures:
    """Coarse patterns that drift; episodes end at random, and rewards are rare."""

    spec = EnvSpec("image-stack", (4, SIDE, SIDE), (entropy.ACTIONS,), dtype="uint8")
    groups = GROUPS

    def __init__(self, envs: int) -> None:
        """All groups together."""
        self.envs_per_group = envs // GROUPS
        self.luck = [np.random.default_rng(group) for group in range(GROUPS)]
        self.scenes = [luck.random((self.envs_per_group, 12, 12)) for luck in self.luck]
        self.sent: list[list[np.ndarray]] = []  # of each group, since the last reset

    def _frame(self, group: int) -> np.ndarray:
        luck, scene = self.luck[group], self.scenes[group]
        scene[:] = np.where(luck.random(scene.shape) < 0.02, luck.random(scene.shape), scene)
        return np.kron(255 * scene, np.ones((7, 7))).astype(np.uint8)

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        """The first frames."""
        del seed
        self.sent = [[] for _ in range(GROUPS)]
        return np.stack([self._frame(group) for group in range(GROUPS)])

    def send(self, group: int, actions: np.ndarray) -> None:
        """Nothing depends on them, but they are kept."""
        self.sent[group].append(actions.copy())

    def receive(self, group: int) -> HostStep:
        """What comes in any case."""
        frame, size = self._frame(group), self.envs_per_group
        over, paid = (self.luck[group].random(size) < share for share in (0.01, 0.002))
        reward = paid.astype(np.float32)
        return HostStep(frame, frame, reward, reward, over, np.zeros(size, bool))

    def close(self) -> None:
        """Nothing was started."""


class Watched(HostTrainer):
    """It keeps the actions that its first seed has noted, (G, T, M) of each rollout."""

    noted: list[np.ndarray]

    def end_rollout(self, learner: Learner | None = None) -> list[Rollout]:
        """As ever, and what was noted."""
        over = super().end_rollout(learner)
        self.noted.append(np.stack([whole.action for whole in over[0].whole if whole is not None]))
        return over


def learn(variant: str, envs: int, lag: int, image: ImageConfig, steps: int, updates: int) -> dict[str, np.ndarray]:
    """The parameters before and after some updates, the numbers of each and all actions, by name."""
    method, normalize = VARIANTS[variant]
    config = Settings("pictures", envs, image, GROUPS, steps, updates).agent(method, lag)
    config = replace(config, bonus=replace(config.bonus, normalize=normalize))
    pictures = Pictures(envs)
    run = Watched(config, pictures.spec.shape, pictures.spec.nvec[0], lambda *_: pictures)
    run.noted = []
    state = run.begin()
    found = _parameters("before", state.params)
    run.start(state)
    told = [run.advance() for _ in range(updates)]
    found |= _parameters("after", run.state().params)
    for name in (*LOSSES, "entropy_bonus"):
        found[name] = np.array([getattr(one, name)[0] for one in told], float)
    found["noted"] = np.concatenate(run.noted, axis=1)
    over = found["noted"].shape[1]  # steps; the first of the next rollout may be on its way
    found["sent"] = np.array([sent[:over] for sent in pictures.sent])
    run.close()
    return found


def _parameters(when: str, params: Any) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {f"{when}{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}


def differences(device: Mapping[str, np.ndarray], cpu: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Of a run from one on the CPU; where nothing is learned, there is none."""
    below = entropy.FLAT - cpu["entropy_bonus"]
    losses = [_ratio(_largest(device[name] - cpu[name]), _largest(cpu[name])) for name in LOSSES]
    apart = _largest(device["entropy_bonus"] - cpu["entropy_bonus"])
    start = {name: cpu[name] for name in cpu if name.startswith("before")}
    found = {
        "losses": _largest(losses),
        "entropy": 0.0 if apart < RESOLUTION else _ratio(apart, _largest(below)),
        "actions": _largest([(run["sent"] != run["noted"]).mean() for run in (device, cpu)]),
        "start": _largest([_ratio(_largest(device[name] - one), _largest(one)) for name, one in start.items()]),
    }
    arrays: list[float] = []
    for network, title in NETWORKS.items():
        names = [name.removeprefix("after") for name in cpu if name.startswith(f"after.{network}.")]
        pairs = [tuple(run[f"after{name}"] - run[f"before{name}"] for run in (device, cpu)) for name in names]
        errors = [float(np.linalg.norm(one - other)) for one, other in pairs]
        moved = [float(np.linalg.norm(other)) for _, other in pairs]
        found[title] = _ratio(float(np.linalg.norm(errors)), float(np.linalg.norm(moved)))
        arrays += map(_ratio, errors, moved)
    return {**found, "worst array": _largest(arrays)}


def _largest(values: Any) -> float:
    """In size; NaN where one is."""
    return float(np.max(np.abs(values)))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("inf") if part else 0.0


def same(row: Mapping[str, float]) -> bool:
    """But for rounding."""
    return all(row[name] <= limit for name, limit in LIMITS.items()) and all(map(math.isfinite, row.values()))


def compared(asked: argparse.Namespace, variant: str, envs: int, folder: Path) -> dict[str, float]:
    """The same updates on both devices, each in a process of its own."""
    platforms: list[dict[str, str]] = [{}, {"JAX_PLATFORMS": "cpu"}]

    def run(place: int) -> dict[str, np.ndarray]:
        file = folder / f"{variant}-{envs}-{place}.npz"
        what = [sys.executable, __file__, "--variants", variant, "--envs", str(envs), "--write", str(file)]
        what += ["--lag", str(asked.lag), "--precision", asked.precision, "--updates", str(asked.updates)]
        subprocess.run(what + ["--quick"] * asked.quick, env={**os.environ, **platforms[place]}, check=True)
        with np.load(file) as found:
            return dict(found)

    with ThreadPoolExecutor() as pool:
        return differences(*pool.map(run, range(len(platforms))))


def show(rows: Mapping[str, Mapping[str, float]]) -> None:
    """A table."""
    names = [*LIMITS, *NETWORKS.values(), "worst array"]
    shown = table("Differences between the usual device and the CPU", ("", *names, ""))
    for title, row in rows.items():
        shown.add_row(title, *(f"{row[name]:.2g}" for name in names), "same" if same(row) else "DIFFERENT")
    wide_console().print(shown)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description="Whether a GPU learns what a CPU learns.")
    parser.add_argument("--quick", action="store_true", help="small networks and few steps, to see that it runs")
    parser.add_argument("--envs", type=int, nargs="+", default=[32], help="numbers of environments, multiples of four")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--lag", type=int, default=1, choices=(0, 1))
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32", help="of convolutions")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # by the process of one device
    asked = parser.parse_args()
    if min(asked.envs) < 4 or any(envs % 4 for envs in asked.envs):
        parser.error("--envs: multiples of 4, the minibatches")
    if asked.updates < 1:
        parser.error("--updates: 1 or more")
    if asked.write:
        image = replace(SMALL if asked.quick else ImageConfig(), precision=asked.precision)
        steps = 8 if asked.quick else 128
        found: dict[str, Any] = learn(asked.variants[0], asked.envs[0], asked.lag, image, steps, asked.updates)
        np.savez(asked.write, **found)
        return
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # or the first process leaves nothing to the others
    if jax.default_backend() == "cpu" and not asked.quick:
        sys.exit(_failed("no GPU here to compare with the CPU: --quick shows that this runs"))
    print(machine(jax.devices()[0].device_kind))
    rows: dict[str, dict[str, float]] = {}
    code = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            for envs in asked.envs:
                for variant in asked.variants:
                    rows[f"{variant}, {envs} environments"] = compared(asked, variant, envs, Path(folder))
        except subprocess.CalledProcessError as error:
            code = _failed(f"{variant} with {envs} environments has failed with exit code {error.returncode}")
    if rows:
        show(rows)
    sys.exit(code or int(not all(map(same, rows.values()))))


def _failed(why: str) -> int:
    print(why, file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
