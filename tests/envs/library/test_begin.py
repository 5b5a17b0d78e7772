from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.envs.library.begin import begin_few, begin_if

#: A new episode: two numbers of its key.
Episode = dict[str, jax.Array]


def begin(key: jax.Array) -> Episode:
    return {"draw": jax.random.randint(key, (), 0, 1000), "key": jax.random.fold_in(key, 1)}


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_few_new_episodes_are_those_that_all_would_be(share: float) -> None:
    shape = (3, 40)  # seeds and environments; chunks of 7 of the 120
    keys = jax.random.split(jax.random.key(0), shape)
    ended = jax.random.bernoulli(jax.random.key(1), share, shape)
    reached = {"draw": jnp.full(shape, -1.0), "key": jax.random.split(jax.random.key(2), shape)}

    @jax.jit
    def both(ended: jax.Array, keys: jax.Array, reached: Episode) -> list[Episode]:
        def of(one: Callable[..., Episode]) -> Episode:
            found: Episode = jax.vmap(jax.vmap(lambda e, k, r: one(e, begin, k, r)))(ended, keys, reached)
            return found

        return [of(begin_if), of(begin_few)]

    naive, few = both(ended, keys, reached)
    assert np.array_equal(naive["draw"], few["draw"])
    assert np.array_equal(jax.random.key_data(naive["key"]), jax.random.key_data(few["key"]))
    assert few["draw"].dtype == jnp.int32  # that of a new episode
    assert np.array_equal(few["draw"] != -1, ended)


def test_one_environment_without_a_batch_begins_an_episode() -> None:
    key = jax.random.key(3)
    reached = begin(jax.random.key(4))
    for ended in (False, True):
        found = begin_few(jnp.array(ended), begin, key, reached)
        assert int(found["draw"]) == int((begin(key) if ended else reached)["draw"])
