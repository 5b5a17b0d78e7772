"""Keys of names."""

import jax
import numpy as np

from action_balance.core.keys import named_key


def test_a_name_gives_the_same_key_and_another_name_or_key_another() -> None:
    keys = [jax.random.key(0), jax.random.key(1)]
    found = [
        np.asarray(jax.random.key_data(named_key(key, name))).tolist() for key in keys for name in ("policy", "target")
    ]
    assert len({tuple(one) for one in found}) == 4
    assert found[0] == np.asarray(jax.random.key_data(named_key(jax.random.key(0), "policy"))).tolist()
    # crc32 of "policy", by hand of the standard library.
    assert found[0] == np.asarray(jax.random.key_data(jax.random.fold_in(keys[0], 0xF07D0516))).tolist()
