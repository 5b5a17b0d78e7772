"""The part of ``evaluate RUN`` for Atari: full games with their scores and rooms, and a film.

Axes: K agents, E games.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import jax
import numpy as np
from rich.console import Console

from action_balance.agent.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.core.balance import normalize
from action_balance.engines.evaluate import ActionMode, Evaluation, Trace, action_modes
from action_balance.engines.factory import evaluate_run
from action_balance.engines.host.evaluate import TRACED
from action_balance.envs.atari.emulator import emulator_seeds
from action_balance.envs.atari.games import ROOM_BYTE, SKIP
from action_balance.envs.atari.replay import Record, Visit, replay, visits
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.films import atari as atari_film
from action_balance.studies.evaluation.score_table import score_table, short, spread
from action_balance.terminal.progress import progress_bar

#: How much of the work with a game is to replay it for its rooms.
REPLAYING = 0.2
#: How the way of acting is told in the film.
ACTING = {"greedy": "the largest of π", "sampled": "actions sampled from π", "behaviour": "actions sampled from β"}


@dataclass(frozen=True)
class Game:
    """One full game."""

    record: Record
    rooms: tuple[Visit, ...] | None  # in the order of first visits; None if the memory does not tell


#: By action mode, E games of each of K agents.
Games = Mapping[ActionMode, list[list[Game]]]


def play(
    config: TrainConfig, game: str, states: TrainState, episodes: int, seed: int, console: Console
) -> tuple[Data, dict[str, bytes]]:
    """Full games of every agent of a run: the numbers, and the files by name.

    Args:
        config: of the run.
        game: its name.
        states: of all agents, with leading axis K.
        episodes: E, of each agent for each way of acting.
        seed: of all that is random in the games.
        console: the screen.
    """
    filming = True
    try:
        atari_film.check_encoder()
    except UserError as error:
        filming = _without_film(error, console)
    total = episodes * config.seeds * len(action_modes(config.agent))
    share = REPLAYING if game in ROOM_BYTE else 0.0
    with progress_bar(console, "playing", total, "games") as report:
        found = evaluate_run(config, states, episodes, seed, lambda part: report(part * (1 - share)), record=True)
        games = replayed(game, found, lambda: report(share))
    files = {"episodes.csv": table_of_games(config, games)}
    trace = found[TRACED].trace
    if filming and trace is not None:
        try:
            files["episode.mp4"] = _film(config, games[TRACED][0][0].record, trace, console)
        except UserError as error:
            _without_film(error, console)
    return summarize(config, game, games), files


def replayed(game: str, found: Mapping[ActionMode, Evaluation], report: Callable[[], None] = lambda: None) -> Games:
    """The games of an evaluation with the rooms that their replays visit.

    Args:
        game: its name.
        found: recorded episodes.
        report: called after every game.
    """
    games: dict[ActionMode, list[list[Game]]] = {}
    for mode, one in found.items():
        games[mode] = [[] for _ in one.recordings]
        for (agent, episode), terminated in np.ndenumerate(np.asarray(one.terminated)):
            seed, number, actions, scores = one.recordings[agent][episode]
            record = Record(game, int(emulator_seeds(seed, number + 1)[number]), actions, scores, bool(terminated))
            games[mode][agent].append(Game(record, visits(record)))
            report()
    return games


def _without_film(error: UserError, console: Console) -> bool:
    console.print(f"the film is left out: {error}", highlight=False, markup=False, soft_wrap=True)
    return False


def summarize(config: TrainConfig, game: str, played: Games) -> Data:
    """The numbers of an evaluation."""
    summary: Data = {
        "seeds": list(range(config.seed, config.seed + config.seeds)),
        "intervals_over": "seeds" if config.seeds > 1 else "episodes",
        "ways": {mode: _numbers(games) for mode, games in played.items()},
    }
    if game in ROOM_BYTE:
        everything = [one for games in played.values() for agent in games for one in agent]
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


def table_of_games(config: TrainConfig, played: Games) -> bytes:
    """A CSV file with a row for each game; rooms in the order of first visits, each as room@step."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["way", "seed", "episode", "score", "steps", "frames", "ended", "rooms", "visits"])
    for mode, agents in played.items():
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


def _film(config: TrainConfig, record: Record, trace: Trace, console: Console) -> bytes:
    thoughts, balanced, kind = trace.decision, config.agent.balances, config.agent.bonus.normalize
    bonus = np.asarray(jax.vmap(lambda one: normalize(one, kind))(thoughts.action_bonus))
    story = atari_film.Story(
        method=config.agent.method,
        title=f"{config.env.title}, {ACTING[TRACED]}",
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
