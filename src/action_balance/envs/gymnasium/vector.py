"""Any Gymnasium environment behind the contract of the host, through Gymnasium's own vector environments.

A vector environment of M is a group. It does not begin episodes by itself: where one has ended, it is reset at once, so
that both what was reached and what a new episode begins with are known. Axes: G groups, M environments of a group.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate

from action_balance.envs.gymnasium.make import Task
from action_balance.envs.gymnasium.single import FAILED, one_line, single
from action_balance.envs.gymnasium.spaces import LARGEST, BadObservation, check
from action_balance.envs.gymnasium.workers import LOST, Workers, close, end
from action_balance.envs.host_base import EnvironmentFailed, HostStep
from action_balance.errors import UserError

#: Who steps the environments of a group: one after the other, each in a process of its own, or their own vector class.
Vectorize = Literal["sync", "async", "own"]
#: Times in a row that a group may lose a worker without a step between.
LIVES = 3
#: Seconds after which a worker that does not answer is replaced: before the training gives up waiting.
TIMEOUT = 60.0


class GymEnvironment:
    """N copies of an environment, behind the contract of `HostEnvironment`.

    Learning sees the reward times a scale; what is reported is the reward as it is. Environment i is reset with the
    i-th seed, whatever the groups.
    """

    def __init__(
        self,
        task: Task,
        envs: int,
        groups: int = 1,
        seed: int | tuple[int, ...] = 0,
        vectorize: Vectorize = "sync",
        stack: int = 1,
        reward_scale: float = 1.0,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Start them.

        Args:
            task: what to make.
            envs: N.
            groups: G, a divisor of N.
            seed: of all that is random in them.
            vectorize: who steps them.
            stack: K, frames that the policy sees.
            reward_scale: what learning sees the reward times.
            say: is called with a line for what the user should know, from any thread.
        """
        self.task, self._stack, self._scale, self._say = task, stack, reward_scale, say
        self._vectorize, self._size = vectorize, envs // groups
        self._restarts = [0] * groups
        self._failures = [0] * groups  # in a row
        self._sent: list[np.ndarray | None] = [None] * groups
        self._newest: list[np.ndarray] = []
        box = task.layout.space
        low, high = (box.low, box.high) if isinstance(box, spaces.Box) else task.layout.limits()
        self._low, self._high = np.maximum(low, -LARGEST), np.minimum(high, LARGEST)
        # Bytes of all values cannot be out of bounds.
        self._bounded = task.layout.space.dtype != np.uint8 or bool(np.any(self._low > 0) or np.any(self._high < 255))
        self._vectors = [self._make() for _ in range(groups)]
        self.reseed(seed)

    @property
    def actions(self) -> int | tuple[int, ...]:
        """A, or the choices of each component."""
        return self.task.choices.actions

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Of a vector or an image."""
        return self.task.layout.shape

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """So many frames, oldest first."""
        return (self._stack, *self.frame_shape)

    @property
    def groups(self) -> int:
        """G."""
        return len(self._vectors)

    @property
    def envs_per_group(self) -> int:
        """M."""
        return self._size

    def reseed(self, seed: int | tuple[int, ...]) -> None:
        """From now on, resets begin from this seed."""
        self._seed = seed
        each = np.random.SeedSequence(seed).generate_state(self.groups * self._size)
        self._seeds = each.reshape(self.groups, -1) % 2**31

    def reset(self) -> np.ndarray:
        """The first frame of every environment, (G, M, ...); a second reset begins from the seed again."""
        self._newest = [self._begin(group, self._seeds[group]) for group in range(self.groups)]
        return np.stack(self._newest)

    def send(self, group: int, actions: np.ndarray) -> None:
        """Begin a step of one group with these choices, (M,) or (M, C) integers from 0."""
        vector, chosen = self._vectors[group], self.task.choices(np.asarray(actions))
        if isinstance(vector, AsyncVectorEnv):
            try:
                vector.step_async(chosen)
            except LOST:
                return  # nothing is under way, which is found when it is received
        self._sent[group] = chosen

    def receive(self, group: int) -> HostStep:
        """What the step brought. Where a worker has died, the group begins anew and its episodes are cut."""
        vector, chosen = self._vectors[group], self._sent[group]
        self._sent[group] = None
        if chosen is None:
            return self._lost(group)
        try:
            waits = vector if isinstance(vector, AsyncVectorEnv) else None
            step = self._step(vector, *(waits.step_wait(TIMEOUT) if waits else vector.step(chosen)))
        except LOST as error:
            if not isinstance(vector, AsyncVectorEnv):
                raise self._wrong(error) from error
            return self._lost(group)
        except UserError:
            raise
        except Exception as error:
            raise self._wrong(error) from error
        self._failures[group], self._newest[group] = 0, step.frame
        return step

    def _step(
        self, vector: VectorEnv[Any, Any, Any], seen: Any, score: Any, terminated: Any, truncated: Any, info: Any
    ) -> HostStep:
        self._check_failed(info)
        ended = terminated | truncated
        frame = reached = self._frames(vector, seen)
        if ended.any():
            if vector.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP:
                reached = np.array(frame)
                for place in np.flatnonzero(ended):
                    reached[place] = self._last(info["final_obs"][place])
            else:
                seen, info = self._reset(vector, options={"reset_mask": ended})
                self._check_failed(info)
                frame = self._frames(vector, seen)
            terminated, truncated = np.array(terminated), truncated & ~terminated
        score = np.array(score, np.float32)
        if not math.isfinite(score.sum()):
            raise EnvironmentFailed(f"{self.task.name}: a reward is not finite: find where the environment makes it")
        return HostStep(frame, reached, score * np.float32(self._scale), score, terminated, truncated)

    @staticmethod
    def _reset(vector: VectorEnv[Any, Any, Any], **given: Any) -> tuple[Any, dict[str, Any]]:
        if not isinstance(vector, AsyncVectorEnv):
            return vector.reset(**given)
        vector.reset_async(**given)
        return vector.reset_wait(TIMEOUT)

    def _check_failed(self, info: Any) -> None:
        if FAILED in info:
            said = next(one for one in info[FAILED] if one)
            raise EnvironmentFailed(f"{self.task.name} failed in a worker: {said}")

    def _last(self, seen: Any) -> np.ndarray:
        """The frame of one observation."""
        layout = self.task.layout
        return layout.frames(np.asarray(seen)[None])[0] if layout.plain else layout.frame(seen)

    def _frames(self, vector: VectorEnv[Any, Any, Any], seen: Any) -> np.ndarray:
        """Frames of a group, (M, ...)."""
        layout = self.task.layout
        if not layout.plain:
            own = self._vectorize == "own"
            parts = [layout.frame(one) for one in iterate(vector.observation_space, seen)] if own else seen
            vectors = np.array(parts)
            if not ((vectors >= self._low) & (vectors <= self._high)).all():
                self._say_outside(layout.outside(vectors, self._low, self._high))
            return vectors
        if self._bounded and not ((seen >= self._low) & (seen <= self._high)).all():
            self._outside(seen)
        return layout.frames(seen)

    def _outside(self, seen: np.ndarray) -> None:
        """Say once that an observation is out of its bounds; NaN is an error."""
        try:
            for one in seen:
                check(self.task.layout.space, one)
        except BadObservation as error:
            if not (np.abs(seen) <= LARGEST).all():
                raise EnvironmentFailed(f"{self.task.name}: {error}") from None
            self._say_outside(error)

    def _say_outside(self, error: BadObservation) -> None:
        self._say(f"{self.task.name}: {error}. This is said once, and the run goes on")
        self._low, self._high = np.full_like(self._low, -LARGEST), np.full_like(self._high, LARGEST)

    def _begin(self, group: int, seeds: np.ndarray) -> np.ndarray:
        """The first frames of a group, (M, ...), also if a worker dies before it has brought them."""
        while True:
            try:
                return self._first(group, seeds)
            except LOST:
                seeds = self._renew(group)

    def _first(self, group: int, seeds: np.ndarray) -> np.ndarray:
        vector: Any = self._vectors[group]
        try:
            # Classes of others may know one number only, and count on from it.
            each = [int(seed) for seed in seeds]
            seen, info = self._reset(vector, seed=each[0] if self._vectorize == "own" else each)
            self._check_failed(info)
            return self._frames(vector, seen)
        except UserError:
            raise
        except Exception as error:
            if isinstance(error, LOST) and isinstance(vector, AsyncVectorEnv):
                raise
            raise self._wrong(error) from error

    def _wrong(self, error: BaseException) -> EnvironmentFailed:
        said = one_line(error) if isinstance(error, Exception) else str(error)
        return EnvironmentFailed(f"{self.task.name} failed: {said}")

    def _make(self) -> VectorEnv[Any, Any, Any]:
        make = partial(single, self.task, self._vectorize == "async")
        try:
            if self._vectorize == "sync":
                return SyncVectorEnv([make] * self._size, copy=False, autoreset_mode=AutoresetMode.DISABLED)
            if self._vectorize == "async":
                return Workers([make] * self._size)
        except Exception as error:
            if isinstance(error, LOST) and self._vectorize == "async":
                said = (
                    "a worker ended before its first step; in a script, begin the training below "
                    'if __name__ == "__main__": (workers import the script), or try --vectorize sync'
                )
                raise EnvironmentFailed(f"{self.task.name}: {said}") from None
            raise self._wrong(error) from error
        if self.task.own is None:
            raise ValueError("there is no vector environment of its own")
        return self.task.own(self._size)

    def _lost(self, group: int) -> HostStep:
        """What a step brought in which a worker has died, or has not answered: all of its group are made anew.

        It is not known. It counts as a step that stayed where it was, without a reward, and as the end of an episode
        whose return is not counted.
        """
        before, self._newest[group] = self._newest[group], self._begin(group, self._renew(group))
        nothing, none = np.zeros(self._size, np.float32), np.zeros(self._size, bool)
        return HostStep(self._newest[group], before, nothing, nothing, none, ~none, lost=True)

    def _renew(self, group: int) -> np.ndarray:
        """Make a group anew; the seeds that it is to be reset with, (M,)."""
        vector = self._vectors[group]
        if isinstance(vector, AsyncVectorEnv):
            end(vector)
        self._restarts[group] += 1
        self._failures[group] += 1
        if self._failures[group] > LIVES:
            raise EnvironmentFailed(
                f"{self.task.name}: a worker has died or not answered {LIVES + 1} times in a row; try --vectorize sync"
            )
        self._say(
            f"{self.task.name}: a worker has died or not answered; {self._size} environments begin anew, and the "
            f"episodes that were under way in them are not counted"
        )
        self._vectors[group] = self._make()
        base = self._seed if isinstance(self._seed, tuple) else (self._seed,)
        return np.random.SeedSequence((*base, group, self._restarts[group])).generate_state(self._size) % 2**31

    def close(self) -> None:
        """Stop them."""
        for vector in self._vectors:
            if isinstance(vector, AsyncVectorEnv):
                close(vector)
            else:
                vector.close()
        self._vectors = []
