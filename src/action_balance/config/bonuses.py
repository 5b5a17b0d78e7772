"""Settings of the built-in bonuses, apart from the bonuses themselves: the command line reads them without JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE
from action_balance.config.registry import load_object
from action_balance.config.serialization import from_dict
from action_balance.core.options import Normalization
from action_balance.errors import MAX, UserError, check_name, check_numbers, flag

#: What the predictor of pairs can learn from.
LearnsFrom = Literal["taken", "all"]
#: How the networks of pairs see an action: a vector at every fully connected layer, or also an image (Eq. 3).
Embedding = Literal["one-hot", "channel"]
#: What is hashed: signs of random projections of any observation, or the coarse cells of an image.
HashKind = Literal["auto", "simhash", "cells"]
#: Action bonuses that estimate the number of visits of every pair.
Counter = Literal["count", "hash", "coin-flip"]


@dataclass(frozen=True)
class DistillationConfig:
    """Distillation of state-action pairs, the action bonus of the paper."""

    learns_from: LearnsFrom = "taken"
    """State-action pairs that the predictor learns from: only the action taken (paper), or all actions (authors'
    code)."""
    embedding: Embedding = "one-hot"
    """How the networks see an action: one-hot, or also as an action channel (Eq. 3; images only)."""

    def __post_init__(self) -> None:
        check_name(flag("learns_from"), self.learns_from, get_args(LearnsFrom))
        check_name(flag("embedding"), self.embedding, get_args(Embedding))


@dataclass(frozen=True)
class HashConfig:
    """Counts of hashed observations (Tang et al., 2017)."""

    hash_kind: HashKind = "auto"
    """What is hashed: simhash (signs of random projections), cells (a small image with few grey levels; floating-point
    values must be in 0..1), or auto: cells for 8-bit images larger than a cell image, the symbols themselves for
    symbolic grids, simhash otherwise."""
    hash_bits: int = 64
    """Number of random projections of a SimHash; with more of them, fewer observations share a count."""
    cell_rows: int = 8
    """Rows of a cell image."""
    cell_columns: int = 11
    """Columns of a cell image."""
    grey_levels: int = 8
    """Grey levels of a cell image."""
    table_bits: int = 18
    """Base-2 logarithm of the number of rows in the table; different hashes can share a row."""

    def __post_init__(self) -> None:
        check_name(flag("hash_kind"), self.hash_kind, get_args(HashKind))
        check_numbers(self, "hash_bits", low=1, high=4096)
        check_numbers(self, "cell_rows", "cell_columns", low=1, high=1024)
        check_numbers(self, "grey_levels", low=2, high=256)
        check_numbers(self, "table_bits", low=1, high=28)


@dataclass(frozen=True)
class CoinFlipConfig:
    """Coin-flip network (Lobel et al., 2023), trained on samples from a memory of past visits."""

    coins: int = 32
    """Coin flips per visit: the number of network outputs for a state or for an action."""
    coin_memory: int = 16_384
    """Number of past visits in the memory; all training samples are drawn from it, not from the newest rollout
    alone."""
    coin_kept: int = 16
    """Number of visits that the memory keeps of a common state, as a sample of all its visits; it keeps all visits of
    rare states."""

    def __post_init__(self) -> None:
        check_numbers(self, "coins", "coin_memory", "coin_kept", low=1, high=MAX)


@dataclass(frozen=True)
class ICMConfig:
    """Intrinsic curiosity module (Pathak et al., 2017)."""

    features: int = 32
    """Number of features of an observation, which the inverse model learns and the forward model predicts."""

    def __post_init__(self) -> None:
        check_numbers(self, "features", low=1, high=MAX)


@dataclass(frozen=True)
class NGUConfig:
    """Episodic novelty times RND (Never Give Up, Badia et al., 2020)."""

    features: int = 32
    """Number of features of an observation, which the inverse model learns."""
    neighbours: int = 10
    """Number of nearest neighbours in the episode that an observation is compared with."""
    episodic_memory: int = 1_024
    """Number of observations of the current episode in the memory; new ones replace the oldest."""
    kernel_epsilon: float = 0.001
    """Kernel constant: the smaller it is, the faster similarity falls with distance."""
    cluster_distance: float = 0.008
    """Normalised squared distances below this count as zero."""
    max_similarity: float = 8.0
    """Observations with a higher similarity get no bonus. The similarity is at most the square root of --neighbours
    (3.2 for 10), so the default, which is that of the NGU paper, has no effect with 10 neighbours."""
    max_modulation: float = 5.0
    """Largest factor by which RND scales the episodic novelty."""

    def __post_init__(self) -> None:
        check_numbers(self, "features", "episodic_memory", low=1, high=MAX)
        check_numbers(self, "neighbours", low=1, high=self.episodic_memory)
        check_numbers(self, "kernel_epsilon", "max_similarity", above=True)
        check_numbers(self, "cluster_distance")
        check_numbers(self, "max_modulation", low=1)


@dataclass(frozen=True)
class E3BConfig:
    """Elliptical episodic bonus (Henaff et al., 2022)."""

    features: int = 32
    """Number of features of an observation, which the inverse model learns."""
    ridge: float = 0.1
    """Ridge term: the diagonal of the feature covariance at the start of an episode."""

    def __post_init__(self) -> None:
        check_numbers(self, "features", low=1, high=MAX)
        check_numbers(self, "ridge", above=True)


@dataclass(frozen=True)
class UCBConfig:
    """Upper confidence bound of every action (UCB1, Auer et al., 2002)."""

    #: Normalised, UCB1 is the bonus of its counter: both differ by a factor that all actions of a state share.
    normalize: ClassVar[Normalization] = "raw"

    counter: Counter = "hash"
    """Counter of state-action pairs: count, hash or coin-flip. The counter's settings are available as flags, too."""

    def __post_init__(self) -> None:
        check_name(flag("counter"), self.counter, get_args(Counter))

    @property
    def parts(self) -> tuple[str, ...]:
        """The counter."""
        return (self.counter,)


#: Settings classes of the built-in bonuses that have settings, by name of the bonus.
BUILT_IN: dict[str, type[Any]] = {
    "distillation": DistillationConfig,
    "hash": HashConfig,
    "coin-flip": CoinFlipConfig,
    "icm": ICMConfig,
    "ngu": NGUConfig,
    "e3b": E3BConfig,
    "ucb": UCBConfig,
}

#: Module and name of the class that all bonuses inherit from.
BASE = ("action_balance.bonuses.base", "Bonus")


def bonus_settings(name: str) -> type[Any] | None:
    """The settings class of a bonus."""
    if name in {NONE, *INTRINSIC_BONUSES, *ACTION_BONUSES} or ":" not in name:
        return BUILT_IN.get(name)
    found = load_object(name)
    # `Bonus` itself is not imported here, because it needs JAX.
    if not any((base.__module__, base.__name__) == BASE for base in getattr(found, "__mro__", ())):
        raise UserError(f"{name} is not a subclass of {BASE[0]}.{BASE[1]}")
    return getattr(found, "Config", None)


def default_normalization(name: str) -> Normalization:
    """How the scores of an action bonus are normalised unless a setting says otherwise."""
    found: Normalization = getattr(BUILT_IN.get(name), "normalize", "l2")
    return found


def bonus_parts(name: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The bonuses that a bonus is made of, whose settings it uses."""
    kind = BUILT_IN.get(name)
    return from_dict(kind, dict(settings)).parts if kind is not None and hasattr(kind, "parts") else ()
