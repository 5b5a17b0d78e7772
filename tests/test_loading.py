"""What is loaded when: JAX, which takes seconds, only by those who need it; and an interrupt meanwhile."""

import subprocess
import sys

import pytest

import action_balance

NO_JAX = """
import sys
sys.modules["jax"] = None
import action_balance.__main__, action_balance.envs.gym_single
print(action_balance.__version__)
try:
    action_balance.balance
except ImportError as error:
    print(error)
"""

INTERRUPTED = """
import io, os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "action_balance.cli.main":
            sys.stderr = io.StringIO()  # as the parser does
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from action_balance.__main__ import main
main()
"""


def test_a_worker_and_the_beginning_of_the_program_need_no_jax() -> None:
    done = subprocess.run([sys.executable, "-c", NO_JAX], capture_output=True, text=True, check=True)
    assert done.stdout == f"{action_balance.__version__}\nimport of jax halted; None in sys.modules\n"


def test_every_public_name_is_found() -> None:
    assert {getattr(action_balance, name).__name__ for name in action_balance.__all__} == {*action_balance.__all__}
    assert {*action_balance.__all__} <= {*dir(action_balance)}
    with pytest.raises(AttributeError, match="module 'action_balance' has no attribute 'balanced'"):
        _ = action_balance.balanced


def test_an_interrupt_while_libraries_are_loaded_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "action-balance: interrupted; nothing was written\n"
