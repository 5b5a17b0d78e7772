"""The shift of a few vectors, in NumPy: for a handful of environments, starting a compiled program takes longer.

It is the same arithmetic as in `learner.shifts`, and agrees with it up to rounding. Axes: B samples, A choices of all
action components, R = B x A pairs, D outputs.
"""

from itertools import accumulate, pairwise

import numpy as np

from action_balance.core.options import Normalization
from action_balance.interop.learner import CLIP, Learner
from action_balance.nets.bonus import SLOPE, BonusNet

#: Most products of the widest layer for which NumPy is faster.
MAX_PRODUCTS = 1_000_000


class SmallShift:
    """The networks and statistics of a `Learner` as NumPy arrays."""

    def __init__(self, learner: Learner, kind: Normalization, nvec: tuple[int, ...]) -> None:
        """Copy what acting needs."""
        count, squares = np.asarray(learner.obs_stats.count), np.asarray(learner.obs_stats.squares)
        variance = squares / np.maximum(count, np.float32(1)) if count > 0 else np.ones_like(squares)
        self._mean, self._deviation = np.asarray(learner.obs_stats.mean), np.sqrt(variance + np.float32(1e-8))
        (weight, added), *self._predictor = _layers(learner.params)
        (target_weight, target_added), *self._target = _layers(learner.state)
        # The first layers of both networks have the same input.
        self._first = np.concatenate([weight, target_weight], axis=1), np.concatenate([added, target_added], axis=1)
        self._width = len(added[0])
        self._kind, self._components = kind, [slice(*ends) for ends in pairwise([0, *accumulate(nvec)])]
        self._most = MAX_PRODUCTS // _products(learner.params, nvec)

    @staticmethod
    def fits(learner: Learner, nvec: tuple[int, ...]) -> bool:
        """Whether NumPy is the faster way at all."""
        net = learner.params
        return isinstance(net, BonusNet) and not net.encoder and _products(net, nvec) <= MAX_PRODUCTS

    def is_for(self, size: int) -> bool:
        """Whether NumPy is the faster way."""
        return size <= self._most

    def __call__(self, obs: np.ndarray, allowed: np.ndarray | None, coef: float) -> np.ndarray:
        """What action balance adds to logits (Eq. 5)."""
        seen = (obs - self._mean) / self._deviation
        np.minimum(np.maximum(seen, -CLIP, out=seen), CLIP, out=seen)
        weight, added = self._first
        hidden = (seen @ weight)[:, None] + added
        difference = _outputs(self._predictor, hidden[..., : self._width])
        difference -= _outputs(self._target, hidden[..., self._width :])
        bonus = np.einsum("bad,bad->ba", difference, difference) / np.float32(difference.shape[-1])
        parts = [
            _normalize(bonus[:, part], None if allowed is None else allowed[:, part], self._kind)
            for part in self._components
        ]
        return np.float32(coef) * (parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1))


def _normalize(bonus: np.ndarray, mask: np.ndarray | None, kind: Normalization) -> np.ndarray:
    """As `action_balance.normalize`, in each row; bonuses are not negative."""
    bonus = _allowed(bonus, mask)
    if kind == "raw":
        return bonus
    if kind == "l2":
        scaled = _ratio(bonus, bonus.max(axis=1, keepdims=True))
        return _ratio(scaled, np.sqrt(np.einsum("ba,ba->b", scaled, scaled))[:, None])
    counts = np.float32(bonus.shape[1]) if mask is None else mask.sum(axis=1, keepdims=True, dtype=np.float32)
    # Forbidden ones are 0: the largest is an allowed one.
    bonus = _allowed(bonus - bonus.max(axis=1, keepdims=True), mask)
    bonus = _allowed(bonus - bonus.sum(axis=1, keepdims=True) / counts, mask)
    scaled = _ratio(bonus, np.abs(bonus).max(axis=1, keepdims=True))
    return _ratio(scaled, np.sqrt(np.square(scaled).sum(axis=1, keepdims=True) / counts))


def _allowed(numbers: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
    return numbers if mask is None else np.where(mask, numbers, np.float32(0))


def _ratio(numbers: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """Numbers over a divisor, 1 in place of 0."""
    return numbers / (divisor if divisor.all() else np.where(divisor > 0, divisor, np.float32(1)))


def _products(net: BonusNet, nvec: tuple[int, ...]) -> int:
    """Products of the widest layer for one observation."""
    return max(layer.weight.size for layer in net.joined) * sum(nvec)


def _layers(net: BonusNet) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights, (in, out), and for every action what is added to their product, (A, out)."""
    return [
        (np.ascontiguousarray(np.asarray(one.weight).T), np.asarray(one.bias) + np.asarray(one.action_weight))
        for one in net.joined
    ]


def _outputs(layers: list[tuple[np.ndarray, np.ndarray]], x: np.ndarray) -> np.ndarray:
    """Outputs of all actions, (B, A, D), from those of the first layer."""
    for weight, added in layers:
        active = np.maximum(x, np.float32(SLOPE) * x)
        # One product of all pairs, (B x A, in): of three axes, NumPy would make a product for each observation.
        x = (active.reshape(-1, len(weight)) @ weight).reshape(*x.shape[:2], -1)
        x += added
    return x
