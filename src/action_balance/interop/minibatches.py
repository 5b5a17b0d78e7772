"""Which samples of a batch each gradient step learns from."""

from dataclasses import dataclass
from operator import index

import numpy as np

from action_balance.errors import MAX, UserError
from action_balance.interop.settings import check_number


@dataclass(frozen=True)
class Minibatches:
    """How often, and in how many parts, a batch is learned from."""

    epochs: int  # times that the whole batch is learned from
    count: int  # minibatches of an epoch, each with a gradient step; every sample is in one of them
    proportion: float  # of each minibatch that its step learns from, chosen at random

    @classmethod
    def of(cls, epochs: int, minibatches: int, update_proportion: float) -> "Minibatches":
        check_number("epochs", epochs, 1, MAX)
        check_number("minibatches", minibatches, 1, MAX)
        if not 0 < update_proportion <= 1:
            raise UserError(f"update_proportion must be above 0 and at most 1, not {update_proportion}")
        return cls(index(epochs), index(minibatches), float(update_proportion))

    def order(self, size: int, room: int, seed: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        if self.count > size:
            raise UserError(f"{size} samples cannot be split into {self.count} minibatches: use fewer minibatches")
        bounds = np.arange(self.count + 1) * size // self.count
        counts = np.maximum(1, np.rint(self.proportion * np.diff(bounds))).astype(np.int32)
        widest = max(1, round(self.proportion * -(-room // self.count)))
        # Beyond the end, any sample: it does not count.
        places = np.minimum(bounds[:-1, None] + np.arange(widest), size - 1)
        if self.count == 1 and self.proportion == 1:
            orders = np.tile(places, (self.epochs, 1))
        else:
            draw = np.random.default_rng(seed)
            orders = np.concatenate([draw.permutation(size)[places] for _ in range(self.epochs)])
        return orders.astype(np.int32), np.tile(counts, self.epochs)
