"""Training from Python, as on the command line, also in environments that a function makes.

The result is a run folder that ``action-balance resume``, ``evaluate``, ``view`` and ``compare`` read.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from action_balance.config.agent import AgentConfig
from action_balance.config.presets import PRESETS
from action_balance.config.registry import env_config, env_from_function
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.device.seeds import use_all_cores
from action_balance.engines.metrics_rows import Progress
from action_balance.runs import RunFolder
from action_balance.tracking import track_config

if TYPE_CHECKING:
    from gymnasium import Env


def train(
    env: "str | Callable[[], Env[Any, Any]]",
    out: str | Path,
    agent: AgentConfig | None = None,
    *,
    seed: int = 0,
    seeds: int = 1,
    checkpoint_every: int | None = None,
    overwrite: bool = False,
    track: str | Sequence[str] = (),
    track_project: str | None = None,
    report: Callable[[Progress], None] = lambda _: None,
    on_message: Callable[[str], None] = print,
    **settings: Any,
) -> Path:
    """Train agents.

    Args:
        env: a name as on the command line, e.g. ``gym:CartPole-v1``, or a function that makes a Gymnasium environment.
        out: folder of the run.
        agent: settings of the agents (default: those of the command line, e.g. the preset ``classic`` in Gymnasium
            environments; see `agent_config`).
        seed: seed of the first agent; the others have the following seeds.
        seeds: number of agents, trained together.
        checkpoint_every: updates between two checkpoints (default: 50, or five minutes where checkpoints are large).
        overwrite: replace a run that is in the folder.
        track: trackers that settings and metrics are sent to: ``"wandb"``, ``"mlflow"``, or several; ``"tensorboard"``
            makes sure that event files are written, as they are wherever TensorBoard is installed.
        track_project: project in which trackers show the run (default: action-balance).
        report: called after every update.
        on_message: called with each line that the user should read.
        **settings: settings of the environment, e.g. ``size`` or ``env_kwargs``; see the class of its family.

    Returns:
        The folder of the run.
    """
    use_all_cores()
    made = env_config(env, **settings) if isinstance(env, str) else env_from_function(env, **settings)
    config = TrainConfig(made, agent or PRESETS[made.preset], seed, seeds, checkpoint_every).with_defaults()
    loop.begin(Path(out), config, sys.argv, report, overwrite, on_message, track_config(track, track_project))
    return Path(out)


def resume(
    run: str | Path,
    env: "Callable[[], Env[Any, Any]] | str | None" = None,
    trust: bool = False,
    *,
    report: Callable[[Progress], None] = lambda _: None,
    on_message: Callable[[str], None] = print,
) -> Path:
    """Train the rest of a run that was interrupted; of a finished one, a line says that nothing is left.

    Args:
        run: its folder.
        env: the function that makes its environment, or MODULE:FUNCTION, if it was trained with one.
        trust: whether modules that the run names may be imported, which runs their code: environments, wrappers and
            bonuses of your own, or of somebody whom you trust.
        report: called after every update.
        on_message: called with each line that the user should read.

    Returns:
        The folder of the run.
    """
    use_all_cores()
    folder = RunFolder.open(Path(run))
    config = TrainConfig.of_run(folder.config, trust, env)
    if not loop.says_finished(folder, on_message):
        loop.resume(folder, config, sys.argv, report, on_message)
    return Path(run)
