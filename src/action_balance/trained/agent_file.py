"""An agent in one file: its networks, its settings, and what it observes and does. Nothing in the file is executed.

The file is an ``.npz`` that `numpy.load` reads: one array for each leaf of `TrainedAgent`, by its path, and
``agent.json``, as bytes.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from action_balance._version import __version__
from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.learner import init_agent
from action_balance.algorithms.state import Params, TrainedAgent
from action_balance.config.env import EnvConfig
from action_balance.config.registry import resolve_class
from action_balance.config.serialization import from_dict
from action_balance.config.train import TrainConfig
from action_balance.config.trust import check_trusted
from action_balance.config.unloaded import UnloadedEnvConfig
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.files import Data, write_atomically
from action_balance.runs.array_file import DamagedArrays, as_entry, read_described, write_arrays
from action_balance.runs.tree_file import OtherTree, as_data, describe, from_data, to_arrays, to_tree

#: What marks the file, and the version that is written. A change that older programs cannot read is a new one.
KIND, FORMAT = "action-balance agent", 2
#: The entry with the settings, and the types of what is in it.
ABOUT = "agent.json"
_TYPES: dict[str, Any] = {
    "config": dict,
    "env_spec": dict,
    "spaces": dict | None,
    "method": str,
    "policy_only": bool,
    "leaves": list,
}


@dataclass(frozen=True)
class SavedAgent:
    """One agent and everything that is needed to use it."""

    config: TrainConfig  # of its run, of this agent alone; without bonuses where only its policy is kept
    spec: EnvSpec  # what it was built for
    spaces: Data | None  # the environment's own spaces, where the spec does not say it all
    state: TrainedAgent
    method: str  # what it was trained with
    policy_only: bool = False  # whether it has no bonuses although it was trained with them, or may have been

    def without_bonuses(self) -> "SavedAgent":
        state, agent = self.state, self.config.agent.policy_only()
        params = Params(state.params.policy, {})
        kept = TrainedAgent(params, {}, state.obs_stats, state.updates, None, state.reward_unit)
        return replace(self, config=replace(self.config, agent=agent), state=kept, policy_only=True)


def save(path: Path, agent: SavedAgent) -> None:
    """Write a file, or replace one, whole or not at all."""
    about = {
        "format": KIND,
        "version": FORMAT,
        "made_by": __version__,
        "method": agent.method,
        "policy_only": agent.policy_only,
        "config": agent.config.to_dict(),
        "env_spec": agent.spec.to_dict(),
        "spaces": agent.spaces,
        "leaves": as_data(describe(agent.state)),
    }
    arrays = {**to_arrays(agent.state), ABOUT: as_entry(about)}
    write_atomically(path, partial(write_arrays, arrays=arrays, compress=True))


def load(path: Path, trust: bool = False, plays: bool = False, env: Any = None) -> SavedAgent:
    """Read a file, which somebody else may have made."""
    about, arrays = _read(path)
    if plays:
        config = TrainConfig.of_run(about["config"], trust, env)
    else:
        if not trust:
            check_trusted(about["config"])
        config = _without_packages(about["config"])
    spec = EnvSpec.from_dict(about["env_spec"])
    if spec is None or config.seeds != 1:
        raise _foreign(path)
    algorithm = make_algorithm(config.agent, spec)
    wanted = jax.eval_shape(lambda: TrainedAgent.of(init_agent(algorithm, empty_stats(spec), jax.random.key(0))))
    try:
        state = to_tree(arrays, from_data(about["leaves"]), wanted)
    except OtherTree as other:
        raise UserError(f"{path} does not match its settings ({other}): use another copy of it") from None
    except DamagedArrays:
        raise _foreign(path) from None
    return SavedAgent(config, spec, about["spaces"], state, about["method"], about["policy_only"])


def _without_packages(data: Data) -> TrainConfig:
    """Settings from plain data; what the environment needs does not have to be installed."""
    try:
        return TrainConfig.of_agent(data)
    except UserError:
        env = data.get("env")
        if not isinstance(env, dict) or not isinstance(env.get("name"), str):
            raise
        settings = {name: value for name, value in env.items() if name != "name"}
        plain = {**data, "env": {"name": env["name"], "settings": settings}}
        return from_dict(
            TrainConfig, plain, lambda kind, of: UnloadedEnvConfig if kind is EnvConfig else resolve_class(kind, of)
        )


def _read(path: Path) -> tuple[Data, dict[str, np.ndarray]]:
    """What is in a file, if its checksums are right."""
    try:
        about, arrays = read_described(path, ABOUT)
        fine = about["format"] == KIND and all(isinstance(about[name], kind) for name, kind in _TYPES.items())
        version = about["version"]
    except (DamagedArrays, KeyError, TypeError):
        raise _foreign(path) from None
    if not fine:
        raise _foreign(path)
    if version != FORMAT:
        wrote = f"the version that wrote it ({about.get('made_by', 'unknown')!s:.40})"
        raise UserError(f"{path} has format {version!r:.40}, and this action-balance reads {FORMAT}: use {wrote}")
    return about, arrays


def _foreign(path: Path) -> UserError:
    return UserError(f"{path} is damaged or not an agent: give a run folder, or a file written by Agent.save")
