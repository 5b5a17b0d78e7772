from dataclasses import replace
from typing import Any

import pytest

from action_balance.algorithms.ppo.ppo import PPO
from action_balance.config import tuned
from action_balance.config.presets import PRESETS, agent_config, preset_config, with_method
from action_balance.envs.spec import EnvSpec


def test_the_presets_of_atari_have_the_numbers_of_paper_and_rnd() -> None:
    paper, rnd = PRESETS["atari-paper"], PRESETS["atari-rnd"]
    assert (paper.envs, paper.steps, paper.exploration.update_proportion) == (32, 42_000_000, 0.25)
    assert (rnd.method, rnd.envs, rnd.updates, rnd.exploration.update_proportion) == ("rnd", 128, 30_000, 0.25)
    spec = EnvSpec("vector", (2,), (3,))
    for preset in (paper, rnd):
        ppo: Any = preset.algorithm
        assert (ppo.rollout_steps, ppo.epochs, ppo.minibatches, ppo.learning_rate) == (128, 4, 4, 1e-4)
        assert (ppo.gamma_ext, ppo.gamma_int, ppo.gae_lambda) == (0.999, 0.99, 0.95)
        assert (ppo.extrinsic_coef, ppo.intrinsic_coef, ppo.intrinsic_ends) == (2, 1, "never")
        assert (ppo.clip, PPO(preset, spec).entropy_coef, preset.epsilon) == (0.1, 0.001, 0)
        assert (preset.exploration.warmup_rollouts, preset.exploration.observation_clip) == (50, 5)
        image = preset.network
        assert (image.channels, image.features, image.trunk, image.bonus_features) == (32, 256, 448, 512)
    # The balance of the paper: the coefficient of Eq. 5, l2, and the pair that was taken.
    assert (paper.action_coef, paper.exploration.action_coef_end, paper.normalize) == (1, None, "l2")
    assert paper.settings_of("distillation") == {}


def test_the_preset_of_a_kind_of_world_has_what_was_tuned_for_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"algorithm.learning_rate": 0.25, "bonus_settings.icm.features": 64}
    monkeypatch.setattr(tuned, "_chosen", lambda: {"chains": {"icm": chosen, "common": {"algorithm.clip": 0.3}}})
    agent = agent_config("chains", method="ppo", intrinsic="icm")
    assert (agent.preset, agent.algorithm.learning_rate) == ("chains", 0.25)
    assert agent.bonus_settings == {"icm": {"features": 64}}
    assert agent == preset_config("chains", "ppo", "icm")
    ppo: Any = agent_config("chains").algorithm
    assert ppo.clip == 0.3
    assert agent_config("rooms", method="ppo", intrinsic="icm").algorithm == PRESETS["study"].algorithm
    # What is given takes the place of what was chosen.
    plain = PRESETS["study"].algorithm
    changed = agent_config("chains", method="ppo", intrinsic="icm", algorithm=plain, bonus_settings={})
    assert (changed.algorithm, changed.bonus_settings) == (plain, {})


def test_with_another_method_only_what_was_tuned_is_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    of_icm = {"algorithm.learning_rate": 0.25, "algorithm.clip": 0.3, "bonus_settings.icm.features": 64}
    of_rnd = {"algorithm.learning_rate": 0.5, "exploration.update_proportion": 0.125}
    monkeypatch.setattr(tuned, "_chosen", lambda: {"chains": {"icm": of_icm, "rnd": of_rnd}})
    icm = agent_config("chains", method="ppo", intrinsic="icm", envs=4)
    clip: Any = {"clip": 0.4}
    changed = with_method(replace(icm, algorithm=replace(icm.algorithm, **clip)), intrinsic="rnd")
    assert changed.algorithm == replace(PRESETS["chains"].algorithm, learning_rate=0.5, **clip)
    assert changed.envs == 4
    assert (changed.exploration.update_proportion, changed.bonus_settings) == (0.125, {})
    assert with_method(changed, intrinsic="icm").bonus_settings == {"icm": {"features": 64}}
