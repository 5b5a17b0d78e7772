"""PPO of the behaviour policy: its ratio, gradient and entropy are those of beta, not of pi (Section III-E)."""

from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from action_balance.algorithms.base import Algorithm, Experience, Mean, Metrics, Targets
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import Samples, Trajectory, UpdateInfo
from action_balance.config.algorithm import AlgorithmConfig
from action_balance.core import losses

#: The term of which the largest value counts; all others add up over the parts of a minibatch.
LARGEST = "furthest_ratio"


class PPOTargets(eqx.Module):
    """What the loss needs of each sample; axes (T, N), or (B,) inside a minibatch."""

    log_prob: Float[Array, "*b"]
    advantage: Float[Array, "*b"]
    value_targets: Float[Array, "*b 2"]
    weight: Float[Array, "*b"] | None = None  # importance, where advantages are standardised before they are weighted


class PPO(Algorithm):
    """Proximal policy optimisation (Schulman et al., 2017, https://arxiv.org/abs/1707.06347). The network's heads are
    the logits of pi, or its means and log standard deviations, and the intrinsic and extrinsic value."""

    Config: ClassVar[type[AlgorithmConfig]] = PPOConfig
    terms: ClassVar[tuple[str, ...]] = ("policy", "value_int", "value_ext", "entropy", "clip_fraction", LARGEST)
    largest: ClassVar[tuple[str, ...]] = (LARGEST,)

    @property
    def entropy_coef(self) -> float:
        """Weight of the entropy: as set, or the method's multiple of the base; without either, 0 where it has no upper
        limit."""
        base, factor = self.settings.entropy_base, self.config.method_settings.entropy_factor
        if self.settings.entropy_coef is not None:
            return float(self.settings.entropy_coef)
        return base * factor if self.spec.lists_actions or factor != 1 else 0.0

    def evaluate(self, first: Array, second: Array, mask: Array | None) -> tuple[Array, Array]:
        return first, second

    def targets(self, experience: Experience) -> Targets:
        """Advantages of both streams together, and the returns that the values learn.

        If the policy that learns is not the one that acted, ratios are clipped around the policy that learns (Hilton et
        al., 2022, https://arxiv.org/abs/2110.00641), and samples are weighted by importance.
        """
        made, drift, settings = experience.trajectory, experience.drift, self.settings
        found = self.advantages(experience, settings.gae_lambda)
        value_targets = made.values + found
        advantage = self.config.intrinsic_coef * found[..., 0] + settings.extrinsic_coef * found[..., 1]
        weight = jnp.ones(()) if drift is None else jnp.exp(drift)
        standardized = settings.normalize_advantages
        samples = PPOTargets(
            log_prob=made.log_prob,
            advantage=advantage if drift is None or standardized else weight * advantage,
            value_targets=value_targets,
            weight=weight if drift is not None and standardized else None,
        )
        return Targets(samples, {"value_targets": value_targets, "drift": jnp.abs(weight - 1).max()})

    def minibatch(self, samples: PPOTargets, whole: PPOTargets) -> PPOTargets:
        if not self.settings.normalize_advantages:
            return samples
        advantage = losses.standardize(samples.advantage, whole.advantage)
        return replace(samples, advantage=advantage if samples.weight is None else samples.weight * advantage)

    def loss(self, first: Array, second: Array, samples: Samples, coef: Array, mean: Mean) -> tuple[Array, Metrics]:
        clip = self.settings.clip

        def of_sample(sample: Samples, preferences: Array, values: Array) -> tuple[Array, Array, Array, Array]:
            targets = sample.targets
            beta = self.behaviour_logits(preferences, sample.action_bonus, coef, sample.mask, sample.epsilon)
            ratio = jnp.exp(self.distribution.log_prob(beta, sample.action) - targets.log_prob)
            surrogate = losses.clipped_surrogate(ratio, targets.advantage, clip)
            errors = losses.squared_error(values, targets.value_targets)
            return ratio, surrogate, errors, self.distribution.entropy(beta)

        ratio, surrogate, errors, entropy = jax.vmap(of_sample)(samples, first, second)
        terms = {
            "policy": mean(surrogate),
            "value_int": mean(errors[:, 0]),
            "value_ext": mean(errors[:, 1]),
            "entropy": mean(entropy),
            "clip_fraction": mean((jnp.abs(ratio - 1) > clip).astype(jnp.float32)),
            LARGEST: jnp.abs(ratio - 1).max(),
        }
        # A factor, not a branch: all methods have the same graph here, and so the same rounding.
        learns_int = float(self.config.intrinsic_coef > 0)
        value_loss = terms["value_ext"] + learns_int * terms["value_int"]
        if self.settings.value_coef != 1:
            value_loss = self.settings.value_coef * value_loss
        return terms["policy"] + value_loss - self.entropy_coef * terms["entropy"], terms

    def metrics(self, trajectory: Trajectory, info: UpdateInfo) -> Metrics:
        values, targets = trajectory.values, info.noted["value_targets"]
        names = ("policy", "value_int", "value_ext")
        return {
            **{f"loss_{name}": info.losses[name].mean() for name in names},
            "clip_fraction": info.losses["clip_fraction"].mean(),
            "first_ratio": jnp.maximum(info.losses[LARGEST][0], info.noted["drift"]),
            "explained_int": _explained(targets[..., 0], values[..., 0]),
            "explained_ext": _explained(targets[..., 1], values[..., 1]),
        }


def _explained(targets: Array, values: Array) -> Array:
    spread = targets.var()
    return jnp.where(spread > 0, 1 - (targets - values).var() / jnp.where(spread > 0, spread, 1), jnp.nan)
