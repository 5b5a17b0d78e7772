"""Agents learn from pictures on the host, end to end: the position of a bright block determines the best action."""

import numpy as np

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.network import NetworkConfig
from action_balance.engines.host.trainer import HostTrainer
from action_balance.envs.host_base import HostStep
from action_balance.envs.spec import EnvSpec

SIZE, PLACES, ENVS, EPISODE = 44, 3, 8, 16


class Signs:
    """The action that names the block's place pays 1, a step later; what was done last in an episode pays nothing."""

    groups, envs_per_group = 2, ENVS // 2
    spec = EnvSpec("image-stack", (4, SIZE, SIZE), (PLACES,), dtype="uint8")

    def __init__(self) -> None:
        """All begin with a picture of their own."""
        self.rng = np.random.default_rng(0)
        self.places = self.rng.integers(PLACES, size=(self.groups, self.envs_per_group))
        self.right = np.zeros(self.places.shape, bool)
        self.earlier = np.zeros(self.places.shape, bool)
        self.step = np.zeros(self.groups, int)

    def _frames(self, group: int) -> np.ndarray:
        frames = np.full((self.envs_per_group, SIZE, SIZE), 50, np.uint8)
        for picture, place in zip(frames, self.places[group], strict=True):
            picture[16:28, 2 + 14 * place : 14 + 14 * place] = 255
        return frames

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        del seed
        return np.stack([self._frames(group) for group in range(self.groups)])

    def send(self, group: int, actions: np.ndarray) -> None:
        self.earlier[group], self.right[group] = self.right[group], actions == self.places[group]

    def receive(self, group: int) -> HostStep:
        self.step[group] += 1
        paid = self.earlier[group].astype(np.float32)
        over = np.full(self.envs_per_group, self.step[group] % EPISODE == 0)
        self.right[group] &= ~over
        self.places[group] = self.rng.integers(PLACES, size=self.envs_per_group)
        frames = self._frames(group)
        return HostStep(frames, frames, paid, paid, over, np.zeros_like(over))

    def close(self) -> None:
        pass


def test_a_policy_learns_from_pictures_that_an_earlier_policy_has_seen() -> None:
    config = AgentConfig(
        method="ppo",
        steps=26 * ENVS * 32,
        envs=ENVS,
        algorithm=PPOConfig(rollout_steps=32, learning_rate=1e-3, gamma_ext=0.9),
        network=NetworkConfig(channels=4, features=32, trunk=32),
        host=HostConfig(groups=2, lag=1),
    )
    trainer = HostTrainer(config, Signs.spec, lambda *_: Signs())
    trainer.start(trainer.init_state())
    returns = [float(trainer.advance()["episode_return"][0]) for _ in range(config.updates)]
    trainer.close()
    # 15 of the 16 steps of an episode pay: 5 by chance.
    assert np.mean(returns[:4]) < 6.5
    assert np.mean(returns[-4:]) > 9
