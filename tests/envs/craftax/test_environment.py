from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from action_balance.agent import learner
from action_balance.agent.context import AgentContext
from action_balance.agent.metrics import Metrics
from action_balance.agent.rollout import rollout
from action_balance.agent.state import TrainState, Trajectory
from action_balance.config.agent import AgentConfig, BonusConfig, NetConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.envs.craftax import textures
from action_balance.envs.craftax.config import CraftaxConfig
from action_balance.envs.library.environment import LibraryState
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

CLASSIC = CraftaxConfig("craftax:Craftax-Classic-Symbolic-v1", max_steps=3)
AGENT = AgentConfig(
    method="ppo",
    steps=8,
    envs=4,
    ppo=PPOConfig(rollout_steps=1, epochs=1, minibatches=1),
    bonus=BonusConfig(warmup_rollouts=0),
    net=NetConfig(hidden=8),
)


def test_the_specification_of_symbols() -> None:
    assert CLASSIC.spec == EnvSpec("vector", (1345,), (17,))
    assert CraftaxConfig(CLASSIC.name).make(jax.random.key(0)).episode_steps == 10_000
    assert CLASSIC.make(jax.random.key(0)).episode_steps == 3


def test_an_unknown_name_is_one_line() -> None:
    with pytest.raises(UserError, match="did you mean craftax:Craftax-Symbolic-v1"):
        env_config("craftax:Craftax-symbolic")
    with pytest.raises(UserError, match="did you mean craftax:Craftax-Symbolic-v1"):
        env_config("Craftax-Symbolic-v1")


Update = tuple[TrainState, Trajectory, Metrics]


@pytest.fixture(scope="module")
def updates() -> list[Update]:
    """Two updates of one step in four worlds, each the state before it, its rollout and its metrics.

    All of the first but one are changed: a player without health, one with two achievements, and another one with two
    whose time is over. It is one program, because that of a world takes seconds to compile.
    """
    environment, context = CLASSIC.make(jax.random.key(0)), AgentContext(AGENT, CLASSIC.spec)

    @jax.jit
    def update(state: TrainState) -> Update:
        made: list[Trajectory] = []

        def recorded(*given: Any) -> tuple[TrainState, Trajectory]:
            after, trajectory = rollout(*given)
            made.append(trajectory)
            return after, trajectory

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(learner, "rollout", recorded)
            after, metrics = learner.train_step(environment, state, context)
        return after, made[0], metrics

    state = jax.jit(lambda key: learner.init_state(environment, context, key))(jax.random.key(0))
    library = state.env_state.library
    health = library.player_health.at[1].set(0)
    done = library.achievements.at[2:, :2].set(True)
    begun = LibraryState(replace(library, player_health=health, achievements=done), state.env_state.steps.at[3].set(2))
    state = replace(state, env_state=begun)
    after, *first = update(state)
    _, *second = update(after)
    return [(state, *first), (after, *second)]


def test_game_over_and_the_time_limit_are_told_apart_and_the_last_observation_is_kept(updates: list[Update]) -> None:
    (before, step, _), (after, following, _) = updates
    assert np.asarray(step.terminated).tolist() == [[False, True, False, False]]
    assert np.asarray(step.truncated).tolist() == [[False, False, False, True]]
    assert np.asarray(after.env_state.steps).tolist() == [1, 0, 1, 0]
    # The first of the four vital signs, divided by 10, follows the inventory of 12 numbers behind the map of 1323.
    health = 1323 + 12
    assert np.asarray(before.observation)[:, health].tolist() == pytest.approx([0.9] * 4, abs=1e-3)
    assert np.asarray(step.next_obs)[0, :, health].tolist() == pytest.approx([0.9, 0, 0.9, 0.9], abs=1e-3)
    assert np.asarray(following.observation)[0, :, health].tolist() == pytest.approx([0.9] * 4, abs=1e-3)
    assert np.asarray(after.env_state.library.timestep).tolist() == [1, 0, 1, 0]


def test_achievements_are_counted_and_reported_of_the_episodes_that_ended(updates: list[Update]) -> None:
    _, step, metrics = updates[0]
    counted = np.asarray(step.info["achievements"])[0]
    assert ((counted - [0, 0, 2, 2]) >= 0).all()
    assert ((counted - [0, 0, 2, 2]) <= 1).all()  # the action may have been another one
    assert int(metrics["episodes"]) == 2
    assert float(metrics["achievements"]) == counted[[1, 3]].mean()


def test_two_updates_are_learned_from(updates: list[Update]) -> None:
    assert np.isfinite([float(metrics["loss_policy"]) for _, _, metrics in updates]).all()
    assert all(bool(metrics["parameters_finite"]) for _, _, metrics in updates)


def test_textures_are_kept_as_a_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def save(path: str, textures: Any) -> None:
        Path(path).write_text(textures)

    textures._keep(tmp_path / "cache", "pixels", save)
    assert [file.name for file in tmp_path.iterdir()] == ["cache"]
    assert (tmp_path / "cache").read_text() == "pixels"
    textures._keep(tmp_path / "no folder" / "cache", "pixels", save)
    assert "the next start prepares the textures again" in capsys.readouterr().out
