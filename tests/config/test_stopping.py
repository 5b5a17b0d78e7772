"""Conditions that end a run: what can be written, and when they hold."""

import math
import re
from pathlib import Path

import pytest

from action_balance.config.agent import AgentConfig
from action_balance.config.algorithm import ALGORITHMS
from action_balance.config.registry import algorithm_class, env_config
from action_balance.config.stopping import METRICS, StopCondition, first_that_holds
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "metrics.md"


@pytest.mark.parametrize(
    ("text", "value", "holds"),
    [
        ("return>=0.9", 0.9, True),
        ("return >= 0.9", 0.89, False),
        ("episode_return>0.9", 0.9, False),
        ("score<-1e2", -100.5, True),
        ("return<=5", 5, True),
        ("return>=0", math.nan, False),
    ],
)
def test_a_condition_compares_a_metric_with_a_number(text: str, value: float, holds: bool) -> None:
    condition = StopCondition.parse(text)
    assert condition.metric == "episode_return"
    assert condition.holds({"episode_return": value}) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("return", "does not compare a metric with a number"),
        ("return=1", "does not compare a metric with a number"),
        ("return>=1.2.3", "does not compare a metric with a number"),
        ("return>=1e999", "does not compare a metric with a number"),
        ("retrn>=1", r"did you mean return\?"),
    ],
)
def test_anything_else_is_refused_before_a_run_begins(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        TrainConfig(env_config("deep-sea"), stop_when=(text,))


def test_a_bonus_of_a_user_may_have_metrics_of_its_own() -> None:
    config = TrainConfig(env_config("deep-sea"), AgentConfig(intrinsic="my_bonus:Mine"), stop_when=("mine>1",))
    assert config.conditions == [StopCondition("mine>1", "mine", ">", 1.0)]


def test_one_condition_suffices_and_all_are_checked() -> None:
    low, high = StopCondition.parse("states>=3"), StopCondition.parse("return>=1")
    assert first_that_holds([high, low], {"states": 4.0, "episode_return": 0.0}) is low
    assert first_that_holds([high, low], {"states": 2.0, "episode_return": 0.0}) is None
    with pytest.raises(UserError, match="this run has no metric episode_return: choose from states"):
        first_that_holds([low, high], {"states": 4.0})


def test_all_documented_metrics_can_be_compared() -> None:
    section = PAGE.read_text().partition("\n## All metrics\n")[2].partition("\n## ")[0]
    documented = dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", section, re.MULTILINE))
    numbers = {name for name, part in documented.items() if part != "`timing.jsonl`"}
    craftax = env_config("craftax:Craftax-Classic-Symbolic-v1")
    of_algorithms = {name for one in ALGORITHMS for name in algorithm_class(one).metrics}
    known = {*METRICS, *of_algorithms, *craftax.info_names}
    assert known >= numbers - {"seed", "action_frequency", "parameters_finite"}
    (condition,) = TrainConfig(craftax, AgentConfig(), stop_when=("achievements>=22",)).conditions
    assert (condition.metric, condition.value) == ("achievements", 22)
