"""The film of an evaluation: the first episode of the first agent, acting by samples of pi."""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.core.balance import normalize
from action_balance.distributions import MultiCategorical
from action_balance.engines.evaluate import Decision, Trace
from action_balance.envs.replay import Replay
from action_balance.envs.scene import Scene
from action_balance.films.film import map_film, replay_film, screen_shots
from action_balance.films.panel import Story

#: The most steps of a replay that are filmed: five minutes.
MAX_FILMED = 4500
#: The most rows of actions in a film.
MAX_ROWS = 20


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
    names = replay.action_names
    order = np.tile(np.arange(len(names)), (whole, 1))
    story = few_rows(_story(config, method, trace, names, order))
    if steps < whole:
        parts = {name: getattr(story, name)[:steps] for name in ("taken", "pi")}
        parts |= {name: one[:steps] for name in ("beta", "bonus") if (one := getattr(story, name)) is not None}
        story = replace(story, **parts, verdict=f"the film ends here, of {whole:,} steps")
    shots = screen_shots(islice(replay.moments(), steps + 1), config.env.outcome, replay.pixel_aspect)
    return replay_film(shots, story, replay.steps_per_second, report)


def filmed_steps(trace: Trace) -> int:
    """Steps of an episode that a film of its replay shows."""
    return min(len(trace.reward), MAX_FILMED)


def few_rows(story: Story) -> Story:
    """A story with at most `MAX_ROWS` rows: the last one stands for all actions that are the least often taken."""
    count = len(story.actions)
    if count <= MAX_ROWS:
        return story
    often = np.bincount(np.ravel(story.taken), minlength=count) + story.pi.mean(axis=0)
    shown = np.sort(np.argsort(-often, kind="stable")[: MAX_ROWS - 1])
    others = np.setdiff1d(np.arange(count), shown)
    row = np.full(count, MAX_ROWS - 1)
    row[shown] = np.arange(MAX_ROWS - 1)

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
    """What the panel shows, with actions in the given order, (T, A); components are one after another."""
    decision, agent = trace.decision, config.agent
    distribution = MultiCategorical(config.env.spec.nvec)

    def deviation(bonus: jax.Array, mask: jax.Array | None) -> jax.Array:
        normalized = normalize(bonus, agent.normalize, mask)
        distance = normalized - normalized.mean(where=mask)
        return distance if mask is None else jnp.where(mask, distance, 0)

    @jax.jit
    @jax.vmap
    def rows(made: Decision) -> tuple[jax.Array, ...]:
        return (
            distribution.per_component(jax.nn.softmax, made.logits),
            distribution.per_component(jax.nn.softmax, made.behaviour),
            distribution.per_component(deviation, made.action_bonus, made.mask),
        )

    pi, beta, bonus = (np.take_along_axis(np.asarray(part), order, axis=1) for part in rows(decision))
    starts = np.cumsum([0, *distribution.nvec[:-1]])
    chosen = np.asarray(decision.action).reshape(len(order), -1) + starts
    taken = (order[:, None] == chosen[..., None]).argmax(axis=2)
    return Story(
        method=method,
        title=f"{config.env.title}, actions sampled from π",
        actions=names,
        taken=taken if len(starts) > 1 else taken[:, 0],
        pi=pi,
        beta=beta if agent.beta_differs else None,
        bonus=bonus if agent.balances else None,
        verdict=f"ended by {config.env.end_name if trace.terminated[-1] else 'time limit'}",
    )
