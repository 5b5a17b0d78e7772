"""The Python in README and docs runs as it stands there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = [
    pytest.param(block, id=f"{path.name}-{number}")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_in_the_documentation_runs(block: str) -> None:
    exec(compile(block, "documentation", "exec"), {})


def test_the_example_map_is_one() -> None:
    from action_balance.envs.worlds import read_map

    assert read_map(ROOT / "examples" / "maps" / "four_rooms.txt").goals.sum() == 1
