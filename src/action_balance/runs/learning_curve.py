"""The final value of a learning curve, which the terminal, `compare` and all pages share. Axis: U updates."""

import math

import numpy as np

#: Share of the updates, at the end of a run, whose mean is its final value.
LAST = 0.1


def final_mean(values: np.ndarray) -> np.ndarray:
    """Mean of the known values in the last tenth of the updates, (..., U) -> (...); nan where none is known."""
    last = values[..., -max(1, int(LAST * values.shape[-1])) :]
    known = np.isfinite(last)
    count = known.sum(axis=-1)
    return np.where(count > 0, np.where(known, last, 0).sum(axis=-1) / np.maximum(count, 1), math.nan)


def carried_forward(values: np.ndarray) -> np.ndarray:
    """Replace each value that is not finite by the last finite one, (..., U); nan before the first."""
    newest = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(values.shape[-1]), -1), axis=-1)
    return np.where(newest >= 0, np.take_along_axis(values, np.maximum(newest, 0), axis=-1), math.nan)
