"""What networks are built for, what a run records of it, and what is reported if it has changed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

POLE = EnvSpec("vector-stack", (1, 4), (2,), parts=(("", 4),), normalize_obs=True)
ROOM = EnvSpec("vector-stack", (1, 7), (3, 2), parts=(("direction", 4), ("place", 3)), normalize_obs=True)
SCREEN = EnvSpec("image-stack", (4, 84, 84), (18,), dtype="uint8")
TILES = EnvSpec("image", (10, 10, 4), (5,), dtype="bool")
CELL = EnvSpec("vector", (25,), (2,), states=25)


@pytest.mark.parametrize(
    ("spec", "image", "stack", "frame", "size"),
    [
        (CELL, False, False, (25,), 25),
        (TILES, True, False, (10, 10, 4), 400),
        (SCREEN, True, True, (84, 84), 28224),
        (EnvSpec("image-stack", (2, 50, 60, 3), (2,)), True, True, (50, 60, 3), 18000),
    ],
)
def test_a_bonus_sees_the_newest_frame(
    spec: EnvSpec, image: bool, stack: bool, frame: tuple[int, ...], size: int
) -> None:
    assert (spec.is_image, spec.is_stack, spec.frame_shape, spec.size) == (image, stack, frame, size)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"kind": "sound"}, "unknown kind of observation 'sound'"),
        ({"kind": "image"}, "has 2 or 3 axes"),
        ({"shape": (2, 3)}, "has 1 axes"),
        ({"shape": (0,)}, "none of them empty"),
        ({"nvec": (1,)}, "two or more discrete choices"),
    ],
)
def test_what_no_agent_can_use_is_a_clear_error(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        replace(CELL, **settings)


@pytest.mark.parametrize("spec", [ROOM, SCREEN])
def test_a_specification_survives_json(spec: EnvSpec) -> None:
    assert EnvSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) == spec
    spec.check_unchanged(spec, "gym:A-v0")


@pytest.mark.parametrize(
    "recorded",
    [None, {}, "(4,)", {**POLE.to_dict(), "parts": [1]}, {**POLE.to_dict(), "kind": "vector"}],
)
def test_a_specification_that_was_not_recorded_cannot_have_changed(recorded: Any) -> None:
    assert EnvSpec.from_dict(recorded) is None
    POLE.check_unchanged(EnvSpec.from_dict(recorded), "gym:A-v0")


@pytest.mark.parametrize(
    ("before", "now", "parts"),
    [
        (POLE, replace(POLE, shape=(1, 6), nvec=(3,)), ["(1, 4)", "2 actions", "(1, 6)", "3 actions"]),
        (POLE, replace(SCREEN, nvec=(2,)), ["vector-stack", "float32", "image-stack", "uint8"]),
        # As many numbers, which mean something else.
        (
            ROOM,
            replace(ROOM, parts=(("place", 3), ("heading", 4))),
            ["direction 4, place 3", "place 3, heading 4", "(3, 2) choices"],
        ),
    ],
)
def test_a_change_is_reported_in_one_line(before: EnvSpec, now: EnvSpec, parts: list[str]) -> None:
    with pytest.raises(UserError) as error:
        now.check_unchanged(before, "gym:A-v0")
    line = str(error.value)
    assert line.startswith("gym:A-v0 has changed")
    assert "\n" not in line
    assert all(part in line for part in parts)
