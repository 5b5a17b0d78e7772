"""The scores of training runs, and what they prove."""

from math import isnan, nan
from pathlib import Path

import numpy as np
import pytest
from page_text import text_of
from watched_runs import STEPS, add, begin, config_of

from action_balance.studies.statistics import MIN
from action_balance.studies.training.data import Watched, grouped
from action_balance.studies.training.scores import Score, compared, read_scores, score
from action_balance.web.render import render_fragment


def score_of(label: str, *final: float, steps: int = 100, ended: bool = True) -> Score:
    values = np.array(final, float)
    return Score(label, "rnd", max(1, len(final)), steps, values, 9.0, nan, None, 60.0, 50.0, ended)


def shown(*scores: Score) -> str:
    found = {"Sea": compared(scores)}
    return text_of(render_fragment("studies/training/scores.html", worlds=found, fewest=MIN))


def test_a_score_is_the_end_of_a_run_the_best_episode_and_the_speed_without_compiling(tmp_path: Path) -> None:
    config = config_of(seeds=2, updates=20)
    folder, log = begin(tmp_path / "run", config)
    for update in range(1, 21):
        rows = [
            {"update": update, "seed": i, "steps": update * STEPS, "episode_return": update + 2.0 * i, "states": 2 + i}
            for i in range(2)
        ]
        rows[1] |= {"best_return": 50.0} if update == 3 else {}
        rows[0] |= {"episode_return": nan} if update == 20 else {}
        log.append(rows, {"steps_per_second": 2 * STEPS / (10 if update == 1 else 1)})
    folder.finish("finished")
    (found,) = read_scores(grouped([Watched.open(folder.path)], pooled=True))
    # the last two of 20 updates; seed 0 keeps its 19 where no episode ended
    assert found.final.tolist() == [19.0, (21 + 22) / 2]
    assert (found.best, found.seeds, found.steps, found.ended) == (50.0, 2, 20 * STEPS, True)
    assert (found.states, found.cells) == (2.5, 6)
    assert (found.seconds, found.rate) == (10 + 19, 2 * STEPS)


def test_a_run_in_which_no_episode_has_finished_has_no_return(tmp_path: Path) -> None:
    (group,) = grouped([_running(tmp_path)], pooled=True)
    names = ("update", "seed", "steps", "episode_return", "best_return", "states")
    table = np.full((1, 2, len(names)), nan)
    table[..., 2] = STEPS
    for rows in (table, table[:0]):
        found = score(group, names, rows)
        assert isnan(found.mean)
        assert isnan(found.states)
        assert found.cells is None
        assert "No episode has finished" in shown(found)


def _running(path: Path) -> Watched:
    folder, _ = begin(path / "run", config_of())
    folder.release()
    return Watched.open(folder.path)


def test_a_seed_that_two_runs_share_counts_once(tmp_path: Path) -> None:
    runs = []
    for name in ("run", "copy"):
        folder, log = begin(tmp_path / name, config_of(seeds=2))
        add(log, config_of(seeds=2), 1)
        folder.finish("finished")
        runs.append(Watched.open(folder.path))
    (found,) = read_scores(grouped(runs, pooled=True))
    assert (found.seeds, len(found.final)) == (4, 2)
    assert "2 of 4 seeds" in shown(found)


def test_few_seeds_have_a_range_and_prove_nothing() -> None:
    found = compared([score_of("A", 1, 2, 3), score_of("B", 7, 8, 9)])
    assert [row["label"] for row in found["rows"]] == ["B", "A"]  # the best first
    assert found["rows"][0]["final"] == {"value": 8.0, "low": None, "high": None, "range": [7.0, 9.0]}
    assert (found["lead"]["fewest_seeds"], found["lead"]["difference"]["value"]) == (3, 6.0)
    assert not any(row["best_of_all"] for row in found["rows"])
    text = shown(score_of("A", 1, 2, 3), score_of("B", 7, 8, 9))
    assert "B leads with a final return of 8.00, 6.00 more than A." in text
    assert "3 seeds are too few" in text
    assert "95" not in text


def test_a_lead_is_significant_if_the_interval_of_every_difference_is_above_zero() -> None:
    high, low, wide = score_of("A", 8, 8, 9, 9, 8.5), score_of("B", 1, 2, 1, 2, 1.5), score_of("C", 30, -30, 0, 0, 0)
    sure = compared([low, high])
    # Welch: both have a variance of 0.25, so 8 degrees of freedom and an error of sqrt(2 * 0.25 / 5); t = 2.306
    assert sure["lead"]["difference"] == pytest.approx({"value": 7.0, "low": 7 - 0.7292, "high": 7 + 0.7292}, abs=1e-3)
    assert [(row["label"], row["best_of_all"]) for row in sure["rows"]] == [("A", True), ("B", False)]
    assert "is significant" in shown(low, high)
    unsure = compared([low, high, wide])
    assert unsure["lead"]["unclear"] == ["C"]
    assert not any(row["best_of_all"] for row in unsure["rows"])
    assert "The lead over C is not significant" in shown(low, high, wide)
