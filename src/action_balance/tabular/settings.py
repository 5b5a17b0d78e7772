"""Settings and methods of the tabular agent. Importing them loads no JAX."""

from dataclasses import dataclass

from action_balance.errors import MAX, check_name, check_numbers


@dataclass(frozen=True)
class TabularSettings:
    """Settings of the tabular agent; the defaults are those of the paper's experiments."""

    update_every: int = 128
    """Steps between two updates; each update learns from the steps since the previous one."""
    action_coef: float = 1.0
    """Weight c_a of the action bonus in the policy."""
    state_coef: float = 0.1
    """Weight c_s of the next-state bonus: the reward of reaching a cell never acted from."""
    reward_base: float = 1.02
    """Decay of the next-state bonus: every visit divides it by this number."""
    gamma: float = 0.99
    """Discount of the intrinsic reward."""
    gae_lambda: float = 0.95
    """Lambda of generalized advantage estimation."""
    value_rate: float = 0.1
    """Step size of the value table."""

    def __post_init__(self) -> None:
        check_numbers(self, "update_every", low=1, high=MAX)
        check_numbers(self, "action_coef", "state_coef", high=1e6)
        check_numbers(self, "gamma", "gae_lambda", "value_rate", high=1)
        check_numbers(self, "reward_base", low=1)


#: The methods, as the bonuses that each of them uses: (action bonus, next-state bonus).
METHODS: dict[str, tuple[bool, bool]] = {
    "random": (False, False),
    "action-balance": (True, False),
    "rnd": (False, True),
    "action-balance-rnd": (True, True),
}


def coefficients(method: str, settings: TabularSettings) -> tuple[float, float]:
    """Coefficients (c_a, c_s) of a method; both are 0 for ``random``, whose policy therefore stays uniform."""
    uses_action_bonus, uses_state_bonus = METHODS[check_name("method", method, METHODS)]
    return settings.action_coef * uses_action_bonus, settings.state_coef * uses_state_bonus
