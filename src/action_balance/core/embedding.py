"""Fixed representations a^E of an action (Section III-C)."""

import jax
import jax.numpy as jnp

from action_balance.errors import UserError


def one_hot(action: jax.Array, actions: int) -> jax.Array:
    """The one-hot vector of an action, () -> (A,)."""
    return jax.nn.one_hot(action, actions)


def action_channel(action: jax.Array, actions: int, rows: int, columns: int, value: float = 0.01) -> jax.Array:
    """An action as an image of its own, the action channel (Eq. 3), () -> (rows, columns).

    Of ``rows // actions`` rows for each action, those of ``action`` hold ``value``, all others 0. Rows that are left
    over at the bottom stay 0.

    Args:
        action: its index a.
        actions: k.
        rows: m, at least k.
        columns: n.
        value: c.
    """
    if rows < actions:
        raise UserError(
            f"an action channel of {rows} rows has no room for {actions} actions: use at least {actions} rows"
        )
    band = rows // actions
    mine = jnp.arange(rows) // band == action
    return jnp.broadcast_to(jnp.where(mine, value, 0.0)[:, None], (rows, columns))
