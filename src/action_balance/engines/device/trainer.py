"""Training with environments on the device: rollout and update of all seeds are one compiled program.

Axis: S seeds.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from action_balance.algorithms import learner
from action_balance.algorithms.base import Metrics, make_algorithm
from action_balance.algorithms.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.engines.base import Trainer, never
from action_balance.engines.device.devices import choose_devices, splits_environments
from action_balance.engines.device.environments import Environments
from action_balance.engines.device.seeds import Seeds
from action_balance.engines.metrics_rows import HostMetrics


class _Programs(NamedTuple):
    """What is compiled for a run."""

    layout: Seeds | Environments  # whose `run` runs the last two
    init_one: Callable[[PRNGKeyArray], TrainState]  # not compiled
    init: Callable[..., TrainState]
    step: Callable[..., tuple[TrainState, Metrics]]


def _init(config: TrainConfig) -> Callable[[PRNGKeyArray], TrainState]:
    """The function from the key of a seed to its first state."""
    algorithm = make_algorithm(config.agent, config.env.spec)

    def init(key: PRNGKeyArray) -> TrainState:
        return learner.init_state(config.environment(key), algorithm, jax.random.fold_in(key, 2))

    return init


def _layout(config: TrainConfig) -> Seeds | Environments:
    devices = choose_devices(config)
    if splits_environments(config, devices):
        return Environments(config, devices, _init)
    return Seeds(config.seed, config.seeds, devices)


def _programs(config: TrainConfig) -> _Programs:
    """The programs of a run; they are the same for other seeds. Nothing is compiled yet."""
    layout, algorithm, init = _layout(config), make_algorithm(config.agent, config.env.spec), _init(config)

    def step(key: PRNGKeyArray, state: TrainState) -> tuple[TrainState, Metrics]:
        return learner.train_step(config.environment(key), state, algorithm)

    return _Programs(layout, init, layout.compile(init, arguments=0), layout.compile(step, arguments=1))


class DeviceTrainer(Trainer):
    """Agents whose environments are compiled together with them."""

    def __init__(self, config: TrainConfig) -> None:
        self._spec = config.env.spec
        programs = _programs(replace(config, seed=0, checkpoint_every=None, stop_when=()))
        self.seeds = programs.layout.beginning_with(config.seed)
        self._init_one = programs.init_one
        self._init = partial(self.seeds.run, programs.init)
        self.step = partial(self.seeds.run, programs.step)  # of states in their places
        self._state: TrainState

    spec = property(lambda self: self._spec)
    resume_note = ""

    def state_shapes(self) -> TrainState:
        keys = jax.eval_shape(lambda: jax.vmap(jax.random.key)(jnp.arange(self.seeds.count)))
        return jax.eval_shape(jax.vmap(self._init_one), keys)

    def init_state(self, stopped: Callable[[], bool] = never) -> TrainState:
        if stopped():
            raise KeyboardInterrupt
        states: TrainState = self.seeds.cut(self._init())
        return states

    def start(self, states: TrainState) -> None:
        self._state = self.seeds.place(states)

    def advance(self) -> HostMetrics:
        self._state, metrics = self.step(self._state)
        return {name: np.asarray(values)[: self.seeds.count] for name, values in metrics.items()}

    def state(self) -> TrainState:
        states: TrainState = self.seeds.cut(self._state)
        return states

    def visits(self) -> Int[np.ndarray, "states choices"] | None:
        return np.asarray(self.seeds.cut(self._state.visits)).sum(axis=0) if self.spec.states else None

    def close(self) -> None:
        """Nothing has to be stopped."""
