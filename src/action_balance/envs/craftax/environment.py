"""Craftax as an adapter. The game gets a time limit that it never reaches; the real one is applied outside."""

from enum import Enum
from importlib import import_module
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray, Shaped, UInt8

from action_balance.envs.craftax.noise import perlin_noise
from action_balance.envs.craftax.textures import make_renderer, prepared_textures, replaced
from action_balance.envs.library.adapter import Transition
from action_balance.envs.spec import EnvSpec

#: A time limit that is never reached.
NEVER = 2**30


class CraftaxAdapter:
    """One environment of Craftax, without its automatic resets."""

    #: Generating a world takes as long as some hundred steps.
    slow_reset = True

    def __init__(self, name: str, max_steps: int | None = None) -> None:
        from craftax.craftax_env import make_craftax_env_from_name

        self._pixels = "Pixels" in name
        self._package = f"craftax.{'craftax_classic' if 'Classic' in name else 'craftax'}"
        with prepared_textures(f"{self._package}.constants"):
            self._env: Any = make_craftax_env_from_name(name, auto_reset=False)
        params = self._env.default_params
        self.episode_steps = max_steps or int(params.max_timesteps)
        self._params = params.replace(max_timesteps=NEVER)
        self.spec = EnvSpec(
            "image" if self._pixels else "vector",
            tuple(self._env.observation_space(self._params).shape),
            (int(self._env.num_actions),),
            dtype="uint8" if self._pixels else "float32",
        )
        actions: type[Enum] = import_module(f"{self._package}.constants").Action
        in_order = sorted(actions, key=lambda one: one.value)
        self.action_names = tuple(one.name.replace("_", " ").lower() for one in in_order)

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Shaped[Array, "..."]]:
        with replaced(f"{self._package}.util.noise", "generate_perlin_noise_2d", perlin_noise):
            obs, state = self._env.reset_env(key, self._params)
        return state, self._encode(obs)

    def step(self, key: PRNGKeyArray, state: Any, action: Int[Array, ""]) -> Transition:
        """One step; the number of achievements so far is reported."""
        obs, reached, reward, done, _ = self._env.step_env(key, state, action, self._params)
        info = {"achievements": reached.achievements.sum().astype(jnp.float32)}
        return reached, self._encode(obs), reward, done, jnp.zeros((), bool), info

    def render(self, state: Any) -> UInt8[np.ndarray, "H W 3"]:
        """The map and the inventory, as people see them; the first call takes a while, for the textures."""
        return make_renderer(self._package)(state)

    def _encode(self, obs: Array) -> Array:
        return jnp.round(obs * 255).astype(jnp.uint8) if self._pixels else obs
