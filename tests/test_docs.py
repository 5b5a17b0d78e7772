"""The Python in README and docs runs as it stands there."""

import re
import runpy
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_in_the_documentation_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # for what it saves
    exec(compile(block, "documentation", "exec"), {})


def test_own_agent_sees_more_with_action_balance() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "own_agent.py"))
    cells_seen = jax.jit(example["cells_seen"], static_argnums=0)
    seen = [sum(int(cells_seen(coef, jax.random.key(seed))) for seed in range(3)) for coef in (0.0, 3.0)]
    assert seen[1] > 1.2 * seen[0]


def test_foreign_agent_finds_the_treasure_with_action_balance_only() -> None:
    explore = runpy.run_path(str(ROOT / "examples" / "foreign_agent.py"))["explore"]
    for seed in range(2):
        (cells, treasures), (more_cells, more_treasures) = explore(0.0, seed), explore(2.0, seed)
        assert more_cells > 1.2 * cells
        assert treasures < 10
        assert more_treasures > 100


def test_the_example_map_is_one() -> None:
    from action_balance.envs.worlds import read_map

    assert read_map(ROOT / "examples" / "maps" / "four_rooms.txt").goals.sum() == 1
