import io
import sys
from typing import Any

import numpy as np
import pytest
from small_bonus import ACTIONS, OBS, TAKEN, make, make_rnd

from action_balance.errors import UserError
from action_balance.interop import Reached
from action_balance.interop.tensors import like, to_numpy

torch: Any = pytest.importorskip("torch")


def test_tensors_and_arrays_share_their_memory() -> None:
    tensor = torch.zeros(3)
    array = to_numpy(tensor)
    array[1] = 5
    assert tensor.tolist() == [0, 5, 0]
    back = like(array, {"a": (1.0, tensor)})
    back[2] = 7
    assert tensor.tolist() == [0, 5, 7]
    assert to_numpy([1.0]) == [1.0]
    assert like(array, [1.0]) is array


def test_what_goes_in_as_a_tensor_comes_out_as_one_with_the_same_numbers() -> None:
    obs, module, rnd = torch.from_numpy(OBS), make(), make_rnd()
    for found, expected in (
        (module.shift(obs), module.shift(OBS)),
        (module.bonus(obs), module.bonus(OBS)),
        (rnd.bonus(obs), rnd.bonus(OBS)),
        (make_rnd().reward(obs.reshape(4, 2, 3)), make_rnd().reward(OBS.reshape(4, 2, 3))),
    ):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found, expected)
    mask = torch.tensor([True, False, True, True])
    np.testing.assert_array_equal(module.shift(OBS[0], mask), module.shift(OBS[0], mask.numpy()))
    assert module.learn(obs, torch.from_numpy(TAKEN)) == make().learn(OBS, TAKEN)
    assert rnd.learn(obs.double()) == make_rnd().learn(OBS)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_logits_keep_their_type_and_their_gradient(dtype: str) -> None:
    logits = torch.zeros((8, ACTIONS), dtype=getattr(torch, dtype), requires_grad=True)
    balanced = make().logits(OBS, logits)
    assert balanced.dtype == logits.dtype
    torch.testing.assert_close(balanced.float(), torch.from_numpy(make().shift(OBS)), atol=4e-3, rtol=0)
    balanced.sum().backward()
    assert (logits.grad == 1).all()


def test_the_last_observations_of_episodes_are_put_into_a_copy_of_the_tensor() -> None:
    given = torch.zeros(2, 1)
    obs, _ = Reached("SameStep")(given, torch.tensor([False, True]), {"final_obs": [None, np.ones(1)]})
    assert obs.tolist() == [[0], [1]]
    assert given.tolist() == [[0], [0]]


def test_a_state_in_a_checkpoint_of_pytorch_goes_on_bit_for_bit() -> None:
    module, rnd, rollout = make(coef=0.5, seed=7), make_rnd(), OBS.reshape(4, 2, 3)
    module.learn(OBS, TAKEN, epochs=2, minibatches=2)
    rnd.reward(rollout)
    rnd.learn(rollout)
    file = io.BytesIO()
    torch.save({"balance": module.state_dict(), "rnd": rnd.state_dict()}, file)
    shifted = module.shift(OBS)
    learned = module.learn(OBS, TAKEN, epochs=2, minibatches=2)  # which the copy does not see
    file.seek(0)
    checkpoint = torch.load(file, weights_only=True)
    again, rnd_again = make(), make_rnd()
    again.load_state_dict(checkpoint["balance"])
    rnd_again.load_state_dict(checkpoint["rnd"])
    np.testing.assert_array_equal(again.shift(OBS), shifted)  # with the coefficient, too
    assert again.learn(OBS, TAKEN, epochs=2, minibatches=2) == learned
    np.testing.assert_array_equal(again.bonus(OBS), module.bonus(OBS))
    np.testing.assert_array_equal(rnd_again.reward(rollout), rnd.reward(rollout))


def test_a_state_without_tensors_is_one_of_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    module, state = make(), make(seed=3).state_dict(tensors=False)
    assert all(type(array) is np.ndarray for array in state["arrays"].values())
    module.load_state_dict(state)
    np.testing.assert_array_equal(module.bonus(OBS), make(seed=3).bonus(OBS))
    monkeypatch.delitem(sys.modules, "torch")
    assert type(module.state_dict()["arrays"][".obs_stats.mean"]) is np.ndarray
    with pytest.raises(UserError, match="tensors need PyTorch: import torch first"):
        module.state_dict(tensors=True)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (lambda: make(width=8).state_dict(), "the state belongs to other spaces, another width or"),
        (lambda: {**make().state_dict(), "arrays": {}}, "the state does not match its settings"),
    ],
)
def test_a_state_of_something_else_is_refused(state: Any, message: str) -> None:
    module = make()
    with pytest.raises(UserError, match=message):
        module.load_state_dict(state())
    np.testing.assert_array_equal(module.bonus(OBS), make().bonus(OBS))
