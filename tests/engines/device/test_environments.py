"""Environments that are split over devices: the result is that of one device, up to rounding."""

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import keystr

from action_balance import resume
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.core.sharding import each_environment, merge_axes, shard
from action_balance.engines.device import trainer as device
from action_balance.engines.device.environments import NO_AXIS, Environments, env_axes
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.runs import RunFolder

#: A next-state bonus with memories of episodes and with RND, and an action bonus with a table of counts.
CONFIG = TrainConfig(
    env_config("deep-sea", size=4),
    AgentConfig(
        intrinsic="ngu",
        action_bonus="hash",
        steps=128,
        envs=4,
        algorithm=PPOConfig(rollout_steps=8, epochs=1, minibatches=2, learning_rate=1e-2, normalize_returns=True),
        exploration=ExplorationConfig(warmup_rollouts=1),
        network=NetworkConfig(hidden=4, layers=1, bonus_hidden=4, bonus_outputs=4),
        bonus_settings=FrozenDict(
            ngu=FrozenDict(episodic_memory=8, features=4, neighbours=2), hash=FrozenDict(table_bits=6)
        ),
    ),
)


@cache
def trained(devices: int) -> tuple[DeviceTrainer, list[HostMetrics]]:
    trainer = DeviceTrainer(replace(CONFIG, devices=devices))
    trainer.start(trainer.init_state())
    return trainer, [trainer.advance() for _ in range(3)]


def test_two_devices_train_the_agent_that_one_device_trains() -> None:
    (one, expected), (two, found) = trained(1), trained(2)
    for mine, others in zip(found, expected, strict=True):
        for name, value in mine.items():
            np.testing.assert_allclose(value, others[name], rtol=1e-3, atol=1e-5, err_msg=name)
    states = zip(*(jax.tree_util.tree_leaves_with_path(trainer.state()) for trainer in (one, two)), strict=True)
    for (path, expected_leaf), (_, leaf) in states:
        if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            np.testing.assert_allclose(leaf, expected_leaf, rtol=1e-3, atol=1e-4, err_msg=keystr(path))
    visits = two.visits()
    assert visits is not None
    assert visits.sum() == 3 * 8 * 4  # updates, steps, environments


def test_a_run_on_four_devices_is_resumed_on_two_and_its_metrics_are_those_of_one(tmp_path: Path) -> None:
    run, two_updates = tmp_path / "run", "lambda update: update.update < 2"
    program = (
        f"from test_environments import CONFIG; from action_balance import train; train('deep-sea', {str(run)!r}, "
        f"CONFIG.agent, size=4, devices=4, checkpoint_every=2, callbacks={two_updates})"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "JAX_NUM_CPU_DEVICES": "4", "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True)
    lines: list[str] = []
    metrics = resume(run, on_message=lines.append).metrics(as_columns=True)
    assert "the run used 4 devices, and this machine has 2 devices: it continues on 2" in lines
    for name in ("loss_policy", "loss_next_state", "bonus_mean", "entropy_beta", "ngu_distance"):
        np.testing.assert_allclose(metrics[name], [one[name][0] for one in trained(1)[1]], rtol=1e-3, err_msg=name)
    assert RunFolder.open(run).manifest["devices"] == 2
    assert RunFolder.open(run).config["devices"] == 4


def test_what_belongs_to_environments_stays_on_their_device() -> None:
    trainer, _ = trained(2)
    state = trainer._state
    assert state.observation.sharding.shard_shape(state.observation.shape) == (1, 2, 16)  # seeds, environments, cells
    memory = state.bonus_states["intrinsic"].memory.embeddings
    assert memory.sharding.shard_shape(memory.shape) == (1, 2, 8, 4)
    assert all(leaf.is_fully_replicated for leaf in jax.tree.leaves((state.params, state.optimizer, state.obs_stats)))
    step: Any = device._programs(replace(CONFIG, devices=2)).step
    program = step.lower(trainer.seeds.keys, state).compile().as_text()
    # Gradients and statistics are added up, samples move to the device that learns from them; nothing is copied.
    assert "all-reduce" in program
    assert "all-gather" not in program


def test_the_axis_of_environments_is_found_by_their_number() -> None:
    axes = env_axes(CONFIG, device._init)
    shard = {keystr(path): axis for path, axis in jax.tree_util.tree_leaves_with_path(axes) if axis != NO_AXIS}
    assert set(shard.values()) == {0}
    memory = ".bonus_states['intrinsic'].memory"
    known = {".observation", ".episode_return", ".return_scale.filtered", ".reward_scale.filtered"}
    assert shard.keys() == known | {f"{memory}.embeddings", f"{memory}.added"} | {
        name for name in shard if name.startswith(".env_state")
    }
    assert any(name.startswith(".env_state") for name in shard)


@pytest.mark.parametrize("one_batch", [False, True])
def test_functions_of_environments_give_the_same_on_two_devices(one_batch: bool) -> None:
    """On GPUs, all seeds are one batch."""

    def init(config: TrainConfig) -> Any:
        return lambda _: {"x": jnp.arange(4.0 * config.agent.envs).reshape(2, -1, 2), "sum": jnp.zeros(())}

    def step(key: jax.Array, state: dict[str, jax.Array]) -> Any:
        factor = jax.random.key_data(key)[-1].astype(jnp.float32)  # the seed
        x = each_environment(lambda column: factor * column, in_axes=1, out_axes=1)(shard(state["x"], axis=1))
        return {"x": x, "sum": x.sum()}, {"last": merge_axes(x).max(axis=0)}

    layout = Environments(replace(CONFIG, seed=3, seeds=1), jax.devices()[:2], init)
    layout._one_batch = one_batch
    states = layout.run(layout.compile(init(CONFIG), arguments=0))
    assert states["x"].sharding.shard_shape(states["x"].shape) == (1, 2, 2, 2)
    placed = layout.place(jax.tree.map(np.asarray, states))
    found, metrics = layout.cut(layout.run(layout.compile(step, arguments=1), placed))
    assert found["x"][0].tolist() == (3 * np.arange(16.0).reshape(2, 4, 2)).tolist()
    assert found["sum"].tolist() == [360]
    assert metrics["last"].tolist() == [[42, 45]]
