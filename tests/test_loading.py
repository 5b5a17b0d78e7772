"""What is loaded when: heavy packages only by those who need them; and an interrupt meanwhile."""

import subprocess
import sys

import pytest

import action_balance

NO_JAX = """
import sys
sys.modules["jax"] = None
import action_balance.__main__, action_balance.envs.gymnasium.single
print(action_balance.__version__)
try:
    action_balance.balance
except ImportError as error:
    print(error)
"""

#: Commands that need nothing but their settings.
LINES = (
    "",
    "--version",
    "--help",
    "--print-completion bash",
    "reproduce grid --help",
    "reproduce atari --seeds 2",
    "reproduce entropy --seeds x",
    "explore map.txt --runs 3",
    "train --help",
    "train --help-all",
    "train open --help-all",
    "train atari:pitfall --help",
    "train gym:CartPole-v1 --help",
    "train open --steps 1e5 --seeds 3",
    "train open --steps abc",
    "train open --unknown 3",
    "compare a b",
)

PARSED = """
import sys
from action_balance.cli.main import parse
from action_balance.errors import UserError

for line in sys.argv[1:]:
    try:
        parse(line.split())
    except UserError:
        pass
    found = sorted({"jax", "matplotlib", "scipy", "gymnasium", "equinox", "optax"} & {*sys.modules})
    if found:
        sys.exit(f"action-balance {line} loads {found}")
"""

INTERRUPTED = """
import io, os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "action_balance.cli.main":
            sys.stderr = io.StringIO()
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
from action_balance.__main__ import main
main()
"""


def test_a_worker_and_the_start_of_the_program_need_no_jax() -> None:
    done = subprocess.run([sys.executable, "-c", NO_JAX], capture_output=True, text=True, check=True)
    assert done.stdout == f"{action_balance.__version__}\nimport of jax halted; None in sys.modules\n"


def test_parsing_loads_no_heavy_package() -> None:
    done = subprocess.run([sys.executable, "-c", PARSED, *LINES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_public_name_is_found() -> None:
    also = {"RND": "IntrinsicBonus"}
    assert {name: getattr(action_balance, name).__name__ for name in action_balance.__all__} == {
        name: also.get(name, name) for name in action_balance.__all__
    }
    with pytest.raises(AttributeError, match="module 'action_balance' has no attribute 'balanced'"):
        _ = action_balance.balanced


def test_public_names_only_are_listed() -> None:
    assert dir(action_balance) == sorted([*action_balance.__all__, "__version__"])


def test_an_interrupt_while_libraries_are_loaded_is_one_line() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "action-balance: interrupted; nothing was written\n"
