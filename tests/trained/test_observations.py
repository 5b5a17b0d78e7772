"""Actions of an agent become those of its environment."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from gymnasium import spaces

from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.interop.inputs import Spaces
from action_balance.trained.observations import Translator

SPEC = EnvSpec("vector", (2,), (3,), bounds=((-2.0, 6.0), (0.0, 4.0)))
ACTIONS = spaces.Dict(
    lever=spaces.Tuple((spaces.Box(-2, 6, (1, 1)), spaces.Discrete(3, start=1))), winch=spaces.Box(0, 4, (1,), np.int16)
)
SAVED = json.loads(json.dumps(asdict(Spaces.of((2,), ACTIONS))))
CHOSEN = np.array([[2, -1.5, 2.6], [0, 6.0000005, 0]], np.float32)


def test_numbers_and_choices_become_the_structure_of_the_space() -> None:
    translator = Translator.of(SPEC, SAVED)

    batch, one = translator.actions(CHOSEN, (2,)), translator.actions(CHOSEN[:1], ())

    assert batch["lever"][0].tolist() == [[[-1.5]], [[6]]]
    assert batch["lever"][1].tolist() == [3, 1]
    assert batch["winch"].tolist() == [[3], [0]]
    assert (one["lever"][0].tolist(), one["lever"][1], one["winch"].tolist()) == ([[-1.5]], 3, [3])
    assert ACTIONS.contains(one)
    assert [len(part) for part in translator.actions(CHOSEN, (1, 2))["lever"]] == [1, 1]


def test_without_spaces_numbers_stay_as_they_are() -> None:
    made = Translator.of(SPEC, None).actions(CHOSEN, (2,))
    np.testing.assert_array_equal(made, CHOSEN)
    assert Translator.of(SPEC, None).actions(CHOSEN[:1], ()).tolist() == CHOSEN[0].tolist()


def test_choices_of_agents_that_were_saved_before_there_were_numbers_count_from_the_start() -> None:
    saved = {"leaves": SAVED["leaves"], "nvec": [3], "starts": [5], "action_shape": []}
    translator = Translator.of(replace(SPEC, bounds=()), saved)
    made = translator.actions(np.array([0, 2], np.int32), (2,))
    assert (made.tolist(), made.dtype) == ([5, 7], np.int64)
    assert translator.actions(np.array([1], np.int32), ()) == 6


@pytest.mark.parametrize(
    "damage", [{"bounds": [[-2, 5]]}, {"shape": [2]}, {"dtype": "U9"}, {"dtype": "what"}, {"counts": [2]}]
)
def test_damaged_parts_of_actions_are_one_line(damage: dict[str, object]) -> None:
    first, *others = SAVED["parts"]
    with pytest.raises(UserError, match="spaces of the environment are damaged"):
        Translator.of(SPEC, {**SAVED, "parts": [{**first, **damage}, *others]})
