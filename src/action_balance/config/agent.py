"""Settings of the neural agent. Nothing here imports JAX."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from action_balance.config.algorithm import DEFAULT, AlgorithmConfig, MinibatchOf, settings_of
from action_balance.config.bonuses import bonus_parts, default_normalization
from action_balance.config.exploration import (
    ADAPTS,
    LEAST_ROLLOUTS,
    OF_ACTION_BONUS,
    OF_EPSILON,
    ROLLOUTS_PER_WARMUP,
    WARMUP_STEPS,
    ExplorationConfig,
)
from action_balance.config.fields import Settings, count, known, number
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import (
    ACTION_BONUSES,
    AUTO,
    INTRINSIC_BONUSES,
    METHODS,
    NONE,
    WITHOUT_STATISTICS,
    Auto,
    Method,
)
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import load_object
from action_balance.core.options import Normalization
from action_balance.errors import MAX, UserError, flag

#: Named settings of an agent, in `config.presets`.
Preset = Literal["classic", "vectorized", "study", "chains", "rooms", "atari-paper", "atari-rnd"]
#: Most environment steps of a seed: whole numbers up to it are also floating-point numbers of 64 bits.
MAX_STEPS = 10**15


@dataclass(frozen=True)
class HostConfig(Settings):
    """How environments on the host are stepped."""

    groups: int | None = count(None)
    """Number of groups of environments that take turns: one steps while the agent computes actions for another
    (default: 2; 1 with fewer than 16 environments, or if they step in this process). Results do not depend on this
    setting."""
    lag: int | None = number(None, high=1)
    """0: environments wait for each update. 1: they keep stepping with the previous policy during the update (default:
    1 on a GPU, 0 on a CPU)."""
    threads: int = number(0, high=MAX)
    """Threads per group, for environments that step in threads; 0 for one per core."""


@dataclass(frozen=True)
class AgentConfig(Settings):
    """How one agent is trained."""

    method: str = known("action-balance-rnd", METHODS)
    """Exploration method, which selects the bonuses."""
    intrinsic: str | None = known(None, (NONE, *INTRINSIC_BONUSES), own=True)
    """Next-state bonus, overriding the method's."""
    action_bonus: str | None = known(None, (NONE, *ACTION_BONUSES), own=True)
    """Action bonus, overriding the method's."""
    steps: int = count(150_000, MAX_STEPS)
    """Environment steps per seed, those of the warm-up included, rounded down to whole rollouts."""
    envs: int = count(8)
    """Number of parallel environments."""
    algorithm: AlgorithmConfig = field(default_factory=load_object(settings_of(DEFAULT)))
    exploration: ExplorationConfig = field(default_factory=ExplorationConfig)
    bonus_settings: FrozenDict = field(default_factory=FrozenDict)
    """Settings of individual bonuses, by name of the bonus."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    host: HostConfig = field(default_factory=HostConfig)
    preset: Preset | None = field(default=None, compare=False)
    """Named settings to start from, which flags override."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_method()
        divided = self.steps_per_update if self.minibatch_of == "samples" else self.envs
        if divided % self.algorithm.minibatches:
            what = f"{self.algorithm.minibatches} minibatches do not divide {divided} {self.minibatch_of}"
            raise UserError(f"{what}: change --minibatches or --envs")
        if self.host.groups is not None and self.envs % self.host.groups:
            what = f"{self.envs} environments cannot be split into {self.host.groups} equal groups"
            raise UserError(f"{what}: change --groups or --envs")
        if self.steps < self.steps_per_update:
            rollout = f"one rollout of {self.envs} environments x {self.algorithm.rollout_steps} steps"
            least = f"use --steps {self.steps_per_update} or more"
            raise UserError(f"{self.steps} steps are fewer than {rollout}: {least}")
        self._check_products()
        if self.updates < 1:
            raise UserError(
                f"the warm-up of {self.warmup_rollouts} rollouts leaves nothing of {self.steps} steps to learn from: "
                f"use --steps {self.steps_at(1)} or more, or fewer --warmup-rollouts"
            )
        self._check_unused()

    def _check_products(self) -> None:
        """Raise a `UserError` if updates or minibatches cannot be counted in 32 bits."""
        if self.updates > MAX:
            raise UserError(
                f"--steps {self.steps} takes {self.updates} updates of {self.steps_per_update} steps, but a run has at "
                f"most {MAX} updates: use more --envs or --rollout-steps"
            )
        for one, first, other, second in (
            ("warmup_rollouts", self.warmup_rollouts, "rollout_steps", self.algorithm.rollout_steps),
            ("epochs", self.algorithm.epochs, "minibatches", self.algorithm.minibatches),
        ):
            if first * second > MAX:
                raise UserError(f"{flag(one)} {first} times {flag(other)} {second} must be at most {MAX}")

    def _check_unused(self) -> None:
        """Raise a `UserError` for a setting that has no effect with these bonuses."""
        if unused := self.bonus_settings.keys() - set(self.bonus_names):
            raise UserError(f"{self.label} does not use the bonus {min(unused)}: remove its settings")
        why = {"action_coef_end": "--action-coef auto cannot be combined with a schedule"} if self.adapts else {}
        if not self.adapts:
            why = {name: f"{flag(name)} needs --action-coef auto" for name in ADAPTS}
        if not self.balances:
            why = dict.fromkeys(OF_ACTION_BONUS, f"{self.label} has no action bonus")
        for name, reason in why.items():
            default = getattr(ExplorationConfig, name)
            if getattr(self.exploration, name) != default:
                other = "none" if default is None else default
                raise UserError(f"{reason}: leave out {flag(name)}, or set it to {other}")
        varies = self.epsilon or self.exploration.epsilon_end
        if self.adapts and varies and not self.algorithm.adapts_with_epsilon:
            raise UserError("--action-coef auto and --epsilon both change KL(beta || pi): choose one of them")
        given = {name: getattr(self.exploration, name) for name in OF_EPSILON}
        learns = {"memory": self.recurrent_units or None, "entropy_coef": getattr(self.algorithm, "entropy_coef", None)}
        for name, value in {**given, **learns}.items():
            if self.uniform and value != getattr(ExplorationConfig, name, None):
                raise UserError(f"{self.label} acts at random and does not learn: leave out {flag(name)}")
        if given["epsilon_spread"] and not varies:
            raise UserError("--epsilon-spread needs random actions: add --epsilon, or leave it out")
        if given["epsilon_decay"] != 1 and given["epsilon_end"] is None:
            raise UserError("--epsilon-decay needs --epsilon-end: give both or neither")

    def _check_method(self) -> None:
        """Raise a `UserError` if the method is that of another algorithm."""
        wanted, has = self.method_settings.algorithm, self.algorithm.name
        if wanted not in (None, has):
            raise UserError(
                f"--method {self.method} cannot be combined with --algorithm {has}: leave out one of them, or "
                f"in Python use agent_config, which chooses the algorithm of a method"
            )
        if self.method_settings.entropy_factor != 1 and not self.algorithm.has_entropy:
            raise UserError(f"--method {self.method} needs an entropy in the loss, and {has} has none: choose another")

    def policy_only(self) -> "AgentConfig":
        """The settings of an agent that has learned and only acts: no bonus rewards it or balances it."""
        off = {name: getattr(ExplorationConfig, name) for name in (*OF_ACTION_BONUS, *OF_EPSILON)}
        has_method = self.uniform or self.algorithm.name in METHODS  # those of users have none without a bonus
        if not self.uniform and (self.algorithm.epsilon or not has_method):
            off["epsilon"] = 0.0
        return replace(
            self,
            method=self.algorithm.name if has_method and not self.uniform else self.method,
            intrinsic=None if has_method else NONE,
            action_bonus=None if has_method else NONE,
            exploration=replace(self.exploration, **off),
            bonus_settings=FrozenDict(),
        )

    @property
    def method_settings(self) -> Method:
        """The bonuses that the method stands for, and its other settings."""
        return METHODS[self.method]

    @property
    def intrinsic_name(self) -> str:
        """Name of the next-state bonus, or none."""
        return self.method_settings.intrinsic if self.intrinsic is None else self.intrinsic

    @property
    def action_bonus_name(self) -> str:
        """Name of the bonus that balances the policy, or none."""
        return self.method_settings.action_bonus if self.action_bonus is None else self.action_bonus

    @property
    def bonus_names(self) -> tuple[str, ...]:
        """Names of the bonuses in use, with those that they are made of."""
        names = [self.intrinsic_name, self.action_bonus_name]
        parts = [part for name in names for part in bonus_parts(name, self.settings_of(name))]
        return tuple(dict.fromkeys([*names, *parts]))

    @property
    def label(self) -> str:
        """The name of the method with these bonuses, or both bonuses where there is none; that of the algorithm where
        there is no bonus, and before it where it is not the default.

        A method that changes more than bonuses, such as epsilon-greedy, is named as well.
        """
        rewards, balances = self.intrinsic_name, self.action_bonus_name
        own = replace(self.method_settings, algorithm=None, intrinsic=rewards, action_bonus=balances)
        if own == Method():
            return self.algorithm.name
        prefix = "" if self.uniform or self.algorithm.name == DEFAULT else f"{self.algorithm.name}-"
        for name in (self.method, *METHODS):
            if replace(METHODS[name], algorithm=None) == own:
                return f"{prefix}{name}"
        pair = f"{rewards}+{balances}"
        plain = replace(own, intrinsic=NONE, action_bonus=NONE) == Method()
        return f"{prefix}{pair}" if plain else f"{prefix}{self.method} with {pair}"

    @property
    def uniform(self) -> bool:
        """Whether the agent acts uniformly at random and learns nothing."""
        return self.method_settings.uniform

    @property
    def balances(self) -> bool:
        """Whether an action bonus balances the policy (Eq. 5)."""
        return self.action_bonus_name != NONE

    @property
    def action_coef(self) -> float | Auto:
        """c of Eq. 5, or that it adapts: as set, or the method's."""
        given = (self.exploration.action_coef, self.method_settings.action_coef, self.algorithm.action_coef)
        return next(one for one in given if one is not None)

    @property
    def normalize(self) -> Normalization:
        """How the action bonus is normalised: as set, or the default of the bonus."""
        return self.exploration.normalize or default_normalization(self.action_bonus_name)

    @property
    def adapts(self) -> bool:
        """Whether c of Eq. 5 adapts."""
        return self.balances and self.action_coef == AUTO

    @property
    def target_kl(self) -> float:
        """KL(beta || pi) that c is adapted to: as set, or the method's."""
        return self.method_settings.target_kl if self.exploration.target_kl is None else self.exploration.target_kl

    @property
    def epsilon(self) -> float:
        """Probability of a random action, at first and at most: as set, or the method's, or the algorithm's."""
        default = self.method_settings.epsilon or (0.0 if self.uniform else self.algorithm.epsilon)
        return default if self.exploration.epsilon is None else self.exploration.epsilon

    @property
    def beta_differs(self) -> bool:
        """Whether the behaviour policy beta is another one than pi."""
        return self.balances or bool(self.epsilon or self.exploration.epsilon_end)

    def settings_of(self, bonus: str) -> FrozenDict:
        """Settings of one bonus that differ from its defaults: the method's, then those of the config."""
        return FrozenDict({**self.method_settings.bonus_settings.get(bonus, {}), **self.bonus_settings.get(bonus, {})})

    @property
    def groups(self) -> int:
        """Groups of environments on the host: as set, or the default."""
        if self.host.groups is not None:
            return self.host.groups
        return 2 if self.envs % 2 == 0 and self.envs >= 16 else 1

    @property
    def recurrent_units(self) -> int:
        """Units of the policy's memory; 0 without one."""
        return 0 if self.network.memory == NONE else self.network.memory_units

    @property
    def minibatch_of(self) -> MinibatchOf:
        """What a minibatch consists of: as set, but a memory learns from all steps of some environments."""
        return "environments" if self.recurrent_units else self.algorithm.minibatch_of

    @property
    def intrinsic_coef(self) -> float:
        """Weight of the intrinsic stream: 0 without a next-state bonus."""
        return self.algorithm.intrinsic_coef if self.intrinsic_name != NONE else 0.0

    @property
    def steps_per_update(self) -> int:
        """Environment steps of a rollout."""
        return self.envs * self.algorithm.rollout_steps

    @property
    def warmup_rollouts(self) -> int:
        """Rollouts of a random agent before the first update, as set or by default; 0 where no bonus has statistics."""
        if self.uniform or {*self.bonus_names} <= WITHOUT_STATISTICS:
            return 0
        if self.exploration.warmup_rollouts is not None:
            return self.exploration.warmup_rollouts
        needed, share = -(-WARMUP_STEPS // self.steps_per_update), -(-self.rollouts // ROLLOUTS_PER_WARMUP)
        return min(needed, share) if self.rollouts >= LEAST_ROLLOUTS else 0

    @property
    def rollouts(self) -> int:
        """Rollouts of the whole run, those of the warm-up included."""
        return self.steps // self.steps_per_update

    @property
    def updates(self) -> int:
        """Updates of the whole training, one per rollout after the warm-up."""
        return self.rollouts - self.warmup_rollouts

    def steps_at(self, update: Any) -> Any:
        """Environment steps of a seed until the end of an update, or of an array of updates."""
        return (self.warmup_rollouts + update) * self.steps_per_update
