from typing import Any

import ale_py.vector_env
import pytest

from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.atari.emulator import Atari
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def test_a_game_is_trained_on_under_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = ale_py.vector_env.AtariVectorEnv

    def watched(*arguments: Any, **settings: Any) -> Any:
        asked.append((*arguments, settings))
        return original(*arguments, **settings)

    monkeypatch.setattr(ale_py.vector_env, "AtariVectorEnv", watched)
    environment = AtariConfig("atari:pitfall").make(4, 2, (3, 0), 1)
    assert isinstance(environment, Atari)
    environment.close()
    game, envs, settings = asked[0]
    assert (game, envs, asked[1]) == ("pitfall", 2, asked[0])
    assert len(asked) == 2
    assert {
        "repeat_action_probability": 0.25,
        "max_num_frames_per_episode": 18_000,
        "frameskip": 4,
        "maxpool": True,
        "noop_max": 0,
        "use_fire_reset": False,
        "episodic_life": False,
        "reward_clipping": False,  # the sign is taken later
        "num_threads": 1,
    }.items() <= settings.items()
    assert len(set(environment.seeds.ravel().tolist())) == 4


def test_an_observation_is_a_stack_of_four_grey_frames() -> None:
    assert AtariConfig("atari:pitfall").spec == EnvSpec("image-stack", (4, 84, 84), (18,), dtype="uint8")
    assert AtariConfig("atari:breakout").spec.nvec == (4,)


def test_a_game_has_a_title_for_people() -> None:
    config = AtariConfig("atari:montezuma_revenge")
    assert (config.game, config.title) == ("montezuma_revenge", "Montezuma's Revenge")
    assert AtariConfig("atari:private_eye").title == "Private Eye"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("atari", "needs a game, e.g. atari:pitfall"),
        ("atari:", "needs a game, e.g. atari:pitfall"),
        ("atari:montezumas_revenge", r"did you mean montezuma_revenge\?"),
        ("atari:combat", "needs several players"),
    ],
)
def test_a_game_that_cannot_be_played_is_a_clear_error(name: str, hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        AtariConfig(name)
