"""The bonus protocol: which class a name stands for, what a bonus sees, and what is refused."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from action_balance.bonuses import base
from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, Bonus, BonusObs, Transitions, bonus_class, make_bonus
from action_balance.bonuses.rnd import RND
from action_balance.config.agent import AgentConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import INTRINSIC_BONUSES
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

SPEC = EnvSpec("vector", (2,), (3,), states=4)
STATS = RunningMeanStd(jnp.float32(4), jnp.array([1.0, 10.0]), jnp.array([16.0, 400.0]))  # std 2 and 10
KEY = jax.random.key(0)


def transitions() -> Transitions:
    """Two steps of one environment."""
    return Transitions(
        frame=jnp.array([[[1.0, 10.0]], [[3.0, 20.0]]]),
        next_frame=jnp.array([[[3.0, 20.0]], [[5.0, 1000.0]]]),
        action=jnp.array([[2], [0]]),
        index=jnp.array([[0], [1]]),
        next_index=jnp.array([[1], [3]]),
        terminated=jnp.array([[False], [True]]),
        truncated=jnp.array([[False], [False]]),
    )


def test_an_observation_is_normalised_and_clipped() -> None:
    obs = BonusObs(jnp.array([5.0, 1000.0]), jnp.int32(3), STATS, 5.0)
    assert obs.normalized.tolist() == pytest.approx([2, 5])


def test_a_function_sees_every_transition_of_a_rollout_and_of_a_minibatch() -> None:
    rollout = Batch(transitions(), STATS, 5.0, KEY)

    def look(obs: BonusObs, action: Any, next_obs: BonusObs) -> Any:
        return jnp.stack([obs.normalized[0], action, next_obs.normalized[1], obs.index, next_obs.index])

    found = rollout.each(look)
    assert found.tolist() == [[[0, 2, 1, 0, 1]], [[1, 0, 5, 1, 3]]]
    flat = Transitions(*(getattr(transitions(), name)[:, 0] for name in Transitions.__dataclass_fields__))
    assert Batch(flat, STATS, 5.0, KEY).each(look).tolist() == found[:, 0].tolist()


def test_names_stand_for_classes_and_a_class_can_be_anywhere() -> None:
    assert bonus_class("rnd", INTRINSIC) is RND
    assert bonus_class("action_balance.bonuses.rnd:RND", ACTION) is RND
    assert make_bonus("none", INTRINSIC, AgentConfig(), SPEC) is None
    with pytest.raises(UserError, match="not a subclass"):
        bonus_class("action_balance.envs.spec:EnvSpec", INTRINSIC)


@dataclass(frozen=True)
class Nothing(Bonus):
    """A bonus that does nothing."""


def test_a_bonus_that_neither_scores_nor_rewards_is_refused_for_both_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    bonus = Nothing(SPEC, AgentConfig(), None)
    assert bonus.init(KEY, STATS) == (None, None)
    monkeypatch.setitem(INTRINSIC_BONUSES, "nothing", "nothing:Nothing")
    monkeypatch.setattr(base, "load_object", lambda _: Nothing)
    for slot, option in ((INTRINSIC, "--intrinsic"), (ACTION, "--action-bonus")):
        with pytest.raises(UserError, match=option):
            make_bonus("nothing", slot, AgentConfig(), SPEC)


def test_a_bonus_whose_init_takes_no_statistics_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Old(RND):
        def init(self, key: Any) -> Any:  # type: ignore[override]
            del key

    monkeypatch.setattr(base, "load_object", lambda _: Old)
    with pytest.raises(UserError, match=r"def init\(self, key, stats\)"):
        make_bonus("mine:Old", INTRINSIC, AgentConfig(), SPEC)


def test_settings_of_a_bonus_that_is_not_used_are_refused() -> None:
    with pytest.raises(UserError, match="distillation"):
        AgentConfig(method="rnd", bonus_settings=FrozenDict(distillation={"learns_from": "all"}))
    misspelt = AgentConfig(bonus_settings=FrozenDict(distillation={"learns_fro": "all"}))
    with pytest.raises(UserError, match="learns_fro"):
        make_bonus("distillation", ACTION, misspelt, SPEC)


def test_an_action_channel_needs_images() -> None:
    with pytest.raises(UserError, match="needs images"):
        make_bonus("distillation", ACTION, AgentConfig(method="action-balance-rnd-channel"), SPEC)
