"""The network that an environment's observations require, with sizes from the config."""

from typing import Any

from jaxtyping import PRNGKeyArray

from action_balance.config.agent import AgentConfig
from action_balance.distributions import MultiCategorical
from action_balance.envs.spec import EnvSpec
from action_balance.nets.actor_critic import ActorCritic, SeparateActorCritic
from action_balance.nets.image import ImageActorCritic
from action_balance.nets.mixed import MixedActorCritic, MixedSizes

Policy = ActorCritic | SeparateActorCritic | ImageActorCritic | MixedActorCritic


def make_policy(
    spec: EnvSpec,
    config: AgentConfig,
    key: PRNGKeyArray,
    values: int = 2,
    norm: bool = False,
    gain: float | None = None,
) -> Policy:
    """Create the network: its first head has an output for every choice of the actions, its second so many ``values``,
    with an initial ``gain`` (default: that of values). Hidden layers are normalised with ``norm``."""
    actions, net = MultiCategorical(spec.nvec).choices, config.network
    common: dict[str, Any] = {"values": values, "norm": norm, "memory": config.recurrent_units, "key": key}
    common |= {} if gain is None else {"value_gain": gain}
    if spec.is_mixed:
        sizes = MixedSizes(net.channels, net.features, net.hidden, net.trunk, net.small_layers)
        numbers = (spec.images, spec.vector, spec.shape[0] if spec.is_stack else 1, sizes, actions)
        return MixedActorCritic(*numbers, dtype=net.precision, **common)
    if spec.is_image:
        shape = spec.shape if spec.is_stack else (1, *spec.shape)
        layout = (shape, net.channels, (net.features, net.trunk), actions)
        return ImageActorCritic(*layout, dtype=net.precision, small_layers=net.small_layers, **common)
    layers = (spec.inputs, net.hidden, net.layers, actions)
    if net.trunks == "separate":
        return SeparateActorCritic(*layers, activation=net.activation, **common)
    return ActorCritic(*layers, activation=net.activation, **common)
