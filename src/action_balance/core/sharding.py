"""Environments that are split over devices: where the compiler is told how to divide the work.

A program that splits environments is traced with a mesh that has the axis `ENVS`; see
`action_balance.engines.device.environments`. In every other program, these functions change nothing.

Axes: T steps, N environments.
"""

from typing import TypeVar

import jax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Shaped

#: The axis of a mesh over which environments are split.
ENVS = "envs"

Tree = TypeVar("Tree")


def _devices() -> int:
    """How many devices the environments of the program that is being traced are split over."""
    return int(jax.sharding.get_abstract_mesh().shape.get(ENVS, 1))


def split(tree: Tree, axis: int = 0) -> Tree:
    """Divide an axis of all arrays evenly over the devices; arrays whose axis they do not divide stay as they are.

    Args:
        tree: Arrays.
        axis: The axis of environments, or of samples.

    Returns:
        The same values.
    """
    devices, spec = _devices(), PartitionSpec(*[None] * axis, ENVS)
    if devices == 1:
        return tree

    def one(leaf: Array) -> Array:
        return leaf if leaf.shape[axis] % devices else jax.lax.with_sharding_constraint(leaf, spec)

    divided: Tree = jax.tree.map(one, tree)
    return divided


def merge_axes(leaf: Shaped[Array, "T N *s"]) -> Shaped[Array, "T*N *s"]:
    """Steps and environments as one axis, for what does not depend on the order of samples.

    Args:
        leaf: Samples of a rollout.

    Returns:
        The samples, step by step; environment by environment where environments are split over devices, so that every
        sample stays on its device.
    """
    if _devices() > 1:
        leaf = leaf.swapaxes(0, 1)
    return leaf.reshape(-1, *leaf.shape[2:])
