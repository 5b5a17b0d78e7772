"""Settings of the built-in bonuses, apart from the bonuses themselves: the command line reads them without JAX."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE
from action_balance.config.registry import load_object
from action_balance.errors import check_name, flag

#: What the predictor of pairs can learn from.
LearnsFrom = Literal["taken", "all"]
#: How the networks of pairs see an action: a vector at every fully connected layer, or also an image (Eq. 3).
Embedding = Literal["one-hot", "channel"]


@dataclass(frozen=True)
class DistillationConfig:
    """Distillation of state-action pairs, the action bonus of the paper."""

    learns_from: LearnsFrom = "taken"
    """Pairs that the predictor learns from: the action taken (paper), or all actions (authors' program)."""
    embedding: Embedding = "one-hot"
    """How the networks see an action: one-hot, or also as an action channel (Eq. 3; images only)."""

    def __post_init__(self) -> None:
        check_name(flag("learns_from"), self.learns_from, get_args(LearnsFrom))
        check_name(flag("embedding"), self.embedding, get_args(Embedding))


#: Settings classes of the built-in bonuses that have settings, by name of the bonus.
BUILT_IN: dict[str, type[Any]] = {"distillation": DistillationConfig}


def bonus_settings(name: str) -> type[Any] | None:
    """The settings class of a bonus.

    Args:
        name: A built-in name, none, or ``MODULE:CLASS``, which is imported.

    Returns:
        A dataclass; None if the bonus has no settings.
    """
    if name in {NONE, *INTRINSIC_BONUSES, *ACTION_BONUSES} or ":" not in name:
        return BUILT_IN.get(name)
    return getattr(load_object(name), "Config", None)
