"""Environments with the interface of gymnax, of the versions before and after 1.0, as adapters.

gymnax's own ``step`` begins a new episode where one ended, and returns its first observation in place of the last one;
``step_env`` does not. Before version 1.0 ``step_env`` does not tell the end of the task from the time limit.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import is_dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, Real, Shaped

from action_balance.config.registry import describe_error
from action_balance.envs.gymnasium.choices import bounds_of
from action_balance.envs.gymnax.drawing import DRAWINGS, action_names
from action_balance.envs.library.adapter import Transition
from action_balance.envs.spec import Bounds, EnvSpec
from action_balance.errors import UserError

#: The parameter of gymnax that is the time limit.
LIMIT = "max_steps_in_episode"

#: The end of names of environments whose observations are images of zeros and ones.
MINATAR = "-MinAtar"

#: How to make an environment usable whose only step may hide observations.
ADVICE = (
    "give its class step_env and reset_env, which begin no new episode, or auto_reset = False if its step begins none"
)


class GymnaxAdapter:
    """One environment with the interface of gymnax."""

    def __init__(self, name: str, env: Any, params: Any = None, max_steps: int | None = None) -> None:
        """Check an environment; a `UserError` says what is wrong with it."""
        self._name = name
        self._reset, self._step = _functions(name, env)
        self._params = getattr(env, "default_params", None) if params is None else params
        own = getattr(self._params, LIMIT, None)
        if own is not None and max_steps is not None and is_dataclass(self._params):
            # Also in its parameters: an environment may show the time that is left, or reward an early end.
            limited: Any = self._params
            self._params = replace(limited, **{LIMIT: type(own)(max_steps)})
        limit = max_steps or own
        if limit is None:
            raise UserError(f"{name} has no time limit in its parameters ({LIMIT}): set --max-steps")
        self.episode_steps = int(limit)
        # Since gymnax 1.0, an environment says when the task ends, and the time limit is applied outside.
        self.ends_alike = own is not None and not hasattr(type(env), "is_terminated")
        self.spec = self._find_spec(env)
        short = name.partition(":")[2]
        self.action_names = action_names(short, env)
        if short in DRAWINGS:
            self.render = DRAWINGS[short]

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Shaped[Array, "..."]]:
        obs, state = self._reset(key, self._params)
        return state, self._encode(obs)

    def step(self, key: PRNGKeyArray, state: Any, action: Real[Array, "..."]) -> Transition:
        action = jnp.reshape(action, self._action_shape)
        obs, reached, reward, *ends, _ = self._step(key, state, action, self._params)
        # A continuous action may make its axis one of the reward and of the ends.
        terminated, truncated = (jnp.reshape(jnp.asarray(one, bool), ()) for one in (*ends, False)[:2])
        return reached, self._encode(obs), jnp.reshape(jnp.asarray(reward, jnp.float32), ()), terminated, truncated, {}

    def _find_spec(self, env: Any) -> EnvSpec:
        try:
            actions = env.action_space(self._params) if hasattr(env, "action_space") else None
            space = env.observation_space(self._params) if hasattr(env, "observation_space") else None
            choices = getattr(env, "num_actions", None) if actions is None else getattr(actions, "n", None)
            bounds = bounds_of(actions) if choices is None and _is_real(actions) else ()
            self._action_shape = getattr(actions, "shape", ()) if bounds else ()
            obs, state = jax.eval_shape(self._reset, jax.random.key(0), self._params)
            if choices is not None or bounds:
                action = jnp.zeros(self._action_shape, jnp.float32 if bounds else jnp.int32)
                after, reached, reward, *_ = jax.eval_shape(self._step, jax.random.key(0), state, action, self._params)
        except Exception as error:
            raise UserError(f"{self._name} cannot be used: {describe_error(error)}") from None
        if choices is None and not bounds:
            kind = "no action space" if actions is None else f"an action space of kind {type(actions).__name__}"
            raise UserError(f"{self._name} has {kind}: agents need choices (n), or real numbers (low, high, shape)")
        shapes = ([one.shape for one in jax.tree.leaves(seen)] for seen in ((obs, state), (after, reached)))
        wrong = [f"{before} and {later}" for before, later in itertools.zip_longest(*shapes) if before != later]
        wrong += [f"a reward of shape {reward.shape}"] if math.prod(reward.shape) != 1 else []
        if wrong:
            raise UserError(
                f"{self._name}: reset and step must return states and observations of the same shape, and step a "
                f"single reward, not {wrong[0]}"
            )
        nvec = () if choices is None else (int(choices),)
        return self._spec_of(jax.tree.leaves(obs), space, nvec, bounds)

    def _spec_of(self, leaves: list[Any], space: Any, nvec: tuple[int, ...], bounds: tuple[Bounds, ...]) -> EnvSpec:
        self._is_image = len(leaves) == 1 and len(leaves[0].shape) == 3
        self._values = int(getattr(space, "n", 0))
        is_table = len(leaves) == 1 and len(leaves[0].shape) == 2 and leaves[0].shape[0] > 1
        self.columns = leaves[0].shape[1] if is_table else 0
        if self._is_image:
            is_kept = leaves[0].dtype in (np.uint8, np.bool_)
            dtype = "bool" if self._name.endswith(MINATAR) else str(leaves[0].dtype) if is_kept else "float32"
            return EnvSpec("image", leaves[0].shape, nvec, dtype=dtype, bounds=bounds)
        if self._values:
            return EnvSpec("vector", (self._values,), nvec, discrete=(self._values,), bounds=bounds)
        size = sum(math.prod(one.shape) for one in leaves)
        return EnvSpec("vector", (size,), nvec, normalize_obs=not _is_unit(space), bounds=bounds)

    def _encode(self, obs: Any) -> Array:
        """An image, a discrete value one-hot, or all numbers as one vector."""
        leaves = jax.tree.leaves(obs)
        if self._is_image:
            return jnp.asarray(leaves[0])
        if self._values:
            return jax.nn.one_hot(jnp.reshape(leaves[0], ()), self._values)
        return jnp.concatenate([jnp.ravel(one).astype(jnp.float32) for one in leaves])


def _functions(name: str, env: Any) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How an environment begins an episode, and takes a step without beginning one."""
    kind = type(env)  # not the object: a wrapper passes on the methods of what it wraps, which know nothing of it
    if hasattr(kind, "step_env") and hasattr(kind, "reset_env"):
        return env.reset_env, env.step_env
    if not callable(getattr(env, "reset", None)) or not callable(getattr(env, "step", None)):
        raise UserError(f"{name} is a {kind.__name__}, which has no reset and step as gymnax has them")
    if getattr(kind, "auto_reset", None) is not False:
        raise UserError(
            f"{name} has step but no step_env, and gymnax's step hides the last observation of an episode: {ADVICE}"
        )
    return env.reset, env.step


def _is_real(space: Any) -> bool:
    """Whether a space is a Box, and not one of integers."""
    is_box = all(hasattr(space, name) for name in ("low", "high", "shape"))
    return is_box and bool(jnp.issubdtype(getattr(space, "dtype", jnp.float32), jnp.floating))


def _is_unit(space: Any) -> bool:
    """Whether all numbers of observations are known to lie in 0..1 or -1..1."""
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    if low is None or high is None:
        return False
    return bool(np.isin(np.asarray(low), (-1, 0)).all() and np.isin(np.asarray(high), (0, 1)).all())
