"""Atari games under the protocol of RND, on ale-py's own threads.

Burda et al., Exploration by Random Network Distillation, 2019; https://arxiv.org/abs/1810.12894.
Axes: G groups, M environments of a group.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from jaxtyping import Integer, UInt8

from action_balance.envs.atari.games import SIZE, SKIP, STACK, check_game, vector_class
from action_balance.envs.host_base import EnvironmentsLost, HostStep
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.files import reason

if TYPE_CHECKING:
    from ale_py.vector_env import AtariVectorEnv

#: Niceness of the emulators' threads, of 19; higher, and another program could take all their time.
NICE = 5

T = TypeVar("T")


class Atari:
    """N copies of one game as a `HostEnvironment`.

    Every action lasts four emulator frames, and on each of them the previous action is repeated with probability
    ``sticky``. A frame is the maximum of the last two of the four, grey, 84x84. There are no no-op starts, no first
    shot, and a lost life does not end an episode. The actions are the game's minimal set, as in RND (all 18 in each
    game of the paper).

    The randomness of an environment depends on the seed and its number only, not on groups and threads.
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
        check_game(game)
        if groups < 1 or envs < groups or envs % groups:
            raise UserError(f"{envs} environments cannot be split into {groups} equal groups: use a divisor of {envs}")
        self.seeds = emulator_seeds(seed, envs).reshape(groups, -1)  # (G, M), the seed of each emulator
        self._pools = _yielding(
            lambda: [_pool(game, envs // groups, threads, sticky, episode_frames) for _ in range(groups)]
        )
        self._actions = len(self._pools[0].ale.get_action_set())

    @property
    def spec(self) -> EnvSpec:
        """Four frames, oldest first, and the game's own actions."""
        return EnvSpec("image-stack", (STACK, SIZE, SIZE), (self._actions,), dtype="uint8")

    @property
    def groups(self) -> int:
        return self.seeds.shape[0]

    @property
    def envs_per_group(self) -> int:
        return self.seeds.shape[1]

    def reset(self, seed: tuple[int, ...] | None = None) -> UInt8[np.ndarray, "G M 84 84"]:
        if seed is not None:
            self.seeds = emulator_seeds(seed, self.seeds.size).reshape(self.seeds.shape)
        return np.stack([pool.reset(seed=own)[0][:, 0] for pool, own in zip(self._pools, self.seeds, strict=True)])

    def send(self, group: int, actions: Integer[np.ndarray, " M"]) -> None:
        # After an unknown action, the emulator would wait forever.
        if actions.shape != (self.envs_per_group,) or actions.min() < 0 or actions.max() >= self._actions:
            raise ValueError(f"{self.envs_per_group} actions from 0 to {self._actions - 1} are needed, not {actions}")
        self._pools[group].send(actions.astype(np.int32, copy=False))

    def receive(self, group: int) -> HostStep:
        """The reward is the sign of the score.

        When a game ends, ale-py stops recording: the last frame is made of the emulator frames until then.
        """
        try:
            stacks, score, terminated, truncated, info = self._pools[group].recv()
        except Exception as error:  # whatever it is, the emulators cannot continue
            raise EnvironmentsLost(f"an emulator has stopped: {reason(error)}") from error
        frame = next_obs = stacks[:, 0]
        ended = terminated | truncated
        if ended.any():
            next_obs = np.where(ended[:, None, None], info["final_obs"][:, 0], frame)
        score = score.astype(np.float32)
        return HostStep(frame, next_obs, np.sign(score), score, terminated, truncated)

    def close(self) -> None:
        self._pools.clear()


def emulator_seeds(seed: int | tuple[int, ...], envs: int) -> np.ndarray:
    """Random seeds of the emulators, (N,); the first ones do not depend on how many follow."""
    # Far apart, so that neighbouring runs share no environment, and positive, as the emulator requires.
    return np.random.SeedSequence(seed).generate_state(envs).astype(np.int64) % (2**31 - 1) + 1


def _yielding(make: Callable[[], T]) -> T:
    """Start threads with a lower priority, on Linux.

    Threads inherit the priority of the thread that starts them. Emulators keep every core busy, and the thread that has
    their next actions must not wait for one.
    """
    if sys.platform != "linux":
        return make()

    def make_nicely() -> T:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
        return make()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(make_nicely).result()


def _pool(game: str, envs: int, threads: int, sticky: float, episode_frames: int) -> AtariVectorEnv:
    return vector_class()(
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
        stack_num=1,  # the agent stacks frames itself
        frameskip=SKIP,
        maxpool=True,
        noop_max=0,
        use_fire_reset=False,
        episodic_life=False,
        life_loss_info=False,
        reward_clipping=False,
    )
