from dataclasses import replace

import pytest

from action_balance.config import tuned
from action_balance.config.presets import PRESETS, agent_config, preset_config, with_method


def test_the_presets_of_atari_have_the_numbers_of_paper_and_rnd() -> None:
    paper, rnd = PRESETS["atari-paper"], PRESETS["atari-rnd"]
    assert (paper.envs, paper.steps, paper.bonus.update_proportion) == (32, 42_000_000, 0.25)
    assert (rnd.method, rnd.envs, rnd.updates, rnd.bonus.update_proportion) == ("rnd", 128, 30_000, 0.25)
    for preset in (paper, rnd):
        ppo = preset.ppo
        assert (ppo.rollout_steps, ppo.epochs, ppo.minibatches, ppo.learning_rate) == (128, 4, 4, 1e-4)
        assert (ppo.gamma_ext, ppo.gamma_int, ppo.gae_lambda) == (0.999, 0.99, 0.95)
        assert (ppo.extrinsic_coef, ppo.intrinsic_coef, ppo.intrinsic_ends) == (2, 1, "never")
        assert (ppo.clip, preset.entropy_coef, preset.epsilon) == (0.1, 0.001, 0)
        assert (preset.bonus.warmup_rollouts, preset.bonus.observation_clip) == (50, 5)
        image = preset.image
        assert (image.channels, image.features, image.trunk, image.bonus_features) == (32, 256, 448, 512)
    # The balance of the paper: the coefficient of Eq. 5, l2, and the pair that was taken.
    assert (paper.action_coef, paper.bonus.action_coef_end, paper.normalize) == (1, None, "l2")
    assert paper.settings_of("distillation") == {}


def test_the_preset_of_a_kind_of_world_has_what_was_tuned_for_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = {"ppo.learning_rate": 0.25, "bonus_settings.icm.features": 64}
    monkeypatch.setattr(tuned, "_chosen", lambda: {"chains": {"icm": chosen, "common": {"ppo.clip": 0.3}}})
    agent = agent_config("chains", method="ppo", intrinsic="icm")
    assert (agent.preset, agent.ppo.learning_rate, agent.bonus_settings) == ("chains", 0.25, {"icm": {"features": 64}})
    assert agent == preset_config("chains", "ppo", "icm")
    assert agent_config("chains").ppo.clip == 0.3
    assert agent_config("rooms", method="ppo", intrinsic="icm").ppo == PRESETS["study"].ppo
    # What is given takes the place of what was chosen.
    changed = agent_config("chains", method="ppo", intrinsic="icm", ppo=PRESETS["study"].ppo, bonus_settings={})
    assert (changed.ppo, changed.bonus_settings) == (PRESETS["study"].ppo, {})


def test_with_another_method_only_what_was_tuned_is_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    of_icm = {"ppo.learning_rate": 0.25, "ppo.clip": 0.3, "bonus_settings.icm.features": 64}
    of_rnd = {"ppo.learning_rate": 0.5, "bonus.update_proportion": 0.125}
    monkeypatch.setattr(tuned, "_chosen", lambda: {"chains": {"icm": of_icm, "rnd": of_rnd}})
    icm = agent_config("chains", method="ppo", intrinsic="icm", envs=4)
    changed = with_method(replace(icm, ppo=replace(icm.ppo, clip=0.4)), intrinsic="rnd")
    assert (changed.ppo.learning_rate, changed.ppo.clip, changed.envs) == (0.5, 0.4, 4)
    assert (changed.bonus.update_proportion, changed.bonus_settings) == (0.125, {})
    assert with_method(changed, intrinsic="icm").bonus_settings == {"icm": {"features": 64}}
