"""What is loaded when: JAX, which takes seconds, only by those who need it; and an interrupt meanwhile."""

import subprocess
import sys

import pytest

import action_balance

NO_JAX = """
import sys
sys.modules["jax"] = None
import action_balance.__main__, action_balance.envs.gym_single
print(action_balance.__version__, len(dir(action_balance)) > len(action_balance.__all__))
try:
    action_balance.balance
except ImportError as error:
    print(error)
"""


def test_a_worker_and_the_beginning_of_the_program_need_no_jax() -> None:
    done = subprocess.run([sys.executable, "-c", NO_JAX], capture_output=True, text=True, check=True)
    assert done.stdout == f"{action_balance.__version__} True\nimport of jax halted; None in sys.modules\n"


def test_every_public_name_is_found() -> None:
    assert {getattr(action_balance, name).__name__ for name in action_balance.__all__} == {*action_balance.__all__}
    assert {*action_balance.__all__} <= {*dir(action_balance)}
    with pytest.raises(AttributeError, match="module 'action_balance' has no attribute 'balanced'"):
        _ = action_balance.balanced
