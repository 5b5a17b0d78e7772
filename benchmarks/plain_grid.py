"""The grid study in plain Python: lists, loops and the standard library.

This is what the rules of `docs/grid.md` look like when they are written down one after the other, with an explicit
policy table. It shares no code with the package: the tests compare the two step by step and update by update, and
`benchmarks/grid.py` compares their speed. A cell (x, y) is the number ``y * width + x``.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

#: What the actions left, right, up and down add to (x, y).
MOVES = [(-1, 0), (1, 0), (0, 1), (0, -1)]

#: One step: the cell acted from, the action, the cell reached.
Transition = tuple[int, int, int]


@dataclass
class World:
    """A grid with walls. Reaching a goal ends the episode, and so do ``episode_steps`` steps."""

    width: int = 40
    height: int = 40
    walls: set[int] = field(default_factory=set)
    start: int = 0
    goals: set[int] = field(default_factory=set)
    episode_steps: int = 200


@dataclass
class Settings:
    """The numbers of the paper's ``action-balance-rnd``; a coefficient of 0 takes that bonus away."""

    action_coef: float = 1.0
    state_coef: float = 0.1
    update_every: int = 128
    reward_base: float = 1.02
    gamma: float = 0.99
    gae_lambda: float = 0.95
    value_rate: float = 0.1


class Agent:
    """Counts N(s,a), advantages A(s,a) and values V(s), all zero, and a policy pi(s,.) that starts uniform."""

    def __init__(self, cells: int) -> None:
        self.counts = [[0] * len(MOVES) for _ in range(cells)]
        self.advantage = [[0.0] * len(MOVES) for _ in range(cells)]
        self.value = [0.0] * cells
        self.policy = [[1 / len(MOVES)] * len(MOVES) for _ in range(cells)]


@dataclass
class Run:
    """What one run did, and the agent as it was after the last update."""

    cells: list[int]  # the cells acted from, one a step
    reached: bool  # a goal was reached at least once
    agent: Agent


def move(world: World, cell: int, action: int) -> int:
    """The cell that an action leads to: the same one, if a wall or the edge of the grid is in the way."""
    dx, dy = MOVES[action]
    x, y = cell % world.width + dx, cell // world.width + dy
    if not (0 <= x < world.width and 0 <= y < world.height):
        return cell
    target = y * world.width + x
    return cell if target in world.walls else target


def draw_action(policy: list[float], uniform: float) -> int:
    """The action that a uniform number in [0, 1) picks from the probabilities."""
    for action, upto in enumerate(accumulate(policy[:-1])):
        if uniform < upto:
            return action
    return len(policy) - 1


def state_rewards(agent: Agent, batch: list[Transition], settings: Settings) -> list[float]:
    """Rule 1: reaching a cell is worth less for every time it was acted from before this batch."""
    visits = [sum(agent.counts[reached]) for _, _, reached in batch]
    return [settings.state_coef * settings.reward_base**-count for count in visits]


def one_step_errors(agent: Agent, batch: list[Transition], rewards: list[float], settings: Settings) -> list[float]:
    """Rule 2: reward and discounted value of the next cell reached, less the value of this one."""
    values = [agent.value[reached] for _, _, reached in batch]
    next_values = [*values[1:], 0.0]
    return [
        reward + settings.gamma * next_value - value
        for reward, value, next_value in zip(rewards, values, next_values, strict=True)
    ]


def backward_advantages(deltas: list[float], settings: Settings) -> list[float]:
    """Rule 3: each error plus the decayed advantage of the step after it."""
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
    """One update from one batch, rules 1 to 6 in their order."""
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
    """One run of ``steps`` steps, or, with ``stop_at_goal``, until the first goal if that comes earlier.

    ``draws`` gives one uniform number in [0, 1) a step. The number of steps taken is the number of cells returned.
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
