"""The distributions over actions: `MultiCategorical` over actions that can be listed, and `GaussianActions`.

Both have the same interface: algorithms, rollouts and engines do not know which of them they have. An action of several
components is a choice in each of them, or a number; the policy is a product of distributions, so log-probabilities,
entropies and divergences are sums over components.

What the policy's network says of a state is one vector of preferences: the logits of all choices, and after them the
means and log standard deviations of all numbers. The behaviour policy beta is such a vector, too, or, where Eq. 5 is
sampled by candidates, a `Balanced` policy.

Axes: C components, A choices of all discrete components, D continuous numbers, L preferences, n numbers of an action, V
numbers of its vector, K candidates. One state per call; ``vmap`` outside.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Shaped

from action_balance.core import candidates as by_candidates
from action_balance.core.balance import balance, mask_logits, normalize
from action_balance.core.options import Normalization

#: Scores all choices of a state, or some actions given as vectors.
Scores = Callable[[], Array]
ScoresOf = Callable[[Array], Array]
#: Nodes of the quadrature for the entropy of squashed numbers.
NODES = 32
#: The largest number that is drawn uniformly: the inverse of tanh is finite there.
MOST = 0.999999
#: A continuous number counts as predicted if it is as close as this.
CLOSE = 0.1


@dataclass(frozen=True)
class Categorical:
    """A categorical distribution over ``choices`` actions; actions are scalars."""

    choices: int

    def log_prob(self, logits: Float[Array, " A"], action: Int[Array, ""]) -> Float[Array, ""]:
        """``log softmax(logits)[action]``, for the logits of all choices and one action."""
        return jax.nn.log_softmax(logits)[action]

    def entropy(self, logits: Float[Array, " A"]) -> Float[Array, ""]:
        """Entropy of ``softmax(logits)`` in nats."""
        log_probs = jax.nn.log_softmax(logits)
        return -(jnp.exp(log_probs) * log_probs).sum()

    def kl(self, logits: Float[Array, " A"], other: Float[Array, " A"]) -> Float[Array, ""]:
        """Kullback-Leibler divergence ``KL(softmax(logits) || softmax(other))`` in nats."""
        log_probs = jax.nn.log_softmax(logits)
        return (jnp.exp(log_probs) * (log_probs - jax.nn.log_softmax(other))).sum()


@dataclass(frozen=True)
class MultiCategorical:
    """A product of independent categorical distributions, one per component.

    ``nvec`` has the number of choices of each component. A plain discrete action space is ``nvec = (A,)``, and its
    actions are scalars; actions of several components, or of none, have shape (C,).
    """

    nvec: tuple[int, ...]

    dtype: ClassVar[Any] = jnp.int32
    #: D, numbers of an action that are continuous.
    reals: ClassVar[int] = 0

    @property
    def choices(self) -> int:
        """A, the number of choices of all components together: the length of the logits."""
        return sum(self.nvec)

    # Outputs of the policy's network, L, V, random numbers of a decision, and scores of an action bonus.
    outputs: ClassVar[Any] = property(lambda self: self.choices)
    preferences: ClassVar[Any] = property(lambda self: self.choices)
    size: ClassVar[Any] = property(lambda self: self.choices)
    draws: ClassVar[Any] = property(lambda self: self.choices)
    scores: ClassVar[Any] = property(lambda self: self.choices)

    @property
    def action_shape(self) -> tuple[int, ...]:
        """The shape of one action: () for one component, (C,) for several."""
        return () if len(self.nvec) == 1 else (len(self.nvec),)

    @property
    def discrete(self) -> "MultiCategorical":
        """The distribution over the discrete components alone."""
        return self

    @property
    def _components(self) -> list[tuple[Categorical, slice]]:
        return [(Categorical(n), slice(end - n, end)) for n, end in zip(self.nvec, accumulate(self.nvec), strict=True)]

    def uniform(self, key: PRNGKeyArray, count: int) -> Int[Array, "count ..."]:
        """Sample actions uniformly at random."""
        highest = self.nvec[0] if len(self.nvec) == 1 else jnp.array(self.nvec)
        return jax.random.randint(key, (count, *self.action_shape), 0, highest)

    def noise(self, key: PRNGKeyArray, lead: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """The random numbers of decisions: standard Gumbel noise."""
        return jax.random.gumbel(key, (*lead, self.draws))

    def sample(self, logits: Float[Array, " A"], noise: Float[Array, " A"]) -> Int[Array, "..."]:
        """Sample an action with the Gumbel-max trick, from samples of the standard Gumbel distribution."""
        return self.mode(logits + noise)

    def mode(self, logits: Float[Array, " A"]) -> Int[Array, "..."]:
        """The most probable action, () or (C,) int32."""
        return jnp.array([logits[part].argmax() for _, part in self._components], jnp.int32).reshape(self.action_shape)

    def log_prob(self, logits: Float[Array, " A"], action: Int[Array, "..."]) -> Float[Array, ""]:
        """Log-probability of an action: the sum over its components."""
        action = jnp.reshape(action, (len(self.nvec),))
        return _sum([one.log_prob(logits[part], action[i]) for i, (one, part) in enumerate(self._components)])

    def entropy(self, logits: Float[Array, " A"]) -> Float[Array, ""]:
        """Entropy: the sum over the components."""
        return _sum([one.entropy(logits[part]) for one, part in self._components])

    def kl(self, logits: Float[Array, " A"], other: Float[Array, " A"]) -> Float[Array, ""]:
        """Kullback-Leibler divergence from ``other``: the sum over the components."""
        return _sum([one.kl(logits[part], other[part]) for one, part in self._components])

    def masked(self, logits: Float[Array, " A"], mask: Bool[Array, " A"] | None) -> Float[Array, " A"]:
        """Logits of the distribution over allowed choices."""
        return mask_logits(logits, mask)

    def score(
        self, logits: Array, noise: Array | None, mask: Array | None, scores: Scores, scores_of: ScoresOf
    ) -> Float[Array, " A"]:
        """What an action bonus says of all choices, 0 where they are forbidden."""
        found = scores()
        return found if mask is None else jnp.where(mask, found, 0.0)

    def unscored(self, logits: Float[Array, " A"]) -> Float[Array, " A"]:
        """The same without an action bonus."""
        return jnp.zeros_like(logits)

    def shift(
        self, logits: Array, scores: Array, coef: Array | float, kind: Normalization, mask: Array | None
    ) -> Float[Array, " A"]:
        """Logits or Q-values, shifted in each component (Eq. 5)."""
        return self.per_component(lambda x, y, m: balance(x, y, coef, kind, m), logits, scores, mask)

    def unflat(self, vector: Float[Array, "*b A"]) -> Float[Array, "*b A"]:
        """Scores from all their numbers in one vector."""
        return vector

    def normalized(
        self, scores: Float[Array, " A"], kind: Normalization, mask: Bool[Array, " A"] | None
    ) -> Float[Array, " A"]:
        """``Normalize`` of Eq. 5 in each component."""
        return self.per_component(lambda part, m: normalize(part, kind, m), scores, mask)

    def per_component(self, function: Callable[..., Array], *vectors: Shaped[Array, " A"] | None) -> Float[Array, " A"]:
        """Apply a function to each component's part of vectors, and join the results. None is passed as it is."""

        def cut(vector: Array | None, part: slice) -> Array | None:
            return None if vector is None else vector[part]

        return jnp.concatenate([function(*(cut(vector, part) for vector in vectors)) for _, part in self._components])

    def split(self, vector: Float[Array, " A"]) -> list[Float[Array, " _"]]:
        """The parts of a vector over all choices, one per component."""
        return [vector[part] for _, part in self._components]

    def chosen(self, vector: Float[Array, " A"], action: Int[Array, "..."]) -> Float[Array, " C"]:
        """The entries of a vector over all choices that belong to an action, one per component."""
        offsets = jnp.array([part.start for _, part in self._components], jnp.int32)
        return vector[jnp.reshape(action, (len(self.nvec),)) + offsets]

    def vector(self, action: Int[Array, "..."]) -> Float[Array, " A"]:
        """The action as a vector over all choices, one-hot in each component."""
        action = jnp.reshape(action, (len(self.nvec),))
        return jnp.concatenate([jnp.zeros(0), *(jax.nn.one_hot(action[i], n) for i, n in enumerate(self.nvec))])

    #: The choices of an action alone, one-hot in each component.
    one_hot = vector

    def executed(self, action: Int[Array, "..."]) -> Int[Array, "..."]:
        """What the environment does with an action."""
        return action

    def prediction_loss(self, outputs: Float[Array, " A"], action: Int[Array, "..."]) -> Float[Array, ""]:
        """The loss of a model that predicts the action: the cross-entropy, summed over components."""
        return -self.log_prob(outputs, action)

    def predicts(self, outputs: Float[Array, " A"], action: Int[Array, "..."]) -> Bool[Array, "..."]:
        """Which components such a model predicts."""
        return self.mode(outputs) == action

    def metrics(self, action: Int[Array, "T N ..."], logits: Float[Array, "T N A"]) -> dict[str, Array]:
        """What to log of the actions of a rollout and their policies."""
        return {"action_frequency": _each(self.vector)(action).mean(axis=(0, 1))}

    def bonus_metrics(self, scores: Array, kind: Normalization, mask: Array | None) -> dict[str, Array]:
        """What to log of the scores of a rollout."""
        return self.score_metrics(scores, _each(lambda r, m: self.normalized(r, kind, m))(scores, mask), mask)

    def score_metrics(
        self, scores: Float[Array, "T N A"], added: Float[Array, "T N A"], mask: Bool[Array, "T N A"] | None
    ) -> dict[str, Array]:
        """The same, given the normalised scores."""
        shares = _each(lambda r: self.per_component(_proportions, r))(scores)
        return {
            "entropy_bonus": jax.scipy.special.entr(shares).sum(axis=-1).mean(),
            "entropy_added": _each(self.entropy)(mask_logits(added, mask)).mean(),
            "action_bonus_mean": scores.mean(where=mask),
        }


class Candidates(eqx.Module):
    """K actions drawn from pi in a state, and what an action bonus says of them."""

    actions: Float[Array, "*b K n"]
    scores: Float[Array, "*b K"]
    log_probs: Float[Array, "*b K"]  # of pi when they were drawn


class Balanced(eqx.Module):
    """The behaviour policy that draws one of the candidates; see `core.candidates`."""

    pi: Float[Array, "*b L"]  # which may have changed since they were drawn
    candidates: Candidates
    shift: Float[Array, "*b K"]  # c Normalize(r_ab(s, .))


@dataclass(frozen=True)
class GaussianActions:
    """A product of normal distributions, and of categorical ones where there are discrete components, too.

    An action is a vector: the discrete components, then numbers u as they were drawn, of which the environment gets
    ``clip(u)`` or, if they are squashed, ``tanh(u)``. The policy is over u: clipped numbers keep the density that they
    were drawn with, as in Stable-Baselines3 and CleanRL.
    """

    limits: tuple[tuple[float, float], ...]
    """Lower and upper limit of each number; infinite where there is none."""
    nvec: tuple[int, ...] = ()
    """Choices of each discrete component."""
    squashed: bool = False
    """Whether numbers with two limits, -1 and 1, are squashed by tanh rather than clipped."""
    candidates: int = 1
    """K, the candidates of an action bonus; 1 where there is none."""
    at_random: bool = False
    """Whether actions are uniformly random, whatever the preferences."""

    dtype: ClassVar[Any] = jnp.float32

    reals: ClassVar[Any] = property(lambda self: len(self.limits))
    choices: ClassVar[Any] = property(lambda self: sum(self.nvec))
    outputs: ClassVar[Any] = property(lambda self: self.choices + self.reals)
    preferences: ClassVar[Any] = property(lambda self: self.choices + 2 * self.reals)
    size: ClassVar[Any] = outputs
    action_shape: ClassVar[Any] = property(lambda self: (len(self.nvec) + self.reals,))
    _picks: ClassVar[Any] = property(lambda self: self.candidates if self.candidates > 1 else 0)
    draws: ClassVar[Any] = property(lambda self: self.candidates * self.outputs + self._picks)
    scores: ClassVar[Any] = property(lambda self: self._picks * (math.prod(self.action_shape) + 2))
    discrete: ClassVar[Any] = property(lambda self: MultiCategorical(self.nvec))

    @property
    def _squashes(self) -> np.ndarray:
        """Which numbers are squashed, (D,)."""
        return np.array([self.squashed and math.isfinite(high - low) for low, high in self.limits])

    def _split(self, preferences: Array) -> tuple[Array, Array, Array]:
        """Logits, means and log standard deviations."""
        logits, mean, log_std = jnp.split(preferences, (self.choices, self.outputs))
        return logits, mean, log_std

    def _parts(self, action: Array) -> tuple[Array, Array]:
        """The choices and the numbers of an action."""
        choice, numbers = jnp.split(action, (len(self.nvec),))
        return choice.astype(jnp.int32).reshape(self.discrete.action_shape), numbers

    def uniform(self, key: PRNGKeyArray, count: int) -> Float[Array, "count n"]:
        random = replace(self, at_random=True, candidates=1)
        return jax.vmap(lambda one: random.sample(jnp.zeros(self.preferences), one))(random.noise(key, (count,)))

    def noise(self, key: PRNGKeyArray, lead: tuple[int, ...] = ()) -> Float[Array, "..."]:
        """The random numbers of decisions: of each candidate, Gumbel and normal noise; then Gumbel noise to choose."""
        keys = jax.random.split(key, 3)
        gumbel = jax.random.gumbel(keys[0], (*lead, self.candidates, self.choices))
        normal = jax.random.normal(keys[1], (*lead, self.candidates, self.reals))
        picks = jax.random.gumbel(keys[2], (*lead, self._picks))
        return jnp.concatenate([jnp.concatenate([gumbel, normal], axis=-1).reshape(*lead, -1), picks], axis=-1)

    def sample(self, policy: Float[Array, " L"] | Balanced, noise: Float[Array, " draws"]) -> Float[Array, " n"]:
        """Sample an action: of pi with the noise of the first candidate, of beta one of the candidates."""
        if isinstance(policy, Balanced):
            return policy.candidates.actions[(policy.shift + noise[-self.candidates :]).argmax()]
        return self._draw(policy, noise[: self.outputs])

    def _draw(self, preferences: Array, noise: Array) -> Array:
        logits, mean, log_std = self._split(preferences)
        numbers = mean + jnp.exp(log_std) * noise[self.choices :]
        if self.at_random:
            drawn = jnp.clip(2 * jax.scipy.stats.norm.cdf(numbers) - 1, -MOST, MOST)
            drawn = jnp.where(self._squashes, jnp.arctanh(drawn), drawn)
            numbers = jnp.where(np.isfinite(np.ptp(self.limits, axis=1)), drawn, numbers)
        return jnp.append(self.discrete.sample(logits, noise[: self.choices]), numbers)

    def mode(self, preferences: Float[Array, " L"]) -> Float[Array, " n"]:
        """The most probable choices, and the means."""
        logits, mean, _ = self._split(preferences)
        return jnp.append(self.discrete.mode(logits), mean)

    def log_prob(self, policy: Float[Array, " L"] | Balanced, action: Float[Array, " n"]) -> Float[Array, ""]:
        """Log-density of an action: the sum over its components. Of beta, the action must be one of its candidates."""
        if isinstance(policy, Balanced):
            # The nearest, because programs round differently: an equal action may differ in its last bit.
            distances = ((policy.candidates.actions - action) ** 2).sum(axis=-1)
            mine = jnp.arange(self.candidates) == distances.argmin()
            weight = by_candidates.log_weight(policy.shift, self._log_probs(policy)[1], mine)
            return self.log_prob(policy.pi, action) + weight
        (logits, mean, log_std), (choice, numbers) = self._split(policy), self._parts(action)
        density = -0.5 * ((numbers - mean) * jnp.exp(-log_std)) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
        if self.squashed:  # the density of tanh(u) at tanh(u)
            density = density - jnp.where(self._squashes, _log_slope(numbers), 0.0)
        return density.sum() + self.discrete.log_prob(logits, choice)

    def _log_probs(self, policy: Balanced) -> tuple[Array, Array]:
        """Log-probabilities of the candidates, and how they have changed since they were drawn."""
        now = jax.vmap(lambda one: self.log_prob(policy.pi, one))(policy.candidates.actions)
        return now, now - policy.candidates.log_probs

    def entropy(self, policy: Float[Array, " L"] | Balanced) -> Float[Array, ""]:
        """Entropy in nats: the sum over the components, of numbers the differential entropy. Of beta, an estimate."""
        if isinstance(policy, Balanced):
            now, drift = self._log_probs(policy)
            return self.entropy(policy.pi) + by_candidates.entropy_difference(policy.shift, drift, now)
        logits, mean, log_std = self._split(policy)
        found = log_std + 0.5 * math.log(2 * math.pi * math.e)
        if self.at_random:
            found = jnp.where(np.isfinite(np.ptp(self.limits, axis=1)), math.log(2), found)
        elif self.squashed:  # plus the mean of the logarithm of tanh's slope, by Gauss-Hermite quadrature
            nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
            slopes = _log_slope(mean[:, None] + jnp.exp(log_std)[:, None] * nodes.astype(np.float32))
            found = found + jnp.where(self._squashes, slopes @ (weights / weights.sum()).astype(np.float32), 0.0)
        return found.sum() + self.discrete.entropy(logits)

    def kl(self, policy: Float[Array, " L"] | Balanced, other: Float[Array, " L"]) -> Float[Array, ""]:
        """Divergence from ``other``: the sum over the components. Of beta, an estimate of that from its own pi."""
        if isinstance(policy, Balanced):
            return by_candidates.divergence(policy.shift, self._log_probs(policy)[1])
        (logits, mean, log_std), (others, centre, log_scale) = self._split(policy), self._split(other)
        ratio = jnp.exp(2 * (log_std - log_scale)) + ((mean - centre) * jnp.exp(-log_scale)) ** 2
        return (log_scale - log_std + 0.5 * (ratio - 1)).sum() + self.discrete.kl(logits, others)

    def masked(self, preferences: Float[Array, " L"], mask: Bool[Array, " A"] | None) -> Float[Array, " L"]:
        choices = self.choices
        return preferences.at[:choices].set(mask_logits(preferences[:choices], mask))

    def score(
        self, preferences: Array, noise: Array | None, mask: Array | None, scores: Scores, scores_of: ScoresOf
    ) -> Candidates:
        """Candidates drawn from pi, and what an action bonus says of them; without noise, always with the same."""
        noise = self.noise(jax.random.key(0)) if noise is None else noise
        each = noise[: self.candidates * self.outputs].reshape(self.candidates, -1)
        actions = jax.vmap(lambda one: self._draw(preferences, one))(each)
        log_probs = jax.vmap(lambda one: self.log_prob(preferences, one))(actions)
        return Candidates(actions, scores_of(jax.vmap(self.vector)(actions)), log_probs)

    def unscored(self, preferences: Float[Array, " L"]) -> Candidates:
        """No candidates."""
        return self.unflat(jnp.zeros(0))

    def shift(
        self, preferences: Array, scores: Candidates, coef: Array | float, kind: Normalization, mask: Array | None
    ) -> Balanced:
        """The policy that draws one of the candidates by Eq. 5."""
        return Balanced(preferences, scores, coef * self.normalized(scores.scores, kind, mask))

    def unflat(self, vector: Float[Array, "*b _"]) -> Candidates:
        count, (numbers,) = self._picks, self.action_shape
        actions, scores, log_probs = jnp.split(vector, (count * numbers, count * (numbers + 1)), axis=-1)
        return Candidates(actions.reshape(*vector.shape[:-1], count, numbers), scores, log_probs)

    def normalized(self, scores: Float[Array, " K"], kind: Normalization, mask: Array | None) -> Float[Array, " K"]:
        """``Normalize`` of Eq. 5 over the candidates."""
        return by_candidates.normalize_candidates(jax.lax.stop_gradient(scores), kind)

    def vector(self, action: Float[Array, " n"]) -> Float[Array, " V"]:
        """The action as the environment gets it, as a vector: choices one-hot, then the numbers."""
        choice, numbers = self._parts(self.executed(action))
        return jnp.append(self.discrete.vector(choice), numbers)

    def one_hot(self, action: Float[Array, " n"]) -> Float[Array, " A"]:
        return self.discrete.vector(self._parts(action)[0])

    def executed(self, action: Float[Array, " n"]) -> Float[Array, " n"]:
        """What the environment does with an action: numbers are squashed or clipped."""
        choice, numbers = jnp.split(action, (len(self.nvec),))
        low, high = np.array(self.limits, np.float32).T
        return jnp.append(choice, jnp.where(self._squashes, jnp.tanh(numbers), jnp.clip(numbers, low, high)))

    def prediction_loss(self, outputs: Float[Array, " V"], action: Float[Array, " n"]) -> Float[Array, ""]:
        """The cross-entropy of choices, and half the squared error of numbers."""
        choice, numbers = self._parts(self.executed(action))
        errors = 0.5 * ((outputs[self.choices :] - numbers) ** 2).sum()
        return errors + self.discrete.prediction_loss(outputs[: self.choices], choice)

    def predicts(self, outputs: Float[Array, " V"], action: Float[Array, " n"]) -> Bool[Array, " n"]:
        """Which components such a model predicts: choices, and numbers up to `CLOSE`."""
        choice, numbers = self._parts(self.executed(action))
        close = jnp.abs(outputs[self.choices :] - numbers) <= CLOSE
        return jnp.append(self.discrete.predicts(outputs[: self.choices], choice), close)

    def metrics(self, action: Float[Array, "T N n"], preferences: Float[Array, "T N L"]) -> dict[str, Array]:
        """Also the standard deviations, and the share of numbers beyond their limits."""
        numbers, (low, high) = action[..., len(self.nvec) :], np.array(self.limits, np.float32).T
        found = {
            "action_std": jnp.exp(preferences[..., self.outputs :]).mean() * (3**-0.5 if self.at_random else 1.0),
            "action_clipped": (~self._squashes & ((numbers < low) | (numbers > high))).mean(),
        }
        return {**found, "action_frequency": _each(self.one_hot)(action).mean(axis=(0, 1))} if self.nvec else found

    def bonus_metrics(self, scores: Candidates, kind: Normalization, mask: Array | None) -> dict[str, Array]:
        """As of a list of K actions."""
        added = _each(lambda one: self.normalized(one, kind, None))(scores.scores)
        return MultiCategorical((self.candidates,)).score_metrics(scores.scores, added, None)


#: A distribution over actions.
Distribution = MultiCategorical | GaussianActions


def _each(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of one step, applied to all steps of a rollout, (T, N)."""
    return jax.vmap(jax.vmap(function))


def _log_slope(numbers: Array) -> Array:
    """The logarithm of the slope of tanh, ``log(1 - tanh(u)^2)``, without cancellation."""
    return 2 * (math.log(2) - numbers - jax.nn.softplus(-2 * numbers))


def _proportions(bonus: Array) -> Array:
    total = bonus.sum()
    return bonus / jnp.where(total > 0, total, 1)


def _sum(terms: list[Float[Array, ""]]) -> Float[Array, ""]:
    return jnp.array(terms, jnp.float32).sum()
