from math import log

import pytest

from action_balance.studies.atari.settings import AtariSettings
from action_balance.studies.entropy import settings
from action_balance.studies.entropy.settings import FLAT, EntropySettings


def test_a_flat_vector_of_the_games_actions_has_the_entropy_that_is_drawn() -> None:
    from action_balance.envs.atari.games import count_actions

    assert pytest.approx(log(count_actions(settings.GAME))) == FLAT


def test_the_study_is_the_figures_by_default_and_shares_runs_with_the_atari_study() -> None:
    plan = EntropySettings().plan()
    assert list(plan) == [
        "montezuma_revenge-action-balance-rnd-raw-0",
        "montezuma_revenge-action-balance-rnd-0",
        "montezuma_revenge-action-balance-rnd-channel-0",
    ]
    assert {config.agent.updates for config in plan.values()} == {10_203}
    table = AtariSettings().plan()
    assert [plan[name] == table[name] for name in plan if name in table] == [True, True]
    assert [config.agent.normalize for config in plan.values()] == ["raw", "l2", "l2"]
