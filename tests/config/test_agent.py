"""What the settings of the agent may be."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.ppo.ppo import PPO
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import METHODS, Method
from action_balance.config.network import NetworkConfig
from action_balance.config.presets import PRESETS, preset_config
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

BAD = [
    (AgentConfig, "envs", 0, "must be 1 or more"),
    (AgentConfig, "envs", 99999999999, "must be at most 2147483647"),
    (AgentConfig, "envs", True, "must be a whole number, not True"),
    (AgentConfig, "steps", 10**15 + 1, r"must be at most 1e\+15"),
    (AgentConfig, "steps", 10**15, "takes 976562499992 updates of 1024 steps, but a run has at most 2147483647"),
    (NetworkConfig, "layers", 101, "must be at most 100, not 101"),
    (ExplorationConfig, "warmup_rollouts", -1, "must be 0 or more"),
    (PPOConfig, "learning_rate", 0.0, "must be above 0"),
    (PPOConfig, "normalize_returns", 1, "must be true or false, not 1"),
    (ExplorationConfig, "update_proportion", 1.5, "must be at most 1"),
    (PPOConfig, "gae_lambda", float("nan"), "must be a finite number"),
    (PPOConfig, "intrinsic_coef", 1e300, "must be at most 1000000"),
    (ExplorationConfig, "action_coef", "atuo", "must be a number, auto or none, not 'atuo'"),
    (ExplorationConfig, "action_coef_min", 4.0, "within its limits"),
    (ExplorationConfig, "action_coef_max", 0.5, "within its limits"),
    (HostConfig, "groups", 0, "must be 1 or more"),
    (PPOConfig, "intrinsic_ends", "nevr", r"'nevr': did you mean never\?"),
    (NetworkConfig, "precision", 32, "must be one of float32, bfloat16, not 32"),
]


@pytest.mark.parametrize(("kind", "name", "value", "hint"), BAD)
def test_a_value_that_cannot_be_names_its_flag(kind: type[Any], name: str, value: Any, hint: str) -> None:
    with pytest.raises(UserError, match=hint) as error:
        kind(**{name: value})
    assert f"--{name.replace('_', '-')}" in str(error.value)
    assert "\n" not in str(error.value)


def test_the_ends_of_what_is_allowed_are_allowed() -> None:
    ends: dict[str, Any] = {"clip": 1e-9, "entropy_coef": 0, "entropy_base": 1, "gae_lambda": 0}
    PPOConfig("ppo", 1, 1, 1, 1e30, gamma_ext=1, gamma_int=0, extrinsic_coef=0, **ends)
    ExplorationConfig(0, 0, epsilon=1, epsilon_end=0, update_proportion=1, warmup_rollouts=0)
    NetworkConfig(memory_units=1, hidden=1, layers=1, bonus_hidden=1, bonus_outputs=1, predictor_layers=0)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"method": "rdn"}, r"unknown --method 'rdn': did you mean rnd\?"),
        ({"intrinsic": "rdn"}, r"unknown --intrinsic 'rdn': did you mean rnd\?"),
        ({"action_bonus": "rnd"}, "unknown --action-bonus"),
        ({"envs": 6}, "change --minibatches or --envs"),
        ({"host": HostConfig(groups=3)}, "8 environments cannot be split into 3 equal groups"),
        ({"steps": 1023}, "use --steps 1024 or more"),
        ({"bonus_settings": {"other": {}}}, "does not use the bonus other"),
    ],
)
def test_settings_that_do_not_fit_together_are_one_line(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint) as error:
        AgentConfig(**settings)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("bonus", [{"action_coef": 0.5}, {"action_coef_end": 0.5}, {"normalize": "raw"}])
def test_settings_of_the_action_bonus_are_refused_without_one(bonus: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="rnd has no action bonus: leave out --"):
        AgentConfig(method="rnd", exploration=ExplorationConfig(**bonus))
    AgentConfig(method="action-balance", exploration=ExplorationConfig(**bonus))
    AgentConfig(method="rnd", action_bonus="distillation", exploration=ExplorationConfig(**bonus))


ADAPTS = ExplorationConfig(action_coef="auto", target_kl=0.2, action_coef_start=2.0)


def test_the_settings_of_a_coefficient_that_adapts_need_one() -> None:
    config = AgentConfig(exploration=ADAPTS)
    assert (config.adapts, config.action_coef, config.target_kl) == (True, "auto", 0.2)
    assert not AgentConfig().adapts
    for name in ("target_kl", "action_coef_start"):
        with pytest.raises(UserError, match=f"needs --action-coef auto: leave out --{name.replace('_', '-')}"):
            AgentConfig(exploration=ExplorationConfig(**{name: getattr(ADAPTS, name)}))
    with pytest.raises(UserError, match="leave out --action-coef-end"):
        AgentConfig(exploration=replace(ADAPTS, action_coef_end=0.5))
    with pytest.raises(UserError, match="rnd has no action bonus: leave out --action-coef, or set it to none"):
        AgentConfig(method="rnd", exploration=ADAPTS)


def test_random_actions_are_refused_where_they_do_nothing_or_disturb() -> None:
    with pytest.raises(UserError, match="leave out --epsilon"):
        AgentConfig(method="random", exploration=ExplorationConfig(epsilon=0.5))
    with pytest.raises(UserError, match="leave out --entropy-coef"):
        replace(PRESETS["classic"], method="random", algorithm=PPOConfig(entropy_coef=0.1))
    with pytest.raises(UserError, match="--action-coef auto and --epsilon"):
        AgentConfig(exploration=replace(ADAPTS, epsilon=0.1))


def test_ucb_is_not_normalised_unless_it_is_said() -> None:
    ucb = AgentConfig(action_bonus="ucb")
    assert (AgentConfig().normalize, ucb.normalize) == ("l2", "raw")
    assert replace(ucb, exploration=ExplorationConfig(normalize="l2")).normalize == "l2"


def entropy_coef(config: AgentConfig) -> float:
    return PPO(config, EnvSpec("vector", (2,), (3,))).entropy_coef


def test_a_method_has_defaults_that_settings_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [entropy_coef(AgentConfig(method=name)) for name in ("ppo", "entropy", "rnd")] == [0.001, 0.01, 0.001]
    classic = [entropy_coef(replace(PRESETS["classic"], method=name)) for name in ("ppo", "entropy", "random")]
    assert classic == [0.01, 0.1, 0.01]
    assert [AgentConfig(method=name).epsilon for name in ("ppo", "epsilon-greedy", "entropy")] == [0, 0.1, 0]
    assert entropy_coef(AgentConfig(method="entropy", algorithm=PPOConfig(entropy_coef=0.001))) == 0.001
    assert not AgentConfig(method="epsilon-greedy", exploration=ExplorationConfig(epsilon=0.0)).beta_differs
    assert [AgentConfig(method=name).beta_differs for name in ("ppo", "epsilon-greedy", "action-balance")] == [0, 1, 1]
    monkeypatch.setitem(METHODS, "own", Method(action_bonus="count", action_coef="auto", target_kl=0.3))
    own = AgentConfig(method="own", exploration=ExplorationConfig(action_coef_start=2.0))
    assert (own.adapts, own.target_kl) == (True, 0.3)
    assert not replace(own, exploration=ExplorationConfig(action_coef=2.0)).adapts


def test_a_method_is_a_preset_of_two_bonuses_that_settings_replace() -> None:
    agents = {name: preset_config("study", name) for name in METHODS}
    assert {name: (agent.intrinsic_name, agent.action_bonus_name) for name, agent in agents.items()} == {
        "random": ("none", "none"),
        "ppo": ("none", "none"),
        "pqn": ("none", "none"),
        "epsilon-greedy": ("none", "none"),
        "entropy": ("none", "none"),
        "count": ("count", "none"),
        "hash": ("hash", "none"),
        "rnd": ("rnd", "none"),
        "action-balance": ("none", "distillation"),
        "action-balance-rnd": ("rnd", "distillation"),
        "action-balance-rnd-channel": ("rnd", "distillation"),
        "action-balance-hash": ("rnd", "hash"),
        "elliptical": ("elliptical", "none"),
        "action-balance-elliptical": ("elliptical", "elliptical"),
    }
    other = AgentConfig(method="rnd", intrinsic="count", action_bonus="my_module:Mine")
    assert (other.intrinsic_name, other.action_bonus_name, other.balances) == ("count", "my_module:Mine", True)
    assert AgentConfig(method="rnd", action_bonus="none").label == "rnd"
    assert AgentConfig(method="ppo", intrinsic="rnd").label == "rnd"
    assert AgentConfig(method="ppo", intrinsic="rnd", action_bonus="hash").label == "rnd+hash"
    assert AgentConfig(method="epsilon-greedy", intrinsic="rnd").label == "epsilon-greedy with rnd+none"
    channel = AgentConfig(
        method="action-balance-rnd-channel", bonus_settings=FrozenDict(distillation={"learns_from": "all"})
    )
    assert channel.settings_of("distillation") == {"embedding": "channel", "learns_from": "all"}


@pytest.mark.parametrize(
    ("changed", "flags"),
    [
        (
            {"exploration": ExplorationConfig(warmup_rollouts=2**31 - 1)},
            "--warmup-rollouts 2147483647 times --rollout-steps 128",
        ),
        ({"algorithm": PPOConfig(epochs=2**30)}, "--epochs 1073741824 times --minibatches 4"),
    ],
)
def test_steps_and_minibatches_are_counted_in_32_bits(changed: dict[str, Any], flags: str) -> None:
    with pytest.raises(UserError, match=f"{flags} must be at most 2147483647"):
        AgentConfig(**changed)


def test_a_memory_learns_from_whole_environments_whatever_the_preset() -> None:
    vectorized = PRESETS["vectorized"]
    assert (vectorized.recurrent_units, vectorized.minibatch_of) == (0, "samples")
    recurrent = replace(vectorized, network=NetworkConfig(memory="gru"))
    assert (recurrent.recurrent_units, recurrent.minibatch_of) == (128, "environments")
    with pytest.raises(UserError, match="16 minibatches do not divide 8 environments"):
        replace(PRESETS["classic"], network=NetworkConfig(memory="gru"))
    with pytest.raises(UserError, match="does not learn: leave out --memory"):
        AgentConfig(method="random", network=NetworkConfig(memory="gru"))


def test_the_warm_up_counts_as_steps() -> None:
    # 25 rollouts of 2 environments x 10 steps, of which 3 are the warm-up.
    config = AgentConfig(
        steps=500, envs=2, algorithm=PPOConfig("ppo", 10, 1, 1), exploration=ExplorationConfig(warmup_rollouts=3)
    )
    assert (config.warmup_rollouts, config.updates, config.rollouts) == (3, 22, 25)
    assert [config.steps_at(update) for update in (0, 1, 22)] == [60, 80, 500]
    assert config.steps_at(np.array([1, 2])).tolist() == [80, 100]
    plain = replace(config, method="ppo")
    assert (plain.warmup_rollouts, plain.updates, plain.steps_at(25)) == (0, 25, 500)


@pytest.mark.parametrize(
    ("rollouts", "envs", "expected"),
    [
        (9, 8, 0),
        (10, 8, 1),
        (20, 8, 1),
        (21, 8, 2),
        (140, 8, 7),
        (141, 8, 8),  # 8,192 steps
        (10_000, 8, 8),
        (10_000, 12, 6),  # of 1,536 steps: 9,216 are the first whole rollouts that are enough
        (10_000, 128, 1),
    ],
)
def test_the_warm_up_is_8192_steps_but_one_rollout_in_20_at_most(rollouts: int, envs: int, expected: int) -> None:
    config = AgentConfig(steps=rollouts * envs * 128 + 5, envs=envs)
    assert (config.warmup_rollouts, config.updates) == (expected, rollouts - expected)


def test_there_is_no_warm_up_without_a_bonus_that_uses_statistics() -> None:
    assert [AgentConfig(method=name).warmup_rollouts for name in ("ppo", "count", "random")] == [0, 0, 0]
    assert [AgentConfig(method=name).warmup_rollouts for name in ("rnd", "action-balance", "hash")] == [8, 8, 8]
    assert AgentConfig(method="ppo", intrinsic="my_module:Mine").warmup_rollouts == 8  # it may use them
    ucb = AgentConfig(method="ppo", action_bonus="ucb")
    counts = replace(ucb, bonus_settings=FrozenDict(ucb={"counter": "count"}))
    assert (ucb.warmup_rollouts, counts.warmup_rollouts) == (8, 0)


def test_a_warm_up_that_leaves_nothing_to_learn_from_is_refused() -> None:
    exploration = ExplorationConfig(warmup_rollouts=50)
    message = "leaves nothing of 51200 steps to learn from: use --steps 52224 or more, or fewer --warmup-rollouts"
    with pytest.raises(UserError, match=f"^the warm-up of 50 rollouts {message}$"):
        AgentConfig(steps=51_200, exploration=exploration)
    assert AgentConfig(steps=52_224, exploration=exploration).updates == 1
    assert AgentConfig(steps=51_200, exploration=exploration, method="ppo").updates == 50
