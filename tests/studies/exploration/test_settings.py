from dataclasses import replace

import pytest

from action_balance.config.agent import AgentConfig
from action_balance.errors import UserError
from action_balance.studies.bonuses.settings import WORLDS, BonusesSettings, Condition
from action_balance.studies.exploration.settings import (
    ENUMERATING,
    METHODS,
    SCALES,
    TASKS,
    ExplorationSettings,
    label,
)


def _common(agent: AgentConfig) -> AgentConfig:
    """The settings of an agent without those of its exploration."""
    bonus = replace(agent.bonus, action_coef=None, normalize=None)
    return replace(agent, method="ppo", intrinsic="none", action_bonus="none", bonus=bonus)


def test_the_methods_of_a_task_differ_only_in_how_they_explore() -> None:
    for task in TASKS.values():
        assert len({repr(_common(task.agent(name, task.steps))) for name in task.methods}) == 1


def test_the_deep_sea_has_the_settings_of_the_bonus_study() -> None:
    ours = ExplorationSettings(scale="full").plan()["deep-sea-20--rnd+hash"]
    theirs = BonusesSettings(scale="full", seeds=32).config(Condition("deep-sea-20", METHODS["rnd+hash"]))
    assert WORLDS["deep-sea-20"].steps == TASKS["deep-sea-20"].steps
    assert ours == theirs


def test_exact_counts_are_used_only_where_states_can_be_enumerated() -> None:
    plan = ExplorationSettings(scale="full").conditions()
    for name, task in TASKS.items():
        planned = {one.method for one in plan if one.task == name}
        assert not planned or (set(ENUMERATING) <= planned) == task.enumerable
    assert ENUMERATING == ("count", "rnd+count")


def test_a_plan_has_the_chosen_methods_in_the_order_of_tables() -> None:
    settings = ExplorationSettings(tasks=("deep-sea-20",), methods=("rnd", "random"), seeds=3, steps=2048)
    plan = settings.plan()
    assert [*plan] == ["deep-sea-20--random", "deep-sea-20--rnd"]
    assert {(config.seeds, config.agent.steps) for config in plan.values()} == {(3, 2048)}


def test_the_default_study_is_small_and_has_intervals() -> None:
    steps = sum(config.seeds * config.agent.steps for config in ExplorationSettings().plan().values())
    assert steps < 6_000_000
    assert SCALES["small"].seeds >= 5


def test_an_unknown_task_or_method_is_refused() -> None:
    with pytest.raises(UserError, match="deep-sea-20"):
        ExplorationSettings(tasks=("deep-sea-21",))
    with pytest.raises(UserError, match="rnd\\+hash"):
        ExplorationSettings(methods=("rnd+hasch",))


def test_the_papers_method_is_marked() -> None:
    assert label("rnd+distillation") == "RND + distillation (paper)"
    assert label("rnd+hash") == "RND + hash counts"
    assert label("ppo") == "PPO"
