"""Train from Python as on the command line, including in environments created by a function.

The result is a run folder that ``action-balance resume``, ``evaluate``, ``view`` and ``compare`` read.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

from action_balance.api.run import Run
from action_balance.arguments import as_path, as_texts
from action_balance.config.agent import AgentConfig
from action_balance.config.presets import agent_config
from action_balance.config.registry import env_config, env_from_function
from action_balance.config.train import TrainConfig
from action_balance.core.program_cache import use_program_cache
from action_balance.engines.callbacks import Callback, Listeners, as_callbacks
from action_balance.engines.device.devices import use_all_cores
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.terminal.training import ShowProgress, as_shown, begin
from action_balance.tracking import track_config


def train(
    env: Any,
    out: str | os.PathLike[str],
    agent: AgentConfig | None = None,
    *,
    seed: int = 0,
    seeds: int = 1,
    checkpoint_every: int | None = None,
    stop_when: str | Sequence[str] = (),
    devices: int | Literal["all"] | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    overwrite: bool = False,
    track: str | Sequence[str] = (),
    track_project: str | None = None,
    progress: ShowProgress = None,
    report: Callable[[Progress], None] = lambda _: None,
    on_message: Callable[[str], None] = print,
    **settings: Any,
) -> Run:
    """Train agents.

    Args:
        env: a name as on the command line, e.g. ``gym:CartPole-v1``; a function that creates a Gymnasium environment;
            or an environment written in JAX with the interface of gymnax, also with its parameters.
        out: folder of the run.
        agent: settings of the agents (default: those of the command line, e.g. the preset ``classic`` in Gymnasium
            environments; see `agent_config`).
        seed: random seed of the first agent; the others use the seeds that follow.
        seeds: number of agents to train together, one per seed.
        checkpoint_every: number of updates between checkpoints (default: 50, or five minutes where checkpoints are
            large).
        stop_when: conditions such as ``return>=0.9``; the first one that is met stops the run early. The metrics are
            means over the seeds.
        devices: number of devices, such as GPUs, to split the seeds over, or the environments of each seed if there are
            fewer seeds than devices; ``"all"`` for all of them (default: one GPU, or one core per seed).
        callbacks: one or several functions, called after every update with an `Update`, which has its metrics. A
            callback that returns False, or calls `Update.stop`, stops training; the run can be resumed.
        overwrite: replace the run that is already in the folder.
        track: trackers to send settings and metrics to: ``"wandb"``, ``"mlflow"``, or several; ``"tensorboard"``
            requires event files, which are otherwise written only if TensorBoard is installed.
        track_project: project to log the run to (default: action-balance).
        progress: whether to show progress (default: in notebooks and on terminals), or a function that is called with
            a `Progress` after every update.
        report: another such function.
        on_message: called with each message for the user, one line at a time.
        **settings: settings of the environment, e.g. ``size`` or ``env_kwargs``; see the class of its family.

    Returns:
        The run, which is also the path of its folder. If training is interrupted, a `KeyboardInterrupt` states how to
        resume it; signals are handled only in the main thread.
    """
    folder, functions = as_path("out", out), as_callbacks(callbacks)
    if agent is not None and not isinstance(agent, AgentConfig):
        raise UserError(f'agent is {type(agent).__name__}: pass e.g. agent_config("classic", steps=100_000)')
    if wrong := [name for name in ("steps", "envs", "method") if name in settings]:
        raise UserError(f"{wrong[0]} is a setting of the agent: pass agent=agent_config(PRESET, {wrong[0]}=...)")
    use_all_cores()
    use_program_cache()
    function = None if isinstance(env, str) else env
    made = env_config(env, **settings) if isinstance(env, str) else env_from_function(env, **settings)
    conditions = as_texts("stop_when", stop_when)
    planned = TrainConfig(
        made, agent or agent_config(made.preset_of(made.name)), seed, seeds, checkpoint_every, conditions, devices
    )
    config, tracked = planned.with_defaults(), track_config(track, track_project)
    listeners = Listeners(sys.argv, on_message=on_message, track=tracked, callbacks=functions)
    begin(config, folder, as_shown(progress, config, report, folder), listeners, overwrite)
    return Run(folder, env=function, trust=True)  # the caller has named everything in it


def resume(
    run: str | os.PathLike[str],
    env: Any = None,
    trust: bool = False,
    *,
    steps: int | None = None,
    devices: int | Literal["all"] | None = None,
    callbacks: Callback | Sequence[Callback] = (),
    track: str | Sequence[str] = (),
    track_project: str | None = None,
    progress: ShowProgress = None,
    report: Callable[[Progress], None] = lambda _: None,
    on_message: Callable[[str], None] = print,
) -> Run:
    """Continue an interrupted run, or extend a finished one; a finished run that is not extended only prints a message.

    Args:
        run: its folder.
        env: the function that creates its environment, the environment itself if it is written in JAX, or
            MODULE:FUNCTION, if it was trained with one.
        trust: whether to import the modules named in the run, which runs their code. Use it only for your own
            environments, wrappers, bonuses and algorithms, or those of people you trust.
        steps: as for `Run.resume`.
        devices: as for `Run.resume`.
        callbacks: as for `train`.
        track: as for `Run.resume`.
        track_project: as for `Run.resume`.
        progress: as for `train`.
        report: called after every update.
        on_message: called with each message for the user, one line at a time.

    Returns:
        The run.
    """
    opened = Run(run, env=env, trust=trust)
    return opened.resume(
        steps,
        devices=devices,
        callbacks=as_callbacks(callbacks),
        track=track,
        track_project=track_project,
        progress=progress,
        report=report,
        on_message=on_message,
    )
