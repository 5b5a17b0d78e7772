"""The network that an environment's observations require, with sizes from the config."""

from jaxtyping import PRNGKeyArray

from action_balance.config.agent import AgentConfig
from action_balance.envs.spec import EnvSpec
from action_balance.nets.actor_critic import ActorCritic, SeparateActorCritic
from action_balance.nets.image import ImageActorCritic
from action_balance.nets.mixed import MixedActorCritic, MixedSizes
from action_balance.nets.policy import Heads

Policy = ActorCritic | SeparateActorCritic | ImageActorCritic | MixedActorCritic


def make_policy(spec: EnvSpec, config: AgentConfig, key: PRNGKeyArray, heads: Heads) -> Policy:
    """Create the network with these heads."""
    net = config.network
    if spec.is_mixed:
        sizes = MixedSizes(net.channels, net.features, net.hidden, net.trunk, net.small_layers)
        stack = spec.shape[0] if spec.is_stack else 1
        return MixedActorCritic(spec.images, spec.vector, stack, sizes, heads, dtype=net.precision, key=key)
    if spec.is_image:
        shape = spec.shape if spec.is_stack else (1, *spec.shape)
        layout = (shape, net.channels, (net.features, net.trunk), heads)
        return ImageActorCritic(*layout, dtype=net.precision, small_layers=net.small_layers, key=key)
    kind = SeparateActorCritic if net.trunks == "separate" else ActorCritic
    return kind(spec.inputs, net.hidden, net.layers, heads, activation=net.activation, key=key)
