"""The examples in PyTorch: they train, and their marked lines are all that was added."""

from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "cleanrl_ppo.py"
MARK = "# +"


def run(source: str, **settings: Any) -> tuple[list[float], float]:
    """Train with the code of the example for a few short rollouts."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, str(EXAMPLE), "exec"), names)
    args = names["Args"](size=3, envs=2, steps=16, minibatches=2, epochs=2, **settings)
    found: tuple[list[float], float] = names["train"](args)
    return found


@pytest.fixture(autouse=True)
def torch_threads() -> Any:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_ppo_with_action_balance_and_rnd_learns_from_the_policy_that_acted() -> None:
    returns, drift = run(EXAMPLE.read_text(), updates=3, warmup=3)
    assert len(returns) == 2 * (3 * 16 // 3)  # an episode of this deep sea has three steps
    assert drift < 1e-6


def test_without_the_marked_lines_it_is_plain_ppo() -> None:
    plain = "\n".join(line for line in EXAMPLE.read_text().splitlines() if MARK not in line)
    assert "RND" not in plain.partition('"""\n')[2]
    returns, drift = run(plain, updates=2)
    assert len(returns) == 2 * (2 * 16 // 3)
    assert drift < 1e-6
