"""Settings of the networks. Nothing here imports JAX."""

from dataclasses import dataclass
from typing import Literal

from action_balance.config.fields import Settings, count, number

Trunks = Literal["shared", "separate"]  # whether both heads of a network share its hidden layers
Activation = Literal["relu", "tanh"]  # nonlinearity of the hidden layers of a network for vectors
Memory = Literal["none", "gru"]  # what a network remembers of an episode
Precision = Literal["float32", "bfloat16"]  # number type of the convolutions
MAX_LAYERS = 100  # most layers of a network: the time to compile it grows with each

#: Settings that have an effect with observations that are vectors, and those with images.
OF_VECTORS = ("hidden", "layers", "bonus_hidden", "bonus_outputs", "predictor_layers", "trunks", "activation")
#: Settings that have an effect with continuous actions.
OF_NUMBERS = ("action_std", "squash_actions")
OF_IMAGES = ("channels", "small_layers", "features", "trunk", "bonus_features", "precision")


@dataclass(frozen=True)
class NetworkConfig(Settings):
    """The networks of the agent and of the bonuses. Those for images are by default those of RND (Burda et al.,
    2019)."""

    memory: Memory = "none"
    """Recurrent memory of the agent's network, for environments that show only a part of their state: none, or gru, a
    gated recurrent unit between the hidden layers and the outputs. It is reset at the beginning of every episode and
    learns by backpropagation through a rollout. The bonus networks never see it."""
    memory_units: int = count(128)
    """Units of the recurrent memory."""
    hidden: int = count(64)
    """For vectors: width of the hidden layers."""
    layers: int = count(2, MAX_LAYERS)
    """For vectors: number of hidden layers in the trunk."""
    bonus_hidden: int = count(128)
    """For vectors: width of the bonus networks' hidden layers."""
    bonus_outputs: int = count(32)
    """For vectors: outputs of the target and predictor networks."""
    predictor_layers: int = number(1, high=MAX_LAYERS)
    """For vectors: extra layers of a predictor compared with its target."""
    trunks: Trunks = "shared"
    """For vectors: hidden layers of the network's two heads, which are the policy and the values, or the Q-values of
    both streams: one shared trunk with a residual layer for each, or a separate trunk for each."""
    activation: Activation = "relu"
    """For vectors: nonlinearity of the hidden layers."""
    channels: int = count(32)
    """For images: channels of the first convolution; the second and third have twice as many."""
    small_layers: int = count(3, MAX_LAYERS)
    """For images that are too small for the convolutions of RND, such as MinAtar's 10 x 10 pixels: number of
    convolutions."""
    features: int = count(256)
    """For images: width of the first fully connected layer."""
    trunk: int = count(448)
    """For images: width of the other layers."""
    bonus_features: int = count(512)
    """For images: width of the bonus networks' fully connected layers, and their outputs."""
    precision: Precision = "float32"
    """For images: floating-point type of the convolutions in the agent's network and the next-state bonus; bfloat16 is
    faster on a GPU. Later layers, statistics, losses and the action bonus always use float32."""
    action_std: float = number(1.0, high=1e3, above=True)
    """For continuous actions: standard deviation at first, where the bounds of an action are -1 and 1. It is a
    parameter of the network, the same in all states."""
    squash_actions: bool = False
    """For continuous actions: squash what is drawn by tanh into the bounds (default: clip it at the environment)."""
