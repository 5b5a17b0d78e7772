"""Several seeds on the device: each has the result that it would have alone, and all are one program."""

import inspect
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from untrained_run import VECTORS

from action_balance.algorithms import learner
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.device import trainer as device
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.engines.metrics_rows import HostMetrics

SMALL = TrainConfig(
    env_config("deep-sea", size=4),
    AgentConfig(
        steps=10_000,
        envs=4,
        algorithm=PPOConfig(rollout_steps=16, epochs=2, minibatches=2, learning_rate=1e-2),
        exploration=ExplorationConfig(warmup_rollouts=2),
        network=NetworkConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
    ),
)


def trained(
    seed: int, seeds: int, updates: int = 4, config: TrainConfig = SMALL
) -> tuple[DeviceTrainer, list[HostMetrics]]:
    trainer = DeviceTrainer(replace(config, seed=seed, seeds=seeds))
    trainer.start(trainer.init_state())
    return trainer, [trainer.advance() for _ in range(updates)]


def results(seed: int, seeds: int) -> Any:
    """Networks and metrics after some updates, (S, ...)."""
    trainer, metrics = trained(seed, seeds)
    return jax.tree.map(np.asarray, (trainer.state().params, metrics))


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*map(jax.tree.leaves, (one, other)), strict=True))


def test_every_seed_has_the_result_that_it_would_have_alone_bit_for_bit() -> None:
    together = results(5, 3)  # on two cores, one place is spare
    alone = results(5, 1)
    mine = [jax.tree.map(lambda leaf, place=place: leaf[place : place + 1], together) for place in range(3)]
    assert same(mine[0], alone)
    assert same(mine[2], results(7, 1))
    assert not same(mine[1], alone)


def test_visits_are_those_of_all_seeds_and_the_first_ratio_is_exactly_one() -> None:
    trainer, metrics = trained(0, 3)  # whose program is compiled already
    assert all(one["first_ratio"].tolist() == [0, 0, 0] for one in metrics)  # the distance from 1
    visits = trainer.visits()
    assert visits is not None
    assert visits.shape == (16, 2)
    assert visits.sum() == 3 * 4 * 64  # seeds, updates, steps of an update
    assert trainer.resume_note == ""


def test_a_trainer_continues_from_a_state_as_if_it_had_not_stopped() -> None:
    whole, expected = trained(0, 3)
    half, first = trained(0, 3, updates=2)
    again = DeviceTrainer(replace(SMALL, seeds=3))
    again.start(jax.tree.map(jax.numpy.copy, half.state()))
    assert same([*first, again.advance(), again.advance()], expected)
    assert same(again.state().params, whole.state().params)


def test_nothing_is_initialised_when_a_stop_was_requested() -> None:
    with pytest.raises(KeyboardInterrupt):
        DeviceTrainer(SMALL).init_state(lambda: True)


def test_a_trainer_compiles_its_update_once(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = 0
    original = learner.train_step

    def counted(*arguments: Any) -> Any:
        nonlocal traces
        traces += 1
        return original(*arguments)

    monkeypatch.setattr(learner, "train_step", counted)
    monkeypatch.setattr(device, "_programs", inspect.unwrap(device._programs))  # not those of other tests
    trainer, _ = trained(0, 2, updates=1, config=replace(SMALL, agent=VECTORS))  # the program of `api/test_run.py`
    once = traces  # a trace may call the function several times, for shapes
    for _ in range(3):
        trainer.advance()
    assert traces == once > 0
