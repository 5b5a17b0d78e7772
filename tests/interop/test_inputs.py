"""Arguments of foreign loops become what training would make of them."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from action_balance import RND
from action_balance.config.serialization import from_dict
from action_balance.envs.gymnasium.spaces import Layout
from action_balance.errors import UserError
from action_balance.interop.inputs import Spaces

RANDOM = np.random.default_rng(0)
ROOM = spaces.Dict(
    {
        "image": spaces.Box(0, 255, (3, 44, 44), np.uint8),
        "place": spaces.Tuple((spaces.Box(-1, 1, (2,)), spaces.Discrete(3))),
        "mission": spaces.Text(5),
    }
)


def rooms(*lead: int) -> dict[str, Any]:
    place = (RANDOM.uniform(-1, 1, (*lead, 2)).astype(np.float32), RANDOM.integers(3, size=lead))
    return {"image": RANDOM.integers(256, size=(*lead, 3, 44, 44), dtype=np.uint8), "place": place}


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2, 3)),
        spaces.Box(0, 255, (3, 84, 84), np.uint8),
        spaces.MultiBinary(3),
        spaces.Discrete(7, start=2),
        spaces.MultiDiscrete([3, 4]),
        spaces.Dict(a=spaces.Box(0, 255, (44, 44), np.uint8), b=spaces.Tuple((spaces.Discrete(3), spaces.Box(0, 1)))),
    ],
)
def test_an_observation_becomes_the_frame_of_training(space: spaces.Space[Any]) -> None:
    space.seed(0)
    observation, layout = space.sample(), Layout.of(space)
    found, lead = Spaces.of(space).observations(observation)
    assert lead == ()
    expected = layout.frame(observation)
    np.testing.assert_array_equal(found[0], expected)
    assert Spaces.of(space).spec.frame_shape == layout.spec(1, (2,)).frame_shape


def test_parts_have_the_same_leading_axes() -> None:
    seen = Spaces.of(ROOM, spaces.MultiDiscrete([2, 3], start=[1, 0]))
    given = rooms(4, 2)
    frames, lead = seen.observations(given)
    assert (frames.shape, lead) == ((8, 3 * 44 * 44 + 4 * 5), (4, 2))
    np.testing.assert_array_equal(frames[5, : 3 * 44 * 44].reshape(44, 44, 3), given["image"][2, 1].transpose(1, 2, 0))
    numbers = np.ascontiguousarray(frames[5, -20:]).view(np.float32)
    np.testing.assert_array_equal(numbers, [*given["place"][0][2, 1], *np.eye(3)[given["place"][1][2, 1]]])
    assert seen.taken(np.array([[1, 2], [2, 0]]), (2,)).tolist() == [[0, 2], [1, 0]]
    assert (seen.nvec, seen.actions) == ((2, 3), 5)
    with pytest.raises(UserError, match=r"actions must be from 1 to 2, not 3 \(component 0\)"):
        seen.taken(np.array([3, 0]), ())
    with pytest.raises(UserError, match=r"shape \(2,\), but the observations have \(2,\) and \(2,\) of each"):
        seen.taken(np.array([1, 0]), (2,))
    with pytest.raises(UserError, match=r"parts of obs have different leading axes, \(4,\) and \(3,\)"):
        seen.observations({**rooms(4), "place": rooms(3)["place"]})
    with pytest.raises(UserError, match=r"obs has no place.0: pass the arrays of a Dict or Tuple by their keys"):
        seen.observations({"image": given["image"]})
    with pytest.raises(UserError, match=r"obs.place.1 must be from 0 to 2, not 3"):
        seen.observations({**rooms(1), "place": (np.zeros((1, 2)), np.array([3]))})


def test_spaces_survive_a_file() -> None:
    for one in (Spaces.of(ROOM, 4), Spaces.of((4, 84, 84), layout="stack"), Spaces.of(spaces.Discrete(4, start=1))):
        assert from_dict(Spaces, asdict(one)) == one


def test_all_colours_count() -> None:
    rnd = RND.create(spaces.Box(0, 255, (3, 44, 44), np.uint8), width=8)
    image = RANDOM.integers(256, size=(3, 44, 44), dtype=np.uint8)
    rnd.observe(RANDOM.integers(256, size=(4, 3, 44, 44), dtype=np.uint8))
    for colour in range(3):
        other = image.copy()
        other[colour] //= 2
        assert rnd.bonus(other) != rnd.bonus(image)
