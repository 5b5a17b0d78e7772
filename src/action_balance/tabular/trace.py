"""One run of each method, every step of it: what people watch on the page.

Counts, bonuses and policies of any moment follow from it. Axes: M methods, T steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from action_balance.envs import grid
from action_balance.envs.grid import GridWorld
from action_balance.tabular import agent, simulate
from action_balance.tabular.agent import Run, TabularSettings
from action_balance.tabular.simulate import Cohort


@dataclass(frozen=True)
class Trace:
    """What one run did, and what it learned from it."""

    pairs: np.ndarray  # (T,) int32, cell * A + action of each step
    advantage: np.ndarray  # (T,) float32, A(s, a) of that pair after the update that learned from the step

    def counts_until(self, step: int, cells: int) -> np.ndarray:
        """N(s, a) after so many steps, (S, A) int."""
        actions = len(grid.MOVES)
        return np.bincount(self.pairs[:step], minlength=cells * actions).reshape(cells, actions)


def trace(world: GridWorld, cohorts: Sequence[Cohort], settings: TabularSettings, steps: int) -> list[Trace]:
    """The first run of each cohort, ``steps`` steps of it; goals change nothing."""
    settings = simulate.shortened(settings, steps)
    updates = -(-steps // settings.update_every)
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *cohorts)

    def one(world: GridWorld, cohort: Cohort) -> tuple[jax.Array, jax.Array]:
        def update(run: Run, _: None) -> tuple[Run, tuple[jax.Array, jax.Array]]:
            run, batch = agent.advance(world, run, settings)
            learned = run.tables.advantage[batch.cell, batch.action]
            return run, (batch.cell * len(grid.MOVES) + batch.action, learned)

        made: Any = jax.lax.scan(update, simulate.begin_run(world, cohort, np.int32(0)), None, length=updates)[1]
        return made

    with simulate.on_cpu():
        pairs, advantage = jax.jit(jax.vmap(one, in_axes=(None, 0)))(world, stacked)
    rows = (np.asarray(part).reshape(len(cohorts), -1)[:, :steps] for part in (pairs, advantage))
    return [Trace(*both) for both in zip(*rows, strict=True)]
