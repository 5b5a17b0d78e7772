"""What the terminal says before and after a training: what is trained where, how it ended, and what to do next."""

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.config.trust import leads_to
from action_balance.engines.device.devices import choose_devices, splits_environments
from action_balance.errors import as_duration
from action_balance.machine import cores
from action_balance.runs import Place, read_numbers
from action_balance.runs.learning_curve import LAST, carried_forward, final_mean
from action_balance.runs.metrics import TENSORBOARD
from action_balance.runs.rows import METRICS

#: How long compiling usually takes, measured on two cores and on a GPU: agents that observe vectors, and images.
USUALLY, USUALLY_IMAGES = "10 to 40 s", "1 to 2 minutes"


def start_lines(config: TrainConfig, path: Path) -> list[str]:
    first, last = config.seed, config.seed + config.seeds - 1
    seeds, each = (f"seed {first}", "") if first == last else (f"{config.seeds} seeds ({first} to {last})", " each")
    steps = config.agent.steps_at(config.agent.updates)
    rows = {
        "method": config.agent.label,
        "environment": config.env.title,
        "training": f"{seeds}, {steps:,} steps{each}",
        "device": device(config),
        "folder": str(path),
    }
    return [f"{name:<13}{text}" for name, text in rows.items()]


def training_line(runs: int, folder: Path) -> str:
    return f"training {runs} {'run' if runs == 1 else 'runs'} on {device()}; results go to {folder}"


def device(config: TrainConfig | None = None) -> str:
    first = jax.devices()[0]
    text = f"CPU, {cores()} {'core' if cores() == 1 else 'cores'}" if first.platform == "cpu" else first.device_kind
    if config is None or config.devices is None:
        return text
    chosen = choose_devices(config)
    what = "environments" if splits_environments(config, chosen) else "seeds"
    return text if len(chosen) == 1 else f"{text}; {what} split over {len(chosen)} devices"


def compiling(config: TrainConfig) -> str:
    """What happens before the first update, and how long it usually takes."""
    spec = config.env.spec
    usually = USUALLY_IMAGES if spec.is_image or spec.is_mixed else USUALLY
    return f"compiling (usually {usually}, less if cached)"


def end_lines(config: TrainConfig, path: Path, seconds: float) -> list[str]:
    """How a training ended, and the commands that come next."""
    commands = [f"  {command}" for command in next_commands(config, path)]
    return [f"finished in {as_duration(seconds)}: {final_return(path)}", "next:", *commands]


def next_commands(config: TrainConfig, path: Path) -> list[str]:
    """Commands for a run that is finished, as they are typed into a shell."""
    folder = shlex.quote(str(path))
    trust = " --trust" if leads_to(config.to_dict()) else ""
    commands = [f"action-balance evaluate {folder}{trust}", f"action-balance view {folder}"]
    return [*commands, *([f"tensorboard --logdir {folder}"] if (path / TENSORBOARD).is_dir() else [])]


def final_return(path: Path) -> str:
    """The final return of a run, as `compare` has it, with the lowest and the highest of several seeds."""
    numbers, _ = read_numbers(path / METRICS, Place(), ("seed", "episode_return"))
    seeds = np.unique(numbers[:, 0])
    curves = [numbers[numbers[:, 0] == seed, 1] for seed in seeds]
    finals = [float(final_mean(carried_forward(curve))) for curve in curves]
    return describe_finals(finals)


def describe_finals(finals: Sequence[float]) -> str:
    known = [one for one in finals if math.isfinite(one)]
    if not known:
        return "no episode has ended"
    text = f"return {score(sum(known) / len(known))}"
    if len(finals) > 1:
        of = "" if len(known) == len(finals) else f"{len(known)} of "
        text += f", mean of {of}{len(finals)} seeds ({score(min(known))} to {score(max(known))})"
    return f"{text}, over the last {100 * LAST:.0f} % of the updates"


def score(value: float) -> str:
    """A return with three digits, all digits before the point, or a dash."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
