"""The episodes of an evaluation as numbers and tables. Axes: K agents, E episodes, S states."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from rich.table import Table

from action_balance.config.env import EnvConfig, HostEnvConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import ActionMode, Evaluation
from action_balance.envs.replay import Visit
from action_balance.files import Data
from action_balance.runs.results import to_csv
from action_balance.studies import statistics

#: Rooms of each episode, K x E, by action mode; None for an environment without rooms.
Rooms = Mapping[ActionMode, list[list[Sequence[Visit]]]] | None


def summarize(config: TrainConfig, found: Mapping[ActionMode, Evaluation], rooms: Rooms) -> Data:
    return {
        "seeds": list(range(config.seed, config.seed + config.seeds)),
        "intervals_over": "seeds" if config.seeds > 1 else "episodes",
        "modes": {mode: _numbers(config.env, one, rooms[mode] if rooms else None) for mode, one in found.items()},
    }


def _numbers(env: EnvConfig, one: Evaluation, rooms: list[list[Sequence[Visit]]] | None) -> Data:
    numbers: Data = {
        env.outcome: spread(one.returns),
        f"mean_{env.length_name}": float(np.mean(one.lengths)),
        ended_by(env): float(np.mean(one.terminated)),
    }
    if one.info:
        numbers["info"] = {name: float(np.mean(values)) for name, values in one.info.items()}
    if rooms:
        counts = [len(visits) for agent in rooms for visits in agent]
        per_game = {"mean_per_game": float(np.mean(counts)), "most_in_a_game": max(counts)}
        numbers["rooms"] = {"all": all_rooms(rooms), **per_game}
    return numbers


def ended_by(env: EnvConfig) -> str:
    """What the proportion of episodes that no time limit ended is called in summaries."""
    return f"ended_by_{env.end_name.replace(' ', '_')}"


def all_rooms(rooms: list[list[Sequence[Visit]]]) -> list[int]:
    return sorted({visit.room for agent in rooms for visits in agent for visit in visits})


def spread(values: np.ndarray) -> Data:
    """Mean, median and range of returns or scores, (K, E).

    With several agents, these are the samples of the interval: episodes of one agent are not independent.
    """
    values = np.asarray(values, np.float64)
    mean = statistics.mean(values.mean(axis=1) if len(values) > 1 else values[0])
    low, high = (None if math.isnan(end) else end for end in (mean.low, mean.high))
    return {
        "mean": mean.value,
        "low": low,
        "high": high,
        "median": float(np.median(values)),
        "min": float(values.min()),
        "max": float(values.max()),
    }


def visits(found: Mapping[ActionMode, Evaluation], trained: np.ndarray | None) -> dict[str, np.ndarray]:
    """How often each state was reached in training, if that is known, and in each action mode, (K, S) each."""
    known = {} if trained is None else {"training": trained}
    return {**known, **{mode: np.asarray(one.visits) for mode, one in found.items()}}


def table(config: TrainConfig, found: Mapping[ActionMode, Evaluation], rooms: Rooms) -> bytes:
    """A CSV file with a row for each episode; of replays, with rooms in the order of first visits as room@step."""
    env, frames = config.env, config.env.frames_per_step
    has_rooms = isinstance(env, HostEnvConfig) and env.has_rooms
    header = ["mode", "seed", "episode", env.outcome, env.length_name, *(["frames"] if frames else []), "ended"]
    header += next(iter(found.values())).info
    rows: list[list[object]] = []
    for mode, one in found.items():
        for (agent, episode), total in np.ndenumerate(np.asarray(one.returns)):
            steps = int(one.lengths[agent, episode])
            row = [mode, config.seed + agent, episode, f"{total:.9g}", steps]
            row += [frames * steps] if frames else []
            row += [env.end_name if one.terminated[agent, episode] else "time limit"]
            row += [f"{values[agent, episode]:.9g}" for values in one.info.values()]
            if has_rooms:
                visited = [f"{visit.room}@{visit.step}" for visit in rooms[mode][agent][episode]] if rooms else []
                row += [len(visited) or "", " ".join(visited)]
            rows.append(row)
    return to_csv([*header, *(["rooms", "visits"] if has_rooms else [])], rows)


def score_table(title: str, env: EnvConfig, summary: Data) -> Table:
    """A table for the screen, with a column for each action mode."""
    modes, seeds = summary["modes"], len(summary["seeds"])
    over = f"{seeds} seeds" if seeds > 1 else "the episodes of one seed"
    known = any(one[env.outcome]["low"] is not None for one in modes.values())
    missing = f"no interval from fewer than {statistics.MIN} {'seeds' if seeds > 1 else 'episodes'}"
    interval = f"95 % confidence interval of the mean {env.outcome} over {over}"
    shown = Table(title=title, caption=interval if known else missing)
    shown.add_column("action mode", no_wrap=True)
    for mode in modes:
        shown.add_column(mode, justify="right", no_wrap=True)
    names = {f"mean {env.outcome}": "mean"} | ({"  95 % from": "low", "  95 % to": "high"} if known else {})
    names |= {f"median {env.outcome}": "median", f"lowest {env.outcome}": "min", f"highest {env.outcome}": "max"}
    rows = {name: [_short(one[env.outcome][key]) for one in modes.values()] for name, key in names.items()}
    rows["mean steps"] = [_short(one[f"mean_{env.length_name}"]) for one in modes.values()]
    rows[f"ended by {env.end_name}"] = [f"{one[ended_by(env)]:.0%}" for one in modes.values()]
    for name in next(iter(modes.values())).get("info", ()):
        rows[f"mean {name.replace('_', ' ')}"] = [_short(one["info"][name]) for one in modes.values()]
    if "rooms" in summary:
        for name, key in (
            (f"rooms per {env.unit}", "mean_per_game"),
            (f"most rooms in one {env.unit}", "most_in_a_game"),
        ):
            rows[name] = [_short(one["rooms"][key]) for one in modes.values()]
    for name, row in rows.items():
        shown.add_row(name, *row)
    return shown


def _short(value: float | None) -> str:
    """A number that fits into a narrow column; ``-`` for an interval that so few samples cannot give."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
