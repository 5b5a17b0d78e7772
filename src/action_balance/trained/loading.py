"""Loading an agent from a run or from a file."""

import os
from dataclasses import replace
from typing import Literal

from action_balance.algorithms.state import TrainedAgent
from action_balance.arguments import as_path, as_whole
from action_balance.config.train import TrainConfig
from action_balance.core.program_cache import use_program_cache
from action_balance.core.stacked import take
from action_balance.engines.factory import state_shapes
from action_balance.engines.restore import SPACES, restore, trained_on
from action_balance.errors import UserError
from action_balance.reading import is_folder
from action_balance.runs import RunFolder
from action_balance.trained import agent_file
from action_balance.trained.agent import Agent
from action_balance.trained.agent_file import SavedAgent


def load(
    path: str | os.PathLike[str],
    checkpoint: Literal["latest", "best"] | int = "latest",
    seed: int | None = None,
    trust: bool = False,
) -> Agent:
    """Load a trained agent.

    Args:
        path: the folder of a run, or a file written by `Agent.save`.
        checkpoint: of a run: ``latest``, ``best`` (highest return in training), or the number of an update.
        seed: of a run with several agents: the seed of the agent (default: the first).
        trust: whether to import the modules named in the run or the file, which runs their code. Use it only for your
            own environments, wrappers, bonuses and algorithms, or those of people you trust.

    Returns:
        The agent.
    """
    use_program_cache()
    path = as_path("the agent", path)
    if is_folder(path):
        folder = RunFolder.open(path)
        return of_run(folder, TrainConfig.from_dict(folder.config, trust), checkpoint, seed)
    saved = agent_file.load(path, trust)
    if checkpoint != "latest" or seed not in (None, saved.config.seed):
        raise UserError(f"{path} is a single agent of seed {saved.config.seed}: leave out checkpoint and seed")
    return Agent(saved)


def of_run(
    folder: RunFolder, config: TrainConfig, checkpoint: Literal["latest", "best"] | int, seed: int | None
) -> Agent:
    """Load an agent of a run whose settings are trusted; by default the first."""
    number = config.seed if seed is None else as_whole("seed", seed)
    if not config.seed <= number < config.seed + config.seeds:
        last = config.seed + config.seeds - 1
        raise UserError(f"{folder.path} has the seeds {config.seed} to {last}, not {number}: choose one of them")
    spec, spaces = trained_on(folder) or config.env.spec, folder.manifest.get(SPACES)
    restored = restore(folder, config, str(checkpoint), lambda: state_shapes(config, spec))
    place = number - config.seed
    state = TrainedAgent.of(take(restored.state, place))
    alone = replace(config, seed=number, seeds=1)
    known = spaces if isinstance(spaces, dict) else config.env.spaces()
    return Agent(SavedAgent(alone, spec, known, state, config.agent.label))
