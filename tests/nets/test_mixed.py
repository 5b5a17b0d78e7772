"""Encoders side by side, recomputed from their parts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.nets.mixed import MixedActorCritic, MixedBonusNet, MixedObs, MixedSizes
from action_balance.nets.policy import Heads

IMAGES = ((7, 8, 3), (5, 5, 1))
RANDOM = np.random.default_rng(0)


def test_the_policy_sees_all_images_and_the_vector() -> None:
    net = eqx.filter_jit(MixedActorCritic)(IMAGES, 3, 2, MixedSizes(2, 4, 6, 5), Heads(3), key=jax.random.key(0))
    images = tuple(jnp.asarray(RANDOM.integers(0, 255, (2, *shape), dtype=np.uint8)) for shape in IMAGES)
    seen = MixedObs(images, jnp.asarray(RANDOM.normal(size=(2, 3)).astype(np.float32)))
    play = eqx.filter_jit(lambda net, seen: net(seen))
    encode = eqx.filter_jit(lambda encoder, dense, channels: dense(encoder(channels)))
    logits, values = play(net, seen)
    # By hand: frames of a stack become channels, and bytes are scaled to 0..1.
    parts = []
    for encoder, dense, image in zip(net.encoders, net.dense, map(np.asarray, images), strict=True):
        channels = np.concatenate([image[0], image[1]], axis=-1).reshape(*image.shape[1:3], 2, -1)
        channels = np.swapaxes(channels, 2, 3).reshape(*image.shape[1:3], -1)
        parts.append(encode(encoder, dense, channels.astype(np.float32) / 255))
    assert net.vector is not None
    parts.append(net.vector(seen.vector.ravel()))
    joined = np.maximum(np.concatenate(parts), 0)
    assert joined.shape == (4 + 4 + 6,)
    weights = jax.device_get(net)  # of NumPy, which compiles nothing
    x = np.maximum(weights.trunk.weight @ joined, 0)
    actor, critic = (x + np.maximum(one.weight @ x, 0) for one in (weights.actor, weights.critic))
    np.testing.assert_allclose(logits, weights.policy_head.weight @ actor, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(values, weights.value_head.weight @ critic, rtol=1e-4, atol=1e-6)
    for place in range(2):
        other = list(images)
        other[place] = 255 - images[place]
        assert (play(net, MixedObs(tuple(other), seen.vector))[0] != logits).all()
    assert (play(net, MixedObs(images, -seen.vector))[0] != logits).all()


def test_a_bonus_network_has_the_features_of_images_and_vector_and_the_action_at_every_layer() -> None:
    sizes = [7 * 8 * 3, 25, 3]
    seen = jnp.asarray(RANDOM.normal(size=sum(sizes)), jnp.float32)

    @eqx.filter_jit
    def recomputed(key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        net = MixedBonusNet(IMAGES, 3, 2, 6, 4, actions=3, layers=2, outputs=5, key=key)
        first, second, vector = jnp.split(seen, np.cumsum(sizes)[:-1])
        assert net.vector is not None
        encoded = net.vector(vector)
        features = jnp.concatenate(
            [
                net.encoders[0](first.reshape(7, 8, 3)),
                net.encoders[1](second.reshape(5, 5, 1)),
                jnp.where(encoded > 0, encoded, 0.2 * encoded),
            ]
        )
        hidden = net.joined[0](features, jnp.int32(2))
        expected = net.joined[1](jnp.maximum(hidden, 0), jnp.int32(2))
        return expected, net(seen, jnp.int32(2)), net.all_actions(seen)

    expected, found, every = recomputed(jax.random.key(1))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert every.shape == (3, 5)
    np.testing.assert_allclose(every[2], expected, rtol=1e-4, atol=1e-6)
