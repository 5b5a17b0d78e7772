"""Fixed representations a^E of an action (Section III-C). Axes: A actions, H, W rows and columns of an image."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Integer

from action_balance.errors import UserError


def one_hot(action: Integer[Array, ""], actions: int) -> Float[Array, " A"]:
    """The one-hot vector of an action.

    Args:
        action: Its index a.
        actions: k, the number of actions.

    Returns:
        A vector of length k.
    """
    return jax.nn.one_hot(action, actions)


def action_channel(
    action: Integer[Array, ""], actions: int, rows: int, columns: int, value: float = 0.01
) -> Float[Array, "H W"]:
    """An action as an image, the action channel (Eq. 3).

    Each action has ``rows // actions`` rows; those of ``action`` hold ``value``, all others 0. Rows that are left over
    at the bottom stay 0.

    Args:
        action: Its index a.
        actions: k, the number of actions.
        rows: m, at least k.
        columns: n.
        value: c.

    Returns:
        The image.
    """
    if rows < actions:
        raise UserError(
            f"an action channel of {rows} rows is too small for {actions} actions: use at least {actions} rows"
        )
    band = rows // actions
    mine = jnp.arange(rows) // band == action
    return jnp.broadcast_to(jnp.where(mine, value, 0.0)[:, None], (rows, columns))
