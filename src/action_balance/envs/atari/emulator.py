"""Atari games under the protocol of RND, on ale-py's own threads.

Burda et al., Exploration by Random Network Distillation, 2019; https://arxiv.org/abs/1810.12894.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from action_balance.envs.host_base import EmulatorsLost, HostStep
from action_balance.errors import UserError, check_name
from action_balance.files import missing, reason

if TYPE_CHECKING:
    from ale_py.vector_env import AtariVectorEnv

#: The six games of the paper, hard to explore.
PAPER_GAMES = ("gravitar", "montezuma_revenge", "pitfall", "private_eye", "solaris", "venture")
#: Games of ale-py for two and more players only: where one plays alone, the emulator ends the whole process.
FOR_SEVERAL = frozenset({"combat", "joust", "maze_craze", "warlords"})
#: Height and width of a frame.
SIZE = 84
#: Frames that the policy sees.
STACK = 4
#: Emulator frames that an action lasts.
SKIP = 4
#: How far the emulators' threads stand back, of 19; further, and another program could take all their time.
NICE = 5

T = TypeVar("T")


def games() -> list[str]:
    """The games that ale-py brings along and one can play alone, those of the paper first."""
    try:
        from ale_py import roms
    except ImportError:
        raise missing("ale-py", "Atari", "atari") from None
    return [*PAPER_GAMES, *sorted(set(roms.get_all_rom_ids()) - FOR_SEVERAL - set(PAPER_GAMES))]


def check_game(game: str) -> str:
    """The game, if there is such a one; otherwise a `UserError` that suggests the nearest."""
    if game in FOR_SEVERAL:
        raise UserError(f"{game} is for several players, and an agent plays alone: choose another game")
    # Those of the paper are known also where there is no ale-py, to read what was trained elsewhere.
    return game if game in PAPER_GAMES else check_name("game", game, games())


def count_actions(game: str) -> int:
    """Actions of a game's own set."""
    check_game(game)
    emulators()
    from ale_py import ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.loadROM(str(roms.get_rom_path(game)))
    return len(emulator.getMinimalActionSet())


class Atari:
    """N copies of one game, behind the contract of `HostEnvironment`.

    Every action lasts four emulator frames, and on each of them the one before is repeated with probability
    `sticky`. A frame is the maximum of the last two of the four, grey, 84x84. There are no no-op starts, no first
    shot and no end with a lost life. The actions are the game's own, as in RND (all 18 in each game of the paper).

    An environment's randomness depends on the seed and its number only, not on groups and threads.
    """

    def __init__(
        self,
        game: str,
        envs: int,
        groups: int = 1,
        seed: int | tuple[int, ...] = 0,
        threads: int = 0,
        sticky: float = 0.25,
        episode_frames: int = 18_000,
    ) -> None:
        """Start the emulators.

        Args:
            game: its name, as in `games`.
            envs: N.
            groups: G, a divisor of N.
            seed: of the sticky actions, one number or several.
            threads: of each group; 0 for one per core.
            sticky: probability that an emulator frame repeats the action of the frame before.
            episode_frames: time limit in emulator frames; 18,000 are 4,500 steps.
        """
        check_game(game)
        if groups < 1 or envs < groups or envs % groups:
            raise UserError(f"{envs} environments cannot be split into {groups} equal groups: use a divisor of {envs}")
        self.seeds = _seeds(seed, envs).reshape(groups, -1)  # (G, M), what each emulator is seeded with
        self._pools = _yielding(
            lambda: [_pool(game, envs // groups, threads, sticky, episode_frames) for _ in range(groups)]
        )
        self._under_way = [False] * groups
        self._actions = len(self._pools[0].ale.get_action_set())

    @property
    def actions(self) -> int:
        """The game's own set."""
        return self._actions

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Height and width."""
        return (SIZE, SIZE)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Four frames, oldest first."""
        return (STACK, SIZE, SIZE)

    @property
    def groups(self) -> int:
        """G."""
        return self.seeds.shape[0]

    @property
    def envs_per_group(self) -> int:
        """M."""
        return self.seeds.shape[1]

    def reset(self) -> np.ndarray:
        """The first frame of every environment, (G, M, 84, 84) uint8; a second reset begins from the seed again."""
        if any(self._under_way):
            raise RuntimeError("reset while a step is under way: receive it first")
        return np.stack([pool.reset(seed=own)[0][:, 0] for pool, own in zip(self._pools, self.seeds, strict=True)])

    def send(self, group: int, actions: np.ndarray) -> None:
        """Begin a step of one group with these actions, (M,) integers; returns at once."""
        if self._under_way[group]:
            raise RuntimeError(f"group {group} has a step under way: receive it first")
        # The emulator would wait forever after an action that it does not know.
        if actions.shape != (self.envs_per_group,) or actions.min() < 0 or actions.max() >= self.actions:
            raise ValueError(f"{self.envs_per_group} actions from 0 to {self.actions - 1} are needed, not {actions}")
        self._pools[group].send(actions.astype(np.int32, copy=False))
        self._under_way[group] = True

    def receive(self, group: int) -> HostStep:
        """Wait for the step of a group. Learning sees the sign of the score.

        ale-py stops looking when a game ends: the frame of an end is made of what it had seen until then.
        """
        if not self._under_way[group]:
            raise RuntimeError(f"group {group} has no step under way: send actions first")
        try:
            stacks, score, terminated, truncated, info = self._pools[group].recv()
        except Exception as error:  # whatever it is, the emulators cannot go on
            raise EmulatorsLost(f"an emulator has stopped: {reason(error)}") from error
        self._under_way[group] = False
        frame = reached = stacks[:, 0]
        ended = terminated | truncated
        if ended.any():
            reached = np.where(ended[:, None, None], info["final_obs"][:, 0], frame)
        score = score.astype(np.float32)
        return HostStep(frame, reached, np.sign(score), score, terminated, truncated)

    def close(self) -> None:
        """Stop the emulators."""
        self._pools.clear()


def _seeds(seed: int | tuple[int, ...], envs: int) -> np.ndarray:
    # Far apart, so that one run's environments are not the next run's, and positive, as the emulator wants them.
    return np.random.SeedSequence(seed).generate_state(envs).astype(np.int64) % (2**31 - 1) + 1


def _yielding(make: Callable[[], T]) -> T:
    """What is made, with threads that let others go first; on Linux.

    Threads have the priority of the one that began them. Emulators keep every core busy: whoever has their next actions
    must not wait for one.
    """
    if sys.platform != "linux":
        return make()

    def politely() -> T:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        return make()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(politely).result()


def emulators() -> type[AtariVectorEnv]:
    """What steps many of them; a `UserError` where a package that they need is missing."""
    games()  # without ale-py, it is missed here
    try:
        from ale_py.vector_env import AtariVectorEnv
    except ImportError:
        raise missing("gymnasium", "Atari", "atari") from None
    return AtariVectorEnv


def _pool(game: str, envs: int, threads: int, sticky: float, episode_frames: int) -> AtariVectorEnv:
    return emulators()(
        game,
        envs,
        num_threads=threads,
        max_num_frames_per_episode=episode_frames,
        repeat_action_probability=sticky,
        full_action_space=False,
        autoreset_mode="SameStep",
        img_height=SIZE,
        img_width=SIZE,
        grayscale=True,
        stack_num=1,  # older frames are already where they are needed
        frameskip=SKIP,
        maxpool=True,
        noop_max=0,
        use_fire_reset=False,
        episodic_life=False,
        life_loss_info=False,
        reward_clipping=False,
    )
