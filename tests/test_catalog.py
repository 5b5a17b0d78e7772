"""Everything that there is can be listed, with a few words about it."""

import importlib.util

import pytest

from action_balance.catalog import (
    ABOUT_BONUSES,
    ABOUT_ENVIRONMENTS,
    ABOUT_PRESETS,
    KINDS,
    catalog,
    gymnasium_ids,
)
from action_balance.config.families import FAMILIES
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, METHODS
from action_balance.config.presets import PRESETS
from action_balance.envs.atari import games
from action_balance.errors import UserError


def names(kind: str) -> list[str]:
    return [item["name"] for item in catalog(kind)]  # type: ignore[arg-type] # the tests know the kinds


def test_everything_is_described_and_nothing_else_is() -> None:
    assert all(item["about"] for kind in KINDS for item in catalog(kind))
    assert all(one.about for one in METHODS.values())
    assert {*METHODS} == {*names("methods")}
    assert {*ABOUT_BONUSES} == {*INTRINSIC_BONUSES, *ACTION_BONUSES} == {*names("bonuses")}
    assert {*ABOUT_PRESETS} == {*PRESETS} == {*names("presets")}
    assert {*ABOUT_ENVIRONMENTS} <= {*names("environments")}


def test_environments_are_the_families_with_their_settings() -> None:
    found = {item["name"]: item["settings"] for item in catalog("environments")}
    assert {name.partition(":")[0] for name in found} == {*(name.rstrip(":") for name in FAMILIES), "MODULE"}
    assert "--size" in found["deep-sea"]
    assert {"--env-kwargs", "--wrapper"} <= {*found["gym:ID"]}


def test_entries_say_what_they_are_made_of() -> None:
    methods = {item["name"]: (item["intrinsic"], item["action_bonus"]) for item in catalog("methods")}
    assert methods["action-balance-rnd"] == ("rnd", "distillation")
    bonuses = {item["name"]: (item["intrinsic"], item["action_bonus"]) for item in catalog("bonuses")}
    assert (bonuses["rnd"], bonuses["ucb"], bonuses["hash"]) == ((True, False), (False, True), (True, True))
    presets = {item["name"]: (item["envs"], item["steps"]) for item in catalog("presets")}
    assert presets["atari-paper"] == (32, 42_000_000)


def test_games_are_those_of_the_emulator_or_those_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    found = catalog("games")
    assert len(found) > 50
    assert [item["name"] for item in found if item["of_paper"]] == [f"atari:{one}" for one in games.PAPER_GAMES]

    def missing() -> None:
        raise UserError("ale-py is not installed")

    monkeypatch.setattr("action_balance.catalog.games", missing)
    assert names("games") == [f"atari:{one}" for one in games.PAPER_GAMES]


def test_ids_of_gymnasium_have_their_newest_version_only() -> None:
    found = [item["name"] for item in gymnasium_ids()]
    assert {"gym:CartPole-v1", "gym:MiniGrid-DoorKey-5x5-v0", "gym:ActionBalance/Grid-v0"} <= {*found}
    assert "gym:CartPole-v0" not in found
    assert catalog("environments", gym=True)[-1]["name"] == found[-1]


def test_without_gymnasium_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r'gymnasium is not installed, but --gym needs it: .*"\.\[gym\]"'):
        gymnasium_ids()
