"""An environment family of a user, on the host, in one file: guess which of some dice shows more."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from action_balance.config.env import HostEnvConfig
from action_balance.envs.host_base import HostEnvironment, HostStep
from action_balance.envs.spec import EnvSpec


@dataclass(frozen=True)
class Dice(HostEnvConfig):
    """Some dice; the reward is 1 for naming the highest."""

    dice: int = 3
    """Number of dice."""
    throws: int = 5
    """Throws of an episode."""

    label = "game of dice"
    has_images = False

    @property
    def spec(self) -> EnvSpec:
        """What the dice show, and their number of choices."""
        return EnvSpec("vector-stack", (1, self.dice), (self.dice,), normalize_obs=True)

    def make(
        self,
        envs: int,
        groups: int,
        seed: tuple[int, ...],
        threads: int = 0,
        on_message: Callable[[str], None] = lambda _: None,
    ) -> HostEnvironment:
        """Tables with dice."""
        del threads, on_message
        return Tables(self, envs, groups, seed)


class Tables:
    """N tables in G groups; each is random on its own."""

    def __init__(self, config: Dice, envs: int, groups: int, seed: tuple[int, ...]) -> None:
        self.config, self.spec = config, config.spec
        self.groups, self.envs_per_group = groups, envs // groups
        self._seed = seed
        self._sent: dict[int, np.ndarray] = {}

    def _throw(self, group: int) -> np.ndarray:
        throws = [rng.integers(1, 7, size=self.config.dice) for rng in self._rngs[group]]
        self._shown[group] = np.array(throws, np.float32)
        return self._shown[group]

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        """The first throws."""
        self._seed = self._seed if seed is None else seed
        size = range(self.envs_per_group)
        numbers = [[group * self.envs_per_group + table for table in size] for group in range(self.groups)]
        self._rngs = [[np.random.default_rng((*self._seed, number)) for number in row] for row in numbers]
        self._shown = [np.zeros(0, np.float32)] * self.groups
        self._time = [0] * self.groups
        return np.stack([self._throw(group) for group in range(self.groups)])

    def send(self, group: int, actions: np.ndarray) -> None:
        """Name a die at each table."""
        self._sent[group] = actions

    def receive(self, group: int) -> HostStep:
        """Whether it was the highest, and the next throw."""
        shown, actions = self._shown[group], self._sent.pop(group)
        reward = (shown[np.arange(len(shown)), actions] == shown.max(axis=1)).astype(np.float32)
        self._time[group] += 1
        frame = self._throw(group)
        ended = np.full(len(shown), self._time[group] % self.config.throws == 0)
        return HostStep(frame, frame, reward, reward, ended, np.zeros_like(ended))

    def close(self) -> None:
        """Nothing is open."""
