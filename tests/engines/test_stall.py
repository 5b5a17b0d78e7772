"""A run that does not learn because its values drown its policy says so once."""

from dataclasses import replace

import numpy as np
import pytest

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.presets import PRESETS
from action_balance.engines.stall import LONG, StallWatch, stalled
from action_balance.envs.spec import EnvSpec


@pytest.mark.parametrize(
    ("first", "last", "value", "policy", "expected"),
    [
        ([-500.0, -490.0], [-500.0, -500.0], 8000.0, 0.02, True),  # worse than at first
        ([-500.0], [-496.0], 8000.0, 0.02, True),  # better by less than 1 %
        ([-500.0], [-494.0], 8000.0, 0.02, False),  # better by more
        ([-500.0], [-500.0], 8000.0, -9.0, False),  # 8000 < 1000 x 9
        ([-500.0], [-500.0], 9.0, 0.0, False),  # 9 < 1000 x 0.01
        ([-500.0], [-500.0], 10.0, 0.0, True),
        ([0.0], [0.0], 10.0, 0.0, True),
        ([20.0], [500.0], 8000.0, 0.0, False),
    ],
)
def test_a_return_is_stalled_where_it_has_not_improved_and_the_value_loss_is_a_thousand_times_the_policys(
    first: list[float], last: list[float], value: float, policy: float, expected: bool
) -> None:
    drowns = PPOConfig().stall_reason({"loss_value_ext": value, "loss_policy": policy}, None) is not None
    assert (stalled(first, last) and drowns) is expected


def remedy(config: AgentConfig, spec: EnvSpec | None = None) -> str:
    """What is said to try where nothing is learned."""
    watch = StallWatch(config, spec=spec)
    losses = {"loss_value_ext": np.array([1e4]), "loss_policy": np.array([0.01])}
    said = [watch({**losses, "episode_return": np.array([-500.0])}) for _ in range(LONG)]
    return (said[-1] or "").partition(" Try ")[2]


def test_what_to_try_is_what_the_settings_lack() -> None:
    study, classic = AgentConfig(), PRESETS["classic"]
    scaled = replace(study, algorithm=replace(study.algorithm, normalize_returns=True))
    images = EnvSpec("image", (84, 84), (2,))
    assert remedy(study) == "--preset classic, or --normalize-returns and --trunks separate"
    assert remedy(scaled) == "--preset classic, or --trunks separate"
    assert remedy(study, images) == "--preset classic, or --normalize-returns"
    assert remedy(classic) == "a smaller --reward-scale or --value-coef"


def test_a_seed_is_watched_from_its_60th_update_with_episodes_and_named_once() -> None:
    watch, said = StallWatch(AgentConfig(), first_seed=5), []
    losses = {"loss_value_ext": np.array([1e4, 1e4]), "loss_policy": np.array([0.01, 0.01])}
    for update in range(200):
        # The first seed learns. The second ends an episode in every other update only.
        returns = np.array([update, -500.0 if update % 2 else np.nan])
        if line := watch({**losses, "episode_return": returns}):
            said.append((update, line))
    assert [update for update, _ in said] == [2 * LONG - 1]
    assert said[0][1].startswith("seed 6: the return has not improved since the first updates (from -500 to -500)")


def test_what_learns_nothing_is_not_watched() -> None:
    watch = StallWatch(AgentConfig(method="random"))
    assert all(watch({"episode_return": np.array([-500.0])}) is None for _ in range(LONG + 1))
