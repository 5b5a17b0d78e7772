"""The notebook of the examples runs from top to bottom, and its saved outputs are those of its code."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
#: What is enough to run all cells: that agents learn is tested elsewhere, and plain PPO compiles faster.
FEWER = {
    "steps=81_920": "steps=2_048",
    "steps=49_152": "steps=2_048",
    "episodes=10": "episodes=2",
    'in ("ppo", "rnd")': 'in ("rnd",)',
    '"classic", method="action-balance-rnd"': '"classic", method="ppo"',
}


@pytest.fixture(scope="module")
def tools() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "run_notebook.py"))


@pytest.fixture
def notebook(tools: dict[str, Any]) -> Any:
    return tools["nbformat"].read(tools["NOTEBOOK"], 4)


def _kinds(notebook: Any) -> list[set[str]]:
    """What each cell shows: pictures, tables, text."""
    outputs = [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]
    return [{kind for one in found for kind in one.get("data", {"printed": ""})} for found in outputs]


def test_it_runs_from_top_to_bottom_and_shows_what_was_saved(tools: dict[str, Any], notebook: Any) -> None:
    saved = _kinds(notebook)
    for many, few in FEWER.items():
        (cell,) = (one for one in notebook.cells if many in one.source)
        cell.source = cell.source.replace(many, few)
    tools["execute"](notebook)
    assert _kinds(notebook) == saved


def test_its_outputs_were_made_by_its_code_from_top_to_bottom(tools: dict[str, Any], notebook: Any) -> None:
    assert notebook.metadata.code == tools["digest"](notebook)  # otherwise: python docs/run_notebook.py
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_it_has_nothing_of_the_machine_that_ran_it() -> None:
    text = (ROOT / "examples" / "tour.ipynb").read_text()
    assert not {word for word in ("/home", "/root", "/tmp", "iopub", "Traceback") if word in text}
    assert len(text) < 500_000
