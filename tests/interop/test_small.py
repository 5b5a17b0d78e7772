from typing import Any

import numpy as np
import pytest
from small_bonus import ACTIONS, OBS, TAKEN, make

from action_balance import ActionBalance


def both(module: ActionBalance, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The shift in NumPy, and by the compiled program."""
    assert module._small is not None
    assert module._small.is_for(len(OBS))
    program = module._shifts(module._acting, OBS, mask, 2.0)
    return module.shift(OBS, mask, coef=2.0), np.asarray(program)


@pytest.mark.parametrize("kind", ["l2", "standard", "raw"])
def test_numpy_and_the_compiled_program_agree_up_to_rounding(kind: Any) -> None:
    module = make(normalize=kind)
    masks = np.random.default_rng(1).random((8, ACTIONS)) < 0.6
    masks[:, 2] = True
    for _ in range(2):  # before and after learning, without and with statistics
        for mask in (None, masks):
            ours, program = both(module, mask)
            np.testing.assert_allclose(ours, program, rtol=1e-4, atol=1e-5)
            assert ours.dtype == program.dtype == np.float32
        module.learn(OBS, TAKEN, epochs=3)


@pytest.mark.parametrize("kind", ["l2", "standard"])
def test_a_single_allowed_action_is_as_in_the_program(kind: Any) -> None:
    ours, program = both(make(normalize=kind), np.tile([False, True, False, False], (8, 1)))
    np.testing.assert_allclose(ours, program, atol=1e-6)
    np.testing.assert_allclose(ours[:, 1], 2.0 if kind == "l2" else 0.0, atol=1e-6)


def test_many_observations_are_for_the_compiled_program() -> None:
    small = make()._small  # layers of 16 x 32, four actions
    assert small is not None
    assert small.is_for(1_000_000 // (4 * 16 * 32))
    assert not small.is_for(1_000_000 // (4 * 16 * 32) + 1)
