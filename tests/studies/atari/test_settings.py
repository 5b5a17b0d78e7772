from dataclasses import replace
from typing import Any

import pytest
from atari_records import SMALL

from action_balance.config.presets import PRESETS
from action_balance.errors import UserError
from action_balance.studies.atari.settings import AtariSettings
from action_balance.studies.atari.training import AtariTraining


def test_the_study_is_the_papers_by_default() -> None:
    plan = AtariSettings().plan()
    assert len(plan) == 6 * 3 * 5
    first = next(iter(plan.values()))
    assert first.agent == replace(PRESETS["atari-paper"], method="rnd")
    assert (first.env.name, first.seed, first.seeds) == ("atari:montezuma_revenge", 0, 1)


def test_all_games_and_methods_come_before_the_next_seed() -> None:
    plan = AtariSettings(games=("venture", "pitfall"), methods=("rnd",), seeds=2, seed=7, training=SMALL).plan()
    assert list(plan) == ["venture-rnd-7", "pitfall-rnd-7", "venture-rnd-8", "pitfall-rnd-8"]
    more = AtariSettings(games=("venture", "pitfall"), methods=("rnd",), seeds=3, seed=7, training=SMALL).plan()
    assert {name: more[name] for name in plan} == plan


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"games": ("montezuma",)}, "did you mean montezuma_revenge"),
        ({"games": ("venture", "venture")}, "given twice"),
        ({"methods": ("ppo",)}, "unknown method"),
        ({"seeds": 0}, "--seeds must be 1 or more"),
    ],
)
def test_settings_that_cannot_be_are_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        AtariSettings(**wrong)


def test_numbers_of_the_training_are_checked_before_it() -> None:
    with pytest.raises(UserError, match="--envs must be a multiple of 4, not 6"):
        AtariTraining(envs=6)
    with pytest.raises(UserError, match="fewer than one rollout"):
        AtariTraining(steps=100)


def test_a_study_knows_the_runs_that_its_flags_train() -> None:
    run = SMALL.run("gravitar", "action-balance-rnd", 3, "raw")
    host = replace(run.agent.host, lag=1, groups=2)  # chosen by the run
    begun = replace(run, agent=replace(run.agent, host=host))
    assert AtariTraining().as_made(begun.agent) == SMALL
    assert SMALL.makes(begun)
    assert replace(SMALL, lag=0).makes(begun)
    assert [replace(SMALL, lag=lag).as_made(begun.agent).lag for lag in (None, 0, 1)] == [None, None, 1]
    faster = replace(begun.agent, algorithm=replace(begun.agent.algorithm, learning_rate=1e-3))
    assert not SMALL.makes(replace(begun, agent=faster))
    odd = replace(begun.agent, envs=6, algorithm=replace(begun.agent.algorithm, minibatches=3))
    assert AtariTraining().as_made(odd) == AtariTraining()
