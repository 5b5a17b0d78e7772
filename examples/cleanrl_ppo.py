"""PPO in PyTorch in one file, in the style of CleanRL; lines marked with a plus add action balance and RND.

Delete them, and it is plain PPO, which hardly ever finds the treasure of the deep sea: only one of 2^14 action
sequences leads there, and every step towards it costs a little. It trains twice, with an action bonus beside RND and
with RND alone, and prints the returns of both. ``--action-bonus`` and ``--intrinsic`` take the names of all bonuses of
the library, and ``--env CartPole-v1`` trains in another environment. It takes about half a minute.
"""

import argparse
from dataclasses import dataclass, fields, replace

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn
from torch.distributions import Categorical

import action_balance.gym  # noqa: F401  registers the deep sea with Gymnasium
from action_balance.interop import ActionBalance, IntrinsicBonus, Reached  # +


@dataclass(frozen=True)
class Args:
    """Settings, and their defaults."""

    env: str = "ActionBalance/DeepSea-v0"
    size: int = 14  # of the deep sea
    seed: int = 0
    envs: int = 8
    steps: int = 128  # of a rollout
    updates: int = 40
    epochs: int = 4
    minibatches: int = 4
    learning_rate: float = 1e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip: float = 0.2
    entropy_coef: float = 0.01
    action_bonus: str = "hash"  # + or none
    intrinsic: str = "rnd"  # +
    coef: float = 3.0  # + c of Eq. 5
    intrinsic_coef: float = 0.5  # +
    warmup: int = 50  # + steps of a random agent


def mlp(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """A network with two hidden layers."""
    layers = [nn.Linear(inputs, 64), nn.Linear(64, 64), nn.Linear(64, outputs)]
    for layer, scale in zip(layers, (2**0.5, 2**0.5, gain), strict=True):
        nn.init.orthogonal_(layer.weight, scale)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(nn.Flatten(), layers[0], nn.Tanh(), layers[1], nn.Tanh(), layers[2])


def gae(rewards, values, last_value, continues, gamma, gae_lambda):
    """Generalised advantages of rewards, (T, N)."""
    advantages, advantage = torch.zeros_like(rewards), torch.zeros_like(last_value)
    for t in reversed(range(len(rewards))):
        next_value = values[t + 1] if t + 1 < len(rewards) else last_value
        delta = rewards[t] + gamma * next_value * continues[t] - values[t]
        advantage = delta + gamma * gae_lambda * continues[t] * advantage
        advantages[t] = advantage
    return advantages


def make_env(args):
    """One environment."""
    options = {"n": args.size} if args.env == "ActionBalance/DeepSea-v0" else {}
    return gym.wrappers.RecordEpisodeStatistics(gym.make(args.env, **options))


def train(args):  # noqa: PLR0915  all of the algorithm in one place, as in CleanRL
    """Train an agent.

    Returns:
        The return of every episode in their order, and the largest |ratio - 1| of PPO before the first gradient step
        of any update, which would be more than rounding if another policy than the one that acted were learning.
    """
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # the networks are small
    envs = SyncVectorEnv([lambda: make_env(args)] * args.envs, autoreset_mode=AutoresetMode.SAME_STEP)
    inputs, actions = int(np.prod(envs.single_observation_space.shape)), int(envs.single_action_space.n)
    actor, critic = mlp(inputs, actions, 0.01), mlp(inputs, 1, 1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    int_critic, reached = mlp(inputs, 1, 1.0), Reached(envs)  # +
    parameters += int_critic.parameters()  # +
    spaces = envs.single_observation_space, envs.single_action_space  # +
    common = {"learning_rate": 1e-3, "seed": args.seed}  # + of networks, for bonuses that have some
    balance = None  # +
    if args.action_bonus != "none":  # +
        balance = ActionBalance.create(*spaces, action_bonus=args.action_bonus, coef=args.coef, **common)  # +
    novelty = IntrinsicBonus.create(*spaces, intrinsic=args.intrinsic, environments=args.envs, **common)  # +
    optimizer = torch.optim.Adam(parameters, args.learning_rate, eps=1e-5)
    returns, drift = [], 0.0

    obs = torch.as_tensor(envs.reset(seed=args.seed)[0], dtype=torch.float32)
    envs.action_space.seed(args.seed)  # +
    for _ in range(args.warmup):  # +
        obs = torch.as_tensor(envs.step(envs.action_space.sample())[0], dtype=torch.float32)  # +
        for bonus in filter(None, (balance, novelty)):  # +
            bonus.observe(obs)  # +

    shape = (args.steps, args.envs)
    observations = torch.zeros(*shape, *obs.shape[1:])
    next_observations, shifts = torch.zeros_like(observations), torch.zeros(*shape, actions)  # +
    taken, log_probs, rewards, continues = (torch.zeros(shape) for _ in range(4))
    for _ in range(args.updates):
        for t in range(args.steps):
            observations[t] = obs
            with torch.no_grad():
                logits = actor(obs)
                if balance:  # +
                    shifts[t] = balance.shift(obs)  # +
                logits += shifts[t]  # + what acts is the behaviour policy
                policy = Categorical(logits=logits)
                action = policy.sample()
            taken[t], log_probs[t] = action, policy.log_prob(action)
            next_obs, reward, terminated, truncated, infos = envs.step(action.numpy())
            if "final_info" in infos:
                ended = infos["final_info"]["_episode"]
                returns += infos["final_info"]["episode"]["r"][ended].tolist()
            rewards[t], continues[t] = torch.as_tensor(reward), torch.as_tensor(~(terminated | truncated))
            next_observations[t] = torch.as_tensor(reached(next_obs, terminated | truncated, infos)[0])  # +
            obs = torch.as_tensor(next_obs, dtype=torch.float32)

        with torch.no_grad():
            values, last_value = critic(observations.flatten(0, 1)).view(shape), critic(obs)[:, 0]
            advantages = gae(rewards, values, last_value, continues, args.gamma, args.gae_lambda)
            targets = advantages + values
            steps = {"obs": observations, "actions": taken.long(), "ended": continues == 0}  # + few bonuses need these
            bonus = novelty.reward(next_observations, **steps)  # +
            int_values, last_int = int_critic(observations.flatten(0, 1)).view(shape), int_critic(obs)[:, 0]  # +
            always = torch.ones(shape)  # + the intrinsic return is not cut at the end of an episode
            int_advantages = gae(bonus, int_values, last_int, always, args.gamma, args.gae_lambda)  # +
            int_targets = (int_advantages + int_values).flatten()  # +
            advantages += args.intrinsic_coef * int_advantages  # +
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

        batch = [x.flatten(0, 1) for x in (observations, taken, log_probs, advantages, targets)]
        for epoch in range(args.epochs):
            for number, part in enumerate(torch.randperm(len(batch[0])).chunk(args.minibatches)):
                b_obs, b_taken, b_log_prob, b_advantage, b_target = (x[part] for x in batch)
                logits = actor(b_obs)
                logits = logits + shifts.flatten(0, 1)[part]  # + and so is what learns
                policy = Categorical(logits=logits)
                ratio = (policy.log_prob(b_taken) - b_log_prob).exp()
                if epoch == number == 0:
                    drift = max(drift, float((ratio.detach() - 1).abs().max()))
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                loss = -torch.min(ratio * b_advantage, clipped * b_advantage).mean()
                loss = loss + 0.5 * ((critic(b_obs)[:, 0] - b_target) ** 2).mean()
                loss = loss - args.entropy_coef * policy.entropy().mean()
                loss = loss + 0.5 * ((int_critic(b_obs)[:, 0] - int_targets[part]) ** 2).mean()  # +
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()
        update = {"epochs": args.epochs, "minibatches": args.minibatches, "update_proportion": 0.25}  # +
        if balance:  # +
            balance.learn(observations, taken.long(), **update)  # +
        novelty.learn(next_observations, **update, **steps)  # +
    envs.close()
    return returns, drift


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for field in fields(Args):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=field.type, default=field.default)
    args = Args(**vars(parser.parse_args()))
    agents = {"PPO": args}
    names = dict.fromkeys((args.action_bonus, "none"))  # +
    agents = {f"{args.intrinsic} and {name}": replace(args, action_bonus=name) for name in names}  # +
    found = {name: train(agent) for name, agent in agents.items()}
    print("mean returns", *found, sep="\t")
    for parts in zip(*(np.array_split(returns, 10) for returns, _ in found.values()), strict=True):
        print("in one tenth", *(f"{np.mean(part):.3f}" for part in parts), sep="\t")
    print(f"largest |ratio - 1| before a gradient step: {max(drift for _, drift in found.values()):.1e}")
