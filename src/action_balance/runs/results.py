"""The folder of a study's result: never overwritten silently, never half-written, continued after an interrupt.

``summary.json`` describes the folder: the kind of the result, its settings, the numbers of every finished part
under ``ours``, and the names of all its other files under ``files``.
"""

import contextlib
import copy
import csv
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Content, Data, load_json, to_json
from action_balance.reading import Damaged, Missing, exists, read_json
from action_balance.runs.array_file import DamagedArrays, read_arrays, write_arrays
from action_balance.runs.manifest import versions
from action_balance.runs.owned import PATIENCE, OwnedFolder, is_below

#: The file that marks a folder as a result; written first, and after every finished part.
SUMMARY = "summary.json"

#: Packages, besides Python and JAX, that the numbers of a result may depend on.
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "matplotlib")


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A table as a CSV file; nan becomes an empty field, and what is not Unicode in a name a question mark."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(["" if isinstance(value, float) and math.isnan(value) else value for value in row] for row in rows)
    return text.getvalue().encode("utf-8", "replace")


class ResultFolder(OwnedFolder):
    """A folder with one ``summary.json``. Parts that are finished in it are kept and need not run again."""

    def __init__(self, path: Path, summary: Data) -> None:
        super().__init__(path)
        self.summary = summary
        self.before: Data = {}  # the summary of the report that this one replaces
        self._saved = copy.deepcopy(summary)  # as it is in the file, once it was written

    @classmethod
    def open(cls, path: Path, kind: str, settings: Data, overwrite: bool, extra: Data) -> Self:
        """Begin a result, or continue the same one where it was interrupted."""
        fresh = {"settings": json.loads(json.dumps(settings)), "versions": versions(PACKAGES), **extra}
        with cls._locked(path, kind, fresh, 0.0) as folder:
            found = folder._clear_or_read(overwrite)
            if found is not None:
                for what in ("kind", *fresh):
                    if found.get(what) != folder.summary[what]:
                        raise UserError(
                            f"{path} already contains a result with different {what}: choose another --out, or replace "
                            f"it with --overwrite"
                        )
                folder.summary = found
            folder.save()
        return folder

    @classmethod
    def renew(cls, path: Path, kind: str, overwrite: bool = False) -> Self:
        """Begin a report that follows from the runs in its folder, in place of an earlier one of the same kind."""
        with cls._locked(path, kind, {"versions": versions(PACKAGES)}, PATIENCE) as folder:
            found = load_json(path / SUMMARY) or {}
            if found.get("kind", kind) != kind:
                raise UserError(f"{path} already contains a result of {found['kind']}: choose another --out")
            folder.before = folder._clear_or_read(overwrite) or {}
            folder.summary["files"] = folder.before.get("files", [])
        return folder

    @classmethod
    def read(cls, path: Path) -> Self:
        folder = cls(path, {})
        found = folder._read()
        if found is None:
            raise UserError(f"{path} contains no result: it has no {SUMMARY}")
        folder.summary = found
        return folder

    @classmethod
    @contextlib.contextmanager
    def _locked(cls, path: Path, kind: str, summary: Data, patience: float) -> Iterator[Self]:
        """A new result whose folder is locked, and stays so unless opening it fails."""
        folder = cls(path, {"kind": kind, **summary, "ours": {}, "timings": {}, "files": []})
        folder.make()
        folder.acquire(patience)
        try:
            yield folder
            folder.sweep()  # now that its files are known
        except BaseException:
            folder.release()
            raise

    def _clear_or_read(self, overwrite: bool) -> Data | None:
        """The existing summary; None in a folder without a result, and where the result was deleted."""
        if not (overwrite and exists(self.path / SUMMARY)):
            return self._read()
        found = load_json(self.path / SUMMARY) or {}
        files = found.get("files")
        self.summary["files"] = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
        self.save()  # a process killed from here on leaves a result without a finished part
        self.clear()
        self.summary["files"] = []
        return None

    def _read(self) -> Data | None:
        file = self.path / SUMMARY
        damaged = UserError(f"{file} is damaged: choose another --out, or replace the result with --overwrite")
        try:
            found = read_json(file, f"the {SUMMARY} of a result")
        except Missing:
            return None
        except Damaged:
            raise damaged from None
        if not all(isinstance(found.get(key), dict) for key in ("ours", "timings")):
            raise damaged
        files = found.get("files")
        if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
            raise damaged
        self._saved = copy.deepcopy(found)
        return found

    def contents(self) -> Iterable[str]:
        """The files that the summary lists, and the summary; a result has no folders, whatever the summary lists."""
        names = [name for name in self.summary.get("files", []) if is_below(name) and os.path.lexists(self.path / name)]
        return *(name for name in names if not (self.path / name).is_dir() or (self.path / name).is_symlink()), SUMMARY

    def save(self) -> None:
        super().write(SUMMARY, to_json(self.summary))
        self._saved = copy.deepcopy(self.summary)

    def write(self, name: str, content: Content) -> None:
        """Write one file of the result; a file of that name that is not of the result is not replaced."""
        if name not in self.summary["files"]:
            if exists(self.path / name):
                raise UserError(
                    f"{self.path / name} does not belong to this result: move it away, or choose another --out"
                )
            self.summary["files"].append(name)
            # Listed before it exists, so that no file is left over; what else is new in the summary is not yet true.
            super().write(SUMMARY, to_json({**self._saved, "files": self.summary["files"]}))
        super().write(name, content)

    def write_csv(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.write(name, to_csv(header, rows))

    def add_arrays(self, name: str, arrays: dict[str, np.ndarray]) -> None:
        """Write arrays into an ``.npz`` file, in addition to those that it has."""
        path = self.path / name
        if exists(path):
            try:
                arrays = {**read_arrays(path), **arrays}
            except DamagedArrays:
                raise UserError(f"{path} is damaged: reproduce the result with --overwrite") from None
        ordered = {key: np.asarray(arrays[key]) for key in sorted(arrays)}
        self.write(name, partial(write_arrays, arrays=ordered, compress=True))
