"""Playing Atari without learning: full games of an agent, greedily, from pi, or from beta.

All games of an agent are played at once, one in each emulator. Axes: E games, T steps, A actions; K agents outside.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.agent.rollout import act, action_coef, behaviour_logits
from action_balance.agent.state import Actor, TrainState
from action_balance.config.agent import Config
from action_balance.distributions import choose
from action_balance.engines.device.evaluate import ACTION_MODES, ActionMode, action_modes
from action_balance.envs.atari.emulator import Atari
from action_balance.envs.atari.games import ROOM_BYTE, SKIP
from action_balance.envs.atari.replay import Record, Visit, visits
from action_balance.envs.frame_stack import push
from action_balance.envs.host_base import with_timeout

#: The most games at once: as many emulators and observations as a large training has.
MOST_GAMES = 128
#: The way of acting whose first game is looked at step by step.
FILMED: ActionMode = "sampled"
#: How much of the work with a game is to play it again for its rooms.
REPLAYING = 0.2

#: Whose action bonus is computed: it costs more than all else.
Bonuses = Literal["none", "first", "all"]
#: Is told how many games more are done, in parts of a game.
Tell = Callable[[float], None]
Thought = tuple[jax.Array, jax.Array, jax.Array]


@dataclass(frozen=True)
class Game:
    """One full game."""

    record: Record
    rooms: tuple[Visit, ...] | None  # in the order of first visits; None where the memory does not tell


@dataclass(frozen=True)
class Thoughts:
    """What an agent thought at every step of one game."""

    logits: np.ndarray  # (T, A), of pi
    behaviour: np.ndarray  # (T, A), logits of beta
    action_bonus: np.ndarray  # (T, A)


@dataclass(frozen=True)
class Played:
    """All games of an evaluation."""

    games: dict[ActionMode, list[list[Game]]]  # K lists of E games for each way of acting
    first: Thoughts  # in the first game of the first agent, acting as `FILMED`


class Player:
    """Plays all games of an agent at once, with one call of a compiled function for each step."""

    def __init__(self, game: str, config: Config, episodes: int, episode_frames: int = 18_000) -> None:
        """For so many games at once, with this time limit in emulator frames."""
        self.game, self.config, self.episodes, self.episode_frames = game, config, episodes, episode_frames

    def play(
        self, actor: Actor, mode: ActionMode, seed: tuple[int, ...], key: jax.Array, bonuses: Bonuses, tell: Tell
    ) -> tuple[list[Record], Thoughts]:
        """One game in each emulator; whatever follows it there, until the last has ended, is left out.

        Args:
            actor: the agent.
            way: of acting.
            seed: of the emulators.
            key: of the actions.
            bonuses: whose action bonus is computed.
            tell: is told how many games more are done.
        """
        environment = Atari(
            self.game, self.episodes, seed=seed, threads=self.config.host.threads, episode_frames=self.episode_frames
        )
        number = np.int32(ACTION_MODES.index(mode))
        stacks = jnp.zeros((self.episodes, *environment.spec.shape), jnp.uint8)
        began = np.ones(self.episodes, bool)
        lengths = np.zeros(self.episodes, int)  # (E,), 0 as long as a game goes on
        terminated = np.zeros(self.episodes, bool)
        actions: list[np.ndarray] = []
        scores: list[np.ndarray] = []
        thoughts: list[Thought] = []
        done, most = 0.0, math.ceil(self.episode_frames / SKIP)
        try:
            frames = environment.reset()[0]
            while (lengths == 0).any():
                time = np.int32(len(actions))
                stacks, action, thought = decide(
                    actor, stacks, frames, began, key, time, number, config=self.config, bonuses=bonuses
                )
                actions.append(np.asarray(action))
                if lengths[0] == 0:
                    thoughts.append(thought)
                environment.send(0, actions[-1])
                step = with_timeout(partial(environment.receive, 0))
                scores.append(step.score)
                frames, began = step.frame, step.ended
                ends_now = step.ended & (lengths == 0)
                terminated |= ends_now & step.terminated
                lengths[ends_now] = len(actions)
                now = np.where(lengths > 0, 1, len(actions) / most).sum()
                tell(now - done)
                done = now
        finally:
            environment.close()
        records = [
            Record(
                self.game,
                int(environment.seeds[0, game]),
                np.array([action[game] for action in actions[:length]]),
                np.array([score[game] for score in scores[:length]]),
                bool(terminated[game]),
                episode_frames=self.episode_frames,
            )
            for game, length in enumerate(lengths)
        ]
        parts = zip(*thoughts, strict=True)
        return records, Thoughts(*(np.stack([np.asarray(one) for one in part]) for part in parts))


def think(
    actor: Actor,
    stacks: jax.Array,
    frames: jax.Array,
    began: jax.Array,
    key: jax.Array,
    time: jax.Array,
    mode: jax.Array,
    *,
    config: Config,
    bonuses: Bonuses,
) -> tuple[jax.Array, jax.Array, Thought]:
    """What the agents of all games see now, (E, K, ...), what they do, (E,) or (E, C), and what the first one thinks.

    Args:
        actor: the agent.
        stacks: what was seen before, (E, K, ...).
        frames: the newest, (E, ...).
        began: whether it is the first of a game, (E,) bool.
        key: each game has one of its own, made of this one and its number.
        time: steps made, ().
        way: place of the way of acting in `WAYS`, (). A number, so that greedy and sampled are one program.
        config: of the agent.
        bonuses: whose action bonus is computed; that of the others is zero, and their beta is pi.
    """
    stacks = jax.vmap(push)(stacks, frames, began)
    logits, _, bonus = jax.vmap(lambda seen: act(actor, seen, config))(stacks)
    if bonuses != "all":
        bonus = jnp.zeros_like(logits)  # what was computed for them is not needed, and so left out of the program
    if bonuses == "first":
        bonus = bonus.at[0].set(act(actor, stacks[0], config)[2])
    parts = actor.policy.parts
    behaviour = jax.vmap(lambda x, y: behaviour_logits(x, y, actor.coef, config, parts))(logits, bonus)

    def noise(game: jax.Array) -> jax.Array:
        return jax.random.gumbel(jax.random.fold_in(jax.random.fold_in(key, game), time), logits.shape[1:])

    # The largest sum of logit and Gumbel noise is a sample of the softmax.
    drawn = jax.vmap(noise)(jnp.arange(len(stacks)))
    scores = jnp.stack([logits, logits + drawn, behaviour + drawn])[mode]
    action = jax.vmap(lambda one: choose(one, parts))(scores)
    return stacks, action, (logits[0], behaviour[0], bonus[0])


#: Compiled once for all agents of a config, and shared by ways of acting with the same bonuses.
decide = jax.jit(think, static_argnames=("config", "bonuses"))


def evaluate_games(
    game: str,
    config: Config,
    states: TrainState,
    numbers: Sequence[int],
    episodes: int,
    seed: int,
    tell: Tell = lambda _: None,
    episode_frames: int = 18_000,
) -> Played:
    """Full games of every agent of a run. Each game is the same, but for rounding, however many are played.

    Args:
        game: its name.
        config: of the agents.
        states: of all agents, with leading axis K.
        numbers: the seeds that they were trained with, K.
        episodes: E, of each agent and each way of acting.
        seed: of all that is random in the games.
        tell: is told how many games more are done, of K x ways x E, in parts of a game.
        episode_frames: time limit in emulator frames.
    """
    player = Player(game, config, episodes, episode_frames)
    share = REPLAYING if game in ROOM_BYTE else 0.0
    games: dict[ActionMode, list[list[Game]]] = {mode: [] for mode in action_modes(config)}
    first: Thoughts | None = None
    for place, number in enumerate(numbers):
        actor = actor_of(states, place, config)
        for mode, of_agents in games.items():
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), ACTION_MODES.index(mode))
            filmed = place == 0 and mode == FILMED
            emulators = emulator_seed(seed, number, mode)
            records, thoughts = player.play(
                actor, mode, emulators, key, bonuses_needed(config, mode, filmed), lambda part: tell(part * (1 - share))
            )
            if filmed:
                first = thoughts
            of_agents.append([])
            for record in records:
                of_agents[-1].append(Game(record, visits(record)))
                tell(share)
    if first is None:
        raise ValueError("there must be an agent")
    return Played(games, first)


def emulator_seed(seed: int, number: int, mode: ActionMode) -> tuple[int, ...]:
    """Of the emulators of an evaluation: another one for every agent and way, and none that training uses."""
    return seed, number, ACTION_MODES.index(mode), 1  # training's have fewer numbers, as if zeros followed


def bonuses_needed(config: Config, mode: ActionMode, filmed: bool) -> Bonuses:
    """Whose action bonus a way of acting has to know."""
    if not config.traits.action:
        return "none"
    if mode == "behaviour":
        return "all"
    return "first" if filmed else "none"


def actor_of(states: TrainState, place: int, config: Config) -> Actor:
    """One of the agents, on the device: as numbers of the host it would travel there with every step."""
    actors = states.actor(jax.vmap(lambda updates: action_coef(config, updates))(states.updates))
    actor: Actor = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[place]), actors)
    return actor
