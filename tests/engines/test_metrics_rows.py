"""Rows, progress, score and the check of an update's metrics, from numbers chosen by hand."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

from action_balance.engines import metrics_rows
from action_balance.engines.metrics_rows import check_finite, mean_metrics, memory, progress, rows, score
from action_balance.errors import UserError

NAN = math.nan


def metrics(**more: Any) -> dict[str, np.ndarray]:
    """Of three seeds, one of which ended no episode."""
    found = {
        "episode_return": [2.0, NAN, 4.0],
        "best_return": [3.0, NAN, 9.0],
        "loss_policy": [0.5, 0.5, 0.5],
        "action_frequency": [[0.25, 0.75]] * 3,
        "parameters_finite": [True] * 3,
    }
    return {name: np.array(values) for name, values in {**found, **more}.items()}


def test_there_is_a_row_for_each_seed() -> None:
    found = rows(metrics(), update=7, steps=70, first_seed=5)
    assert [(row["update"], row["seed"], row["steps"]) for row in found] == [(7, 5, 70), (7, 6, 70), (7, 7, 70)]
    assert found[2]["best_return"] == 9
    assert found[0]["action_frequency"] == [0.25, 0.75]


def test_the_score_is_the_mean_over_seeds_that_ended_an_episode() -> None:
    assert score(metrics()) == 3
    assert score(metrics(episode_return=[NAN] * 3)) is None


def test_means_are_over_the_seeds_that_have_a_number() -> None:
    found = mean_metrics({name: metrics()[name] for name in ("episode_return", "action_frequency")}, 7, 70)
    assert found == {"update": 7, "steps": 70, "episode_return": 3.0}


def test_progress_shows_what_the_metrics_have() -> None:
    shown = progress(metrics(states=[1, 2, 6], bonus_mean=[0.5, 1.0, 1.5]), 7, 70)
    assert (shown.update, shown.steps, shown.episode_return, shown.best_return) == (7, 210, 3, 9)
    assert (shown.states, shown.bonus) == (3, 1)
    shown = progress(metrics(episode_return=[NAN] * 3), 7, 70)
    assert math.isnan(shown.episode_return)
    assert math.isnan(shown.best_return)
    assert (shown.states, shown.bonus) == (None, None)


def test_an_update_that_is_not_finite_is_named_with_the_last_good_checkpoint() -> None:
    check_finite(metrics(), 12, [5, 10], 1e-4)
    with pytest.raises(
        UserError, match="update 12: loss_action became NaN or infinite; the last good checkpoint is that of update 10"
    ):
        check_finite(metrics(loss_action=[1.0, NAN, 1.0]), 12, [5, 10], 1e-4)
    with pytest.raises(UserError, match="parameters became NaN or infinite; there is no checkpoint yet"):
        check_finite(metrics(parameters_finite=[True, False, True]), 1, [], 1e-4)


@pytest.mark.parametrize(("stats", "device"), [({"peak_bytes_in_use": 2**29}, {"device_memory": 0.5}), (None, {})])
def test_memory_is_in_gib(
    stats: Any, device: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "statm").write_text("9999 512 0 0 0 0 0\n")
    monkeypatch.setattr(metrics_rows, "STATUS", tmp_path / "statm")
    monkeypatch.setattr("os.sysconf", lambda _: 2**20)  # bytes of a page
    monkeypatch.setattr(jax, "local_devices", lambda: [SimpleNamespace(memory_stats=lambda: stats)])
    assert memory() == {"host_memory": 0.5, **device}
    monkeypatch.setattr(metrics_rows, "STATUS", tmp_path / "absent")
    assert memory() == device
