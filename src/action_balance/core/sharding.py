"""Environments that are split over devices: sharding hints for the compiler.

A program that splits environments is traced with a mesh that has the axis `ENVS`; see
`action_balance.engines.device.environments`. In every other program, these functions change nothing.

Axes: T steps, N environments.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Shaped

#: The axis of a mesh over which environments are split.
ENVS = "envs"

Tree = TypeVar("Tree")
Function = TypeVar("Function", bound=Callable[..., Any])
Axes = int | tuple[int, ...]


def _devices() -> int:
    """How many devices the environments of the program that is being traced are split over."""
    return int(jax.sharding.get_abstract_mesh().shape.get(ENVS, 1))


def shard(tree: Tree, axis: int = 0) -> Tree:
    """Divide an axis of all arrays evenly over the devices; arrays whose axis they do not divide stay as they are.

    Args:
        tree: Arrays.
        axis: The axis of environments, or of samples.

    Returns:
        The same values.
    """
    devices, spec = _devices(), _spec(axis)
    if devices == 1:
        return tree

    def one(leaf: Array) -> Array:
        return leaf if leaf.shape[axis] % devices else jax.lax.with_sharding_constraint(leaf, spec)

    divided: Tree = jax.tree.map(one, tree)
    return divided


def replicate(tree: Tree) -> Tree:
    """Give every device the whole of all arrays, such as the numbers of samples that all of them pick.

    Args:
        tree: Arrays.

    Returns:
        The same values.
    """
    return tree if _devices() == 1 else jax.lax.with_sharding_constraint(tree, PartitionSpec())


def each_environment(function: Function, in_axes: Axes = 0, out_axes: Axes = 0) -> Function:
    """``jax.vmap`` of a function of one environment. Where environments are split over devices, every device computes
    its own without regard to the others: the compiler does not divide every operation, and the loops of a batch end
    when those of all its members have ended.

    Args:
        function: From values of one environment to others; what it closes over is the same for all.
        in_axes: The axis of environments of each argument.
        out_axes: That of each result.

    Returns:
        A function of all environments.
    """
    mapped = jax.vmap(function, in_axes, out_axes)
    if _devices() == 1:
        return mapped

    def specs(axes: Axes) -> PartitionSpec | tuple[PartitionSpec, ...]:
        return _spec(axes) if isinstance(axes, int) else tuple(map(_spec, axes))

    mine: Function = jax.shard_map(mapped, in_specs=specs(in_axes), out_specs=specs(out_axes), check_vma=False)
    return mine


def _spec(axis: int) -> PartitionSpec:
    return PartitionSpec(*[None] * axis, ENVS)


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
