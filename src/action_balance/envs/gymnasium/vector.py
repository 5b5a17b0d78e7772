"""Any Gymnasium environment as a `HostEnvironment`, on top of Gymnasium's own vector environments.

A vector environment of M is a group. Where an episode ends, its environment is reset in the same step, so that both the
last observation and the first of the next episode are known. Axes: G groups, M environments of a group.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate
from jaxtyping import Bool, Integer, Shaped

from action_balance.envs.gymnasium.make import ExaminedEnv
from action_balance.envs.gymnasium.masking import KEY, missing_mask
from action_balance.envs.gymnasium.single import FAILED, single
from action_balance.envs.gymnasium.spaces import LARGEST, check_finite
from action_balance.envs.gymnasium.tryout import one_line
from action_balance.envs.gymnasium.workers import LOST, Workers
from action_balance.envs.host_base import EnvironmentFailed, HostStep
from action_balance.envs.masks import allowed, mask_rows
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

#: How often in a row a group may lose a worker without a step in between.
LIVES = 3
#: Seconds after which a worker that does not answer is replaced; shorter than the time after which a training ends.
TIMEOUT = 60.0


def env_seeds(seed: tuple[int, ...], envs: int) -> Integer[np.ndarray, " N"]:
    """Seeds of single environments; those of the first ones do not depend on how many there are."""
    return np.random.SeedSequence(seed).generate_state(envs) % 2**31


class GymEnvironment:
    """N copies of an environment as a `HostEnvironment`.

    The agent learns from the scaled reward; the reported score is not scaled. Environment i is reset with the i-th
    seed, whatever the groups.
    """

    def __init__(
        self,
        examined: ExaminedEnv,
        envs: int,
        groups: int = 1,
        seed: int | tuple[int, ...] = 0,
        vectorize: str = "sync",
        stack: int = 1,
        reward_scale: float = 1.0,
        on_message: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.examined, self._name = examined, examined.name
        self._scale, self._on_message = reward_scale, on_message
        self.spec: EnvSpec = examined.spec(stack)
        self._vectorize, self._size = vectorize, envs // groups
        self._restarts = [0] * groups
        self._failures = [0] * groups  # in a row
        self._sent: list[Any] = [None] * groups
        self._newest: list[np.ndarray] = []
        self._first_masks: list[np.ndarray] = [np.zeros((0, 0), bool)] * groups
        low, high = examined.layout.limits()
        self._low, self._high = np.maximum(low, -LARGEST), np.minimum(high, LARGEST)
        # Bytes that may have any value cannot be out of bounds.
        self._bounded = examined.layout.space.dtype != np.uint8 or bool(np.any(low > 0) or np.any(high < 255))
        self._vectors = [self._make() for _ in range(groups)]
        self._check_distinct()
        self._seed = seed if isinstance(seed, tuple) else (seed,)

    def _check_distinct(self) -> None:
        """Raise a `UserError` if environments of this process are the same object: each would disturb the others."""
        made = [one.unwrapped for vector in self._vectors if isinstance(vector, SyncVectorEnv) for one in vector.envs]
        if len({id(one) for one in made}) < len(made):
            raise UserError(
                f"{self._name}: its function returned the same environment twice: create a new one in each call, "
                f"e.g. lambda: MyEnv()"
            )

    @property
    def groups(self) -> int:
        return len(self._vectors)

    @property
    def envs_per_group(self) -> int:
        return self._size

    def reset(self, seed: tuple[int, ...] | None = None) -> Shaped[np.ndarray, "G M ..."]:
        self._seed = self._seed if seed is None else seed
        each = env_seeds(self._seed, self.groups * self._size)
        self._newest = [self._begin(group, seeds) for group, seeds in enumerate(each.reshape(self.groups, -1))]
        return np.stack(self._newest)

    @property
    def first_mask(self) -> Bool[np.ndarray, "G M A"]:
        return np.stack(self._first_masks)

    def send(self, group: int, actions: Shaped[np.ndarray, "M ..."]) -> None:
        vector, chosen = self._vectors[group], self.examined.choices(np.asarray(actions))
        if isinstance(vector, AsyncVectorEnv):
            try:
                vector.step_async(chosen)
            except LOST:
                return  # `receive` finds that no step is under way
        self._sent[group] = chosen

    def receive(self, group: int) -> HostStep:
        """Wait for the step of a group; if a worker has died, the group restarts."""
        vector, chosen = self._vectors[group], self._sent[group]
        self._sent[group] = None
        if chosen is None:
            return self._lost(group)
        try:
            with self._reported(vector):
                waits = vector if isinstance(vector, AsyncVectorEnv) else None
                step = self._step(vector, *(waits.step_wait(TIMEOUT) if waits else vector.step(chosen)))
        except LOST:
            return self._lost(group)
        self._failures[group], self._newest[group] = 0, step.frame
        return step

    @contextmanager
    def _reported(self, vector: VectorEnv[Any, Any, Any]) -> Iterator[None]:
        """Whatever an environment raises is one line, unless a worker is lost."""
        try:
            yield
        except (UserError, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit, too
            if isinstance(error, LOST) and isinstance(vector, AsyncVectorEnv):
                raise
            raise self._wrong(error) from error

    def _step(self, vector: Any, observations: Any, score: Any, terminated: Any, truncated: Any, info: Any) -> HostStep:
        self._check_failed(info)
        ended = terminated | truncated
        frame = next_obs = self._frames(vector, observations)
        masks = self._masks(info, ~ended)
        if ended.any():
            if vector.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP:
                next_obs = np.array(frame)
                for place in np.flatnonzero(ended):
                    next_obs[place] = self.examined.layout.frame(info["final_obs"][place])
            else:
                observations, info = self._reset(vector, options={"reset_mask": ended})
                self._check_failed(info)
                frame = self._frames(vector, observations)
            begun = self._masks(info, ended)
            if masks is not None and begun is not None:
                masks = np.where(ended[:, None], begun, masks)
            terminated, truncated = np.array(terminated), truncated & ~terminated
        score = np.array(score, np.float32)
        if not math.isfinite(score.sum()):
            raise EnvironmentFailed(f"{self._name}: a reward is not finite: fix the environment")
        mask = None if masks is None else allowed(masks, self.examined.choices.nvec)
        return HostStep(frame, next_obs, score * np.float32(self._scale), score, terminated, truncated, mask=mask)

    def _masks(self, info: Any, needed: Bool[np.ndarray, " M"]) -> Shaped[np.ndarray, "M A"] | None:
        """The masks in infos, of which some are needed; zeros elsewhere. None where the environment gives no masks."""
        if not self.examined.masks:
            return None
        given, present, nvec = info.get(KEY), info.get(f"_{KEY}", True), self.examined.choices.nvec
        if given is None:
            if needed.any():
                raise missing_mask()
            return np.zeros((self._size, sum(nvec)), bool)
        if not (present | ~needed).all():
            raise missing_mask()
        return mask_rows(given, self._size, nvec)

    @staticmethod
    def _reset(vector: VectorEnv[Any, Any, Any], **given: Any) -> tuple[Any, dict[str, Any]]:
        if not isinstance(vector, AsyncVectorEnv):
            return vector.reset(**given)
        vector.reset_async(**given)
        return vector.reset_wait(TIMEOUT)

    def _check_failed(self, info: Any) -> None:
        if FAILED in info:
            message = next(one for one in info[FAILED] if one)
            raise EnvironmentFailed(f"{self._name} failed in a worker: {message}")

    def _frames(self, vector: VectorEnv[Any, Any, Any], observations: Any) -> np.ndarray:
        layout = self.examined.layout
        if layout.plain:
            self._check_bounds(observations)
            return layout.encoding.encode([observations])
        if self._vectorize == "own":
            observations = [layout.frame(one) for one in iterate(vector.observation_space, observations)]
        frames = np.array(observations)
        self._check_bounds(layout.encoding.numbers(frames))
        return frames

    def _check_bounds(self, numbers: np.ndarray) -> None:
        """Report once that a number is out of its bounds; NaN is an error."""
        if self._bounded and not ((numbers >= self._low) & (numbers <= self._high)).all():
            check_finite(numbers)
            error = self.examined.layout.outside(numbers, self._low, self._high)
            self._on_message(f"{self._name}: {error}. This is reported once, and the run continues")
            self._low, self._high = np.full_like(self._low, -LARGEST), np.full_like(self._high, LARGEST)

    def _begin(self, group: int, seeds: np.ndarray) -> np.ndarray:
        """The first frames of a group, (M, ...), even if a worker dies meanwhile."""
        while True:
            vector = self._vectors[group]
            # A vector class of its own may accept one number only, from which it counts on.
            seed = int(seeds[0]) if self._vectorize == "own" else [int(one) for one in seeds]
            try:
                with self._reported(vector):
                    observations, info = self._reset(vector, seed=seed)
                    self._check_failed(info)
                    masks = self._masks(info, np.ones(self._size, bool))
                    if masks is not None:
                        self._first_masks[group] = allowed(masks, self.examined.choices.nvec)
                    return self._frames(vector, observations)
            except LOST:
                seeds = self._renew(group)

    def _wrong(self, error: BaseException) -> EnvironmentFailed:
        return EnvironmentFailed(f"{self._name} failed: {one_line(error)}")

    def _make(self) -> VectorEnv[Any, Any, Any]:
        make = partial(single, self.examined, self._vectorize == "async")
        try:
            if self._vectorize == "sync":
                return SyncVectorEnv([make] * self._size, copy=False, autoreset_mode=AutoresetMode.DISABLED)
            if self._vectorize == "async":
                return Workers([make] * self._size)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if isinstance(error, LOST) and self._vectorize == "async":
                raise EnvironmentFailed(
                    f"{self._name}: a worker ended before its first step; in a script, start the training below "
                    'if __name__ == "__main__": (workers import the script), or use --vectorize sync'
                ) from None
            raise self._wrong(error) from error
        if self.examined.own is None:
            raise ValueError("the environment has no vector class of its own")
        return self.examined.own(self._size)

    def _lost(self, group: int) -> HostStep:
        """Restart a group of which a worker has died or not answered, and make up the outcome of its step.

        The step counts as one that stayed where it was, without a reward, and as the end of an episode whose return is
        not counted.
        """
        before, self._newest[group] = self._newest[group], self._begin(group, self._renew(group))
        zero, false = np.zeros(self._size, np.float32), np.zeros(self._size, bool)
        mask = self._first_masks[group] if self.examined.masks else None
        return HostStep(self._newest[group], before, zero, zero, false, ~false, lost=True, mask=mask)

    def _renew(self, group: int) -> np.ndarray:
        """Start a group again; the seeds to reset it with, (M,)."""
        vector = self._vectors[group]
        if isinstance(vector, AsyncVectorEnv):
            vector.close(terminate=True)
        self._restarts[group] += 1
        self._failures[group] += 1
        if self._failures[group] > LIVES:
            raise EnvironmentFailed(
                f"{self._name}: a worker died or did not answer {LIVES + 1} times in a row; use --vectorize sync"
            )
        self._on_message(
            f"{self._name}: a worker died or did not answer; {self._size} environments restart, and their "
            f"unfinished episodes are not counted"
        )
        self._vectors[group] = self._make()
        return np.random.SeedSequence((*self._seed, group, self._restarts[group])).generate_state(self._size) % 2**31

    def close(self) -> None:
        for vector in self._vectors:
            vector.close()
        self._vectors = []
