"""``evaluate FILE``: how an agent performs that was saved as one file."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from action_balance.core.stacked import stack
from action_balance.errors import UserError
from action_balance.files import Data, to_json, write_atomically
from action_balance.reading import exists
from action_balance.runs.evaluation import SUMMARY
from action_balance.studies.evaluation.run import check, keep, play
from action_balance.terminal.console import say
from action_balance.trained import agent_file


def evaluate_file(
    path: Path,
    episodes: int,
    seed: int,
    trust: bool,
    out: Path | None,
    console: Console,
    env: str | None = None,
) -> Data:
    """Play episodes with an agent, print their results and write them to a folder."""
    agent = agent_file.load(path, trust, env=env, plays=True)
    config = agent.config
    config.env.spec.check_unchanged(agent.spec, config.env.name)
    check(episodes, seed, config)
    folder = out or path.with_name(f"{path.stem}-evaluation")
    update = int(agent.state.updates)
    say(console, f"evaluating {path} ...")
    states = stack([agent.state])
    summary, files = play(config, agent.method, update, states, episodes, seed, console)
    about = {"agent": path.name, "method": agent.method, "environment": asdict(config.env)}
    made = {"update": update}
    if not agent.policy_only:  # without the bonuses, the length of the warm-up is not known
        made["steps"] = config.agent.steps_at(update)
    requested = {"episodes": episodes, "seed": seed}
    numbers = {**about, "requested": requested, "checkpoint": made, **summary, "files": list(files)}
    keep(lambda: _write(folder, {**files, SUMMARY: to_json(numbers)}), files, console)
    return numbers


def _write(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write the files of an evaluation, the summary last; those of an earlier one are replaced, and nothing else."""
    if not exists(folder / SUMMARY) and (taken := [name for name in files if exists(folder / name)]):
        raise UserError(f"{folder} holds {taken[0]}, which does not belong to an evaluation: choose another --out")
    for name, content in files.items():
        write_atomically(folder / name, content)
    return folder
