"""The numbers that trackers are sent."""

import math

from action_balance.tracking.flat import flat


def test_of_one_seed_the_metrics_keep_their_names_and_lists_are_numbered() -> None:
    row = {"update": 2, "seed": 5, "steps": 64, "loss": 0.5, "shares": [0.25, 0.75], "none": math.nan, "all": math.inf}
    assert flat([row], {"update": 2, "steps": 64, "steps_per_second": 9}) == {
        "loss": 0.5,
        "shares/0": 0.25,
        "shares/1": 0.75,
        "timing/steps_per_second": 9.0,
    }


def test_of_several_seeds_the_mean_has_the_name_and_every_seed_its_own() -> None:
    rows = [
        {"update": 1, "seed": seed, "steps": 8, "loss": loss, "episode_return": reached}
        for seed, loss, reached in ((3, 1.0, math.nan), (4, 2.0, 0.5), (5, 6.0, 1.5))
    ]
    assert flat(rows, {}) == {
        "loss": 3.0,
        "episode_return": 1.0,  # of the two seeds that ended an episode
        **{"seed-3/loss": 1.0, "seed-4/loss": 2.0, "seed-5/loss": 6.0},
        **{"seed-4/episode_return": 0.5, "seed-5/episode_return": 1.5},
    }
