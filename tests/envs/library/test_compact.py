import jax
import jax.numpy as jnp

from action_balance.envs.library.compact import CompactState


def first(key: jax.Array) -> dict[str, jax.Array]:
    place = jax.random.randint(key, (), 0, 9)
    return {"constant": jnp.arange(2) + 1, "drawn": place, "moved": jnp.zeros((), int), "twice": 2 * place}


def following(key: jax.Array, state: dict[str, jax.Array], action: jax.Array) -> dict[str, jax.Array]:
    del key
    moved = jax.lax.switch(action, [lambda: state["moved"], lambda: state["moved"] + 1])
    return {**state, "moved": moved}


def test_only_what_is_drawn_or_moves_is_carried() -> None:
    compact = CompactState(first, following)
    state = first(jax.random.key(3))
    packed = compact.pack(state)
    assert [int(leaf) for leaf in packed] == [int(state["drawn"]), 0, 2 * int(state["drawn"])]
    whole = compact.unpack(packed)
    assert whole["constant"].tolist() == [1, 2]
    assert {name: int(whole[name]) for name in ("drawn", "moved", "twice")} == {
        name: int(state[name]) for name in ("drawn", "moved", "twice")
    }
