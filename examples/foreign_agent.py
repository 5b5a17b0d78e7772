"""Action balance in a loop without JAX: a tabular policy gradient in plain NumPy.

The agent has a habit: it has learned to walk right. But the treasure has moved to the far corner, and without a reward
the agent has no reason to try anything else. The program prints how many cells of an 8x8 grid ten agents visit without
and with action balance, and how many treasures their eight environments give in the last 400 steps. It takes about ten
seconds.

A policy half as sure of its habit also finds this treasure, but somebody has to know how sure it should be. Action
balance adapts by itself: in each state it raises the actions that were rarely tried there, and none where all actions
were tried equally often.
"""

import numpy as np

from action_balance import ActionBalance

SIZE, ENVIRONMENTS, EPISODE = 8, 8, 40
MOVES = np.array([[-1, 0], [1, 0], [0, 1], [0, -1]])  # left, right, up, down
GAMMA, LAMBDA = 0.97, 0.95


class Grids:
    """Eight grids that step together; an episode ends at the treasure or after 40 steps."""

    def __init__(self):
        self.place, self.clock = np.zeros((ENVIRONMENTS, 2), int), np.zeros(ENVIRONMENTS, int)

    def cell(self):
        """The cell of each agent."""
        return self.place @ [1, SIZE]

    def step(self, actions):
        """The cells that are reached, whether each has the treasure, and whether the episode ends there."""
        self.place = np.clip(self.place + MOVES[actions], 0, SIZE - 1)
        self.clock += 1
        reached, found = self.cell(), (self.place == SIZE - 1).all(axis=1)
        ended = found | (self.clock == EPISODE)
        self.place[ended], self.clock[ended] = 0, 0
        return reached, found, ended


def softmax(logits):
    """Probabilities along the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def explore(coef, seed, rollouts=70, steps=20):
    """The cells that an agent visits, and its treasures in the last rollouts; coefficient 0 is without balance."""
    random, grids = np.random.default_rng(seed), Grids()
    one_hot = np.eye(SIZE * SIZE, dtype=np.float32)
    policy, value = np.tile([0.0, 3.0, 0.0, 0.0], (SIZE * SIZE, 1)), np.zeros(SIZE * SIZE)
    balance = ActionBalance.create((SIZE * SIZE,), len(MOVES), normalize="standard", learning_rate=3e-3, seed=seed)
    visited, treasures = set(), []
    for rollout in range(rollouts):
        cells, actions, chances, outcomes = [], [], [], []
        for _ in range(steps):
            cells.append(grids.cell())
            logits = policy[cells[-1]]
            if coef:  # it decays, so that at the end the agent acts on what it has learned
                logits = balance.logits(one_hot[cells[-1]], logits, coef * (1 - rollout / rollouts))
            chances.append(softmax(logits))
            actions.append((chances[-1].cumsum(axis=1) > random.random((ENVIRONMENTS, 1))).argmax(axis=1))
            outcomes.append(grids.step(actions[-1]))
        if coef:
            balance.learn(one_hot[np.array(cells)], np.array(actions))
        # Policy gradient of the policy that acted: balance shifts its logits, and adds nothing to their gradient.
        advantage = np.zeros(ENVIRONMENTS)
        for cell, action, chance, (reached, found, ended) in zip(
            cells[::-1], actions[::-1], chances[::-1], outcomes[::-1], strict=True
        ):
            error = found + GAMMA * value[reached] * ~ended - value[cell]
            advantage = error + GAMMA * LAMBDA * ~ended * advantage
            np.add.at(value, cell, 0.1 * advantage)
            np.add.at(policy, cell, advantage[:, None] * (np.eye(len(MOVES))[action] - chance))
        visited.update(np.ravel(cells).tolist())
        treasures.append(sum(int(found.sum()) for _, found, _ in outcomes))
    return len(visited), sum(treasures[-20:])


if __name__ == "__main__":
    for coef in (0.0, 2.0):
        cells, treasures = zip(*(explore(coef, seed) for seed in range(10)), strict=True)
        print(f"action balance x {coef}: cells {cells} of {SIZE * SIZE}, treasures {treasures}")
