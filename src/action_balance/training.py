"""Training from Python, as the command line does, also in environments that a function makes.

What is written is a run folder that ``action-balance resume``, ``evaluate`` and ``compare`` know.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from action_balance.config.agent import Config
from action_balance.config.env import EnvConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.device.seeds import use_all_cores
from action_balance.engines.metrics_rows import Progress
from action_balance.envs.gymnasium.config import GymnasiumConfig
from action_balance.errors import UserError
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
    overwrite: bool = False,
    tell: Callable[[Progress], None] = lambda _: None,
    say: Callable[[str], None] = print,
    **settings: Any,
) -> Path:
    """Train, and return the folder of the run.

    Args:
        env: a name as on the command line, e.g. ``gym:CartPole-v1``, or a function that makes a Gymnasium environment.
        out: folder of the run.
        agent: all settings of the agent.
        seed: of the first agent; the others follow.
        seeds: agents that are trained together.
        checkpoint_every: updates between two checkpoints.
        overwrite: replace a run that is in the folder.
        tell: is called after every update.
        say: is called with each line that the user should know.
        settings: of the environment, e.g. ``size`` or ``env_kwargs``; see the class of its family.
    """
    use_all_cores()
    environment: EnvConfig
    if isinstance(env, str):
        environment = env_config(env, **settings)
    else:
        environment = GymnasiumConfig.from_function(env, **settings)
    config = TrainConfig(environment, agent or Config(), seed, seeds, checkpoint_every).with_defaults()
    loop.begin(Path(out), config, sys.argv, tell, overwrite, say)
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
    folder, environment = RunFolder.open(Path(run)), None
    if env is not None:
        environment = TrainConfig.from_dict(folder.config).env
        if not isinstance(environment, GymnasiumConfig):
            raise UserError(f"{run} was not trained with a function: leave out env")
        environment = environment.with_function(env)
    loop.resume(folder, sys.argv, tell, say, environment)
    return Path(run)
