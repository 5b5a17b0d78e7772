"""What an agent observes and does in an environment: what networks are built for, and what a run records."""

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from action_balance.config.serialization import from_dict, to_dict
from action_balance.errors import UserError

#: What one observation is. A stack holds the newest K frames, oldest first, along its first axis. A mixed observation
#: has images and a vector: bytes of the images, one after the other, then bytes of the vector's float32 numbers.
#: A symbolic observation is a grid of integers, such as the objects and colours in the cells of a MiniGrid.
ObservationKind = Literal[
    "vector", "image", "symbolic", "mixed", "vector-stack", "image-stack", "symbolic-stack", "mixed-stack"
]

#: Numbers of axes that an observation of each kind may have: images are (H, W) or (H, W, C).
AXES: dict[str, tuple[int, ...]] = {
    "vector": (1,),
    "image": (2, 3),
    "symbolic": (3,),
    "mixed": (1,),
    "vector-stack": (2,),
    "image-stack": (3, 4),
    "symbolic-stack": (4,),
    "mixed-stack": (2,),
}

#: Bytes of a number of a vector.
NUMBER = 4
#: The most states of discrete observations that are enumerated.
MAX_COUNTED = 1_000_000

#: Characters of the list of observation parts in an error message.
SHOWN = 120

#: Lower and upper bound of a continuous number of an action; None where it has none.
Bounds = tuple[float | None, float | None]


def limits(bounds: Iterable[Bounds]) -> list[tuple[float, float]]:
    """Bounds that are infinite where there is none."""
    return [(-math.inf if low is None else low, math.inf if high is None else high) for low, high in bounds]


@dataclass(frozen=True)
class EnvSpec:
    """Observations and actions of one environment."""

    kind: ObservationKind
    """What one observation is; nothing is inferred from the number of axes."""
    shape: tuple[int, ...]
    """Shape of one observation as the policy sees it, e.g. (D,), (H, W, C) or (K, H, W)."""
    nvec: tuple[int, ...]
    """Number of choices of each discrete action component; a plain discrete action is (A,)."""
    dtype: str = "float32"
    """NumPy name of the type of an observation's numbers."""
    states: int = 0
    """Number of states; 0 where they cannot be enumerated."""
    parts: tuple[tuple[str, int], ...] = ()
    """Names of the parts of a vector in their order, each with its length; empty where they have no names."""
    normalize_obs: bool = False
    """Whether the policy must see normalised observations, because their scale is unknown."""
    masked: bool = False
    """Whether the environment says before every action which choices are allowed."""
    images: tuple[tuple[int, int, int], ...] = ()
    """Height, width and channels of each image of a mixed observation, in their order."""
    discrete: tuple[int, ...] = ()
    """How many values each component of an observation has that consists of one-hot numbers only, so that it can be
    counted exactly; empty otherwise."""
    categories: tuple[int, ...] = ()
    """How many values each channel of a symbolic observation has; empty otherwise."""
    bounds: tuple[Bounds, ...] = ()
    """Lower and upper bound of each continuous number of an action, None where it has none. An action with continuous
    numbers is one vector: the discrete components, if there are any, then these numbers."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(ObservationKind):
            raise UserError(f"unknown kind of observation '{self.kind}': use {', '.join(get_args(ObservationKind))}")
        if len(self.shape) not in AXES[self.kind] or min(self.shape) < 1:
            axes = " or ".join(str(number) for number in AXES[self.kind])
            raise UserError(f"an observation of kind {self.kind} has {axes} axes, none of them empty, not {self.shape}")
        if self.is_mixed != bool(self.images) or (self.is_mixed and self._vector_bytes % NUMBER):
            raise UserError(f"images of shapes {self.images} do not fit observations of kind {self.kind} {self.shape}")
        if self.is_symbolic != bool(self.categories) or (self.is_symbolic and len(self.categories) != self.shape[-1]):
            raise UserError(f"categories {self.categories} do not fit observations of kind {self.kind} {self.shape}")
        if self.discrete and sum(self.discrete) != self.shape[-1]:
            raise UserError(f"components of {self.discrete} values do not fit observations of shape {self.shape}")
        if not self.bounds and max(self.nvec, default=0) < 2:
            raise UserError(f"an action needs two or more discrete choices, or continuous numbers, not {self.nvec}")
        if min(self.nvec, default=1) < 1:
            raise UserError(f"an action component needs a choice, not {self.nvec}")
        if not all(low < high for low, high in limits(self.bounds)):
            raise UserError(f"bounds of continuous actions must be pairs of a lower and an upper one: {self.bounds}")

    @property
    def is_image(self) -> bool:
        return self.kind in ("image", "image-stack")

    @property
    def is_mixed(self) -> bool:
        return self.kind in ("mixed", "mixed-stack")

    @property
    def is_symbolic(self) -> bool:
        """Whether a frame is a grid of integers, which networks see one-hot."""
        return self.kind in ("symbolic", "symbolic-stack")

    @property
    def is_stack(self) -> bool:
        return self.kind.endswith("-stack")

    @property
    def pixels(self) -> int:
        """Numbers of all images of a mixed frame."""
        return sum(math.prod(shape) for shape in self.images)

    @property
    def _vector_bytes(self) -> int:
        return self.shape[-1] - self.pixels

    @property
    def vector(self) -> int:
        """Numbers of the vector of a mixed frame."""
        return self._vector_bytes // NUMBER if self.is_mixed else 0

    @property
    def stats_shape(self) -> tuple[int, ...]:
        """Shape of the statistics of frames: one number for every number of a frame, whatever its bytes, and for every
        category of a symbol."""
        if self.is_symbolic:
            return (math.prod(self.frame_shape[:-1]) * sum(self.categories),)
        return (self.pixels + self.vector,) if self.is_mixed else self.frame_shape

    @property
    def countable(self) -> int:
        """Number of states that exact counts have; 0 where states cannot be enumerated."""
        number = math.prod(self.discrete) if self.discrete else 0
        return self.states or (number if number <= MAX_COUNTED else 0)

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Shape of the newest frame, which is what a bonus sees; the observation itself where nothing is stacked."""
        return self.shape[1:] if self.is_stack else self.shape

    @property
    def inputs(self) -> int:
        """Numbers of one observation as networks see it: symbols one-hot, all frames of a stack."""
        return math.prod(self.stats_shape) * (self.shape[0] if self.is_stack else 1)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def lists_actions(self) -> bool:
        """Whether actions can be listed: they have no continuous numbers."""
        return not self.bounds

    @property
    def action_shape(self) -> tuple[int, ...]:
        """The shape of one action: () for a single discrete component, otherwise a vector."""
        components = len(self.nvec) + len(self.bounds)
        return () if components == 1 and self.lists_actions else (components,)

    @property
    def action_units(self) -> tuple[tuple[float, float], ...]:
        """Origin and unit of each continuous number as the agent sees it: between two bounds, it sees -1 to 1; where
        one of them is missing, the number as it is."""
        pairs = limits(self.bounds)
        return tuple(((a + b) / 2, (b - a) / 2) if math.isfinite(b - a) else (0.0, 1.0) for a, b in pairs)

    @property
    def action_limits(self) -> tuple[tuple[float, float], ...]:
        """Lower and upper limit of each continuous number as the agent sees it; infinite where there is no bound."""
        return tuple((-1.0, 1.0) if math.isfinite(b - a) else (a, b) for a, b in limits(self.bounds))

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for a manifest."""
        return to_dict(self)

    @classmethod
    def from_dict(cls, data: Any) -> "EnvSpec | None":
        """From plain data; None where it is missing or damaged, as in runs that did not record it."""
        try:
            return from_dict(cls, data) if isinstance(data, dict) else None
        except UserError:
            return None

    def check_unchanged(self, before: "EnvSpec | None", name: str) -> None:
        """Raise a `UserError` if an agent was built for another specification."""
        if before is None or before == self:
            return
        named = ("kind", "shape", "dtype", "nvec", "bounds")
        same = all(getattr(before, name) == getattr(self, name) for name in named)
        raise UserError(
            f"{name} has changed: the run was trained with {before._describe(same)}, and the environment now has "
            f"{self._describe(same)}; restore the environment, or train again with another --out"
        )

    def _describe(self, parts: bool) -> str:
        listed = ", ".join(f"{name or 'observation'} {count}" for name, count in self.parts)
        inside = f" ({textwrap.shorten(listed, SHOWN, placeholder=' ...')})" if parts and listed else ""
        actions = f"{self.nvec[0]} actions" if len(self.nvec) == 1 else f"actions of {self.nvec} choices"
        if self.bounds:
            choices = f" and {self.nvec} choices" if self.nvec else ""
            actions = f"actions of {len(self.bounds)} continuous numbers{choices}"
        masks = " with action masks" if self.masked else ""
        return f"observations of kind {self.kind} {self.shape} {self.dtype}{inside} and {actions}{masks}"
