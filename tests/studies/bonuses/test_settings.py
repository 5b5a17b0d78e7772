from dataclasses import replace
from typing import Any

import pytest

from action_balance.config import tuned
from action_balance.config.methods import NONE
from action_balance.config.presets import PRESETS
from action_balance.errors import UserError
from action_balance.studies.bonuses.settings import INTRINSICS, LABELS, WORLDS, BonusesSettings, Condition, Setup


def test_every_bonus_has_a_label_and_every_setup_a_name_of_its_own() -> None:
    actions = [action for action in Setup.CHOICES if action != "random"]
    assert {*INTRINSICS, *Setup.CHOICES} <= LABELS.keys()
    setups = [Setup(intrinsic, action) for intrinsic in INTRINSICS for action in actions] + [Setup(NONE, "random")]
    assert len({one.name for one in setups}) == len(setups)
    assert [Setup.of(one.name) for one in setups] == setups
    labels = {"none": "PPO", "rnd": "RND", "rnd+hash": "RND + hash counts", "random": "random"}
    assert {name: Setup.of(name).label for name in labels} == labels


def test_studies_share_their_runs() -> None:
    actions = "distillation", "hash-3", "epsilon-greedy"
    chosen: dict[str, Any] = {"intrinsic": ("none", "rnd", "count"), "action_bonus": actions}
    names = {
        "counting": ("rnd", "count", "rnd+distillation"),
        "next-state": ("none", "rnd", "count", "random"),
        "action": ("rnd", "rnd+distillation", "rnd+epsilon-greedy"),
        "coefficient": ("rnd+hash-3",),
        "q-learning": ("none", "rnd", "pqn-none", "pqn-rnd"),
    }
    for study, found in names.items():
        plan = BonusesSettings(studies=(study,), worlds=("deep-sea-10",), **chosen).plan()
        assert [*plan] == [f"deep-sea-10--{name}" for name in found]
    assert len(BonusesSettings(**chosen).plan()) == 2 * len({name for found in names.values() for name in found}) - 1


def test_each_study_has_its_worlds() -> None:
    plan = [*map(Condition.of, BonusesSettings(scale="full").plan())]

    def worlds(setup: str) -> set[str]:
        return {one.world for one in plan if one.setup.name == setup}

    of_all = {*WORLDS} - {"deep-sea-40"}  # which is only trained where it is named
    continuous = {"car-continuous", "point-maze"}
    assert worlds("rnd") == worlds("elliptical") == worlds("random") == of_all
    assert worlds("ngu") == of_all - continuous
    assert worlds("count") == of_all - continuous - {"mountain-car", "doorkey-6"}  # whose states cannot be enumerated
    assert worlds("rnd+hash-auto") == {"deep-sea-10", "lock-6"}
    balanced = {"deep-sea-10", "deep-sea-10-distractors", "deep-sea-14", "deep-sea-20", "corridor-25", "lock-6"}
    assert worlds("rnd+ucb") == worlds("rnd+epsilon-greedy") == balanced
    assert worlds("none+elliptical") == continuous
    assert worlds("coin-flip+ucb") == balanced - {"corridor-25"}  # on the best bonus of the kind, too


def test_what_was_not_tuned_in_a_kind_of_world_is_left_out_there(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {("chains", "ppo", "rnd", NONE), ("chains", "ppo", "rnd", "hash")}
    monkeypatch.setattr("action_balance.studies.bonuses.settings.is_tuned", lambda *names: names in known)
    plan = [*BonusesSettings(scale="full", worlds=("deep-sea-10", "corridor-25", "mountain-car")).plan()]
    coefs = ["rnd+hash-auto", "rnd+hash-1", "rnd+hash-3", "rnd+hash-to-0"]
    chains = ["rnd", "rnd+hash", "random", *coefs]
    assert [one.partition("--")[2] for one in plan if one.startswith("deep-sea-10--")] == chains
    assert [one for one in plan if one.startswith("corridor-25--")] == ["corridor-25--random"]
    assert "mountain-car--icm" in plan  # where no method was tuned


def test_only_what_estimates_lifelong_counts_is_compared_with_them() -> None:
    def compared(world: str, name: str) -> tuple[bool, bool]:
        one = Condition(world, Setup.of(name))
        return one.counts_states, one.counts_pairs

    assert compared("deep-sea-10", "rnd") == (True, False)
    assert compared("deep-sea-10", "rnd+distillation") == (False, True)
    assert compared("deep-sea-14", "rnd") == (False, False)
    for name in ("ngu", "e3b", "none", "count+distillation", "rnd+hash-1", "rnd+ucb"):
        assert compared("deep-sea-10", name) == (False, False)


def test_the_full_study_has_32_agents_and_the_steps_of_each_world() -> None:
    full = BonusesSettings(scale="full")
    configs = {world: full.config(Condition(world, Setup("rnd"))) for world in WORLDS}
    continuous = {"car-continuous", "point-maze"}
    assert {name: config.seeds for name, config in configs.items() if config.seeds != 32} == dict.fromkeys(
        continuous, 16
    )
    assert configs["deep-sea-14"].agent.steps == 120_000
    goal = configs["goal-40"].agent
    assert (goal.steps, goal.envs, goal.algorithm.minibatches) == (40_000, 1, 1)
    assert {world: config.agent.preset for world, config in configs.items() if not world.startswith("deep-sea")} == {
        **{"lock-6": "chains", "corridor-25": "rooms", "goal-40": "rooms", "open-40": "rooms"},
        **{"mountain-car": "classic", "doorkey-6": "vectorized", **dict.fromkeys(continuous, "classic")},
    }
    assert BonusesSettings(scale="full", steps=2048).config(Condition("goal-40", Setup("rnd"))).agent.steps == 2048


def test_agents_have_what_was_tuned_for_their_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = {"algorithm.clip": 0.3, "exploration.action_coef": "auto", "exploration.normalize": "raw"}
    chosen = {"rnd+hash": hashed, "rnd+epsilon-greedy": {"exploration.epsilon": 0.2}, "common": {"algorithm.clip": 0.4}}
    monkeypatch.setattr(tuned, "_chosen", lambda: {"chains": chosen})

    def agent(setup: str, preset: str = "chains") -> Any:
        return Setup.of(setup).agent(2048, 8, preset)

    assert (agent("rnd+hash").algorithm.clip, agent("rnd+hash").exploration.action_coef) == (0.3, "auto")
    assert (agent("rnd+epsilon-greedy").exploration.epsilon, agent("rnd+epsilon-greedy").action_bonus) == (0.2, None)
    assert agent("icm").algorithm.clip == 0.4
    assert agent("icm", "rooms").algorithm == PRESETS["study"].algorithm
    assert agent("random").uniform
    # Coefficients differ from the setup in nothing but c.
    constant, falling = agent("rnd+hash-1"), agent("rnd+hash-to-0")
    assert constant == replace(agent("rnd+hash"), exploration=replace(agent("rnd+hash").exploration, action_coef=1.0))
    falls = falling.exploration
    assert (falls.action_coef, falls.action_coef_end, falls.normalize) == (3.0, 0.0, "raw")


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
