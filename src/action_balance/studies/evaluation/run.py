"""``evaluate RUN``: how the agents of a run perform without learning, on the screen and as files in its folder."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from rich.console import Console

from action_balance.algorithms.state import TrainedAgent, TrainState
from action_balance.arguments import as_whole
from action_balance.config.env import DeviceEnvConfig, HostEnvConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.device.evaluate import first_record
from action_balance.engines.evaluate import ActionMode, Evaluation, action_modes
from action_balance.engines.factory import evaluate_run, make_trainer, most_episodes
from action_balance.engines.restore import restore, trained_on
from action_balance.envs.replay import Replay, Visit
from action_balance.errors import UserError
from action_balance.files import Data, NotWritable
from action_balance.runs import RunFolder
from action_balance.runs.evaluation import SUMMARY
from action_balance.studies.evaluation import episodes as tables
from action_balance.studies.evaluation.episodes import Rooms
from action_balance.terminal.console import say
from action_balance.terminal.progress import progress_bar
from action_balance.terminal.summary import device

if TYPE_CHECKING:
    from gymnasium import Env

#: Part of the work with an episode that its replay for the rooms takes.
REPLAYING = 0.2

#: The action mode whose first episode is filmed.
FILMED: ActionMode = "sampled"

#: Recorded episodes, K x E, by action mode.
Replays = Mapping[ActionMode, list[list[Replay]]]


def evaluate(
    path: Path,
    episodes: int,
    checkpoint: str,
    seed: int,
    trust: bool,
    console: Console,
    env: "Callable[[], Env[Any, Any]] | str | None" = None,
) -> None:
    """Play episodes with every agent of a run, print their results and write them to its folder if it is writable."""
    folder = RunFolder.open(path)
    evaluate_folder(folder, TrainConfig.of_run(folder.config, trust, env), episodes, checkpoint, seed, console)


def evaluate_folder(
    folder: RunFolder, config: TrainConfig, episodes: int, checkpoint: str, seed: int, console: Console
) -> Data:
    """Play episodes with every agent of a run whose settings are trusted; see `evaluate`."""
    check(episodes, seed, config)

    def shapes() -> TrainState:
        return make_trainer(config, trained_on=trained_on(folder), trains=False).state_shapes()

    restored = restore(folder, config, checkpoint, shapes)
    say(console, *restored.warnings, f"evaluating update {restored.update} of {folder.path} on {device()} ...")
    method = config.agent.label
    summary, files = play(config, method, restored.update, restored.state, episodes, seed, console)
    about = {"method": method, "environment": asdict(config.env)}
    made = {"update": restored.update, "steps": config.agent.steps_at(restored.update)}
    requested = {"checkpoint": checkpoint, "episodes": episodes, "seed": seed}
    numbers = {**about, "requested": requested, "checkpoint": made, **summary}
    keep(lambda: folder.save_evaluation(numbers, files), files, console)
    return numbers


def keep(save: Callable[[], Path], files: Iterable[str], console: Console) -> None:
    """Save an evaluation, unless the run is somebody else's, or an archive: the scores are printed all the same."""
    try:
        say(console, f"wrote {', '.join([SUMMARY, *files])} to {save()}")
    except NotWritable as error:
        say(console, f"nothing was written: {error}")


def check(episodes: int, seed: int, config: TrainConfig) -> None:
    if as_whole("--episodes", episodes) < 1:
        raise UserError(f"--episodes must be 1 or more, not {episodes}")
    if episodes > (most := most_episodes(config)):
        raise UserError(f"{episodes:,} episodes do not fit into memory: use at most --episodes {most}")
    if not 0 <= as_whole("--seed", seed) < 2**31:
        raise UserError(f"--seed must be 0 or more and below {2**31}, not {seed}")


def play(
    config: TrainConfig,
    method: str,
    update: int,
    states: TrainState | TrainedAgent,
    episodes: int,
    seed: int,
    console: Console,
) -> tuple[Data, dict[str, bytes]]:
    """Play episodes with every agent of a run, and print their results: before the film, which may take a while."""
    env, notes = config.env, []
    host = env if isinstance(env, HostEnvConfig) and env.replays else None

    def note(line: str) -> None:
        notes.append(line)
        say(console, line)

    with progress_bar(
        console, "playing", episodes * config.seeds * len(action_modes(config.agent)), f"{env.unit}s"
    ) as report:
        share = REPLAYING if host and host.has_rooms else 0.0

        def playing(part: float) -> None:
            report(part * (1 - share))

        found = evaluate_run(config, states, episodes, seed, playing, note, record=host is not None)
        recorded = _replays(host, found) if host else {}
        rooms = _rooms(recorded, lambda: report(share)) if share else None
    summary = tables.summarize(config, found, rooms) | ({"notes": notes} if notes else {})
    files = {"episodes.csv": tables.table(config, found, rooms)}
    if rooms:
        byte = next(iter(recorded.values()))[0][0].room_byte
        together = [agent for of_mode in rooms.values() for agent in of_mode]
        summary["rooms"] = {"memory_byte": byte, "all": tables.all_rooms(together)}
    if env.spec.states:
        trained = np.asarray(states.state_visits) if isinstance(states, TrainState) else None
        more, pictures = _on_map(config, method, found, trained)
        summary, files = summary | more, files | pictures
    show(f"{method} on {env.title} after {update:,} updates", config, summary, console)
    if replay := recorded[FILMED][0][0] if recorded else _device_replay(config, seed, found[FILMED]):
        files |= _film(config, method, replay, found[FILMED], console)
    return summary, files


def _device_replay(config: TrainConfig, seed: int, one: Evaluation) -> Replay | None:
    """The filmed episode of an environment on the device; None where it has no pictures, or a map."""
    if not isinstance(config.env, DeviceEnvConfig) or one.trace is None:
        return None
    environment = config.environment(jax.random.key(config.seed))
    return config.env.replay(environment, first_record(config, seed, FILMED, one.trace))


def _replays(env: HostEnvConfig, found: Mapping[ActionMode, Evaluation]) -> Replays:
    return {
        mode: [
            [env.replay(*recording, bool(ended)) for recording, ended in zip(*of_agent, strict=True)]
            for of_agent in zip(one.recordings, one.terminated, strict=True)
        ]
        for mode, one in found.items()
    }


def _rooms(recorded: Replays, report: Callable[[], None]) -> Rooms:
    """Replay all episodes for their rooms; None if rooms are not known."""

    def visits(episode: Replay) -> Sequence[Visit]:
        report()
        return episode.visits() or ()

    rooms = {mode: [[visits(episode) for episode in agent] for agent in agents] for mode, agents in recorded.items()}
    return rooms if any(visits for agents in rooms.values() for agent in agents for visits in agent) else None


def _film(config: TrainConfig, method: str, replay: Replay, one: Evaluation, console: Console) -> dict[str, bytes]:
    """The film of a replay; none where it cannot be made."""
    from action_balance.films.writer import check_mp4
    from action_balance.studies.evaluation.film import film_of_replay, filmed_steps

    if one.trace is None:
        return {}
    try:
        check_mp4()
        with progress_bar(console, "film", filmed_steps(one.trace) + 1, "frames") as report:
            return {"episode.mp4": film_of_replay(config, method, replay, one.trace, report)}
    except UserError as error:
        say(console, f"the film is left out: {error}")
        return {}


def _on_map(
    config: TrainConfig, method: str, found: Mapping[ActionMode, Evaluation], trained: np.ndarray | None
) -> tuple[Data, dict[str, bytes]]:
    """Coverage of enumerable states and, where they have a map, heat map and film; ``trained`` is (K, S), if known."""
    from action_balance.plots.drawing import method_name, to_png
    from action_balance.studies.evaluation import figures
    from action_balance.studies.evaluation.film import film_of_map

    environment = config.environment(jax.random.key(config.seed))  # of the first seed, as the film
    visits = tables.visits(found, trained)
    reached = {name: float((counts > 0).sum(axis=1).mean()) for name, counts in visits.items()}
    summary = {"coverage": {"reachable": int(environment.reachable().sum()), "reached": reached}}
    scene, trace = config.env.scene(environment), found[FILMED].trace
    if scene is None or trace is None:
        return summary, {}
    together = {name: counts.sum(axis=0) for name, counts in visits.items()}
    seeds = f", {config.seeds} seeds" if config.seeds > 1 else ""
    figure = figures.visits(scene, together, f"States visited by {method_name(method)}{seeds}")
    return summary, {"heatmap.png": to_png(figure), "episode.gif": film_of_map(config, method, scene, trace)}


def show(title: str, config: TrainConfig, summary: Data, console: Console) -> None:
    console.print(tables.score_table(title, config.env, summary))
    if "coverage" in summary:
        shares = (f"{name} {states:,.4g}" for name, states in summary["coverage"]["reached"].items())
        each = "mean over seeds, " if len(summary["seeds"]) > 1 else ""
        say(console, f"states reached ({each}of {summary['coverage']['reachable']:,}): {', '.join(shares)}")
    if "rooms" in summary:
        say(console, f"rooms visited: {', '.join(map(str, summary['rooms']['all']))}")
