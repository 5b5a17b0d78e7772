"""Counts of hashed observations (Tang et al., 2017, https://arxiv.org/abs/1611.04717).

An observation becomes a code, a short vector of small integers: observations with the same code share a count. The code
of discrete and of symbolic observations is their numbers. Any other code is either a SimHash, the signs of random
projections; or, for images, a cell as in Go-Explore (Ecoffet et al., 2019, https://arxiv.org/abs/1901.10995), the image
in very few pixels and grey levels. A random hash function maps the code to a row of a table of counts, which is part of
the bonus's state; discrete observations that are not more than the rows have a row each, and are counted exactly.

Axes: T steps, N environments, f axes of a frame, D numbers of a frame and a constant, K integers of a code, R rows of
the table, A columns of a row: one per choice of the action components, or a single one for the state itself.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real, UInt32

from action_balance.bonuses.base import Batch, Bonus, BonusObs
from action_balance.bonuses.counter import PairCounter
from action_balance.config.bonuses import HashConfig
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.visits import add_visits
from action_balance.envs.mixed import component_values, state_number
from action_balance.errors import UserError

#: Bits of the numbers that hash functions compute with.
WORD = 32


class Projections(eqx.Module):
    """What a SimHash is made of; nothing of it ever changes."""

    stats: RunningMeanStd  # of the observations of the warm-up
    directions: Float[Array, "K D"]  # of the numbers of a frame, and of the constant


class HashTable(eqx.Module):
    """Counts by row, and what is known about collisions."""

    projections: Projections | None  # None where codes are cells
    multipliers: UInt32[Array, "2 K"]  # of the row and of the fingerprint
    offsets: UInt32[Array, " 2"]
    counts: Int[Array, "R A"]
    owners: UInt32[Array, " R"] | None  # fingerprint of the first code in each row, 0 for none; None while acting
    occupied: Int[Array, ""]  # rows that have an owner
    collisions: Float[Array, ""]  # proportion of the last rollout's observations in rows that another code owns


def simhash(frame: Real[Array, " *f"], projections: Projections, clip: float) -> UInt32[Array, " K"]:
    """SimHash ``[A (x, 1) > 0]`` of a normalised observation x, with a random Gaussian matrix A (Charikar, 2002).

    The appended 1 moves the hyperplanes away from the origin. Otherwise all observations in the same direction would
    have the same code, and observations of few dimensions very few codes.
    """
    normalized = projections.stats.normalize(frame, clip)
    # The best precision: numbers of 10 bits, as in GPU matrix units, would change the signs of small sums with the
    # size of a batch, so that an observation had one code when acting and another when counting.
    sums = jnp.matmul(projections.directions, jnp.append(normalized, 1.0), precision=jax.lax.Precision.HIGHEST)
    return (sums > 0).astype(jnp.uint32)


def cell(frame: Real[Array, " *f"], rows: int, columns: int, levels: int, white: float) -> UInt32[Array, " K"]:
    """The cell of an image: its grey values, 0 to ``white``, averaged over rows x columns areas, in a few levels."""
    values = frame.astype(jnp.float32)
    sums = values.sum(axis=-1) if values.ndim == 3 else values
    high, wide = sums.shape
    # Weights are whole numbers, so that sums of 8-bit pixels are exact: a plain area on the border of two levels
    # always has the same level.
    down, across = _overlaps(high, rows), _overlaps(wide, columns)
    exact = jax.lax.Precision.HIGHEST
    pooled = jnp.matmul(jnp.matmul(down, sums, precision=exact), across.T, precision=exact)
    grey = pooled / (white * values.size)  # the weights of an area add up to H W, and there are C channels
    return jnp.clip(jnp.floor(grey * levels), 0, levels - 1).astype(jnp.uint32).ravel()


def _overlaps(pixels: int, areas: int) -> Float[np.ndarray, "areas pixels"]:
    """How much each area covers of each pixel, in units of 1 / areas of a pixel; whole numbers."""
    first, last = np.arange(pixels) * areas, np.arange(1, pixels + 1) * areas
    start, end = np.arange(areas)[:, None] * pixels, np.arange(1, areas + 1)[:, None] * pixels
    return np.maximum(np.minimum(last, end) - np.maximum(first, start), 0).astype(np.float32)


@dataclass(frozen=True)
class Hashed(Bonus):
    """A table of counts of hashed observations, which rewards states or scores actions in the subclasses."""

    Config: ClassVar[type] = HashConfig
    prefix: ClassVar[str] = ""  # of the names of metrics

    @property
    def uses_obs_stats(self) -> bool:
        return not self.hashes_cells and not self.hashes_numbers

    @property
    def hashes_numbers(self) -> bool:
        """Whether codes are the numbers of the observation itself: those of discrete observations, and symbols."""
        return bool(self.spec.discrete) or (self.spec.is_symbolic and self.config.hash_kind == "auto")

    @property
    def hashes_cells(self) -> bool:
        """Whether codes are cells: as set, or for 8-bit images with more rows and columns than a cell image.

        The range of other numbers is not known: if all were above white, all images would have the same cell.
        """
        if self.config.hash_kind != "auto":
            return self.config.hash_kind == "cells"
        if not self.spec.is_image or self.spec.dtype != "uint8":
            return False
        return self.spec.frame_shape[0] > self.config.cell_rows and self.spec.frame_shape[1] > self.config.cell_columns

    @property
    def columns(self) -> int:
        return 1

    @property
    def total(self) -> int:
        """The first columns, which add up to the visits of a row."""
        return 1

    def check(self) -> None:
        if self.hashes_cells and not self.spec.is_image:
            raise UserError("--hash-kind cells needs images, but this environment has none: use --hash-kind simhash")

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[None, HashTable]:
        config, projections = self.config, None
        length = len(self.spec.discrete) or config.cell_rows * config.cell_columns
        if self.hashes_numbers and self.spec.is_symbolic:
            length = math.prod(self.spec.frame_shape)
        elif not self.hashes_cells and not self.hashes_numbers:
            length = config.hash_bits
            # Frozen: if the running statistics moved a hash, an observation would lose its count.
            shape = (length, math.prod(self.spec.stats_shape) + 1)
            directions = jax.random.normal(named_key(key, "directions"), shape)
            if self.spec.vector:  # it counts as much as all pixels do
                scale = (self.spec.pixels / self.spec.vector) ** 0.5
                directions = directions.at[:, self.spec.pixels : -1].multiply(scale)
            projections = Projections(stats, directions)
        rows = 2**config.table_bits
        return None, HashTable(
            projections=projections,
            multipliers=jax.random.bits(named_key(key, "multipliers"), (2, length), jnp.uint32),
            offsets=jax.random.bits(named_key(key, "offsets"), (2,), jnp.uint32),
            counts=jnp.zeros((rows, self.columns), jnp.int32),
            owners=jnp.zeros(rows, jnp.uint32),
            occupied=jnp.zeros((), jnp.int32),
            collisions=jnp.zeros(()),
        )

    def acting_state(self, state: HashTable) -> HashTable:
        return replace(state, owners=None)

    def code(self, state: HashTable, frame: Real[Array, " *f"]) -> UInt32[Array, " K"]:
        config = self.config
        if self.hashes_numbers and self.spec.is_symbolic:
            return frame.ravel().astype(jnp.uint32)
        if self.spec.discrete:
            return jnp.stack(component_values(self.spec, frame)).astype(jnp.uint32)
        if state.projections is not None:
            return simhash(frame, state.projections, self.agent.exploration.observation_clip)
        white = 256.0 if np.issubdtype(np.dtype(self.spec.dtype), np.integer) else 1.0
        return cell(frame, config.cell_rows, config.cell_columns, config.grey_levels, white)

    def locate(self, state: HashTable, frame: Real[Array, " *f"]) -> tuple[Int[Array, ""], UInt32[Array, ""]]:
        """The row of an observation and the fingerprint of its code: ``sum_i a_i x_i + b`` modulo 2^32, twice.

        With random a and b, the upper bits of this sum are the same for two codes with a probability of 2^-bits
        (Dietzfelbinger, 1996, https://doi.org/10.1007/3-540-60922-9_46).
        """
        rows = 2**self.config.table_bits
        if 0 < self.spec.countable <= rows and self.spec.discrete:  # every state has a row of its own
            number = state_number(self.spec, frame)
            return number, number.astype(jnp.uint32) + 1
        sums = (state.multipliers * self.code(state, frame)).sum(axis=1, dtype=jnp.uint32) + state.offsets
        return (sums[0] >> (WORD - self.config.table_bits)).astype(jnp.int32), sums[1] | 1

    def count(
        self,
        state: HashTable,
        rows: Int[Array, "T N"],
        fingerprints: UInt32[Array, "T N"],
        visits: Int[Array, "T N A"],
    ) -> HashTable:
        """Count the visits of a rollout.

        A row belongs to the first code that visits it. Codes that visit an empty row in the same rollout are ordered by
        fingerprint, because the order of simultaneous writes is not defined.
        """
        assert state.owners is not None
        empty: Bool[Array, "T N"] = state.owners[rows] == 0
        owners = state.owners.at[rows].max(jnp.where(empty, fingerprints, 0))
        counts = add_visits(state.counts, rows, visits)
        # m visits of a row that was empty add m times 1 / m.
        shares = jnp.where(empty, 1 / counts[rows, : self.total].sum(axis=-1), 0)
        return replace(
            state,
            counts=counts,
            owners=owners,
            occupied=state.occupied + jnp.round(shares.sum()).astype(jnp.int32),
            collisions=(owners[rows] != fingerprints).mean(dtype=jnp.float32),
        )

    def metrics(self, params: Any, state: HashTable) -> dict[str, Float[Array, ""]]:
        """Rows in use, and the proportion of the rollout's observations that share a row with another code."""
        found = {"hash_states": state.occupied.astype(jnp.float32), "hash_collisions": state.collisions}
        return {self.prefix + name: value for name, value in found.items()}


@dataclass(frozen=True)
class HashedStates(Hashed):
    """The next-state bonus ``r(s') = 1 / sqrt(1 + n(hash(s')))``, with the counts n from before the rollout."""

    rewards_states: ClassVar[bool] = True

    def reward(self, params: Any, state: HashTable, rollout: Batch) -> tuple[Float[Array, "T N"], HashTable]:
        rows, fingerprints = rollout.each(lambda _, __, next_obs: self.locate(state, next_obs.frame))
        bonus = 1 / jnp.sqrt(1.0 + state.counts[rows, 0])
        return bonus, self.count(state, rows, fingerprints, jnp.ones((*rows.shape, 1), jnp.int32))


@dataclass(frozen=True)
class HashedPairs(PairCounter, Hashed):
    """The action bonus ``r_ab(s, a) = 1 / sqrt(1 + n(hash(s), a))``.

    A row of the table has the counts of all actions, so that one look-up scores all of them.
    """

    prefix: ClassVar[str] = "action_"

    @property
    def columns(self) -> int:
        return self.distribution.choices

    @property
    def total(self) -> int:
        """The choices of the first component: every visit has one of them."""
        return self.spec.nvec[0]

    def counts(self, params: Any, state: HashTable, obs: BonusObs) -> Float[Array, " A"]:
        return state.counts[self.locate(state, obs.frame)[0]].astype(jnp.float32)

    def reward(self, params: Any, state: HashTable, rollout: Batch) -> tuple[Float[Array, "T N"], HashTable]:
        """The bonus of every pair that was taken, summed over components, and the table with this rollout."""
        rows, fingerprints = rollout.each(lambda obs, _, __: self.locate(state, obs.frame))
        taken = rollout.each(lambda _, action, __: self.distribution.vector(action))
        bonus = (taken / jnp.sqrt(1.0 + state.counts[rows])).sum(axis=-1)
        return bonus, self.count(state, rows, fingerprints, taken.astype(jnp.int32))
