"""The film of an evaluation: the first episode of the first agent, acting by samples of pi."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.core.balance import normalize
from action_balance.engines.evaluate import Trace
from action_balance.envs.replay import Replay
from action_balance.envs.scene import Scene
from action_balance.films.film import map_film, replay_film, screen_shots
from action_balance.films.panel import Story


def film_of_map(config: TrainConfig, scene: Scene, trace: Trace) -> bytes:
    """A GIF of an episode on a map."""
    last = trace.next_state[-1] if scene.shows_the_end else trace.state[-1]
    story = _story(config, trace, scene.actions, scene.order[trace.state])
    return map_film(scene, story, np.append(trace.state, last), trace.reward)


def film_of_replay(config: TrainConfig, replay: Replay, trace: Trace, report: Callable[[float], None]) -> bytes:
    """An MP4 of an episode that can be replayed; ``report`` is called with the number of further frames."""
    names = replay.action_names
    order = np.tile(np.arange(len(names)), (len(trace.reward), 1))
    shots = screen_shots(replay.moments(), config.env.outcome, replay.pixel_aspect)
    return replay_film(shots, _story(config, trace, names, order), replay.steps_per_second, report)


def _story(config: TrainConfig, trace: Trace, names: tuple[str, ...], order: np.ndarray) -> Story:
    """What the panel shows, with actions in the given order, (T, A)."""
    decision, agent = trace.decision, config.agent
    mask = None if decision.mask is None else jnp.asarray(decision.mask)
    bonuses = jax.vmap(lambda one, m: normalize(one, agent.normalize, m))(jnp.asarray(decision.action_bonus), mask)
    parts = (jax.nn.softmax(decision.logits), jax.nn.softmax(decision.behaviour), bonuses)
    pi, beta, bonus = (np.take_along_axis(np.asarray(part), order, axis=1) for part in parts)
    return Story(
        method=config.agent.label,
        title=f"{config.env.title}, actions sampled from π",
        actions=names,
        taken=(order == np.asarray(decision.action)[:, None]).argmax(axis=1),
        pi=pi,
        beta=beta if agent.beta_differs else None,
        bonus=bonus if agent.balances else None,
        allowed=None if mask is None else np.take_along_axis(np.asarray(mask), order, axis=1),
        verdict=f"ended by {config.env.end_name if trace.terminated[-1] else 'time limit'}",
    )
