"""The film of an evaluation: the first episode of the first agent, acting by samples of pi.

Axes: T steps, A choices of all discrete components, D continuous numbers, K candidates.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.core.balance import normalize
from action_balance.distributions import Balanced, MultiCategorical
from action_balance.engines.evaluate import Decision, Trace
from action_balance.envs.actions import distribution_of, for_environment
from action_balance.envs.replay import Replay
from action_balance.envs.scene import Scene
from action_balance.films.film import map_film, replay_film, screen_shots
from action_balance.films.panel import Numbers, Story

#: The most steps of a replay that are filmed: five minutes.
MAX_FILMED = 4500
#: The most rows of actions in a film.
MAX_ROWS = 20
#: A track without bounds shows so many standard deviations.
REACH = 2


def film_of_map(config: TrainConfig, method: str, scene: Scene, trace: Trace) -> bytes:
    """A GIF of an episode on a map, of an agent that was trained with a method."""
    last = trace.next_state[-1] if scene.shows_the_end else trace.state[-1]
    story = _story(config, method, trace, scene.actions, scene.order[trace.state])
    return map_film(scene, story, np.append(trace.state, last), trace.reward)


def film_of_replay(
    config: TrainConfig, method: str, replay: Replay, trace: Trace, report: Callable[[float], None]
) -> bytes:
    """An MP4 of an episode that can be replayed, or of its beginning if it is very long."""
    steps, whole = filmed_steps(trace), len(trace.reward)
    names, trace = replay.action_names, jax.tree.map(lambda leaf: leaf[:steps], trace)
    order = np.tile(np.arange(sum(config.env.spec.nvec)), (steps, 1))
    story = few_rows(_story(config, method, trace, names, order))
    if steps < whole:
        story = replace(story, verdict=f"the film ends here, of {whole:,} steps")
    shots = screen_shots(islice(replay.moments(), steps + 1), config.env.outcome, replay.pixel_aspect)
    return replay_film(shots, story, replay.steps_per_second, report)


def filmed_steps(trace: Trace) -> int:
    """Steps of an episode that a film of its replay shows."""
    return min(len(trace.reward), MAX_FILMED)


def few_rows(story: Story) -> Story:
    """A story with at most `MAX_ROWS` rows: the last choice stands for all that are the least often taken, and the last
    numbers are left out."""
    if (numbers := story.numbers) is None:
        return few_choices(story, MAX_ROWS)
    story = few_choices(story, MAX_ROWS // 2)
    total, rows = len(numbers.names), MAX_ROWS - len(story.actions)
    title = story.title if total <= rows else f"{story.title}; {rows} of {total} numbers"
    return replace(story, numbers=numbers.first(rows), title=title)


def few_choices(story: Story, rows: int) -> Story:
    count = len(story.actions)
    if count <= rows:
        return story
    often = np.bincount(np.ravel(story.taken), minlength=count) + story.pi.mean(axis=0)
    shown = np.sort(np.argsort(-often, kind="stable")[: rows - 1])
    others = np.setdiff1d(np.arange(count), shown)
    row = np.full(count, rows - 1)
    row[shown] = np.arange(rows - 1)

    def joined(numbers: np.ndarray, rest: np.ndarray) -> np.ndarray:
        return np.concatenate([numbers[:, shown], rest[:, None]], axis=1)

    def together(policy: np.ndarray) -> np.ndarray:
        # Choices of different components are not alternatives: of these, the most probable is shown.
        return policy[:, others].sum(axis=1) if story.taken.ndim == 1 else policy[:, others].max(axis=1)

    return replace(
        story,
        actions=(*(story.actions[one] for one in shown), f"{len(others)} others"),
        taken=row[story.taken],
        pi=joined(story.pi, together(story.pi)),
        beta=None if story.beta is None else joined(story.beta, together(story.beta)),
        bonus=None if story.bonus is None else joined(story.bonus, story.bonus[:, others].mean(axis=1)),
    )


def _story(config: TrainConfig, method: str, trace: Trace, names: tuple[str, ...], order: np.ndarray) -> Story:
    """What the panel shows, with choices in the given order, (T, A); components are one after another."""
    spec, agent, decision = config.env.spec, config.agent, trace.decision
    choices = MultiCategorical(spec.nvec)

    def deviation(bonus: jax.Array, mask: jax.Array | None) -> jax.Array:
        normalized = normalize(bonus, agent.normalize, mask)
        distance = normalized - normalized.mean(where=mask)
        return distance if mask is None else jnp.where(mask, distance, 0)

    @jax.jit
    @jax.vmap
    def rows(made: Decision) -> tuple[jax.Array, ...]:
        pi = choices.per_component(jax.nn.softmax, made.pi[: choices.choices])
        if not spec.lists_actions:
            return (pi,)
        beta = choices.per_component(jax.nn.softmax, made.beta)
        return pi, beta, choices.per_component(deviation, made.action_bonus, made.mask)

    made = rows(decision) if spec.nvec else (np.zeros(order.shape),)
    pi, *balanced = (np.take_along_axis(np.asarray(part), order, axis=1) for part in made)
    beta, bonus = balanced or (None, None)
    starts = np.cumsum([0, *spec.nvec])[:-1]
    chosen = np.asarray(decision.action).reshape(len(order), -1)[:, : len(starts)].astype(int) + starts
    taken = np.take_along_axis(np.argsort(order, axis=1), chosen, axis=1)
    return Story(
        method=method,
        title=f"{config.env.title}, actions sampled from π",
        actions=names[: choices.choices],
        taken=taken if len(starts) != 1 else taken[:, 0],
        pi=pi,
        beta=beta if agent.beta_differs else None,
        bonus=bonus if agent.balances else None,
        verdict=f"ended by {config.env.end_name if trace.terminated[-1] else 'time limit'}",
        numbers=None if spec.lists_actions else _numbers(config, decision, names[choices.choices :]),
    )


def _numbers(config: TrainConfig, decision: Decision, names: tuple[str, ...]) -> Numbers:
    """The continuous numbers, as the environment gets them."""
    spec, first = config.env.spec, len(config.env.spec.nvec)
    distribution = distribution_of(spec, config.agent)

    def executed(action: jax.Array) -> jax.Array:
        return for_environment(spec, distribution.executed(action))[first:]

    @jax.jit
    @jax.vmap
    def of_step(made: Decision) -> tuple[jax.Array, ...]:
        _, mean, log_std = jnp.split(made.pi, (distribution.choices, distribution.outputs))
        away = jnp.arange(-REACH, REACH + 1)[:, None] * jnp.exp(log_std)
        spread = jax.vmap(lambda u: executed(jnp.append(jnp.zeros(first), mean + u)))(away)
        if not isinstance(made.beta, Balanced):
            return (spread,)
        return spread, jax.vmap(executed)(made.beta.candidates.actions), jax.nn.softmax(made.beta.shift)

    spread, *balanced = map(np.asarray, of_step(decision))
    taken = np.asarray(decision.action)[:, first:]
    covered = np.concatenate([spread, taken[:, None]], axis=1)
    ends = zip(spec.bounds, covered.min(axis=(0, 1)), covered.max(axis=(0, 1)), strict=True)
    span = [(least if low is None else low, most if high is None else high) for (low, high), least, most in ends]
    middle = spread[:, REACH - 1 : REACH + 2]
    candidates, weights = balanced or (None, None)
    return Numbers(names, np.array(span), middle, taken, candidates, weights)
