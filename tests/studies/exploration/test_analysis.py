from dataclasses import replace

import numpy as np
import pytest
from exploration_records import record

from action_balance.errors import UserError
from action_balance.studies.exploration import analysis, screen
from action_balance.studies.exploration.settings import ExplorationSettings


def test_scores_are_values_over_the_best_value() -> None:
    one = record("deep-sea-20", "rnd", [0.5, -0.01, 0.99])
    np.testing.assert_allclose(one.scores, [0.5, 0, 0.99], rtol=1e-6)
    np.testing.assert_allclose(one.efficiency, [0.375, 0, 0.7425], rtol=1e-6)  # half-way, it is half as good
    # 15 of 16 updates with 1,024 steps, of 3 agents
    assert one.steps_per_second == pytest.approx(15 * 1024 * 3 / 1.5)


def test_methods_are_ranked_by_the_interquartile_mean_over_tasks() -> None:
    """The middle half of eight runs are four: 0, 0, 1, 1 with RND; 0.4, 1, 1, 1 with hash counts."""
    found = analysis.numbers(
        [
            record("deep-sea-20", "rnd", [0, 1, 1, 1]),
            record("deep-sea-20", "hash", [1, 1, 1, 1]),
            record("deep-sea-30", "rnd", [0, 0, 0, 1]),
            record("deep-sea-30", "hash", [0, 0, 0.4, 1]),
        ]
    )
    assert found["ranked_tasks"] == ["deep-sea-20", "deep-sea-30"]
    first, second = found["ranking"]
    assert (first["method"], first["rank"], second["method"], second["rank"]) == ("hash", 1, "rnd", 2)
    assert first["iqm"]["value"] == pytest.approx(0.85)
    assert second["iqm"]["value"] == pytest.approx(0.5)
    # of 16 pairs each: 4 wins and 12 ties in deep sea 20; 3 + 3 wins and 6 + 1 ties in deep sea 30
    assert first["over_base"]["value"] == pytest.approx((10 / 16 + 9.5 / 16) / 2)
    assert second["over_base"] is None
    assert first["over_plain"] is None  # without PPO


def test_a_task_that_lacks_a_method_is_not_part_of_the_ranking() -> None:
    made = [record("deep-sea-20", "rnd", [1, 1]), record("deep-sea-20", "hash", [0, 0])]
    made += [record("deep-sea-20", "count", [1, 1]), record("deep-sea-30", "hash", [1, 1])]
    found = analysis.numbers(made)
    assert found["ranked_tasks"] == ["deep-sea-20"]
    assert [row["method"] for row in found["ranking"]] == ["rnd", "hash"]
    settings = ExplorationSettings(tasks=("deep-sea-20", "deep-sea-30"), methods=("rnd", "hash", "count"))
    assert analysis.missing(settings, found) == {"deep-sea-30": ["rnd", "count"]}
    nothing = analysis.numbers([made[0], made[-1]])
    assert nothing["ranking"] == []
    assert list(screen.sentences(nothing)) == ["No task has agents of every method yet, so there is no ranking."]


def test_a_lead_is_significant_only_if_its_interval_excludes_one_half() -> None:
    low, high = [0.1, 0.12, 0.14, 0.16, 0.18, 0.2], [0.8, 0.82, 0.84, 0.86, 0.88, 0.9]
    made = [("rnd", low), ("rnd+distillation", low[::-1]), ("hash", high), ("rnd+hash", [0.87, *high[1:]])]
    found = analysis.numbers([record("deep-sea-20", method, scores) for method, scores in made])
    verdict = found["verdict"]
    assert verdict["leaders"] == ["rnd+hash"]
    assert verdict["unclear"] == ["hash"]
    assert verdict["balanced"] == {"around": ["rnd+distillation"], "above": ["rnd+hash"]}
    assert verdict["paper"]["value"] == 0.5
    first, second, third = screen.sentences(found)
    assert "The highest scores in 1 task are those of RND + hash counts" in first
    assert "the lead over hash counts is not significant" in first
    assert "makes no significant difference" in second
    assert third == "Other action bonuses on top of RND: significantly better than RND alone: hash counts."


def test_equal_scores_are_no_improvement() -> None:
    """Rounding of the resamples must not become a significant difference."""
    made = [record("deep-sea-20", name, [0.0] * 7) for name in ("rnd", "rnd+distillation")]
    found = analysis.numbers(made)
    assert found["verdict"]["paper"] == {"value": 0.5, "low": 0.5, "high": 0.5}
    assert [row["rank"] for row in found["ranking"]] == [1, 1]
    assert "No method stands out" in next(screen.sentences(found))


def test_agents_with_other_seeds_are_not_compared() -> None:
    made = record("deep-sea-20", "hash", [1, 1])
    other = replace(made, config=replace(made.config, seed=7))
    with pytest.raises(UserError, match="differ in their seeds"):
        analysis.numbers([record("deep-sea-20", "rnd", [1, 1]), other])
