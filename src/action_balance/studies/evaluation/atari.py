"""The part of ``evaluate RUN`` for Atari: full games with their scores and rooms, and a film.

Axes: K agents, E games.
"""

import csv
import io
from collections.abc import Iterable

import jax
import numpy as np
from rich.console import Console

from action_balance.agent.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.core.balance import normalize
from action_balance.engines.device.evaluate import action_modes
from action_balance.engines.host.evaluate_atari import FILMED, Game, Played, evaluate_games
from action_balance.envs.atari.games import ROOM_BYTE, SKIP
from action_balance.envs.atari.replay import replay
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.films import atari as atari_film
from action_balance.studies.evaluation.score_table import score_table, short, spread
from action_balance.terminal.progress import progress_bar

#: How the way of acting is told in the film.
ACTING = {"greedy": "the largest of π", "sampled": "actions sampled from π", "behaviour": "actions sampled from β"}


def play(
    config: TrainConfig,
    game: str,
    states: TrainState,
    episodes: int,
    seed: int,
    console: Console,
    episode_frames: int = 18_000,
) -> tuple[Data, dict[str, bytes]]:
    """Full games of every agent of a run: the numbers, and the files by name.

    Args:
        config: of the run.
        game: its name.
        states: of all agents, with leading axis K.
        episodes: E, of each agent for each way of acting.
        seed: of all that is random in the games.
        console: the screen.
        episode_frames: time limit in emulator frames.
    """
    filming = True
    try:
        atari_film.check_encoder()
    except UserError as error:
        filming = _without_film(error, console)
    numbers = range(config.seed, config.seed + config.seeds)
    games = episodes * config.seeds * len(action_modes(config.agent))
    with progress_bar(console, "playing", games, "games") as tell:
        played = evaluate_games(game, config.agent, states, numbers, episodes, seed, tell, episode_frames)
    files = {"episodes.csv": table_of_games(config, played)}
    if filming:
        try:
            files["episode.mp4"] = _film(config, played, console)
        except UserError as error:
            _without_film(error, console)
    return summarize(config, game, played), files


def _without_film(error: UserError, console: Console) -> bool:
    console.print(f"the film is left out: {error}", highlight=False, markup=False, soft_wrap=True)
    return False


def summarize(config: TrainConfig, game: str, played: Played) -> Data:
    """The numbers of an evaluation."""
    summary: Data = {
        "seeds": list(range(config.seed, config.seed + config.seeds)),
        "intervals_over": "seeds" if config.seeds > 1 else "episodes",
        "ways": {mode: _numbers(games) for mode, games in played.games.items()},
    }
    if game in ROOM_BYTE:
        everything = [one for games in played.games.values() for agent in games for one in agent]
        summary["rooms"] = {"memory_byte": ROOM_BYTE[game], "all": _all_rooms(everything)}
    return summary


def _numbers(games: list[list[Game]]) -> Data:
    """Of one way of acting."""
    every = [one for agent in games for one in agent]
    numbers: Data = {
        "score": spread(np.array([[one.record.score for one in agent] for agent in games])),
        "mean_steps": float(np.mean([one.record.steps for one in every])),
        "ended_by_game_over": float(np.mean([one.record.terminated for one in every])),
    }
    counts = [len(one.rooms) for one in every if one.rooms is not None]
    if counts:
        each = {"mean_per_game": float(np.mean(counts)), "most_in_a_game": max(counts)}
        numbers["rooms"] = {"all": _all_rooms(every), **each}
    return numbers


def _all_rooms(games: Iterable[Game]) -> list[int]:
    return sorted({visit.room for one in games for visit in one.rooms or ()})


def table_of_games(config: TrainConfig, played: Played) -> bytes:
    """A CSV file with a row for each game; rooms in the order of first visits, each as room@step."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["way", "seed", "episode", "score", "steps", "frames", "ended", "rooms", "visits"])
    for mode, agents in played.games.items():
        for number, games in enumerate(agents):
            for episode, one in enumerate(games):
                record = one.record
                ended = "game over" if record.terminated else "time limit"
                row = [
                    mode,
                    config.seed + number,
                    episode,
                    f"{record.score:.9g}",
                    record.steps,
                    SKIP * record.steps,
                    ended,
                ]
                rooms = [] if one.rooms is None else [f"{visit.room}@{visit.step}" for visit in one.rooms]
                writer.writerow([*row, len(rooms) or "", " ".join(rooms)])
    return text.getvalue().encode()


def _film(config: TrainConfig, played: Played, console: Console) -> bytes:
    record, thoughts = played.games[FILMED][0][0].record, played.first
    balanced, kind = config.agent.traits.action, config.agent.bonus.normalize
    bonus = np.asarray(jax.vmap(lambda one: normalize(one, kind))(thoughts.action_bonus))
    story = atari_film.Story(
        method=config.agent.method,
        title=f"{config.env.title}, {ACTING[FILMED]}",
        taken=record.actions,
        logits=thoughts.logits,
        behaviour=thoughts.behaviour if balanced else None,
        bonus=bonus if balanced else None,
        verdict="game over" if record.terminated else "the time limit was reached",
    )
    with progress_bar(console, "film", record.steps + atari_film.LAST, "pictures") as tell:
        return atari_film.film(replay(record), story, tell)


def show(summary: Data, title: str, console: Console) -> None:
    """The numbers on the screen."""
    found = summary["ways"]
    more = {
        "mean steps": [short(one["mean_steps"]) for one in found.values()],
        "ended by game over": [f"{one['ended_by_game_over']:.0%}" for one in found.values()],
    }
    if "rooms" in summary:
        more["rooms per game"] = [short(one["rooms"]["mean_per_game"]) for one in found.values()]
        more["most rooms in a game"] = [short(one["rooms"]["most_in_a_game"]) for one in found.values()]
    console.print(score_table(title, "score", len(summary["seeds"]), found, more))
    if "rooms" in summary:
        rooms = ", ".join(map(str, summary["rooms"]["all"]))
        console.print(f"rooms visited: {rooms}", highlight=False, soft_wrap=True)
