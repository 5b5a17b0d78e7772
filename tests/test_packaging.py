"""What would be published, built offline from a copy, as the build leaves files behind."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

import action_balance

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
IGNORED = shutil.ignore_patterns("__pycache__", "*.egg-info")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is built from it."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for path in ROOT.iterdir():
        if path.name in {"src", "tests", "docs", "examples", "benchmarks"}:
            shutil.copytree(path, source / path.name, ignore=IGNORED)
        elif path.is_file():
            shutil.copy(path, source)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> dict[str, bytes]:
    """The files of the wheel."""
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def about(wheel: dict[str, bytes]) -> Message:
    """The metadata of the wheel."""
    (content,) = (content for name, content in wheel.items() if name.endswith("/METADATA"))
    return message_from_bytes(content)


def test_the_wheel_has_the_package_and_nothing_else(wheel: dict[str, bytes]) -> None:
    source = ROOT / "src"
    ours = {str(path.relative_to(source)) for path in (source / "action_balance").rglob("*") if path.is_file()}
    info = f"action_balance-{action_balance.__version__}.dist-info"
    assert {name for name in wheel if not name.startswith(f"{info}/")} == {
        name for name in ours if "__pycache__" not in name
    }
    data = {"web/assets/style.css", "web/assets/main.js", "web/templates/base.html", "studies/grid/page.html"}
    assert {f"action_balance/{name}" for name in {"py.typed", *data}} <= set(wheel)
    assert f"{info}/licenses/LICENSE" in wheel
    assert wheel[f"{info}/entry_points.txt"].split() == [
        b"[console_scripts]",
        *b"action-balance = action_balance.__main__:main".split(),
    ]


def test_the_sdist_can_be_tested(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "constraints.txt", "tests/conftest.py", "tests/cli/test_main.py", "docs/grid.md"} <= names
    assert {
        "benchmarks/plain_grid.py",
        "examples/own_agent.py",
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "README.md",
    } <= names
    assert {"mkdocs.yml", "docs/theme/hooks.py", "docs/theme/style.css", "docs/images/method.svg"} <= names
    assert not any("__pycache__" in name or name.endswith(".pyc") for name in names)


def test_the_metadata_is_complete(about: Message) -> None:
    assert about["Name"] == "action-balance"
    assert about["Version"] == action_balance.__version__
    assert about["License-Expression"] == "MIT"
    assert about["Requires-Python"] == ">=3.11"
    assert about["Description-Content-Type"] == "text/markdown"
    assert about["Author"] == "The Action Balance developers"
    assert about.get_all("Project-URL") == ["Paper, https://arxiv.org/abs/2003.04518"]
    assert "Typing :: Typed" in (about.get_all("Classifier") or ())
    assert str(about.get_payload()).strip() == (ROOT / "README.md").read_text().strip()
    assert {"atari", "gym", "wandb", "mlflow", "sb3", "docs"} <= {*(about.get_all("Provides-Extra") or ())}


def test_the_citation_names_the_version_of_the_package() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["cff-version"] == "1.2.0"
    assert cited["version"] == Version(action_balance.__version__).base_version
    assert [author["family-names"] for author in cited["references"][0]["authors"]] == ["Song", "Chen", "Hu", "Fan"]


def test_everything_that_is_needed_has_one_version_in_ci() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines == sorted(lines, key=str.casefold)
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines if "==" in line}
    assert len(pinned) == len(lines)
    extras = PROJECT["optional-dependencies"]
    for requirement in [*PROJECT["dependencies"], *(one for extra in extras.values() for one in extra)]:
        assert Requirement(requirement).name.lower() in pinned, requirement
