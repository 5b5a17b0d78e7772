"""Training from Python, as the command line does, also in environments that a function makes.

What is written is a run folder that ``action-balance resume``, ``evaluate`` and ``compare`` know.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from action_balance.config.agent import Config
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.device.seeds import use_all_cores
from action_balance.engines.metrics_rows import Progress
from action_balance.envs.registry import GYM, EnvConfig, Vectorize
from action_balance.runs import RunFolder

if TYPE_CHECKING:
    from gymnasium import Env


def train(
    env: "str | Callable[[], Env[Any, Any]]",
    out: str | Path,
    agent: Config | None = None,
    *,
    seed: int = 0,
    seeds: int = 1,
    checkpoint_every: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    wrapper: Sequence[str] = (),
    vectorize: Vectorize = "sync",
    stack: int = 1,
    reward_scale: float = 1.0,
    overwrite: bool = False,
    tell: Callable[[Progress], None] = lambda _: None,
    say: Callable[[str], None] = print,
) -> Path:
    """Train, and return the folder of the run.

    Args:
        env: a name as on the command line, e.g. ``gym:CartPole-v1``, or a function that makes a Gymnasium environment.
        out: folder of the run.
        agent: all settings of the agent.
        seed: of the first agent; the others follow.
        seeds: agents that are trained together.
        checkpoint_every: updates between two checkpoints.
        env_kwargs: arguments of a Gymnasium environment that has a name.
        wrapper: wrappers of it, as MODULE:NAME, applied in order.
        vectorize: sync, async or own: how Gymnasium environments step together.
        stack: newest observations that the policy sees.
        reward_scale: what rewards are multiplied by for learning.
        overwrite: replace a run that is in the folder.
        tell: is called after every update.
        say: is called with each line that the user should know.
    """
    use_all_cores()
    make = None if isinstance(env, str) else env
    options = json.dumps(dict(env_kwargs), sort_keys=True) if env_kwargs else ""
    more: dict[str, Any] = {"vectorize": vectorize, "stack": stack, "reward_scale": reward_scale}
    environment = EnvConfig(_name(env), env_kwargs=options, wrapper=tuple(wrapper), **more)
    config = TrainConfig(environment, agent or Config(), seed, seeds, checkpoint_every).with_defaults()
    loop.begin(Path(out), config, sys.argv, tell, overwrite, say, make)
    return Path(out)


def resume(
    run: str | Path,
    env: "Callable[[], Env[Any, Any]] | None" = None,
    *,
    tell: Callable[[Progress], None] = lambda _: None,
    say: Callable[[str], None] = print,
) -> Path:
    """Go on with a run that was interrupted, and return its folder.

    Args:
        run: its folder.
        env: the function that makes its environment, if it was trained with one.
        tell: is called after every update.
        say: is called with each line that the user should know.
    """
    use_all_cores()
    loop.resume(RunFolder.open(Path(run)), sys.argv, tell, say, env)
    return Path(run)


def _name(env: "str | Callable[[], Env[Any, Any]]") -> str:
    """What the config calls it: of a function, the module that has it, so that the command line can find it again."""
    if isinstance(env, str):
        return env
    name = getattr(env, "__qualname__", type(env).__name__)
    return f"{GYM}{getattr(env, '__module__', '__main__')}:{name}"
