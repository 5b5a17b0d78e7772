import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from action_balance.envs.registry import EnvConfig

from action_balance.agent import learner as train
from action_balance.config.agent import BonusConfig, Config, NetConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device.seeds import Seeds
from action_balance.engines.loop import Trainer

SMALL = TrainConfig(
    env_config("deep-sea", size=4),
    Config(
        steps=10_000,
        envs=4,
        ppo=PPOConfig(rollout_steps=16, epochs=2, minibatches=2, learning_rate=1e-2),
        bonus=BonusConfig(warmup_rollouts=2),
        net=NetConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
    ),
)


def trained(seed: int, seeds: int, updates: int = 4) -> tuple[Any, Any]:
    """What the networks and the metrics are after some updates, (S, ...)."""
    trainer = Trainer(replace(SMALL, seed=seed, seeds=seeds))
    state = trainer.seeds.place(trainer.begin())
    for _ in range(updates):
        state, metrics = trainer.step(state)
    return jax.tree.map(np.asarray, trainer.seeds.cut((state.params, metrics)))


def test_every_seed_has_the_result_that_it_would_have_alone_bit_for_bit() -> None:
    together = trained(5, 3)  # on two cores, one place is spare
    alone_first = trained(5, 1)
    for place, alone in ((0, alone_first), (2, trained(7, 1))):
        mine = jax.tree.map(lambda leaf, place=place: leaf[place : place + 1], together)
        assert all(
            np.array_equal(a, b, equal_nan=True) for a, b in zip(*map(jax.tree.leaves, (mine, alone)), strict=True)
        )
    other = jax.tree.map(lambda leaf: leaf[1:2], together)
    assert not all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (other, alone_first)), strict=True))


def test_the_first_ratio_of_every_update_is_exactly_one() -> None:
    trainer = Trainer(replace(SMALL, seeds=2))
    state = trainer.seeds.place(trainer.begin())
    for _ in range(6):
        state, metrics = trainer.step(state)
        assert trainer.seeds.cut(metrics).first_ratio.tolist() == [0, 0]  # the distance from 1


def test_a_trainer_compiles_its_update_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = 0
    original = train.train_step

    def counted(*arguments: Any) -> Any:
        nonlocal traces
        traces += 1
        return original(*arguments)

    monkeypatch.setattr(train, "train_step", counted)
    trained(0, 3, updates=1)
    once = traces  # a trace may call the function several times, for shapes
    traces = 0
    trained(0, 3, updates=4)
    assert traces == once > 0


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_function_is_applied_to_each_seed(count: int) -> None:
    seeds = Seeds(10, count)
    double = seeds.compile(lambda key, x: (jax.random.key_data(key)[-1], 2 * x), arguments=1)
    numbers, doubled = seeds.cut(double(seeds.place(np.arange(count, dtype=np.float32))))
    assert numbers.tolist() == list(range(10, 10 + count))
    assert doubled.tolist() == [2.0 * i for i in range(count)]


def test_the_command_line_gives_every_core_a_device() -> None:
    program = (
        "from action_balance import cli; import jax; from action_balance.engines.device.seeds import use_all_cores;"
        "use_all_cores(); print(jax.device_count())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAX_NUM_CPU_DEVICES"}
    environment["JAX_PLATFORMS"] = "cpu"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert int(done.stdout) == len(os.sched_getaffinity(0))
