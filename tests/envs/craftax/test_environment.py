from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.config.agent import AgentConfig, BonusConfig, NetConfig, PPOConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.factory import make_trainer
from action_balance.envs.craftax import textures
from action_balance.envs.craftax.config import CraftaxConfig
from action_balance.envs.library.environment import LibraryState
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

CLASSIC = CraftaxConfig("craftax:Craftax-Classic-Symbolic-v1", max_steps=3)
AGENT = AgentConfig(
    method="ppo",
    steps=32,
    envs=4,
    ppo=PPOConfig(rollout_steps=4, epochs=1, minibatches=1),
    bonus=BonusConfig(warmup_rollouts=1),
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


@pytest.fixture(scope="module")
def steps() -> Any:
    """The compiled step of four worlds: as they begin, with a player without health, and with two achievements."""
    environment = CLASSIC.make(jax.random.key(0))
    keys = jax.random.split(jax.random.key(0), 4)

    @jax.jit
    def play(keys: jax.Array) -> Any:
        state, first = jax.vmap(environment.reset)(keys)
        library = state.library
        health = library.player_health.at[1].set(0)
        done = library.achievements.at[2, :2].set(True)
        times = state.steps.at[3].set(2)
        begun = LibraryState(replace(library, player_health=health, achievements=done), times)
        return first, jax.vmap(environment.step)(begun, jnp.zeros(4, jnp.int32), keys)

    return play(keys)


def test_game_over_and_the_time_limit_are_told_apart_and_the_last_observation_is_kept(steps: Any) -> None:
    first, (following, step) = steps
    assert np.asarray(step.terminated).tolist() == [False, True, False, False]
    assert np.asarray(step.truncated).tolist() == [False, False, False, True]
    assert np.asarray(following.steps).tolist() == [1, 0, 1, 0]
    # The first of the four vital signs, divided by 10, follows the inventory of 12 numbers behind the map of 1323.
    health = 1323 + 12
    assert np.asarray(first)[:, health].tolist() == pytest.approx([0.9] * 4, abs=1e-3)
    assert np.asarray(step.next_obs)[:, health].tolist() == pytest.approx([0.9, 0, 0.9, 0.9], abs=1e-3)
    assert np.asarray(step.observation)[:, health].tolist() == pytest.approx([0.9] * 4, abs=1e-3)
    assert np.asarray(following.library.timestep).tolist() == [1, 0, 1, 0]


def test_achievements_are_counted(steps: Any) -> None:
    assert np.asarray(steps[1][1].info["achievements"]).tolist() == [0, 0, 2, 0]


def test_two_updates_report_the_achievements_of_the_episodes_that_ended() -> None:
    trainer = make_trainer(TrainConfig(CLASSIC, AGENT, stop_when=("achievements>=22",)))
    trainer.start(trainer.init_state())
    trainer.advance()
    metrics = trainer.advance()
    assert metrics["episodes"].tolist() == [4]  # 4 steps of 4 worlds with a limit of 3: steps 6 in all
    assert 0 <= metrics["achievements"][0] <= 22
    assert np.isfinite(metrics["loss_policy"]).all()


def test_textures_are_kept_as_a_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def save(path: str, textures: Any) -> None:
        Path(path).write_text(textures)

    textures._keep(tmp_path / "cache", "pixels", save)
    assert [file.name for file in tmp_path.iterdir()] == ["cache"]
    assert (tmp_path / "cache").read_text() == "pixels"
    textures._keep(tmp_path / "no folder" / "cache", "pixels", save)
    assert "the next start prepares the textures again" in capsys.readouterr().out
