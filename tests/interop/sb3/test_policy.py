from typing import Any

import jax
import numpy as np
import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy

from action_balance.core.candidates import log_weight
from action_balance.interop.sb3.policy import ExploringMlpPolicy, ExploringPolicy, Resampled, ShiftedObs, exploring

OBS, ACTIONS = spaces.Box(-1, 1, (3,)), spaces.Discrete(2)
SEEN = th.tensor([[0.1, -0.2, 0.3], [0.5, 0.5, -0.5]])


def policy(**settings: bool) -> ExploringMlpPolicy:
    return ExploringMlpPolicy(OBS, ACTIONS, lambda _: 0.0, **settings)


def log_probs(own: ExploringPolicy, shift: float) -> th.Tensor:
    """Of action 1 in both observations, with something added to its logit."""
    with th.no_grad():
        logits = own.get_distribution(SEEN).distribution.logits  # type: ignore[union-attr]  # a categorical one
    return th.log_softmax(logits + th.tensor([0.0, shift]), dim=-1)[:, 1]


def test_actions_are_chosen_and_evaluated_with_what_is_added_to_the_logits() -> None:
    own = policy()
    shift = th.tensor([[0.0, 50.0], [0.0, 50.0]])
    own.shift_of = lambda _: shift

    with th.no_grad():
        actions, _, log_prob = own(SEEN)
        _, again, _ = own.evaluate_actions(ShiftedObs(SEEN, th.tensor([[0.0, 2.0]] * 2)), actions)
        _, plain, _ = own.evaluate_actions(SEEN, actions)

    assert actions.tolist() == [1, 1]  # e^50 times as probable as the other one
    assert log_prob.tolist() == pytest.approx([0, 0])
    assert again.tolist() == pytest.approx(log_probs(own, 2.0).tolist())
    assert plain.tolist() == pytest.approx(log_probs(own, 0.0).tolist())


def gaussian() -> tuple[ExploringMlpPolicy, list[Any]]:
    """A policy of two numbers that draws four candidates; and what it has asked to score."""
    own, asked = ExploringMlpPolicy(OBS, spaces.Box(-1, 1, (1, 2)), lambda _: 0.0), list[Any]()

    def shift_of(obs: th.Tensor, candidates: th.Tensor) -> th.Tensor:
        asked.append((obs, candidates))
        return 3 * candidates[..., 0, 0] - candidates[..., 0, 1]

    own.shift_of, own.candidates = shift_of, 4
    return own, asked


def density(mean: np.ndarray, log_std: np.ndarray, actions: np.ndarray) -> Any:
    each = ((actions - mean) / np.exp(log_std)) ** 2 / 2 + log_std + np.log(2 * np.pi) / 2
    return -each.sum(axis=-1)


log_weights: Any = jax.vmap(log_weight)


def test_a_continuous_action_has_the_density_of_the_candidate_that_was_drawn() -> None:
    own, asked = gaussian()
    with th.no_grad():
        actions, _, log_prob = own(SEEN)
        means = own.predict(SEEN.numpy(), deterministic=True)[0].reshape(2, 2)
    ((obs, candidates),), drawn = asked, own.acted.shift
    assert isinstance(drawn, Resampled)
    assert (obs == SEEN).all()
    assert candidates.shape == (2, 4, 1, 2)
    mine = (candidates == actions[:, None]).all(dim=-1).all(dim=-1).numpy()
    assert mine.sum(axis=1).tolist() == [1, 1]
    taken, others = actions.reshape(2, 2).numpy(), candidates.reshape(2, 4, 2).numpy()
    before = density(means[:, None], np.zeros(2), others)
    weight = log_weights(drawn.shift.numpy(), np.zeros((2, 4)), mine)
    np.testing.assert_allclose(log_prob, density(means, np.zeros(2), taken) + weight, rtol=1e-4)
    _, again, entropy = own.evaluate_actions(ShiftedObs(SEEN, tuple(drawn)), actions.reshape(2, 2))
    np.testing.assert_allclose(again.detach(), log_prob, atol=1e-6)
    np.testing.assert_allclose(th.as_tensor(entropy).detach(), [1 + np.log(2 * np.pi)] * 2, rtol=1e-5)

    # Another policy has other log-probabilities of all candidates.
    with th.no_grad():
        own.get_parameter("action_net.bias").add_(th.tensor([0.3, -0.2]))
        own.log_std.add_(th.tensor([0.1, -0.4]))
    _, changed, _ = own.evaluate_actions(ShiftedObs(SEEN, tuple(drawn)), actions.reshape(2, 2))
    policy = means + np.array([0.3, -0.2]), np.array([0.1, -0.4])
    drift = density(policy[0][:, None], policy[1], others) - before
    weight = log_weights(drawn.shift.numpy(), drift, mine)
    np.testing.assert_allclose(changed.detach(), density(*policy, taken) + weight, rtol=1e-4)
    assert len(asked) == 1  # while acting only


def test_candidates_are_drawn_by_the_softmax_of_their_shift() -> None:
    own, _ = gaussian()
    own.candidates = 2
    with th.no_grad():
        own(SEEN[:1].expand(4000, 3))
    drawn = own.acted.shift
    assert isinstance(drawn, Resampled)
    chances = drawn.shift.softmax(dim=-1)[:, 1]
    for low in (0.0, 0.5):
        within = (chances >= low) & (chances < low + 0.5)
        spread = (chances * (1 - chances))[within].mean().item() / within.sum().item()
        expected = chances[within].mean().item()
        assert abs(drawn.chosen[within].float().mean().item() - expected) < 5 * spread**0.5


def test_predictions_are_those_of_the_policy_alone() -> None:
    own = policy()
    before = own.predict(SEEN.numpy(), deterministic=True)[0].tolist()
    own.shift_of = lambda _: th.tensor([[0.0, 50.0], [50.0, 0.0]])

    assert own.predict(SEEN.numpy(), deterministic=True)[0].tolist() == before


def test_values_of_two_streams_come_from_one_network() -> None:
    own = policy(intrinsic_value=True)
    with th.no_grad():
        own.value_net.weight.zero_()
        own.value_net.bias.copy_(th.tensor([3.0, 5.0]))
        _, values, _ = own(SEEN)
        both, _, _ = own.evaluate_actions(SEEN, th.tensor([0, 1]))

    assert values.tolist() == own.predict_values(SEEN).tolist() == [[3.0], [3.0]]
    assert own.acted.intrinsic_value is not None
    assert own.acted.intrinsic_value.tolist() == own.intrinsic_values(SEEN).tolist() == [5.0, 5.0]
    assert both.tolist() == [[3.0, 5.0], [3.0, 5.0]]
    assert id(own.value_net.weight) in map(id, own.optimizer.param_groups[0]["params"])


def test_a_policy_class_of_the_user_explores() -> None:
    class Own(ActorCriticPolicy):
        pass

    made = exploring(Own)

    assert issubclass(made, (ExploringPolicy,))
    assert issubclass(made, Own)
    assert exploring(made) is made
    assert made(OBS, ACTIONS, lambda _: 0.0, intrinsic_value=True).value_net.out_features == 2
