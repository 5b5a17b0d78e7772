"""Which trial is chosen."""

from pathlib import Path

import numpy as np
import pytest
from kept_runs import pretend
from tuning_records import everywhere, trial

from action_balance.studies.tuning import analysis
from action_balance.studies.tuning.records import TrialRecord, belongs
from action_balance.studies.tuning.settings import METHODS, TuningSettings, trials


def test_the_trial_whose_agents_are_fastest_is_chosen_and_the_larger_area_decides_between_equals() -> None:
    records = [
        trial("deep-sea-12", "rnd", 0, [1, 3]),  # 1/4
        trial("deep-sea-9-distractors", "rnd", 0, [6, 8]),  # 7/8
        trial("deep-sea-18", "rnd", 0, [4, 5]),  # 9/16
        *everywhere("chains", "rnd", 1, [4, 4], 0.25),
        *everywhere("chains", "rnd", 2, [2, 6], 0.75),
        trial("deep-sea-12", "rnd", 3, [1, 1]),  # incomplete
        *everywhere("chains", "none", 0, [4, 4], 0.5),
        *everywhere("chains", "none", 2, [5, 5]),
    ]
    ours = analysis.numbers(records)
    assert [*ours["kinds"]] == ["chains"]
    rnd = ours["kinds"]["chains"]["methods"]["rnd"]
    assert [(row["trial"], row["time"], row["area"]) for row in rnd["trials"]] == [
        *((0, 0.5625, 0), (1, 0.5, 0.25), (2, 0.5, 0.75))
    ]
    assert (rnd["chosen"], rnd["time"], rnd["values"]) == (2, 0.5, trials(METHODS["rnd"], 3)[2])
    world = rnd["trials"][0]["worlds"]["deep-sea-9-distractors"]
    assert world == {"solved": 1, "agents": 2, "time": 0.875, "area": 0}
    assert ours["kinds"]["chains"]["methods"]["none"]["chosen"] == 0
    # For all methods, 0 takes (9/16 + 1/2) / 2, 2 takes (1/2 + 5/8) / 2, and one of them has no 1.
    assert (ours["kinds"]["chains"]["common"]["trial"], ours["kinds"]["chains"]["common"]["time"]) == (0, 0.53125)


def test_all_other_methods_have_the_trial_that_is_best_for_all_of_its_shared_settings() -> None:
    records = [
        *everywhere("rooms", "rnd+hash", 1, [6]),
        *everywhere("rooms", "rnd+hash", 2, [3]),
        *everywhere("rooms", "none", 1, [2]),
        *everywhere("rooms", "none", 2, [4]),
    ]
    ours = analysis.numbers(records)
    shared = {
        name.replace("entropy_coef", "entropy_base"): value for name, value in trials(METHODS["none"], 3)[2].items()
    }
    assert len(shared) == 4
    assert ours["chosen"]["rooms"]["common"] == shared
    assert ours["chosen"]["rooms"]["none"] == {
        **{"algorithm.learning_rate": 1e-3, "algorithm.entropy_base": 0.01, "algorithm.normalize_advantages": True}
    }
    hashed = ours["chosen"]["rooms"]["rnd+hash"]
    assert shared.items() < hashed.items()
    assert hashed.keys() - shared.keys() == {
        "exploration.update_proportion",
        "exploration.action_coef",
        "exploration.normalize",
    }
    assert [*ours["chosen"]] == ["rooms"]


def test_what_is_not_made_everywhere_chooses_nothing() -> None:
    assert analysis.numbers([trial("deep-sea-12", "rnd", 0, [1])]) == {"kinds": {}, "chosen": {}}
    apart = analysis.numbers([*everywhere("chains", "rnd", 0, [1]), *everywhere("chains", "none", 1, [1])])
    assert apart["kinds"]["chains"]["common"] == apart["chosen"]["chains"]["common"] == {}


def test_a_method_without_all_trials_is_left_out_of_a_kind() -> None:
    whole = [one for number in (0, 1) for one in everywhere("chains", "rnd", number, [1])]
    part = [*everywhere("chains", "none", 0, [1]), trial("deep-sea-12", "none", 1, [1])]
    more = everywhere("chains", "rnd", 2, [1])
    assert analysis.with_all_trials([*part, *more, *whole], 2) == whole


def test_a_record_has_when_the_agents_solved_their_world(tmp_path: Path) -> None:
    config = TuningSettings(seeds=2).config("deep-sea-12", METHODS["none"], {})
    episodes, returns = np.full((2, 117), 50.0), np.zeros((2, 117))
    returns[0, 59:] = 1.0
    path = pretend(tmp_path, "deep-sea-12--none--00", config, episodes=episodes, episode_return=returns)
    made = TrialRecord.read(path)
    assert made.solved_at.tolist() == [60 * 1024, -1]  # half of the last 100 episodes
    assert made.area == pytest.approx([58 / 117, 0])
    assert made.time == (60 / 117 + 1) / 2
    assert (made.world, made.method, made.trial) == ("deep-sea-12", "none", 0)
    assert belongs(made.name, config)
    assert not belongs("deep-sea-10--none--00", config)
