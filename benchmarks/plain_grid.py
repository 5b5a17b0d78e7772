"""The grid study in plain Python: lists, loops and the standard library.

The rules of `docs/grid.md` one after the other, with an explicit policy table. It shares no code with the package: the
tests compare the two step by step and update by update, and `benchmarks/grid.py` compares their speed. A cell (x, y)
has the number ``y * width + x``.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

#: Changes of (x, y) by the actions left, right, up and down.
MOVES = [(-1, 0), (1, 0), (0, 1), (0, -1)]

#: One step: the cell, the action, and the cell that was reached.
Transition = tuple[int, int, int]


@dataclass
class World:
    """A grid with walls. An episode ends at a goal or after ``episode_steps`` steps."""

    width: int = 40
    height: int = 40
    walls: set[int] = field(default_factory=set)
    start: int = 0
    goals: set[int] = field(default_factory=set)
    episode_steps: int = 200


@dataclass
class Settings:
    """Settings of the paper's ``action-balance-rnd``; a coefficient of 0 removes that bonus."""

    action_coef: float = 1.0
    state_coef: float = 0.1
    update_every: int = 128
    reward_base: float = 1.02
    gamma: float = 0.99
    gae_lambda: float = 0.95
    value_rate: float = 0.1


class Agent:
    """Counts N(s,a), advantages A(s,a) and values V(s), initially zero, and a policy pi(s,.), initially uniform."""

    def __init__(self, cells: int) -> None:
        self.counts = [[0] * len(MOVES) for _ in range(cells)]
        self.advantage = [[0.0] * len(MOVES) for _ in range(cells)]
        self.value = [0.0] * cells
        self.policy = [[1 / len(MOVES)] * len(MOVES) for _ in range(cells)]


@dataclass
class Run:
    """The result of one run, and the agent after the last update."""

    cells: list[int]  # the cell before each step
    reached: bool  # whether a goal was reached
    agent: Agent


def move(world: World, cell: int, action: int) -> int:
    """The cell that an action leads to; the same cell if a wall or the edge of the grid blocks it."""
    dx, dy = MOVES[action]
    x, y = cell % world.width + dx, cell // world.width + dy
    if not (0 <= x < world.width and 0 <= y < world.height):
        return cell
    target = y * world.width + x
    return cell if target in world.walls else target


def draw_action(policy: list[float], uniform: float) -> int:
    """The action that a uniform number in [0, 1) selects."""
    for action, upto in enumerate(accumulate(policy[:-1])):
        if uniform < upto:
            return action
    return len(policy) - 1


def state_rewards(agent: Agent, batch: list[Transition], settings: Settings) -> list[float]:
    """Rule 1: the reward of reaching a cell decays with its visits before this batch."""
    visits = [sum(agent.counts[reached]) for _, _, reached in batch]
    return [settings.state_coef * settings.reward_base**-count for count in visits]


def one_step_errors(agent: Agent, batch: list[Transition], rewards: list[float], settings: Settings) -> list[float]:
    """Rule 2: reward plus discounted value of the next cell that is reached, minus the value of this one."""
    values = [agent.value[reached] for _, _, reached in batch]
    next_values = [*values[1:], 0.0]
    return [
        reward + settings.gamma * next_value - value
        for reward, value, next_value in zip(rewards, values, next_values, strict=True)
    ]


def backward_advantages(deltas: list[float], settings: Settings) -> list[float]:
    """Rule 3: each error plus the discounted advantage of the following step."""
    advantages = []
    following = 0.0
    for delta in reversed(deltas):
        following = delta + settings.gamma * settings.gae_lambda * following
        advantages.append(following)
    advantages.reverse()
    return advantages


def update_policy(agent: Agent, cell: int, settings: Settings) -> None:
    """Rule 6: softmax of the action bonus plus the advantage."""
    counts = agent.counts[cell]
    root = math.sqrt(sum(counts))
    logits = [
        settings.action_coef * root / (1 + count) + advantage
        for count, advantage in zip(counts, agent.advantage[cell], strict=True)
    ]
    largest = max(logits)
    weights = [math.exp(logit - largest) for logit in logits]
    total = sum(weights)
    agent.policy[cell] = [weight / total for weight in weights]


def learn(agent: Agent, batch: list[Transition], settings: Settings) -> None:
    """One update from one batch: rules 1 to 6 in order."""
    rewards = state_rewards(agent, batch, settings)
    deltas = one_step_errors(agent, batch, rewards, settings)
    advantages = backward_advantages(deltas, settings)

    written = set()
    for (cell, action, _), advantage in zip(batch, advantages, strict=True):  # rule 4
        if (cell, action) not in written:
            agent.advantage[cell][action] = advantage
            written.add((cell, action))

    for (cell, action, reached), delta in zip(batch, deltas, strict=True):  # rule 5
        agent.value[reached] += settings.value_rate * delta
        agent.counts[cell][action] += 1

    for cell in {cell for cell, _, _ in batch}:
        update_policy(agent, cell, settings)


def run(
    world: World,
    settings: Settings,
    steps: int,
    draws: random.Random | Iterator[float],
    stop_at_goal: bool = False,
) -> Run:
    """One run of ``steps`` steps; with ``stop_at_goal``, it ends at the first goal.

    ``draws`` yields one uniform number in [0, 1) per step. The result has one cell per step.
    """
    draw = draws.random if isinstance(draws, random.Random) else draws.__next__
    agent = Agent(world.width * world.height)
    cell, time, reached_goal = world.start, 0, False
    cells: list[int] = []
    batch: list[Transition] = []
    while len(cells) < steps and not (stop_at_goal and reached_goal):
        action = draw_action(agent.policy[cell], draw())
        reached = move(world, cell, action)
        cells.append(cell)
        batch.append((cell, action, reached))
        time += 1
        at_goal = reached in world.goals
        reached_goal = reached_goal or at_goal
        if at_goal or time == world.episode_steps:
            cell, time = world.start, 0
        else:
            cell = reached
        if len(batch) == settings.update_every:
            learn(agent, batch, settings)
            batch = []
    return Run(cells, reached_goal, agent)
