import pytest

from action_balance.config.families import FAMILIES, built_in, is_own


@pytest.mark.parametrize(
    ("name", "family"),
    [("open", "open"), ("deep-sea", "deep-sea"), ("atari", "atari:"), ("atari:pitfall", "atari:"), ("gym:a:b", "gym:")],
)
def test_a_name_or_its_beginning_is_of_a_built_in_family(name: str, family: str) -> None:
    assert built_in(name) == FAMILIES[family]
    assert not is_own(name)


def test_other_names_with_a_colon_are_of_users() -> None:
    assert [built_in(name) for name in ("opn", "my_module:Maze", "gymx:A-v0")] == [None] * 3
    assert [is_own(name) for name in ("opn", "opn:", "my_module:Maze", "gymx:A-v0", "")] == [
        False,
        False,
        True,
        True,
        False,
    ]
