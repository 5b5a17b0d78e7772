"""Settings and methods of the tabular agent. Importing them loads no JAX."""

from dataclasses import dataclass

from action_balance.config.fields import Settings, count, number
from action_balance.errors import check_name


@dataclass(frozen=True)
class TabularSettings(Settings):
    """Settings of the tabular agent; the defaults are those of the paper's experiments."""

    update_every: int = count(128)
    """Steps between two updates; each update learns from the steps since the previous one."""
    action_coef: float = number(1.0, high=1e6)
    """Weight c_a of the action bonus in the policy."""
    state_coef: float = number(0.1, high=1e6)
    """Weight c_s of the next-state bonus: the reward of reaching a cell never acted from."""
    reward_base: float = number(1.02, 1)
    """Decay of the next-state bonus: every visit divides it by this number."""
    gamma: float = number(0.99, high=1)
    """Discount of the intrinsic reward."""
    gae_lambda: float = number(0.95, high=1)
    """Lambda of generalized advantage estimation."""
    value_rate: float = number(0.1, high=1)
    """Step size of the value table."""


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
