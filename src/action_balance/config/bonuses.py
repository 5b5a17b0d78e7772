"""Settings of the built-in bonuses, apart from the bonuses themselves: the command line reads them without JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from action_balance.config.fields import Settings, count, number
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE
from action_balance.config.registry import load_object
from action_balance.config.serialization import from_dict
from action_balance.core.options import Normalization
from action_balance.errors import UserError, check_range

LearnsFrom = Literal["taken", "all"]  # what the predictor of pairs can learn from
#: How the networks of pairs see an action: a vector at every fully connected layer, or also an image (Eq. 3).
Embedding = Literal["one-hot", "channel"]
#: What is hashed: signs of random projections of any observation, or the coarse cells of an image.
HashKind = Literal["auto", "simhash", "cells"]
#: What elliptical counts are over: what suits the observation, its numbers, random Fourier features of them, or the
#: outputs of a random network.
EllipticalFeatures = Literal["auto", "observation", "fourier", "network"]
#: Action bonuses that estimate the number of visits of every pair.
Counter = Literal["count", "hash", "coin-flip", "elliptical"]


@dataclass(frozen=True)
class DistillationConfig(Settings):
    """Distillation of state-action pairs, the action bonus of the paper."""

    learns_from: LearnsFrom = "taken"
    """State-action pairs that the predictor learns from: only the action taken (paper), or all actions (authors'
    code)."""
    embedding: Embedding = "one-hot"
    """How the networks see an action: one-hot, or also as an action channel (Eq. 3; images only)."""


@dataclass(frozen=True)
class HashConfig(Settings):
    """Counts of hashed observations (Tang et al., 2017)."""

    hash_kind: HashKind = "auto"
    """What is hashed: simhash (signs of random projections), cells (a small image with few grey levels; floating-point
    values must be in 0..1), or auto: cells for 8-bit images larger than a cell image, the symbols themselves for
    symbolic grids, simhash otherwise."""
    hash_bits: int = count(64, 4096)
    """Number of random projections of a SimHash; with more of them, fewer observations share a count."""
    cell_rows: int = count(8, 1024)
    """Rows of a cell image."""
    cell_columns: int = count(11, 1024)
    """Columns of a cell image."""
    grey_levels: int = number(8, 2, 256)
    """Grey levels of a cell image."""
    table_bits: int = count(18, 28)
    """Base-2 logarithm of the number of rows in the table; different hashes can share a row."""


@dataclass(frozen=True)
class CoinFlipConfig(Settings):
    """Coin-flip network (Lobel et al., 2023), trained on samples from a memory of past visits."""

    coins: int = count(32)
    """Coin flips per visit: the number of network outputs for a state or for an action."""
    coin_memory: int = count(16_384)
    """Number of past visits in the memory; all training samples are drawn from it, not from the newest rollout
    alone."""
    coin_kept: int = count(16)
    """Number of visits that the memory keeps of a common state, as a sample of all its visits; it keeps all visits of
    rare states."""


@dataclass(frozen=True)
class EllipticalConfig(Settings):
    """Elliptical counts over all of training, of the directions of features."""

    features: EllipticalFeatures = "auto"
    """What is counted: observation (its normalised numbers), fourier (random Fourier features of them), network (the
    outputs of a random network such as RND's target), or auto: fourier for vectors of fewer than 8 numbers, observation
    for vectors of at most 512, network for larger vectors, images and symbolic grids."""
    dimensions: int = count(256)
    """Number of features with fourier or network."""
    bandwidth: float = number(4.0, above=True)
    """With fourier: the larger it is, the closer two observations must be to share visits. Their distance is measured
    in standard deviations."""
    exponent: float = number(0.5, above=True)
    """Exponent of the width: 0.5 for a bonus like 1 / sqrt(N), 1 for one like 1 / N."""
    ridge: float = number(1.0, above=True)
    """Number of visits after which the width of a direction has halved."""


@dataclass(frozen=True)
class ICMConfig(Settings):
    """Intrinsic curiosity module (Pathak et al., 2017)."""

    features: int = count(32)
    """Number of features of an observation, which the inverse model learns and the forward model predicts."""


@dataclass(frozen=True)
class NGUConfig(Settings):
    """Episodic novelty times RND (Never Give Up, Badia et al., 2020)."""

    features: int = count(32)
    """Number of features of an observation, which the inverse model learns."""
    neighbours: int = count(10)
    """Number of nearest neighbours in the episode that an observation is compared with."""
    episodic_memory: int = count(1_024)
    """Number of observations of the current episode in the memory; new ones replace the oldest."""
    kernel_epsilon: float = number(0.001, above=True)
    """Kernel constant: the smaller it is, the faster similarity falls with distance."""
    cluster_distance: float = number(0.008)
    """Normalised squared distances below this count as zero."""
    max_similarity: float = number(8.0, above=True)
    """Observations with a higher similarity get no bonus. The similarity is at most the square root of --neighbours
    (3.2 for 10), so the default, which is that of the NGU paper, has no effect with 10 neighbours."""
    max_modulation: float = number(5.0, 1)
    """Largest factor by which RND scales the episodic novelty."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("--neighbours", self.neighbours, 1, self.episodic_memory)


@dataclass(frozen=True)
class E3BConfig(Settings):
    """Elliptical episodic bonus (Henaff et al., 2022)."""

    features: int = count(32)
    """Number of features of an observation, which the inverse model learns."""
    ridge: float = number(0.1, above=True)
    """Ridge term: the diagonal of the feature covariance at the start of an episode."""


@dataclass(frozen=True)
class UCBConfig(Settings):
    """Upper confidence bound of every action (UCB1, Auer et al., 2002)."""

    #: Normalised, UCB1 is the bonus of its counter: both differ by a factor that all actions of a state share.
    normalize: ClassVar[Normalization] = "raw"

    counter: Counter = "hash"
    """Counter of state-action pairs: count, hash, coin-flip or elliptical. The counter's settings are available as
    flags, too."""

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.counter,)


#: Settings classes of the built-in bonuses that have settings, by name of the bonus.
BUILT_IN: dict[str, type[Any]] = {
    "distillation": DistillationConfig,
    "hash": HashConfig,
    "coin-flip": CoinFlipConfig,
    "elliptical": EllipticalConfig,
    "icm": ICMConfig,
    "ngu": NGUConfig,
    "e3b": E3BConfig,
    "ucb": UCBConfig,
}

BASE = ("action_balance.bonuses.base", "Bonus")  # module and name of the class that all bonuses inherit from


def bonus_settings(name: str) -> type[Any] | None:
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
