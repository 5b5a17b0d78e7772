from dataclasses import replace
from math import nan
from pathlib import Path

import numpy as np
import pytest

from action_balance.studies.atari.records import AtariRecord
from action_balance.studies.atari.training import AtariTraining, run_name
from action_balance.studies.entropy import analysis as entropy
from action_balance.studies.entropy import settings
from action_balance.studies.entropy.analysis import Variant, variants

SMALL = AtariTraining(steps=1536, envs=4, warmup_rollouts=1, channels=4)


def record(variant: str, seed: int, entropies: list[float], status: str = "finished") -> AtariRecord:
    """A run with these entropies of softmax(Normalize(r)), and half of them of the shares."""
    method, normalize = settings.VARIANTS[variant]
    config = SMALL.run(settings.GAME, method, seed, normalize)
    steps, empty = 512.0 * np.arange(1, len(entropies) + 1), np.full(len(entropies), nan)
    values = np.array(entropies)
    return AtariRecord(
        *(Path(run_name(config)), config, status, {}, {}, steps, empty, empty, empty, values, values / 2),
        seconds=1.0,
    )


def test_the_final_entropy_is_the_mean_of_the_last_tenth_of_the_updates() -> None:
    (found,) = variants([record("raw", 0, [9.0] * 18 + [1.0, 2.0])])
    np.testing.assert_allclose(found.finals("added"), [1.5])
    np.testing.assert_allclose(found.finals("bonus"), [0.75])
    (found,) = variants([record("raw", 0, [9.0, 2.0])])  # a tenth of two is none: the last
    np.testing.assert_allclose(found.finals("added"), [2])


def test_variants_are_in_the_papers_order_and_other_runs_are_left_out() -> None:
    runs = [record("channel + L2", 0, [1.0]), record("raw", 1, [2.0]), record("L2", 0, [3.0]), record("raw", 0, [4.0])]
    other = SMALL.run("venture", "action-balance-rnd", 0)
    rnd = SMALL.run(settings.GAME, "rnd", 0)
    found = variants([*runs, replace(runs[2], config=other), replace(runs[2], config=rnd)])
    assert [variant.name for variant in found] == ["raw", "L2", "channel + L2"]
    assert [len(variant.runs) for variant in found] == [2, 1, 1]
    np.testing.assert_allclose(found[0].values("added"), [[4], [2]])  # by seed


def test_unfinished_runs_count_only_where_none_is_finished() -> None:
    whole, begun = record("raw", 0, [1.0, 2.0]), record("raw", 1, [5.0], "interrupted")
    np.testing.assert_allclose(Variant("raw", (whole, begun)).values("added"), [[1, 2]])
    both = Variant("raw", (replace(whole, status="running"), begun))
    np.testing.assert_allclose(both.values("added"), [[1], [5]])
    np.testing.assert_allclose(both.steps, [512])


def test_variants_are_compared_by_their_ends_and_update_by_update() -> None:
    low, high = variants([record("raw", 0, [3.0, 1.0, 1.0, 1.0]), record("L2", 0, [2.0, 2.0, 2.5])])
    assert low.share_below(high, "added") == pytest.approx(2 / 3)  # of the three that both have
    assert high.share_below(low, "added") == pytest.approx(1 / 3)
    difference = entropy.difference(low, high, "added")
    assert difference.value == -1.5
    assert np.isnan(difference.low)


def test_five_runs_of_each_have_an_interval() -> None:
    low, high = variants(
        [record(name, seed, [1.0 * seed + 4 * (name == "L2")]) for name in ("raw", "L2") for seed in range(5)]
    )
    difference = entropy.difference(low, high, "added")
    # Welch: standard error sqrt(2.5 / 5 + 2.5 / 5) = 1, 8 degrees of freedom, 2.3060 standard errors
    assert difference.value == -4
    assert difference.high == pytest.approx(-4 + 2.3060, abs=1e-3)
