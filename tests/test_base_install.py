"""Without any extra, an agent is trained, resumed, evaluated and shown: no optional package is imported."""

import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from small_run import SMALL

#: Acts as if only some modules were installed.
PROGRAM = """
import sys
from importlib.machinery import PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        return None if fullname.partition(".")[0] in BLOCKED else super().find_spec(fullname, path, target)

sys.meta_path[:] = [Installed if finder is PathFinder else finder for finder in sys.meta_path]
from action_balance.cli.main import main
from action_balance.runs import RunFolder

run, *words = sys.argv[1:]
main(["train", "deep-sea", "--size", "3", "--method", "ppo", "--out", run, *words])
folder = RunFolder.open(__import__("pathlib").Path(run))
for checkpoint in folder.checkpoints().after(2):
    __import__("shutil").rmtree(checkpoint)
folder.finish("interrupted")
main(["resume", run])
main(["evaluate", run, "--episodes", "1"])
main(["view", run, "--save", run + ".html"])
main(["list"])
main(["train", "gym:CartPole-v1"])
"""


def base() -> set[str]:
    """The distributions that an installation without extras has."""
    todo, found = ["action-balance"], set[str]()
    while todo:
        name = canonicalize_name(todo.pop())
        if name not in found:
            found.add(name)
            requirements = [Requirement(line) for line in metadata.requires(name) or ()]
            todo += [one.name for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def test_training_needs_base_dependencies_only(tmp_path: Path) -> None:
    allowed = base()
    assert {"jax", "rich"} <= allowed
    owners = metadata.packages_distributions()
    blocked = {name for name, owned in owners.items() if not {*map(canonicalize_name, owned)} & allowed}
    assert {"tensorboard", "wandb", "mlflow", "torch", "gymnasium", "pandas"} <= blocked
    program = f"BLOCKED = {sorted(blocked)!r}\n{PROGRAM}"
    command = [sys.executable, "-c", program, str(tmp_path / "run"), *SMALL, "--hidden", "8"]
    quick = {**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # compiles faster
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=quick)
    assert done.returncode == 2, done.stderr
    assert "gymnasium is not installed, but a Gymnasium environment needs it" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run" / "tensorboard").exists()
    assert re.search("wrote .*run.html", done.stdout)
