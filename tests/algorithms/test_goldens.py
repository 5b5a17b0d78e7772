"""Metrics of three updates of every method, as they were recorded: a change that alters results shows here.

After an intended change, record them again with ``python tests/algorithms/test_goldens.py``, and say so in the
changelog.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small_agent import SMALL, trained

FILE = Path(__file__).with_name("goldens.json")
METHODS = ("random", "ppo", "count", "rnd", "action-balance", "action-balance-rnd")


def numbers(method: str) -> dict[str, list[float]]:
    """The metrics of the third update, each as a list."""
    metrics = trained(replace(SMALL, method=method))[1]
    return {name: np.atleast_1d(np.asarray(value, np.float64)).tolist() for name, value in sorted(metrics.items())}


@pytest.mark.parametrize("method", METHODS)
def test_metrics_are_those_that_were_recorded(method: str) -> None:
    recorded = json.loads(FILE.read_text())[method]
    found = numbers(method)
    assert found.keys() == recorded.keys()
    for name, value in recorded.items():
        # Explained variances and ratios near 1 are differences of nearly equal numbers.
        loose = name.startswith("explained") or name == "first_ratio"
        np.testing.assert_allclose(found[name], value, rtol=1e-3, atol=1e-2 if loose else 1e-5, err_msg=name)


if __name__ == "__main__":
    FILE.write_text(json.dumps({method: numbers(method) for method in METHODS}, indent=1) + "\n")
