"""Each part of the agent adds its own metrics, and a part that is missing adds none."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import pytest
from small_agent import SMALL, WORLD, algorithm

from action_balance.algorithms import learner
from action_balance.algorithms.base import Algorithm, Metrics
from action_balance.bonuses.base import INTRINSIC, NoSettings
from action_balance.bonuses.counts import StateCounts
from action_balance.errors import UserError

NEXT_STATE = {"bonus_mean", "bonus_scale"}
ACTION = {"entropy_bonus", "entropy_added", "kl_beta_pi", "action_bonus_mean", "loss_action"}
LEARNING = {
    *("loss_policy", "loss_value_int", "loss_value_ext", "clip_fraction", "first_ratio"),
    *("explained_int", "explained_ext"),
}


def _reported(agent: Algorithm) -> set[str]:
    """Names of the metrics of an update, which is traced but not compiled."""

    def metrics(key: jax.Array) -> Metrics:
        return learner.train_step(WORLD, learner.init_state(WORLD, agent, key), agent)[1]

    return set(jax.eval_shape(metrics, jax.random.key(0)))


@pytest.mark.parametrize(
    ("method", "own"),
    [
        ("random", set()),
        ("ppo", LEARNING),
        ("epsilon-greedy", LEARNING | {"kl_beta_pi"}),
        ("count", LEARNING | NEXT_STATE),
        ("rnd", LEARNING | NEXT_STATE | {"loss_next_state"}),
        ("action-balance", LEARNING | ACTION),
        ("action-balance-rnd", LEARNING | NEXT_STATE | {"loss_next_state"} | ACTION),
    ],
)
def test_a_method_reports_the_metrics_of_its_parts(method: str, own: set[str]) -> None:
    always = {
        *("episodes", "episode_return", "best_return", "first_reward", "states", "action_frequency"),
        *("entropy_pi", "entropy_beta", "parameters_finite"),
    }
    assert _reported(algorithm(replace(SMALL, method=method))) == always | own


def test_a_bonus_cannot_replace_a_metric_of_another_part() -> None:
    @dataclass(frozen=True)
    class Impostor(StateCounts):
        def metrics(self, params: Any, state: Any) -> dict[str, Any]:
            del params
            return {"states": state.sum()}

    one = algorithm(replace(SMALL, method="count"))
    impostor = replace(one)
    impostor.__dict__["bonuses"] = {INTRINSIC: Impostor(one.spec, one.config, NoSettings())}
    with pytest.raises(UserError, match="states"):
        _reported(impostor)
