import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.envs.base import Step
from action_balance.envs.lock.environment import Lock, LockState

KEY = jax.random.key(0)
#: Four actions, of which 2, 0 and 3 open the three stages.
LOCK = eqx.tree_at(lambda one: one.combination, Lock(3, 4, KEY), jnp.array([2, 0, 3]))


@jax.jit
def enter(lock: Lock, actions: jax.Array) -> tuple[LockState, Step]:
    """The state after each step and what each step brought, from the start on."""

    def one(state: LockState, action: jax.Array) -> tuple[LockState, tuple[LockState, Step]]:
        following, step = lock.step(state, action, KEY)
        return following, (following, step)

    return jax.lax.scan(one, lock.reset(KEY)[0], actions)[1]


def test_the_combination_opens_all_stages_for_a_return_of_1() -> None:
    states, steps = enter(LOCK, jnp.array([2, 0, 3]))
    assert states.stage.tolist() == [1, 2, 0]
    assert steps.reward.tolist() == [0, 0, 1]
    assert steps.terminated.tolist() == [False, False, True]
    assert steps.truncated.tolist() == [False] * 3
    assert steps.next_obs.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert steps.observation.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_a_wrong_action_ends_the_episode_without_a_reward() -> None:
    # Wrong in the first stage, in the second and in the last.
    states, steps = enter(LOCK, jnp.array([0, 2, 3, 2, 0, 2]))
    assert states.stage.tolist() == [0, 1, 0, 1, 2, 0]
    assert steps.reward.tolist() == [0] * 6
    assert steps.terminated.tolist() == [True, False, True, False, False, True]
    ended = np.asarray(steps.terminated)
    assert not steps.next_obs[ended].any()
    assert steps.observation[ended].tolist() == [[1, 0, 0]] * 3


def test_only_one_of_all_sequences_finds_the_reward() -> None:
    sequences = jnp.stack(jnp.meshgrid(*[jnp.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    _, steps = jax.jit(jax.vmap(enter, in_axes=(None, 0)))(LOCK, sequences)
    assert sequences[steps.reward.sum(axis=1) > 0].tolist() == [[2, 0, 3]]


def test_the_index_is_the_stage_and_0_at_the_end() -> None:
    assert jax.vmap(LOCK.index)(jnp.eye(3)).tolist() == [0, 1, 2]
    assert int(LOCK.index(jnp.zeros(3))) == 0
    assert LOCK.reachable().tolist() == [True] * 3
    assert LOCK.episode_steps == 3


def test_the_combination_is_drawn_from_the_key_for_every_stage() -> None:
    drawn = [Lock(200, 5, jax.random.key(seed)).combination.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {*drawn[0]} == {0, 1, 2, 3, 4}
