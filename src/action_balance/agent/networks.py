"""The policy network that an environment's observations require, with sizes from the config."""

from jaxtyping import PRNGKeyArray

from action_balance.config.agent import AgentConfig
from action_balance.distributions import MultiCategorical
from action_balance.envs.spec import EnvSpec
from action_balance.nets.actor_critic import ActorCritic, SeparateActorCritic
from action_balance.nets.image import ImageActorCritic
from action_balance.nets.mixed import MixedActorCritic, MixedSizes

Policy = ActorCritic | SeparateActorCritic | ImageActorCritic | MixedActorCritic


def make_policy(spec: EnvSpec, config: AgentConfig, key: PRNGKeyArray) -> Policy:
    """Create the policy with its two value heads."""
    actions, image = MultiCategorical(spec.nvec).choices, config.image
    if spec.is_mixed:
        sizes = MixedSizes(image.channels, image.features, config.net.hidden, image.trunk, image.small_layers)
        stack = spec.shape[0] if spec.is_stack else 1
        numbers = (spec.images, spec.vector, stack, sizes, actions)
        return MixedActorCritic(*numbers, dtype=image.precision, memory=config.recurrent_units, key=key)
    if spec.is_image:
        shape = spec.shape if spec.is_stack else (1, *spec.shape)
        return ImageActorCritic(
            *(shape, image.channels, (image.features, image.trunk), actions),
            dtype=image.precision,
            memory=config.recurrent_units,
            small_layers=image.small_layers,
            key=key,
        )
    net = config.net
    kind = SeparateActorCritic if net.trunks == "separate" else ActorCritic
    layers = (spec.inputs, net.hidden, net.layers, actions)
    return kind(*layers, activation=net.activation, memory=config.recurrent_units, key=key)
