"""Continuous actions in a foreign loop: Eq. 5 by candidates, by hand."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium import spaces
from small_bonus import OBS, RANDOM

from action_balance import ActionBalance, IntrinsicBonus
from action_balance.core.candidates import log_weight
from action_balance.errors import UserError
from action_balance.interop import candidate_log_weight

torch: Any = pytest.importorskip("torch")

BOX = spaces.Box(np.array([-2, 0], np.float32), np.array([2, 8], np.float32))
DRAWN = RANDOM.uniform(BOX.low, BOX.high, (8, 5, 2)).astype(np.float32)  # five candidates for each observation
TAKEN = DRAWN[:, 0]


def box(name: str = "elliptical", space: Any = BOX, **settings: Any) -> ActionBalance:
    given = {"settings": {"dimensions": 64} if name == "elliptical" else None, **settings}
    return ActionBalance.create((3,), space, action_bonus=name, width=16, learning_rate=3e-3, **given)


@pytest.mark.parametrize("name", ["elliptical", "distillation"])
def test_the_shift_of_candidates_is_their_bonus_over_its_root_mean_square(name: str) -> None:
    module = box(name, coef=2.0)
    module.learn(OBS, TAKEN)
    bonus = module.bonus(OBS, DRAWN).astype(float)
    expected = bonus / np.sqrt((bonus**2).mean(axis=1, keepdims=True))
    np.testing.assert_allclose(module.shift(OBS, candidates=DRAWN), 2 * expected, rtol=1e-5)
    np.testing.assert_allclose(module.shift(OBS[0], coef=0.5, candidates=DRAWN[0]), 0.5 * expected[0], rtol=1e-4)
    # A candidate has the same bonus whatever the others are, and beyond the bounds the one that it has there.
    np.testing.assert_allclose(module.bonus(OBS, DRAWN[:, 3:]), bonus[:, 3:], rtol=1e-4)
    far = np.array([[5, 4], [2, 4], [2, -1], [2, 0]])
    beyond = module.bonus(OBS[0], far)
    assert beyond[[0, 2]].tolist() == beyond[[1, 3]].tolist()
    assert beyond[0] != beyond[2]


@pytest.mark.parametrize("name", ["elliptical", "distillation"])
def test_a_candidate_that_was_never_tried_becomes_more_likely(name: str) -> None:
    module = box(name, coef=3.0)
    module.observe(OBS)
    for _ in range(150 if name == "distillation" else 8):
        module.learn(OBS, np.full((8, 2), [-2.0, 0.0]))
    shift = module.shift(OBS, candidates=np.tile([[-2.0, 0.0], [2.0, 8.0]], (8, 1, 1)))
    chances = np.exp(shift) / np.exp(shift).sum(axis=1, keepdims=True)
    assert (chances[:, 1] > 0.9).all()


def test_candidates_of_a_dictionary_are_scored_as_a_whole() -> None:
    space = spaces.Dict(turn=BOX, gears=spaces.Tuple((spaces.Discrete(3, start=1),)))
    module = box(space=space)
    gears = np.array([[1, 1, 3, 3, 2]] * 8)
    module.learn(OBS, {"turn": TAKEN, "gears": (gears[:, 0],)})
    bonus = module.bonus(OBS, {"turn": DRAWN, "gears": (gears,)})
    for place in range(5):  # each alone
        alone = module.bonus(OBS, {"turn": DRAWN[:, [place]], "gears": (gears[:, [place]],)})
        np.testing.assert_allclose(alone[:, 0], bonus[:, place], rtol=1e-4)
    assert (module.bonus(OBS, {"turn": DRAWN, "gears": (gears % 3 + 1,)}) > bonus)[:, 0].all()  # another gear


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: box().shift(OBS), "pass candidates=actions"),
        (lambda: box().bonus(OBS), "pass candidates=actions"),
        (lambda: box().shift(OBS, np.ones((8, 2)), candidates=DRAWN), "candidates have no mask"),
        (lambda: box().shift(OBS, candidates=TAKEN), r"candidates has shape \(8, 2\), but must have the axes \(8,\)"),
        (lambda: box().shift(OBS, candidates=DRAWN[:, :0]), r"candidates has shape \(8, 0, 2\)"),
        (lambda: box().shift(OBS, candidates=DRAWN * np.nan), "candidates has values that are not finite"),
        (lambda: box().logits(OBS, TAKEN), "continuous actions have no logits: .* shift$"),
        (lambda: box(space=4).shift(OBS, candidates=DRAWN), "leave out candidates"),
        (lambda: box("hash"), "use 'action_bonus' elliptical or distillation"),
        (lambda: box(space=spaces.Text(3)), "^action_space cannot be used: its actions are Text"),
    ],
)
def test_what_does_not_fit_continuous_actions_is_refused_in_one_line(wrong: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        wrong()
    assert "--" not in str(raised.value)


def test_a_saved_module_continues_bit_for_bit_with_arrays_and_with_tensors(tmp_path: Path) -> None:
    module = box("distillation", coef=0.5)
    module.learn(OBS, TAKEN)
    module.save(tmp_path / "balance.npz")
    loaded, again = ActionBalance.load(tmp_path / "balance.npz"), box("distillation", coef=0.5)
    again.load_state_dict(module.state_dict())
    assert module.learn(OBS, TAKEN) == loaded.learn(OBS, TAKEN) == again.learn(*map(torch.from_numpy, (OBS, TAKEN)))
    shift = module.shift(OBS, candidates=DRAWN)
    for one in (loaded, again):
        found = one.shift(OBS, candidates=torch.from_numpy(DRAWN))
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found, shift)


def test_the_log_weight_of_tensors_and_its_gradient_are_those_of_the_method() -> None:
    shift, drift = RANDOM.normal(size=(2, 6, 5)).astype(np.float32)
    chosen = RANDOM.integers(0, 5, 6)
    given = torch.from_numpy(drift).requires_grad_()
    found = candidate_log_weight(torch.from_numpy(shift), given, torch.from_numpy(chosen))
    found.sum().backward()
    expected, gradient = jax.vmap(jax.value_and_grad(log_weight, argnums=1))(shift, drift, np.eye(5)[chosen] > 0)
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-5)
    np.testing.assert_allclose(given.grad, gradient, rtol=1e-5)


@pytest.mark.parametrize("name", ["icm", "ngu", "e3b"])
def test_rewards_of_transitions_take_continuous_actions_in_the_units_of_the_environment(name: str) -> None:
    small: dict[str, Any] = {"ngu": {"episodic_memory": 8, "neighbours": 2}}
    rollout = {"obs": OBS.reshape(4, 2, 3), "ended": np.arange(8).reshape(4, 2) == 3}
    next_obs, units = RANDOM.normal(size=(4, 2, 3)), RANDOM.uniform(-1, 1, (4, 2, 2))
    units[0, 0] = 1
    wide = BOX.low + (units + 1) / 2 * (BOX.high - BOX.low)
    wide[0, 0] = 99  # which the environment clips
    found = []
    for space, actions in ((BOX, wide), (spaces.Box(-1, 1, (2,)), units), (BOX, np.roll(wide, 1, axis=0))):
        settings: dict[str, Any] = {"settings": small.get(name), "environments": 2, "width": 8, "learning_rate": 3e-3}
        module = IntrinsicBonus.create((3,), space, intrinsic=name, **settings)
        loss = module.learn(next_obs, actions=actions, **rollout)
        found.append([loss, *module.reward(next_obs, actions=actions, **rollout).ravel()])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-5)
    assert found[0][0] != pytest.approx(found[2][0], rel=1e-3)
