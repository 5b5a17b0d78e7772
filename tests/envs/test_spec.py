"""What a run keeps of its environment's spaces, and what is said where they have changed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

POLE = EnvSpec((4,), "float32", (("", 4),), 2)
ROOM = EnvSpec((7,), "float32", (("direction", 4), ("place", 3)), (3, 2))


@pytest.mark.parametrize("seen", [POLE, ROOM, EnvSpec((84, 84, 3), "uint8", (), 18)])
def test_what_is_kept_is_what_was_seen(seen: EnvSpec) -> None:
    assert EnvSpec.from_data(json.loads(json.dumps(seen.as_data()))) == seen
    seen.check(seen, "gym:A-v0")


@pytest.mark.parametrize("kept", [None, {}, {"shape": [4]}, "(4,)", {**POLE.as_data(), "parts": [1]}])
def test_what_is_not_known_is_not_held_against_an_environment(kept: Any) -> None:
    assert EnvSpec.from_data(kept) is None
    POLE.check(EnvSpec.from_data(kept), "gym:A-v0")


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (
            POLE,
            EnvSpec((6,), "float32", (("", 6),), 3),
            "with observations (4,) float32 and 2 actions, and the environment now has observations (6,) float32 and 3 "
            "actions;",
        ),
        (
            POLE,
            EnvSpec((84, 84), "uint8", (), 2),
            "with observations (4,) float32 and 2 actions, and the environment now has observations (84, 84) uint8 and "
            "2 actions;",
        ),
        # As many numbers, which mean something else.
        (
            ROOM,
            replace(ROOM, parts=(("place", 3), ("way", 4))),
            "with observations (7,) float32 (direction 4, place 3) and actions of (3, 2) choices, and the environment "
            "now has observations (7,) float32 (place 3, way 4) and actions of (3, 2) choices;",
        ),
    ],
)
def test_what_has_changed_is_told_in_one_line(before: EnvSpec, now: EnvSpec, told: str) -> None:
    with pytest.raises(UserError) as error:
        now.check(before, "gym:A-v0")
    begin = "gym:A-v0 has changed: the run was trained "
    assert str(error.value) == f"{begin}{told} put it back as it was, or train anew in another --out"
