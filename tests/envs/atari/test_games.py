import sys

import pytest

from action_balance.envs.atari.config import AtariConfig
from action_balance.envs.atari.games import PAPER_GAMES, check_game, games, title, vector_class
from action_balance.errors import UserError


@pytest.mark.parametrize(("module", "package"), [("ale_py", "ale-py"), ("ale_py.vector_env", "gymnasium")])
def test_a_missing_package_is_named_with_its_extra(module: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    config = AtariConfig("atari:pitfall")  # can be read in any case
    with pytest.raises(UserError, match=rf"{package} is not installed.*\[atari\]"):
        vector_class()
    with pytest.raises(UserError, match=package):
        _ = config.spec


def test_games_of_the_paper_come_first_and_are_known_without_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tuple(games()[:6]) == PAPER_GAMES
    monkeypatch.setitem(sys.modules, "ale_py", None)
    assert [check_game(game) for game in PAPER_GAMES] == list(PAPER_GAMES)
    with pytest.raises(UserError, match="ale-py is not installed"):
        check_game("breakout")


def test_a_title_is_as_people_write_it() -> None:
    assert {game: title(game) for game in ("montezuma_revenge", "pitfall", "private_eye")} == {
        "montezuma_revenge": "Montezuma's Revenge",
        "pitfall": "Pitfall!",
        "private_eye": "Private Eye",
    }
