import sys
from typing import Any

import ale_py.vector_env
import pytest
from ale_py import roms

from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.atari.games import FOR_SEVERAL, PAPER_GAMES, check_game, games
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def test_a_game_is_trained_on_under_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    original = ale_py.vector_env.AtariVectorEnv

    def watched(*arguments: Any, **settings: Any) -> Any:
        asked.append((*arguments, settings))
        return original(*arguments, **settings)

    monkeypatch.setattr(ale_py.vector_env, "AtariVectorEnv", watched)
    environment: Any = AtariConfig("atari:pitfall").make(4, 2, (3, 0), 1)
    environment.close()
    game, envs, settings = asked[0]
    assert (game, envs, asked[1:]) == ("pitfall", 2, [asked[0]])
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
    assert AtariConfig("atari:pitfall").spec == EnvSpec("image-stack", (4, 84, 84), (18,), dtype="uint8")


def test_a_game_has_a_title_for_people() -> None:
    titles = {"montezuma_revenge": "Montezuma's Revenge", "pitfall": "Pitfall!", "private_eye": "Private Eye"}
    assert {game: AtariConfig(f"atari:{game}").title for game in titles} == titles


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("atari:", "needs a game, e.g. atari:pitfall"),
        ("atari:montezumas_revenge", r"did you mean montezuma_revenge\?"),
        ("atari:combat", "needs several players"),
    ],
)
def test_a_game_that_cannot_be_played_is_a_clear_error(name: str, hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        AtariConfig(name)


def test_games_of_the_paper_come_first_and_those_for_several_players_are_left_out() -> None:
    assert tuple(games()[:6]) == PAPER_GAMES
    assert set(roms.get_all_rom_ids()) - set(games()) == FOR_SEVERAL


@pytest.mark.parametrize(("module", "package"), [("ale_py", "ale-py"), ("ale_py.vector_env", "gymnasium")])
def test_a_missing_package_is_named_with_its_extra(module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    config = AtariConfig("atari:pitfall")  # a game of the paper is known in any case
    with pytest.raises(UserError, match=rf"{package} is not installed.*\[atari\]"):
        _ = config.spec
    if module == "ale_py":
        with pytest.raises(UserError, match="ale-py is not installed"):
            check_game("breakout")
