from action_balance.config.presets import PRESETS


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
