"""Arguments of foreign loops become what training would make of them."""

import json
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


LEVER = spaces.Box(np.array([[-2], [0]], np.float32), np.array([[6], [np.inf]], np.float32))
PANEL = spaces.Dict(
    lever=spaces.Tuple((LEVER, spaces.Discrete(3, start=1))), switches=spaces.MultiDiscrete([2, 3], start=[0, 5])
)


def test_continuous_actions_are_in_the_units_of_the_agent() -> None:
    seen = Spaces.of((2,), LEVER)
    assert (seen.actions, seen.spec.nvec, seen.spec.bounds) == (0, (), ((-2, 6), (0, None)))
    given = np.array([[[-2], [5]], [[4], [0]], [[9], [-1]]])
    taken = seen.taken(given, (3,))
    assert taken.dtype == np.float32
    assert taken.tolist() == [[-1, 5], [0.5, 0], [1, 0]]
    assert seen.taken(given[1], ()).tolist() == [[0.5, 0]]
    with pytest.raises(UserError, match="actions has values that are not finite"):
        seen.taken(given * np.nan, (3,))
    with pytest.raises(UserError, match=r"shape \(3, 2\), but the observations have \(3,\) and \(2, 1\) of each"):
        seen.taken(given[..., 0], (3,))


def test_parts_of_actions_become_choices_and_then_numbers() -> None:
    seen = Spaces.of((2,), PANEL)
    assert (seen.actions, seen.spec.nvec, seen.spec.bounds) == (8, (3, 2, 3), ((-2, 6), (0, None)))
    turned, switches = np.array([[[2.0], [7]], [[6], [1]]]), np.array([[1, 5], [0, 7]])
    given = {"lever": (turned, np.array([1, 3])), "switches": switches}
    assert seen.taken(given, (2,)).tolist() == [[0, 1, 0, 0, 7], [2, 0, 2, 1, 1]]
    with pytest.raises(UserError, match=r"actions.lever.1 must be from 1 to 3, not 4"):
        seen.taken({**given, "lever": (turned, np.array([1, 4]))}, (2,))
    with pytest.raises(UserError, match=r"actions has no switches: pass the arrays of a Dict or Tuple by their keys"):
        seen.taken({"lever": given["lever"]}, (2,))
    discrete = Spaces.of((2,), spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3))))
    assert discrete.taken((np.array([1, 0]), np.array([2, 1])), (2,)).tolist() == [[1, 2], [0, 1]]


def test_spaces_survive_a_file() -> None:
    for one in (
        Spaces.of(ROOM, 4),
        Spaces.of((4, 84, 84), layout="stack"),
        Spaces.of(spaces.Discrete(4, start=1)),
        Spaces.of((2,), PANEL),
    ):
        assert from_dict(Spaces, json.loads(json.dumps(asdict(one), allow_nan=False))) == one


def test_all_colours_count() -> None:
    rnd = RND.create(spaces.Box(0, 255, (3, 44, 44), np.uint8), width=8)
    image = RANDOM.integers(256, size=(3, 44, 44), dtype=np.uint8)
    rnd.observe(RANDOM.integers(256, size=(4, 3, 44, 44), dtype=np.uint8))
    for colour in range(3):
        other = image.copy()
        other[colour] //= 2
        assert rnd.bonus(other) != rnd.bonus(image)
