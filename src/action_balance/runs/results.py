"""The folder of a result: never overwritten silently, never half-written, continued where it was interrupted."""

import contextlib
import csv
import io
import json
import math
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from action_balance import __version__
from action_balance.errors import UserError
from action_balance.files import Data, to_json, write_atomically

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: Written first and after every finished part: it says what the rest of the folder holds.
SUMMARY = "summary.json"

#: Everything that a result may hold besides its summary.
FILES = (
    "goals.csv",
    "coverage.csv",
    "coverage_final.csv",
    "corridor.csv",
    "reach.csv",
    *(f"{world}_{table}.csv" for world in ("open", "corridor", "deep-sea") for table in ("states", "agents")),
    "counting.csv",
    "heatmaps.npz",
    "recording.npz",
    "report.html",
)
FIGURES = (
    "coverage_rate",
    "relative_increase",
    "heatmaps",
    "final_cells",
    "goal_boxes",
    "corridor_visits",
    "treasure_steps",
    "first_reach",
    *("open_coverage", "open_visits", "counting"),
    *(f"{world}_{name}" for world in ("corridor", "deep-sea") for name in ("found", "returns", "visits")),
)
CONTENTS = (*FILES, *(f"figures/{name}.{kind}" for name in FIGURES for kind in ("png", "svg")))


def versions() -> Data:
    """What the numbers may depend on."""
    packages = ("jax", "jaxlib", "numpy", "scipy", "matplotlib")
    return {
        "action-balance": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
    }


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A table as a CSV file; nan becomes an empty field."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if isinstance(value, float) and math.isnan(value) else value for value in row] for row in rows)
    return text.getvalue().encode()


class ResultFolder:
    """A folder with one ``summary.json``. Parts that are finished in it are kept and need not run again."""

    def __init__(self, path: Path, summary: Data) -> None:
        self.path = path
        self.summary = summary

    @classmethod
    def open(cls, path: Path, kind: str, settings: "DataclassInstance", overwrite: bool, extra: Data) -> "ResultFolder":
        """Begin a result, or continue the same one where it was interrupted.

        Args:
            kind: what makes it, e.g. ``reproduce grid``.
            settings: of everything but the choice of parts, which must be equal for a result to be continued.
            overwrite: delete a result that is there.
            extra: more for the summary, e.g. the map.
        """
        plain = json.loads(json.dumps(asdict(settings)))
        plain.pop("studies", None)
        fresh = {"kind": kind, "settings": plain, "versions": versions(), **extra, "ours": {}, "timings": {}}
        folder = cls(path, fresh)
        try:
            path.mkdir(parents=True, exist_ok=True)
            if overwrite and (path / SUMMARY).exists():
                folder._clear()
        except (FileExistsError, NotADirectoryError):
            raise UserError(f"a file is in the way of the folder {path}: choose another --out") from None
        except OSError as error:
            raise UserError(f"cannot write to {path}: {error.strerror or error}; choose another --out") from None
        found = folder._read()
        if found is not None:
            for what in ("kind", "settings", "versions", *extra):
                if found.get(what) != fresh[what]:
                    raise UserError(
                        f"{path} already holds a result with other {what}: choose another --out, "
                        f"or replace it with --overwrite"
                    )
            folder.summary = found
        folder.save()
        return folder

    def _read(self) -> Data | None:
        """The summary that is there; None in a folder without a result."""
        try:
            text = (self.path / SUMMARY).read_text(encoding="utf-8")
        except FileNotFoundError:
            if any((self.path / name).exists() for name in CONTENTS):
                raise UserError(
                    f"{self.path} holds files with the names of a result but no {SUMMARY}: choose another --out, "
                    f"or move them away"
                ) from None
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read {self.path / SUMMARY}: {error}; choose another --out") from None
        try:
            found = json.loads(text)
        except json.JSONDecodeError:
            found = None
        if not isinstance(found, dict) or not all(isinstance(found.get(key), dict) for key in ("ours", "timings")):
            raise UserError(
                f"{self.path / SUMMARY} is damaged: choose another --out, or replace the result with --overwrite"
            )
        return found

    def _clear(self) -> None:
        """Delete the result; other files in the folder stay."""
        for name in (SUMMARY, *CONTENTS):
            (self.path / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.figures.rmdir()  # if nothing else is in it

    @property
    def figures(self) -> Path:
        """Where the figures are."""
        return self.path / "figures"

    def save(self) -> None:
        """Write the summary as it now is."""
        self.write(SUMMARY, to_json(self.summary))

    def write(self, name: str, content: bytes) -> None:
        """Write one file of the result."""
        write_atomically(self.path / name, content)

    def write_csv(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a table; nan becomes an empty field."""
        self.write(name, to_csv(header, rows))

    def add_arrays(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        """Write arrays into an ``.npz`` file, besides those that it has."""
        path = self.path / name
        if path.exists():
            try:
                with np.load(path, allow_pickle=False) as found:
                    arrays = {**found, **arrays}
            except (OSError, ValueError, EOFError, BadZipFile):
                raise UserError(f"{path} is damaged: make the result anew with --overwrite") from None
        content = io.BytesIO()
        np.savez_compressed(content, allow_pickle=False, **{key: arrays[key] for key in sorted(arrays)})
        self.write(name, content.getvalue())
