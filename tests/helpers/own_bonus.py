"""A bonus of a user, in one file: ``--intrinsic own_bonus:CellCounts`` or ``--action-bonus own_bonus:CellCounts``."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus, BonusObs


@dataclass(frozen=True)
class CellConfig:
    """Cells of the observation space; each field is a flag."""

    cells: int = 10
    """Cells along each axis of an observation."""


@dataclass(frozen=True)
class CellCounts(Bonus):
    """1 / sqrt(1 + N): N counts visits of a cell (rewards), or how often an action was taken in it (scores)."""

    Config = CellConfig
    uses_obs_stats = True

    def init(self, key: PRNGKeyArray, stats: Any) -> tuple[None, Float[Array, "cells A"]]:
        """No visits."""
        del key, stats
        return None, jnp.zeros((self.config.cells ** self.spec.frame_shape[0], sum(self.spec.nvec)))

    def _cell(self, obs: BonusObs) -> Int[Array, ""]:
        places = (obs.normalized / obs.clip + 1) / 2 * self.config.cells  # from 0 to the number of cells
        return jnp.ravel_multi_index(tuple(places.astype(int)), (self.config.cells,) * len(places), mode="clip")

    def reward(self, params: None, state: Any, rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        """The bonus of every cell that was reached, and the counts with this rollout."""
        del params
        cell, taken, reached = rollout.each(
            lambda obs, action, next_obs: (self._cell(obs), self.distribution.one_hot(action), self._cell(next_obs))
        )
        return 1 / jnp.sqrt(1 + state.sum(axis=1)[reached]), state.at[cell].add(taken)

    def scores(self, params: None, state: Any, obs: BonusObs) -> Float[Array, " A"]:
        """The bonus of every action in this cell."""
        del params
        return 1 / jnp.sqrt(1 + state[self._cell(obs)])
