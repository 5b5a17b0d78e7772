import pytest
import torch as th
from gymnasium import spaces
from stable_baselines3.common.policies import ActorCriticPolicy

from action_balance.interop.sb3.policy import ExploringMlpPolicy, ExploringPolicy, ShiftedObs, exploring

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
