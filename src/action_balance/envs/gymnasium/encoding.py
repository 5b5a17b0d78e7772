"""One frame of all parts of an observation, which is what environments send and what agents store.

Axes: M observations, D numbers of a vector, H, W pixels, C channels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float32, Shaped

from action_balance.envs.gymnasium.leaves import Leaf
from action_balance.envs.spec import NUMBER, Bounds, EnvSpec, ObservationKind


@dataclass(frozen=True)
class Encoding:
    """How the parts of an observation become one frame.

    A frame is a vector of float32, (D,); or an image of bytes, (H, W) or (H, W, C); or, where there are both, bytes:
    those of the images, then those of the vector's float32 numbers. Images of equal size become channels of one.
    """

    leaves: tuple[Leaf, ...]

    @cached_property
    def _groups(self) -> dict[tuple[int, int], list[int]]:
        """The places of the images of each height and width."""
        found: dict[tuple[int, int], list[int]] = {}
        for place, leaf in enumerate(self.leaves):
            if leaf.is_image:
                found.setdefault(leaf.image_shape[:2], []).append(place)
        return found

    def _images(self) -> list[list[Leaf]]:
        return [[self.leaves[place] for place in group] for group in self._groups.values()]

    @cached_property
    def images(self) -> tuple[tuple[int, int, int], ...]:
        """H, W and C of each image of a frame."""
        return tuple(
            (*size, sum(self.leaves[one].image_shape[2] for one in group)) for size, group in self._groups.items()
        )

    @cached_property
    def vector(self) -> tuple[Leaf, ...]:
        return tuple(leaf for leaf in self.leaves if not leaf.is_image)

    @cached_property
    def pixels(self) -> int:
        return sum(math.prod(shape) for shape in self.images)

    @cached_property
    def kind(self) -> ObservationKind:
        if not self.images:
            return "vector"
        return "image" if len(self.images) == 1 and not self.vector else "mixed"

    @cached_property
    def shape(self) -> tuple[int, ...]:
        length = sum(leaf.size for leaf in self.vector)
        if self.kind == "mixed":
            return (self.pixels + NUMBER * length,)
        if self.kind == "vector":
            return (length,)
        height, width, channels = self.images[0]
        return (height, width, channels) if channels > 1 else (height, width)

    @cached_property
    def dtype(self) -> str:
        known = all(leaf.bounds is not None for leaf in self.leaves)
        return "uint8" if self.images and known else "float32"

    @cached_property
    def depth(self) -> int:
        """Images of a stack that the environment makes; 1 where it makes none."""
        return max((leaf.shape[0] for leaf in self.leaves if leaf.newest), default=1)

    def spec(
        self, nvec: tuple[int, ...], stack: int = 0, exact: bool = True, bounds: tuple[Bounds, ...] = ()
    ) -> EnvSpec:
        """Observations and actions as the agent knows them; the scale of a vector is unknown."""
        kind: Any = f"{self.kind}-stack" if stack else self.kind
        shape = (stack, *self.shape) if stack else self.shape
        if self.kind == "image":
            return EnvSpec(kind, shape, nvec, dtype=self.dtype, bounds=bounds)
        parts = [*(leaf for group in self._images() for leaf in group), *self.vector]
        counts = [count for leaf in self.leaves for count in leaf.counts]
        return EnvSpec(
            kind,
            shape,
            nvec,
            self.dtype,
            parts=tuple((leaf.name, leaf.size) for leaf in parts),
            normalize_obs=bool(self.vector),
            images=self.images,
            discrete=tuple(counts) if exact and all(leaf.is_one_hot for leaf in self.leaves) else (),
            bounds=bounds,
        )

    def encode(self, arrays: Sequence[Shaped[np.ndarray, "M ..."]]) -> Shaped[np.ndarray, "M ..."]:
        count, pairs = len(arrays[0]), list(zip(self.leaves, arrays, strict=True))
        vectors = [leaf.numbers(array) for leaf, array in pairs if not leaf.order]
        images = [
            np.concatenate([self.leaves[place].pixels(arrays[place]) for place in group], axis=-1)
            for group in self._groups.values()
        ]
        if self.kind == "vector":
            return np.concatenate(vectors, axis=1) if len(vectors) > 1 else vectors[0]
        if self.kind == "image":
            return images[0].reshape(count, *self.shape)
        numbers = np.concatenate(vectors, axis=1) if vectors else np.zeros((count, 0), np.float32)
        return np.concatenate([*(one.reshape(count, -1) for one in images), numbers.view(np.uint8)], axis=1)

    def numbers(self, frames: Shaped[np.ndarray, "M ..."]) -> Float32[np.ndarray, "M D"]:
        if self.kind == "vector":
            return frames
        if self.kind == "image":
            return np.zeros((len(frames), 0), np.float32)
        return np.ascontiguousarray(frames[:, self.pixels :]).view(np.float32)

    def describe(self) -> str:
        """Size and parts of a frame, in one line."""
        images = []
        for (height, width, channels), group in zip(self.images, self._images(), strict=True):
            colours = f" with {channels} channels" if channels > 1 else ""
            names = ", ".join(leaf.name for leaf in group if leaf.name)
            block = max(leaf.shrink for leaf in group)
            shrunk = f", each the mean of {block} x {block}" if block > 1 else ""
            images.append(f"images of {height} x {width} pixels{shrunk}{colours}{f' ({names})' if names else ''}")
        if not self.vector:
            return " and ".join(images)
        begin, parts = 0, []
        for leaf in self.vector:
            last = f"-{begin + leaf.size - 1}" if leaf.size > 1 else ""
            coded = "" if leaf.counts == leaf.widths else f" (codes of {math.prod(leaf.counts):,} values)"
            parts.append(f"{leaf.name or 'observation'} {begin}{last}{coded}")
            begin += leaf.size
        shown = parts if len(parts) <= 20 else [*parts[:20], f"{len(parts) - 20} more parts"]
        return " and ".join([*images, f"vectors of {begin} numbers: {', '.join(shown)}"])
