import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.nets.actor_critic import ActorCritic, SeparateActorCritic
from action_balance.nets.policy import Heads

NET = ActorCritic(12, 8, 2, Heads(3), key=jax.random.key(0))


def by_hand() -> ActorCritic:
    """Hidden width 1: x = relu(s_0 - s_1); the actor adds relu(2x - 1), the critic relu(x - 10)."""
    net = ActorCritic(2, 1, 1, Heads(2), key=jax.random.key(1))

    def places(n: ActorCritic) -> list[jax.Array]:
        layers = [n.trunk[0], n.actor, n.critic, n.policy_head, n.value_head]
        return [layer.weight for layer in layers] + [layer.bias for layer in layers]

    weights = [[[1.0, -1.0]], [[2.0]], [[1.0]], [[1.0], [-1.0]], [[3.0], [5.0]]]
    biases = [[0.0], [-1.0], [-10.0], [0.0, 0.5], [0.0, 100.0]]
    return eqx.tree_at(places, net, [jnp.array(value) for value in weights + biases])


def test_logits_and_both_values_by_hand() -> None:
    # s = (5, 2): x = 3, actor 3 + 5 = 8, critic 3 + 0 = 3.  s = (14, 0): x = 14, actor 14 + 27, critic 14 + 4.
    # s = (0, 9): x = 0, both 0 + 0.
    logits, values = jax.jit(jax.vmap(by_hand()))(jnp.array([[5.0, 2.0], [14.0, 0.0], [0.0, 9.0]]))
    np.testing.assert_allclose(logits, [[8.0, -7.5], [41.0, -40.5], [0.0, 0.5]])
    np.testing.assert_allclose(values, [[9.0, 115.0], [54.0, 190.0], [0.0, 100.0]])


def test_layers_are_orthogonal_with_their_gains() -> None:
    gains = {"actor": 0.1, "critic": 0.1, "policy_head": 0.01, "value_head": 0.01}
    layers = [(getattr(NET, name), gain) for name, gain in gains.items()] + [(layer, 2**0.5) for layer in NET.trunk]
    for layer, gain in layers:
        np.testing.assert_allclose(jnp.linalg.svd(layer.weight, compute_uv=False), gain, rtol=1e-4)
        np.testing.assert_array_equal(layer.bias, np.zeros_like(layer.bias))
    assert float(jnp.abs(NET.actor.weight - NET.critic.weight).max()) > 0.01


def test_the_first_policy_is_almost_uniform() -> None:
    observations = jax.random.normal(jax.random.key(2), (5, 3, 4))  # of any shape
    logits, _ = jax.jit(jax.vmap(NET))(observations)
    np.testing.assert_allclose(jax.nn.softmax(logits), np.full((5, 3), 1 / 3), atol=0.05)
    assert float(logits.std()) > 0


def test_without_trunk_layers_the_heads_see_the_observation() -> None:
    net = ActorCritic(4, 8, 0, Heads(2), key=jax.random.key(3))
    x = jnp.array([1.0, -2.0, 0.5, 3.0])
    logits, _ = net(x)
    residual = x + jax.nn.relu(net.actor.weight @ x)
    np.testing.assert_allclose(logits, net.policy_head.weight @ residual, rtol=1e-4, atol=1e-6)


# --- Separate trunks ----------------------------------------------------------


SEPARATE = SeparateActorCritic(12, 8, 2, Heads(3), activation="tanh", key=jax.random.key(0))


def test_separate_trunks_share_no_gradient() -> None:
    x = jax.random.normal(jax.random.key(1), (12,))

    def touched(output: int) -> set[str]:
        """The layers that the gradient of the logits (0) or of the values (1) reaches."""
        gradients = jax.grad(lambda net: net(x)[output].sum())(SEPARATE)
        names = ("policy_trunk", "policy_head", "value_trunk", "value_head")
        return {name for name in names if any(leaf.any() for leaf in jax.tree.leaves(getattr(gradients, name)))}

    assert touched(0) == {"policy_trunk", "policy_head"}
    assert touched(1) == {"value_trunk", "value_head"}


def test_separate_trunks_by_hand() -> None:
    net = SeparateActorCritic(1, 1, 1, Heads(2), activation="tanh", key=jax.random.key(1))

    def places(n: SeparateActorCritic) -> list[jax.Array]:
        return [layer.weight for layer in (n.policy_trunk[0], n.policy_head, n.value_trunk[0], n.value_head)]

    weights = [[[2.0]], [[1.0], [-3.0]], [[-1.0]], [[5.0], [10.0]]]
    logits, values = eqx.tree_at(places, net, [jnp.array(value) for value in weights])(jnp.array([0.5]))
    np.testing.assert_allclose(logits, np.tanh(1.0) * np.array([1, -3]), rtol=1e-6)
    np.testing.assert_allclose(values, np.tanh(-0.5) * np.array([5, 10]), rtol=1e-6)


def test_separate_trunks_are_orthogonal_with_their_gains() -> None:
    for layer in (*SEPARATE.policy_trunk, *SEPARATE.value_trunk):
        np.testing.assert_allclose(jnp.linalg.svd(layer.weight, compute_uv=False), 2**0.5, rtol=1e-5)
    for layer, gain in ((SEPARATE.policy_head, 0.01), (SEPARATE.value_head, 1.0)):
        np.testing.assert_allclose(jnp.linalg.svd(layer.weight, compute_uv=False), gain, rtol=1e-4)
    assert float(jnp.abs(SEPARATE.policy_trunk[0].weight - SEPARATE.value_trunk[0].weight).max()) > 0.01
