"""Run examples/tour.ipynb and save it with its outputs: ``python docs/run_notebook.py``.

The outputs are those of a run from top to bottom. The file notes a digest of the code that made them, so that a test
finds outputs of other code; it has no times, no execution state and no name of a machine.
"""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOK = Path(__file__).parents[1] / "examples" / "tour.ipynb"


def digest(notebook: Any) -> str:
    """What identifies the code of a notebook.

    Args:
        notebook: as nbformat reads it.

    Returns:
        A SHA-256 in hexadecimal digits.
    """
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return hashlib.sha256("\0".join(code).encode()).hexdigest()


def execute(notebook: Any) -> None:
    """Run all cells in a new kernel, in an empty folder; an error in a cell is raised.

    Args:
        notebook: as nbformat reads it; it receives the outputs.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("IPYTHONDIR", folder)
        local = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})  # opens no port
        client = NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False, config=local)
        client.execute(cwd=folder)


def main() -> None:
    """Run the notebook and save it."""
    notebook = nbformat.read(NOTEBOOK, 4)
    execute(notebook)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "code": digest(notebook),
    }
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
