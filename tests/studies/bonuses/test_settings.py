from dataclasses import replace
from typing import Any

import pytest

from action_balance.config.methods import NONE
from action_balance.errors import UserError
from action_balance.studies.bonuses.settings import (
    ACTIONS,
    CONSTANT,
    INTRINSICS,
    LABELS,
    WORLDS,
    BonusesSettings,
    Condition,
    Setup,
)


def test_every_bonus_has_a_label_and_every_setup_a_name_of_its_own() -> None:
    actions = (*ACTIONS, *CONSTANT)
    assert {*INTRINSICS, *actions} <= LABELS.keys()
    setups = [Setup(intrinsic, action) for intrinsic in INTRINSICS for action in actions] + [Setup(NONE, "random")]
    assert len({one.name for one in setups}) == len(setups)
    assert [Setup.of(one.name) for one in setups] == setups
    assert [Setup.of(name).label for name in ("none", "rnd", "rnd+hash", "random")] == [
        "PPO",
        "RND",
        "RND + hash counts",
        "random",
    ]


def test_studies_share_their_runs() -> None:
    chosen: dict[str, Any] = {
        "worlds": ("deep-sea-10",),
        "intrinsic": ("none", "rnd", "count"),
        "action_bonus": ("distillation",),
    }
    plans = {study: [*BonusesSettings(studies=(study,), **chosen).plan()] for study in ("counting", "worth", "matrix")}
    begin = "deep-sea-10--"
    assert plans == {
        "counting": [f"{begin}{name}" for name in ("rnd", "count", "rnd+distillation")],
        "worth": [f"{begin}{name}" for name in ("none", "rnd", "count", "rnd+distillation", "random")],
        "matrix": [
            *(f"{begin}{name}" for name in ("none", "none+distillation", "rnd", "rnd+distillation")),
            *(f"{begin}{name}" for name in ("count", "count+distillation")),
        ],
    }
    assert set(BonusesSettings(**chosen).plan()) == {name for plan in plans.values() for name in plan}


def test_only_what_estimates_lifelong_counts_is_compared_with_them() -> None:
    def compared(world: str, name: str) -> tuple[bool, bool]:
        one = Condition(world, Setup.of(name))
        return one.counts_states, one.counts_pairs

    assert compared("deep-sea-10", "rnd") == (True, False)
    assert compared("deep-sea-10", "rnd+distillation") == (False, True)
    assert compared("deep-sea-14", "rnd") == (False, False)
    for name in ("ngu", "e3b", "none", "count+distillation"):
        assert compared("deep-sea-10", name) == (False, False)


def test_the_full_study_has_128_agents_and_the_steps_of_each_world() -> None:
    full = BonusesSettings(scale="full")
    configs = {world: full.config(Condition(world, Setup("rnd"))) for world in WORLDS}
    assert {config.seeds for config in configs.values()} == {128}
    assert configs["deep-sea-14"].agent.steps == 120_000
    goal = configs["goal-40"].agent
    assert (goal.steps, goal.envs, goal.ppo.minibatches) == (40_000, 1, 1)
    assert BonusesSettings(scale="full", steps=2048).config(Condition("goal-40", Setup("rnd"))).agent.steps == 2048


def test_the_full_study_compares_adaptive_with_constant_coefficients() -> None:
    def worlds(settings: BonusesSettings, setup: str) -> list[str]:
        return [one.world for one in settings.conditions() if one.setup.name == setup]

    for setup in ("rnd+count-3", "rnd+hash-3"):
        found = worlds(BonusesSettings(scale="full"), setup)
        assert found == ["deep-sea-10", "corridor-25", "goal-40", "open-40"]
        assert not worlds(BonusesSettings(), setup)
    named = BonusesSettings(action_bonus=("hash-3",), worlds=("deep-sea-14",))
    assert worlds(named, "rnd+hash-3") == ["deep-sea-14"]
    assert not worlds(named, "rnd+count-3")
    constant, adaptive = (Setup("rnd", action).agent(2048, 8) for action in ("hash-3", "hash"))
    assert (constant.action_bonus, constant.bonus.action_coef) == ("hash", 3.0)
    assert constant.bonus == replace(adaptive.bonus, action_coef=3.0)


def test_distillation_has_the_coefficient_of_the_paper() -> None:
    assert Setup("rnd", "distillation").agent(2048, 8).bonus.action_coef == 1.0


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"seeds": 0}, "--seeds must be 1 or more"),
        ({"steps": 0}, "--steps must be 1 or more"),
        ({"worlds": ("deep-sea-11",)}, "deep-sea-1"),
        ({"intrinsic": ("rmd",)}, "rnd"),
        ({"action_bonus": ("hash", "hash")}, "given twice"),
        ({"studies": ()}, "give at least one study"),
    ],
)
def test_mistakes_are_clear_errors(wrong: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        BonusesSettings(**wrong)
