from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.config.registry import env_config
from action_balance.envs.base import Step
from action_balance.envs.craftax import textures
from action_balance.envs.craftax.config import CraftaxConfig
from action_balance.envs.library.environment import LibraryEnvironment, LibraryState
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

CLASSIC = CraftaxConfig("craftax:Craftax-Classic-Symbolic-v1", max_steps=3)
#: The first of the four vital signs, divided by 10, follows the inventory of 12 numbers behind the map of 1323.
HEALTH = 1323 + 12


@pytest.fixture(scope="module")
def played() -> tuple[jax.Array, LibraryState, Step]:
    """First observations of four worlds, and one step in each, in which nothing is done.

    All of the first but one are changed: a player without health, one with two achievements, and another one with two
    whose time is over. It is one program, because that of a world takes seconds to compile.
    """
    environment = CLASSIC.make(jax.random.key(0))
    assert isinstance(environment, LibraryEnvironment)

    @jax.jit
    def play(keys: jax.Array) -> tuple[jax.Array, LibraryState, Step]:
        state, first = jax.vmap(environment.reset)(keys)
        library = state.library
        health = library.player_health.at[1].set(0)
        done = library.achievements.at[2:, :2].set(True)
        begun = LibraryState(replace(library, player_health=health, achievements=done), state.steps.at[3].set(2))
        reached, step = jax.vmap(environment.advance)(begun, jnp.zeros(4, int), keys)
        return first, reached, step

    return play(jax.random.split(jax.random.key(0), 4))


def test_game_over_and_the_time_limit_are_told_apart_and_the_last_observation_is_kept(
    played: tuple[jax.Array, LibraryState, Step],
) -> None:
    first, reached, step = played
    assert np.asarray(step.terminated).tolist() == [False, True, False, False]
    assert np.asarray(step.truncated).tolist() == [False, False, False, True]
    assert np.asarray(reached.steps).tolist() == [1, 1, 1, 3]
    assert np.asarray(first)[:, HEALTH].tolist() == pytest.approx([0.9] * 4, abs=1e-3)
    assert np.asarray(step.next_obs)[:, HEALTH].tolist() == pytest.approx([0.9, 0, 0.9, 0.9], abs=1e-3)


def test_achievements_are_counted(played: tuple[jax.Array, LibraryState, Step]) -> None:
    assert np.asarray(played[2].info["achievements"]).tolist() == [0, 0, 2, 2]


def test_the_specification_of_symbols() -> None:
    assert CLASSIC.spec == EnvSpec("vector", (1345,), (17,))
    assert CLASSIC.make(jax.random.key(0)).episode_steps == 3
    with pytest.raises(UserError, match="did you mean craftax:Craftax-Symbolic-v1"):
        env_config("craftax:Craftax-symbolic")


def test_textures_are_kept_as_a_whole_or_not_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def save(path: str, textures: Any) -> None:
        Path(path).write_text(textures)

    textures._keep(tmp_path / "cache", "pixels", save)
    assert [file.name for file in tmp_path.iterdir()] == ["cache"]
    assert (tmp_path / "cache").read_text() == "pixels"
    textures._keep(tmp_path / "no folder" / "cache", "pixels", save)
    assert "the next start prepares the textures again" in capsys.readouterr().out
