"""Small Gymnasium environments, correct and faulty, which workers can import, too."""

import os
import signal
import sys
import threading
from functools import cache, partial
from pathlib import Path
from subprocess import call
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class Counter(gymnasium.Env[Any, Any]):
    """Observes its seed, its episode and its step. Reward 1 for action 1. Odd seeds terminate after 3 steps, even ones
    are truncated after 2. Like a database connection, it works only in the thread that made it.
    """

    observation_space: Any = spaces.Box(-1e9, 1e9, (3,), np.float64)
    action_space: Any = spaces.Discrete(2)

    def __init__(self, fault: str = "", mark: str = "") -> None:
        """A fault occurs at the fifth step; one that has left its mark in a file does not occur again."""
        self.fault, self.mark, self.thread = fault, mark, threading.get_ident()
        self.steps = self.seed = self.episode = self.step_number = 0

    def see(self) -> Any:
        return np.array([self.seed, self.episode, self.step_number], np.float64)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.seed = seed % 1000 if seed is not None else self.seed
        self.episode = 0 if seed is not None else self.episode + 1
        self.step_number = 0
        return self.see(), {"legal": np.arange(self.seed % 2)}

    def step(self, action: Any) -> Any:
        if threading.get_ident() != self.thread:
            raise RuntimeError("made in another thread")
        self.steps += 1
        self.step_number += 1
        seen, reward = self.see(), float(action == 1)
        if self.fault and self.steps >= 15 and not (self.mark and Path(self.mark).exists()):
            if self.fault == "dies":
                Path(self.mark).touch()
                os._exit(1)
            if self.fault == "ends":
                sys.exit("the wheel came off")
            if self.fault == "raises":
                raise ZeroDivisionError("the wheel came off")
            seen = {"nan": seen * np.nan, "shape": seen[:2], "outside": seen + 2e9}.get(self.fault, seen)
            reward = np.inf if self.fault == "reward" else reward
        odd = self.seed % 2 == 1
        info = {"legal": np.arange(self.steps % 3 + self.seed % 2)}  # of a shape that varies
        return seen, reward, odd and self.step_number == 3, not odd and self.step_number == 2, info


class OldReset(Counter):
    def reset(self, **_: Any) -> Any:
        return self.see()


class NoOptions(Counter):
    def reset(self, **given: Any) -> Any:
        return super().reset(**self._known(**given))

    @staticmethod
    def _known(seed: int | None = None) -> dict[str, Any]:
        return {"seed": seed}


class OldStep(Counter):
    def step(self, action: Any) -> Any:
        return (*super().step(action)[:3], {})


class Crane(gymnasium.Env[Any, Any]):
    """Observes the action that it received, one number after another: arm, grip, winch. Another is an error."""

    observation_space: Any = spaces.Box(-10, 10, (4,))

    def __init__(self) -> None:
        arm = spaces.Tuple(
            (spaces.Box(np.array([-1, 0], np.float32), np.array([1, np.inf], np.float32)), spaces.Discrete(3, start=1))
        )
        self.action_space = spaces.Dict(arm=arm, winch=spaces.Box(0, 4, (1,), np.int32))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> Any:
        if not self.action_space.contains(action):
            raise ValueError(f"{action} is not in the space")
        (reach, grip), winch = action["arm"], action["winch"]
        return np.array([*reach, grip, *winch], np.float32), 0.0, False, False, {}


class Sequences(Counter):
    observation_space = spaces.Sequence(spaces.Discrete(3))


class NaN(Counter):
    def see(self) -> Any:
        return super().see() * np.nan


class Outside(Counter):
    observation_space = spaces.Box(0, 1, (3,))

    def see(self) -> Any:
        return np.array([0, 0.5, 1.5], np.float32)


class NoEnvironment:
    """Not even one."""


class EndsInStep(Counter):
    def step(self, action: Any) -> Any:
        sys.exit(4 + 0 * action)


class EndsInClose(Counter):
    def close(self) -> None:
        sys.exit(5)


LARGE = 1000
#: Names that lead to functions of Python itself.
kill, system = os.kill, os.system
called = partial(call, ["true"])
#: Functions that make environments, too.
partly, cached = partial(Counter, fault=""), cache(Counter)


def ends(*_: Any) -> None:
    sys.exit(3)


class Dials(gymnasium.Env[Any, Any]):
    """Two dials; setting them to 2 and 1 is rewarded. An episode has ten steps."""

    def __init__(self, size: int = 4) -> None:
        self.observation_space = spaces.Dict(
            {
                "dials": spaces.MultiDiscrete([size, 3], start=[1, 0]),
                "clock": spaces.Tuple((spaces.Box(0, 1, (1,)), spaces.Discrete(2, start=-1))),
                "manual": spaces.Text(20),
            }
        )
        self.action_space = spaces.MultiDiscrete([size, 3])

    def see(self) -> Any:
        clock = (np.array([self.steps / 10], np.float32), -1)
        return {"dials": np.add(self.dials, [1, 0]), "clock": clock, "manual": "turn"}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.steps, self.dials = 0, [0, 0]
        return self.see(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.dials = [int(one) for one in action]
        return self.see(), float(self.dials == [2, 1]), False, self.steps == 10, {}


def small_dials() -> Dials:
    return Dials(3)


class Camera(gymnasium.Env[Any, Any]):
    """An image with a bright column, and the direction in which to move it; an episode has five steps."""

    action_space: Any = spaces.Discrete(2)

    def __init__(self, height: int = 44, width: int = 48) -> None:
        self.shape = (height, width, 3)
        self.observation_space = spaces.Dict(
            {
                "image": spaces.Box(0, 255, self.shape, np.uint8),
                "direction": spaces.Discrete(2),
                "mission": spaces.Text(9),
            }
        )

    def see(self) -> Any:
        image = np.zeros(self.shape, np.uint8)
        image[:, self.place] = 255
        return {"image": image, "direction": self.steps % 2, "mission": "move"}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.steps, self.place = 0, int(self.np_random.integers(self.shape[1]))
        return self.see(), {}

    def step(self, action: Any) -> Any:
        right = int(action) == self.steps % 2
        self.steps += 1
        self.place = (self.place + 2 * int(action) - 1) % self.shape[1]
        return self.see(), float(right), False, self.steps == 5, {}


class SlowDials(Dials):
    """Its clock goes too far."""

    def step(self, action: Any) -> Any:
        return (*super().step(action)[:3], False, {})


class Guide(gymnasium.Env[Any, Any]):
    """Forbids one of three actions: that of its clock modulo 3, and all but one at the beginning of an episode. A
    forbidden action is an error. Reward 1 for the action after the forbidden one. Odd seeds terminate after 3 steps,
    even ones are truncated after 2; at the end of an episode nothing is allowed.
    """

    observation_space: Any = spaces.Box(0, 10, (2,), np.float32)
    action_space: Any = spaces.Discrete(3)

    def __init__(self, fault: str = "") -> None:
        """A fault occurs from the 15th step on."""
        self.fault, self.steps, self.clock, self.seed = fault, 0, 0, 0

    def allowed(self) -> Any:
        if self.clock == 0:
            return np.array([0, 1, 0], np.int8)
        return (np.arange(3) != self.clock % 3).astype(np.int8)

    def info(self) -> dict[str, Any]:
        faulty = self.fault and self.steps >= 15
        given = {"none": np.zeros(3, np.int8), "shape": np.ones(4), "values": np.full(3, 2), "missing": None}
        return {"action_mask": given[self.fault] if faulty else self.allowed(), "clock": self.clock}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed, options=options)
        self.seed = self.seed if seed is None else seed % 10
        self.clock = 0
        return np.array([self.seed, 0], np.float32), self.info()

    def step(self, action: Any) -> Any:
        if not self.allowed()[action]:
            raise ValueError(f"action {action} is forbidden at {self.clock}")
        reward = float(action == (self.clock + 1) % 3)
        self.steps += 1
        self.clock += 1
        odd = self.seed % 2 == 1
        terminated, truncated = odd and self.clock == 3, not odd and self.clock == 2
        info = {} if terminated else {"action_mask": np.zeros(3, np.int8)} if truncated else self.info()
        return np.array([self.seed, self.clock], np.float32), reward, terminated, truncated, info


class GuideMethod(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The same with a method, behind a wrapper, and without anything in the infos."""

    def __init__(self) -> None:
        super().__init__(gymnasium.wrappers.TimeLimit(Guide(), 100))

    def action_masks(self) -> Any:
        return self.unwrapped.allowed().astype(bool)  # type: ignore[attr-defined]  # of `Guide`

    def reset(self, **given: Any) -> Any:
        return super().reset(**given)[0], {}

    def step(self, action: Any) -> Any:
        return (*super().step(action)[:4], {})


class GuideLate(Guide):
    def reset(self, **given: Any) -> Any:
        return super().reset(**given)[0], {}

    def step(self, action: Any) -> Any:
        return super().step(int(np.argmax(self.allowed())) + 0 * action)


class GuidedDials(Dials):
    """The first dial may not be where it is, and the second only moves by one."""

    def masks(self) -> Any:
        first, second = self.dials
        return (np.arange(4) != first).astype(np.int8), (np.abs(np.arange(3) - second) == 1).astype(np.int8)

    def reset(self, **given: Any) -> Any:
        return super().reset(**given)[0], {"action_mask": self.masks()}

    def step(self, action: Any) -> Any:
        if not all(mask[one] for mask, one in zip(self.masks(), action, strict=True)):
            raise ValueError(f"{action} is forbidden at {self.dials}")
        return (*super().step(action)[:4], {"action_mask": self.masks()})


class InterruptedStart:
    """A function that makes a `Counter`. Ctrl-C comes when a worker has just begun and looks for it."""

    def __call__(self) -> Counter:
        return Counter()

    def __reduce__(self) -> Any:
        return interrupted_start, ()


def interrupted_start() -> InterruptedStart:
    os.kill(os.getpid(), signal.SIGINT)
    return InterruptedStart()


def few_pixels(env: Any) -> Any:
    """A wrapper that is a function."""
    space = spaces.Box(0, 255, (53, 54, 3), np.uint8)
    return gymnasium.wrappers.TransformObservation(env, lambda image: image[::4, ::3], space)


gymnasium.register("Counter-v0", entry_point="gym_cases:Counter")
gymnasium.register("NotThere-v0", entry_point="not_there:Env")
