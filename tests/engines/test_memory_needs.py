"""The memory of a run, computed by hand for tiny shapes."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from action_balance.algorithms import learner
from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.network import NetworkConfig
from action_balance.config.presets import PRESETS
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines import memory_needs as module
from action_balance.engines.host.rollout_buffer import RolloutBuffer
from action_balance.engines.memory_needs import (
    check_agents,
    check_training,
    device_rollout,
    host_rollout,
    state_needs,
    update_needs,
    warmup_needs,
)
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

SEA = env_config("deep-sea", size=2)  # observations of 4 numbers, 2 actions
TINY = AgentConfig(
    method="ppo",
    steps=1000,
    envs=4,
    algorithm=PPOConfig(rollout_steps=3, epochs=5, minibatches=2),
    exploration=ExplorationConfig(warmup_rollouts=0),
    network=NetworkConfig(hidden=3, layers=2),
)


def needs(config: TrainConfig, spec: EnvSpec | None = None) -> dict[str, int]:
    spec = spec or config.env.spec
    return {need.what: need.size for need in (*state_needs(config, spec), *update_needs(config, spec))}


def test_the_parts_of_a_run_are_as_counted_by_hand() -> None:
    # Trunk 4 -> 3 -> 3, one layer 3 -> 3 each for actor and critic, heads of 2 logits and 2 values, with biases.
    weights = (4 * 3 + 3) + 3 * (3 * 3 + 3) + 2 * (3 * 2 + 2)
    found = needs(TrainConfig(SEA, TINY))
    assert found["its networks"] == 4 * (3 * weights + 1)  # with both moments of Adam, and its count
    assert found["its bonuses"] == 0
    # Per step: two observations, action, log-probability, 2 logits, 2 values, reward; 6 samples x 2 layers x 3 numbers.
    assert found["its rollouts"] == 4 * (4 * 3 * (2 * 4 + 1 + 1 + 2 + 2 + 1) + 6 * 2 * 3)
    assert found["its minibatches"] == 5 * (4 * 4 + 2 * (8 + 4 * 6))
    assert needs(TrainConfig(SEA, TINY, seeds=7))["its networks"] == 7 * found["its networks"]


def test_the_keys_of_the_warm_up_are_counted_where_it_is_used() -> None:
    agent = replace(TINY, exploration=ExplorationConfig(warmup_rollouts=7))
    assert warmup_needs(TrainConfig(SEA, agent))[0].size == 0  # nothing sees normalised observations
    assert warmup_needs(TrainConfig(SEA, replace(agent, method="rnd")))[0].size == 8 * 7 * 3


def test_a_table_of_counts_is_its_rows() -> None:
    agent = replace(TINY, intrinsic="hash", bonus_settings=FrozenDict({"hash": FrozenDict({"table_bits": 10})}))
    without = needs(TrainConfig(SEA, TINY))["its bonuses"]
    assert needs(TrainConfig(SEA, agent))["its bonuses"] - without >= 4 * 2**10


def test_a_memory_is_kept_of_every_step_and_a_stack_is_not() -> None:
    recurrent, steps = replace(TINY, network=replace(TINY.network, memory="gru", memory_units=5)), TINY.steps_per_update
    # Its states, and what a minibatch keeps of its gates.
    each = 4 * 5 * (steps + 4 * steps // TINY.algorithm.minibatches)
    assert device_rollout(recurrent, SEA.spec) - device_rollout(TINY, SEA.spec) == each
    stacked = replace(SEA.spec, kind="vector-stack", shape=(3, *SEA.spec.shape), states=0)
    assert device_rollout(TINY, stacked) == device_rollout(TINY, SEA.spec)


def test_buffers_on_the_host_are_what_is_allocated() -> None:
    spec = EnvSpec("image-stack", (4, 44, 44), (3, 2), dtype="uint8")
    empty = jax.eval_shape(
        lambda key: RolloutBuffer.empty(make_algorithm(TINY, spec), 4, np.int32(0), key), jax.random.key(0)
    )
    allocated = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(empty))
    learned = 4 * (3 + 3 * 3) * 44 * 44  # 4 environments, 3 older frames, 3 copies of the frames of 3 steps
    assert host_rollout(TINY, spec) == 2 * allocated + learned
    assert host_rollout(replace(TINY, method="random"), spec) == 2 * allocated


@pytest.mark.parametrize(
    "agent",
    [
        replace(TINY, network=NetworkConfig(hidden=64)),
        replace(TINY, envs=64, method="rnd", network=replace(TINY.network, memory="gru")),
    ],
)
def test_the_estimate_is_below_what_a_program_needs(agent: AgentConfig) -> None:
    config, algorithm = TrainConfig(SEA, agent), make_algorithm(agent, SEA.spec)
    sea = config.environment(jax.random.key(0))
    state = jax.eval_shape(lambda key: learner.init_state(sea, algorithm, key), jax.random.key(0))
    step = jax.jit(lambda state: learner.train_step(sea, state, algorithm), donate_argnums=0)
    program: Any = step.lower(state).compile().memory_analysis()
    assert sum(needs(config).values()) < program.argument_size_in_bytes + program.temp_size_in_bytes


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_fit_into_a_small_machine(preset: str) -> None:
    games = EnvSpec("image-stack", (4, 84, 84), (18,), dtype="uint8")
    env, spec = (env_config("gym:Game-v0"), games) if "atari" in preset else (env_config("open"), None)
    config = TrainConfig(env, PRESETS[preset])
    assert sum(needs(config, spec).values()) < 2**30


def test_the_part_that_asks_for_too_much_is_named_with_its_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 8 * 10**9)
    for agent, flag in (
        (replace(TINY, network=NetworkConfig(hidden=2**31 - 1)), "--hidden"),
        (replace(TINY, algorithm=replace(TINY.algorithm, rollout_steps=10**8), steps=10**9), "--rollout-steps"),
        (replace(TINY, algorithm=replace(TINY.algorithm, epochs=10**9)), "--epochs"),
    ):
        with pytest.raises(UserError, match=flag):
            check_training(TrainConfig(SEA, agent), SEA.spec)


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        (
            EnvSpec("mixed-stack", (1, 230_404), (2,), "uint8", normalize_obs=True, images=((240, 320, 3),)),
            ["rollouts (8 environments x 128 steps, 230,404 bytes", "--max-image-side"],
        ),
        (
            EnvSpec("vector-stack", (1, 1_000_000), (2,), normalize_obs=True),
            ["networks (observations of 1,000,000 numbers)", "rollouts (8 environments x 128 steps, 4,000,000 bytes"],
        ),
    ],
)
def test_large_observations_are_named_with_their_numbers(
    spec: EnvSpec, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 10**9)
    with pytest.raises(UserError) as caught:
        check_training(TrainConfig(env_config("gym:A-v0"), AgentConfig()), spec)
    assert all(part in str(caught.value) for part in parts)
    assert "\n" not in str(caught.value)


def test_a_gpu_has_its_own_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = SimpleNamespace(memory_stats=lambda: {"bytes_limit": 1000})
    monkeypatch.setattr(jax, "local_devices", lambda: [gpu])
    with pytest.raises(UserError, match="1,000 bytes is available"):
        check_training(TrainConfig(SEA, TINY), SEA.spec)


def test_agents_that_only_play_need_no_rollouts(monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainConfig(SEA, TINY)
    agents = sum(need.size for need in state_needs(config, SEA.spec))
    monkeypatch.setattr(module, "available_memory", lambda: agents)
    check_agents(config, SEA.spec)
    with pytest.raises(UserError, match="for its rollouts"):
        check_training(config, SEA.spec)
    monkeypatch.setattr(module, "available_memory", lambda: agents - 1)
    with pytest.raises(UserError, match="for its networks"):
        check_agents(config, SEA.spec)
