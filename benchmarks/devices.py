"""Whether a GPU learns the same as a CPU: ``python benchmarks/devices.py [--quick] [--envs N ...] [--variants ...]``.

A compiler can produce wrong results without an error, and a run on a GPU is too long to repeat elsewhere. So the first
updates of one agent are computed twice, in one process on the default device and in one on the CPU: complete training,
on images that do not depend on the actions. What is compared:

- *Losses*, and the mean of the action bonus: the largest difference, relative to the largest value.
- *Entropy*: the same for how far the entropy of the action bonus is below that of a flat vector, which is the most
  sensitive number; differences below the resolution of float32 do not count.
- *Actions*: the share of actions that reached the environments other than they were recorded, on either device.
- *Start*: the parameters before learning, relative to the largest of their array.
- *Networks*: how much the changes of the parameters differ, relative to the changes, and the largest such difference of
  a single array. They are only shown: the first steps of Adam are equally long for tiny and for large gradients, so
  rounding alone can move parameters far apart.

If one of the first four differs by more than `LIMITS`, or anything is not finite, the exit code is 1. A small error,
such as biases that are not trained, may remain undetected. Without a GPU, only ``--quick`` runs.
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

from action_balance.bonuses.base import ACTION, INTRINSIC
from action_balance.config.network import NetworkConfig
from action_balance.core.options import Normalization
from action_balance.engines.host.actor import HostRollout
from action_balance.engines.host.trainer import HostTrainer, Learner
from action_balance.envs.host_base import HostStep
from action_balance.envs.spec import EnvSpec
from action_balance.studies.entropy import settings as entropy
from action_balance.studies.entropy.analysis import RESOLUTION

#: Method and normalisation of the bonus vector: RND, and the three variants of the paper.
VARIANTS: dict[str, tuple[str, Normalization | None]] = {
    "rnd": ("rnd", None),
    **{name.removesuffix(" + L2"): pair for name, pair in entropy.VARIANTS.items()},
}
LOSSES = ("loss_policy", "loss_value_int", "loss_value_ext", "loss_next_state", "loss_action", "action_bonus_mean")
#: Titles of the networks, by their path in the parameters.
NETWORKS = {
    ".policy": "policy",
    f".bonuses['{INTRINSIC}']": "next-state bonus",
    f".bonuses['{ACTION}']": "action bonus",
}
#: Larger than what rounding causes; a program that learned wrongly was 0.006 off in a loss after one update.
LIMITS = {"losses": 0.005, "entropy": 0.02, "actions": 0.0, "start": 0.001}
SIDE, GROUPS = 84, 2


class Pictures:
    """Environments that show coarse patterns that drift; episodes end at random, and rewards are rare."""

    spec = EnvSpec("image-stack", (4, SIDE, SIDE), (entropy.ACTIONS,), dtype="uint8")
    groups = GROUPS

    def __init__(self, envs: int) -> None:
        self.envs_per_group = envs // GROUPS
        self.generators = [np.random.default_rng(group) for group in range(GROUPS)]
        self.scenes = [generator.random((self.envs_per_group, 12, 12)) for generator in self.generators]
        self.sent: list[list[np.ndarray]] = []  # actions of each group since the last reset

    def _frame(self, group: int) -> np.ndarray:
        generator, scene = self.generators[group], self.scenes[group]
        scene[:] = np.where(generator.random(scene.shape) < 0.02, generator.random(scene.shape), scene)
        return np.kron(255 * scene, np.ones((7, 7))).astype(np.uint8)

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        """See `HostEnvironment.reset`; the seed has no effect."""
        del seed
        self.sent = [[] for _ in range(GROUPS)]
        return np.stack([self._frame(group) for group in range(GROUPS)])

    def send(self, group: int, actions: np.ndarray) -> None:
        """Record the actions; they have no effect."""
        self.sent[group].append(actions.copy())

    def receive(self, group: int) -> HostStep:
        """The next frames, rewards and ends of episodes."""
        frame, size = self._frame(group), self.envs_per_group
        over, paid = (self.generators[group].random(size) < share for share in (0.01, 0.002))
        reward = paid.astype(np.float32)
        return HostStep(frame, frame, reward, reward, over, np.zeros(size, bool))

    def close(self) -> None:
        """Nothing has to be stopped."""


class RecordingTrainer(HostTrainer):
    """A trainer that keeps the actions in the buffers of its first seed, (G, T, M) per rollout."""

    recorded: list[np.ndarray]

    def end_rollout(self, learner: Learner | None = None) -> list[HostRollout]:
        """End a rollout, and keep its actions."""
        rollouts = super().end_rollout(learner)
        self.recorded.append(np.stack([buffer.action for buffer in rollouts[0].buffers if buffer is not None]))
        return rollouts


def learn(variant: str, envs: int, lag: int, network: NetworkConfig, steps: int, updates: int) -> dict[str, np.ndarray]:
    """The parameters before and after some updates, the metrics of each update, and all actions, by name."""
    method, normalize = VARIANTS[variant]
    config = Settings("pictures", envs, network, GROUPS, steps, updates).agent(method, lag)
    config = replace(config, exploration=replace(config.exploration, normalize=normalize))
    pictures = Pictures(envs)
    trainer = RecordingTrainer(config, pictures.spec, lambda *_: pictures)
    trainer.recorded = []
    state = trainer.init_state()
    found = _parameters("before", state.params)
    trainer.start(state)
    metrics = [trainer.advance() for _ in range(updates)]
    found |= _parameters("after", trainer.state().params)
    for name in (*LOSSES, "entropy_bonus"):  # zero where a method does not report it
        found[name] = np.array([one[name][0] if name in one else 0.0 for one in metrics], float)
    found["recorded"] = np.concatenate(trainer.recorded, axis=1)
    over = found["recorded"].shape[1]  # steps; the first step of the next rollout may be under way
    found["sent"] = np.array([sent[:over] for sent in pictures.sent])
    trainer.close()
    return found


def _parameters(when: str, params: Any) -> dict[str, np.ndarray]:
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {f"{when}{jax.tree_util.keystr(path)}": np.asarray(leaf) for path, leaf in leaves}


def differences(device: Mapping[str, np.ndarray], cpu: Mapping[str, np.ndarray]) -> dict[str, float]:
    """The differences between a run and one on the CPU; zero where nothing is learned."""
    below = entropy.FLAT - cpu["entropy_bonus"]
    losses = [_ratio(_largest(device[name] - cpu[name]), _largest(cpu[name])) for name in LOSSES]
    apart = _largest(device["entropy_bonus"] - cpu["entropy_bonus"])
    start = {name: cpu[name] for name in cpu if name.startswith("before")}
    found = {
        "losses": _largest(losses),
        "entropy": 0.0 if apart < RESOLUTION else _ratio(apart, _largest(below)),
        "actions": _largest([(run["sent"] != run["recorded"]).mean() for run in (device, cpu)]),
        "start": _largest([_ratio(_largest(device[name] - one), _largest(one)) for name, one in start.items()]),
    }
    arrays: list[float] = []
    for network, title in NETWORKS.items():
        names = [name.removeprefix("after") for name in cpu if name.startswith(f"after{network}.")]
        pairs = [tuple(run[f"after{name}"] - run[f"before{name}"] for run in (device, cpu)) for name in names]
        errors = [float(np.linalg.norm(one - other)) for one, other in pairs]
        moved = [float(np.linalg.norm(other)) for _, other in pairs]
        found[title] = _ratio(float(np.linalg.norm(errors)), float(np.linalg.norm(moved)))
        arrays += map(_ratio, errors, moved)
    return {**found, "worst array": _largest(arrays)}


def _largest(values: Any) -> float:
    """The largest absolute value; NaN if one is NaN."""
    return float(np.max(np.abs(values)))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else float("inf") if part else 0.0


def same(row: Mapping[str, float]) -> bool:
    """Whether the differences are only rounding."""
    return all(row[name] <= limit for name, limit in LIMITS.items()) and all(map(math.isfinite, row.values()))


def compare(flags: argparse.Namespace, variant: str, envs: int, folder: Path) -> dict[str, float]:
    """Compute the same updates on both devices, each in a process of its own."""
    platforms: list[dict[str, str]] = [{}, {"JAX_PLATFORMS": "cpu"}]

    def run(place: int) -> dict[str, np.ndarray]:
        file = folder / f"{variant}-{envs}-{place}.npz"
        command = [sys.executable, __file__, "--variants", variant, "--envs", str(envs), "--write", str(file)]
        command += ["--lag", str(flags.lag), "--precision", flags.precision, "--updates", str(flags.updates)]
        subprocess.run(command + ["--quick"] * flags.quick, env={**os.environ, **platforms[place]}, check=True)
        with np.load(file) as found:
            return dict(found)

    with ThreadPoolExecutor() as pool:
        return differences(*pool.map(run, range(len(platforms))))


def show(rows: Mapping[str, Mapping[str, float]]) -> None:
    """Print a table."""
    names = [*LIMITS, *NETWORKS.values(), "worst array"]
    shown = table("Differences between the default device and the CPU", ("", *names, ""))
    for title, row in rows.items():
        shown.add_row(title, *(f"{row[name]:.2g}" for name in names), "same" if same(row) else "DIFFERENT")
    wide_console().print(shown)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description="Check that a GPU learns the same as a CPU.")
    parser.add_argument("--quick", action="store_true", help="small networks and few steps, to check that it works")
    parser.add_argument("--envs", type=int, nargs="+", default=[32], help="numbers of environments, multiples of 4")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--lag", type=int, default=1, choices=(0, 1))
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32", help="of convolutions")
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # used by the process of one device
    flags = parser.parse_args()
    if min(flags.envs) < 4 or any(envs % 4 for envs in flags.envs):
        parser.error("--envs must be multiples of 4, the number of minibatches")
    if flags.updates < 1:
        parser.error("--updates must be 1 or more")
    if flags.write:
        network = replace(SMALL if flags.quick else NetworkConfig(), precision=flags.precision)
        steps = 8 if flags.quick else 128
        found: dict[str, Any] = learn(flags.variants[0], flags.envs[0], flags.lag, network, steps, flags.updates)
        np.savez(flags.write, **found)
        return
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share the GPU
    if jax.default_backend() == "cpu" and not flags.quick:
        sys.exit(_failed("no GPU was found to compare with the CPU: use --quick to check that the script works"))
    print(machine(jax.devices()[0].device_kind))
    rows: dict[str, dict[str, float]] = {}
    code = 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            for envs in flags.envs:
                for variant in flags.variants:
                    rows[f"{variant}, {envs} environments"] = compare(flags, variant, envs, Path(folder))
        except subprocess.CalledProcessError as error:
            code = _failed(f"{variant} with {envs} environments failed with exit code {error.returncode}")
    if rows:
        show(rows)
    sys.exit(code or int(not all(map(same, rows.values()))))


def _failed(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


if __name__ == "__main__":
    main()
