"""The examples: agents explore more with action balance, and the marked lines of PPO are all that was added."""

import runpy
from pathlib import Path
from typing import Any

import jax
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
EXAMPLE = EXAMPLES / "cleanrl_ppo.py"
MARK = "# +"


def run(source: str, **settings: Any) -> tuple[list[float], float]:
    """Train with the code of the example for a few short rollouts."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, str(EXAMPLE), "exec"), names)
    args = names["Args"](size=3, envs=2, steps=16, minibatches=2, epochs=2, **settings)
    found: tuple[list[float], float] = names["train"](args)
    return found


@pytest.fixture
def torch_threads() -> Any:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("torch_threads")
def test_ppo_with_action_balance_and_rnd_learns_from_the_policy_that_acted() -> None:
    returns, drift = run(EXAMPLE.read_text(), updates=3, warmup=3)
    assert len(returns) == 2 * (3 * 16 // 3)  # an episode of this deep sea has three steps
    assert drift < 1e-6


@pytest.mark.usefixtures("torch_threads")
def test_without_the_marked_lines_it_is_plain_ppo() -> None:
    plain = "\n".join(line for line in EXAMPLE.read_text().splitlines() if MARK not in line)
    assert "RND" not in plain.partition('"""\n')[2]
    returns, drift = run(plain, updates=2)
    assert len(returns) == 2 * (2 * 16 // 3)
    assert drift < 1e-6


@pytest.mark.usefixtures("torch_threads")
def test_the_example_prints_what_the_intrinsic_bonus_alone_reaches_beside_both(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = EXAMPLE.read_text()
    plain = "\n".join(line for line in whole.splitlines() if MARK not in line)
    tiny = ["--size", "3", "--envs", "2", "--steps", "16", "--updates", "2"]
    for source, words, columns in (
        (whole, ["--warmup", "3", "--intrinsic", "e3b"], ["e3b and hash", "e3b and none"]),
        (whole, ["--warmup", "3", "--action-bonus", "none"], ["rnd and none"]),
        (plain, [], ["PPO"]),
    ):
        monkeypatch.setattr("sys.argv", ["example", *tiny, *words])
        exec(compile(source, str(EXAMPLE), "exec"), {"__name__": "__main__"})
        first, *rest = capsys.readouterr().out.splitlines()
        assert first.split("\t")[1:] == columns
        assert {len(line.split("\t")) for line in rest[:-1]} == {1 + len(columns)}


def test_own_agent_visits_more_cells_with_action_balance() -> None:
    visited_cells = jax.jit(runpy.run_path(str(EXAMPLES / "own_agent.py"))["visited_cells"])
    without, balanced = (
        sum(int(visited_cells(coef, jax.random.key(seed))) for seed in range(2)) for coef in (0.0, 3.0)
    )
    assert balanced > 1.2 * without


def test_foreign_agent_finds_the_treasure_with_action_balance_only() -> None:
    explore = runpy.run_path(str(EXAMPLES / "foreign_agent.py"))["explore"]
    (cells, treasures), (more_cells, more_treasures) = explore(0.0, 0), explore(2.0, 0)
    assert more_cells > 1.2 * cells
    assert treasures < 10
    assert more_treasures > 100


def test_the_example_map_is_one() -> None:
    from action_balance.envs.grid.maps import read_map

    assert read_map(EXAMPLES / "maps" / "four_rooms.txt").goals.sum() == 1
