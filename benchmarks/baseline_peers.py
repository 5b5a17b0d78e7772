"""One training of another library's agent, for `baselines.py`: ``python baseline_peers.py NAME ENV SEED STEPS``.

The last line of the output is a list of [number, mean return] of the episodes that ended in each rollout. Nothing of
this package is imported: the interpreter may be another one.
"""

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

ENVS, ROLLOUT_STEPS = 8, 128


def stable_baselines3(environment: str, seed: int, steps: int, normalize: bool = False) -> list[tuple[int, float]]:
    """PPO with its defaults, with 8 environments x 128 steps and 10 epochs; observations and rewards as they are, or
    normalised by its ``VecNormalize``."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)  # more only slow such small networks
    groups: list[tuple[int, float]] = []

    class Episodes(BaseCallback):
        """Collects the returns of each rollout."""

        def _on_rollout_start(self) -> None:
            self.returns: list[float] = []

        def _on_step(self) -> bool:
            self.returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
            return True

        def _on_rollout_end(self) -> None:
            groups.append((len(self.returns), float(np.mean(self.returns)) if self.returns else 0.0))

    vector = make_vec_env(environment, n_envs=ENVS, seed=seed)
    model = PPO(
        "MlpPolicy",
        VecNormalize(vector) if normalize else vector,
        n_steps=ROLLOUT_STEPS,
        n_epochs=10,
        seed=seed,
        device="cpu",
    )
    model.learn(steps, callback=Episodes())
    return groups


#: Settings of DQN in the RL Zoo (https://github.com/DLR-RM/rl-baselines3-zoo), which were tuned for each task, without
#: those that are the defaults of the library.
_ZOO = {
    "learning_rate": 6.3e-4,
    "batch_size": 128,
    "buffer_size": 50_000,
    "learning_starts": 0,
    "target_update_interval": 250,
    "train_freq": 4,
    "gradient_steps": -1,
    "exploration_fraction": 0.12,
    "exploration_final_eps": 0.1,
}
ZOO: dict[str, dict[str, Any]] = {
    "Acrobot-v1": _ZOO,
    "LunarLander-v3": _ZOO,
    "CartPole-v1": {
        "learning_rate": 2.3e-3,
        "batch_size": 64,
        "buffer_size": 100_000,
        "learning_starts": 1000,
        "target_update_interval": 10,
        "train_freq": 256,
        "gradient_steps": 128,
        "exploration_fraction": 0.16,
        "exploration_final_eps": 0.04,
    },
}


def stable_baselines3_dqn(environment: str, seed: int, steps: int) -> list[tuple[int, float]]:
    """DQN with one environment, two layers of 256 units, and the settings of the RL Zoo where it has the task."""
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.env_util import make_vec_env

    torch.set_num_threads(1)
    vector = make_vec_env(environment, n_envs=1, seed=seed)
    settings = ZOO.get(environment, {})
    net = {"net_arch": [256, 256]} if settings else None
    model = DQN("MlpPolicy", vector, policy_kwargs=net, seed=seed, device="cpu", **settings)
    model.learn(steps)
    return [(1, float(one)) for one in vector.env_method("get_episode_rewards")[0]]


def rlexplore(environment: str, seed: int, steps: int) -> list[tuple[int, float]]:
    """PPO with the RND of rllte-core, with its defaults and the same rollouts."""
    import gymnasium
    import torch
    from rllte.agent import PPO
    from rllte.env.utils import Gymnasium2Torch
    from rllte.xplore.reward import RND

    torch.set_num_threads(1)
    groups: list[tuple[int, float]] = []

    class Recorded(gymnasium.Wrapper[Any, Any, Any, Any]):
        """Collects the returns of an environment's episodes."""

        total = 0.0

        def step(self, action: Any) -> Any:
            """Take one step."""
            found = self.env.step(action)
            self.total += float(found[1])
            if found[2] or found[3]:
                groups.append((1, self.total))
                self.total = 0.0
            return found

    vector = gymnasium.vector.SyncVectorEnv([lambda: Recorded(gymnasium.make(environment))] * ENVS)
    envs = Gymnasium2Torch(vector, "cpu")
    agent = PPO(env=envs, seed=seed, device="cpu", num_steps=ROLLOUT_STEPS)
    agent.set(reward=RND(envs, device="cpu"))
    agent.train(num_train_steps=steps)
    return groups


if __name__ == "__main__":
    name, environment, seed, steps = sys.argv[1:]
    agents: dict[str, Callable[[str, int, int], list[tuple[int, float]]]] = {
        "stable-baselines3": stable_baselines3,
        "stable-baselines3-normalized": partial(stable_baselines3, normalize=True),
        "stable-baselines3-dqn": stable_baselines3_dqn,
    }
    train = {**agents, "rlexplore": rlexplore}[name]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # rllte-core writes logs where it runs
        print(json.dumps(train(environment, int(seed), int(steps))))
