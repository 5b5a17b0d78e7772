import jax
import numpy as np
import pytest

from action_balance.config.serialization import from_dict
from action_balance.envs.deep_sea.config import DeepSeaConfig
from action_balance.envs.deep_sea.environment import DeepSea
from action_balance.errors import UserError


def test_the_sea_is_drawn_with_its_surface_above_and_its_actions_by_meaning() -> None:
    config = DeepSeaConfig("deep-sea", 3)
    sea = config.make(jax.random.key(0))
    assert isinstance(sea, DeepSea)
    scene = config.scene(sea)
    assert scene.as_drawn(np.arange(9)).reshape(3, 3)[::-1].tolist() == np.arange(9).reshape(3, 3).tolist()
    assert scene.world.walls.reshape(3, 3)[::-1].tolist() == (~sea.reachable()).reshape(3, 3).tolist()
    assert scene.order[:3, 1].tolist() == sea.right_is.tolist()
    assert scene.order.sum(axis=1).tolist() == [1] * 9


def test_a_sea_has_2_to_1000_rows() -> None:
    assert DeepSeaConfig("deep-sea", 1000).spec.states == 1_000_000
    with pytest.raises(UserError, match="nothing to explore"):
        DeepSeaConfig("deep-sea", 1)
    with pytest.raises(UserError, match="does not fit into memory"):
        DeepSeaConfig("deep-sea", 1001)


def test_distractors_are_a_setting_that_configs_may_lack() -> None:
    plain = from_dict(DeepSeaConfig, {"name": "deep-sea", "size": 3})
    assert (plain.distractors, plain.spec.shape, plain.short_name) == (0, (9,), "deep-sea 3")
    noisy = DeepSeaConfig("deep-sea", 3, 4)
    assert (noisy.spec.shape, noisy.spec.states, noisy.short_name) == ((13,), 9, "deep-sea 3 with 4 distractors")
    assert noisy.title == "Deep Sea 3\N{MULTIPLICATION SIGN}3 with 4 distractors"
    sea = noisy.make(jax.random.key(0))
    assert noisy.scene(sea).as_drawn(np.arange(9)).tolist() == plain.scene(sea).as_drawn(np.arange(9)).tolist()
    with pytest.raises(UserError, match="--distractors must be 0 or more"):
        DeepSeaConfig("deep-sea", 3, -1)
