"""What the tuning tries, and where."""

from typing import Any

import pytest

from action_balance.config.algorithm import DEFAULT
from action_balance.errors import UserError
from action_balance.studies.bonuses.settings import WORLDS as REPORTED
from action_balance.studies.bonuses.settings import BonusesSettings
from action_balance.studies.sweep.space import Choice
from action_balance.studies.tuning.settings import (
    LIMIT,
    METHODS,
    METHODS_OF,
    Q_SHARED,
    SHARED,
    WORLDS,
    WORLDS_OF,
    TuningSettings,
    space,
    trials,
)


def test_every_method_begins_with_its_anchors() -> None:
    example = {"algorithm.learning_rate": 1e-3, "algorithm.entropy_coef": 0.01, "algorithm.normalize_advantages": True}
    adaptive: dict[str, Any] = {"exploration.action_coef": "auto"}
    raw = {**adaptive, "exploration.normalize": "raw"}
    part = {"exploration.update_proportion": 0.25}
    assert {name: trials(METHODS[name], 2) for name in ("hash", "rnd", "rnd+hash", "rnd+distillation", "rnd+ucb")} == {
        "hash": [{}, example],
        "rnd": [{}, example | part],
        "rnd+hash": [adaptive, example | adaptive | part],
        "rnd+distillation": [{"exploration.action_coef": 1.0}, example | {"exploration.action_coef": 1.0} | part],
        "rnd+ucb": [raw, example | raw | part],
    }
    assert trials(METHODS["rnd+epsilon-greedy"], 1) == [{}]


def test_methods_that_share_a_setting_try_the_same_values_of_it() -> None:
    tried = {name: trials(setup, 12) for name, setup in METHODS.items()}
    for algorithm, shared in {DEFAULT: SHARED, "pqn": Q_SHARED}.items():
        own = [found for name, found in tried.items() if METHODS[name].algorithm == algorithm]
        for setting in (*(axis.name for axis in shared), "exploration.update_proportion", "exploration.normalize"):
            values = [[one[setting] for one in found[2:]] for found in own if setting in found[2]]
            assert len(values) > 1
            assert all(found == values[0] for found in values)
            assert len({*values[0]}) > 1
    assert "exploration.update_proportion" not in tried["hash"][2]  # without networks
    assert "exploration.normalize" not in tried["rnd+epsilon-greedy"][2]


def test_every_choice_is_tried_and_numbers_are_within_their_range() -> None:
    for setup in METHODS.values():
        for axis in space(setup).axes:
            tried = {one[axis.name] for one in trials(setup, LIMIT)[2:]}
            if isinstance(axis, Choice):
                assert tried == {*axis.values}
            else:
                assert axis.low <= min(tried) < max(tried) <= axis.high


def test_more_trials_begin_with_the_same_ones() -> None:
    few, many = (TuningSettings(trials=count).plan() for count in (3, 5))
    assert len(many) - len(few) == 2 * sum(len(METHODS_OF[kind]) * len(worlds) for kind, worlds in WORLDS_OF.items())
    assert few.items() <= many.items()


def test_nothing_of_the_tuning_is_reported() -> None:
    reported = BonusesSettings(scale="full").plan().values()
    seeds = {seed for config in reported for seed in range(config.seed, config.seed + config.seeds)}
    tuned = TuningSettings().plan().values()
    assert not {*WORLDS} & {*REPORTED}
    assert not {config.env for config in tuned} & {config.env for config in reported}
    assert not {seed for config in tuned for seed in range(config.seed, config.seed + config.seeds)} & seeds


def test_all_methods_have_the_same_steps_in_a_world() -> None:
    plan = TuningSettings(trials=1).plan()
    for world, about in WORLDS.items():
        found = {
            (one.agent.steps, one.agent.envs, one.seeds) for name, one in plan.items() if name.startswith(f"{world}--")
        }
        assert found == {(about.steps, about.envs, 8)}
    agent = plan["goal-30--rnd+hash--00"].agent
    assert (agent.intrinsic, agent.action_bonus, agent.algorithm.minibatches) == ("rnd", "hash", 1)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"trials": 0}, "--trials must be 1 or more"),
        ({"trials": 65}, "--trials must be at most 64"),
        ({"worlds": ("deep-sea-10",)}, "deep-sea-18"),
        ({"methods": ("coin-flip+hash",), "worlds": ("corridor-15",)}, "not tuned in corridor-15"),
        ({"methods": ("rnd+hsh",)}, r"rnd\+hash"),
    ],
)
def test_mistakes_are_clear_errors(wrong: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        TuningSettings(**wrong)
