"""The folder of a study of many runs: its report is written anew whenever there is more to tell."""

import contextlib
from pathlib import Path

from action_balance.errors import UserError
from action_balance.files import Data, reason
from action_balance.runs.results import SUMMARY, ResultFolder, versions

#: Everything that such a result may hold besides its summary and its runs.
FILES = (
    *("final_returns.csv", "learning_curves.csv", "entropy.csv", "entropy_curves.csv", "runs.csv", "report.html"),
    *(f"figures/{name}.{kind}" for name in ("learning_curves", "entropy") for kind in ("png", "svg")),
)


class StudyFolder(ResultFolder):
    """A result that follows from the runs in its folder, so that only its kind has to stay the same."""

    def __init__(self, path: Path, summary: Data) -> None:
        super().__init__(path, summary)
        self.before: Data = {}  # the summary of the report that this one takes the place of

    @classmethod
    def renew(cls, path: Path, kind: str, overwrite: bool = False) -> "StudyFolder":
        """Begin a report, in place of an earlier one of the same kind.

        Args:
            path: the folder; it is made when it is not there.
            kind: what makes it; a result of another kind is never replaced.
            overwrite: delete the earlier one at once, also where its summary is damaged.
        """
        folder = cls(path, {"kind": kind, "versions": versions(), "ours": {}, "timings": {}})
        try:
            path.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise UserError(f"a file is in the way of the folder {path}: choose another --out") from None
        except OSError as error:
            raise UserError(f"cannot write to {path}: {reason(error)}; choose another --out") from None
        try:
            found = folder._read()
        except UserError:
            if not (overwrite and (path / SUMMARY).exists()):
                raise
            found = None
        if found is not None and found.get("kind") != kind:
            raise UserError(f"{path} already holds a result of {found.get('kind')}: choose another --out")
        if overwrite:
            folder._clear()
        else:
            folder.before = found or {}
        return folder

    @classmethod
    def read(cls, path: Path) -> "StudyFolder":
        """A report that is there."""
        folder = cls(path, {})
        found = folder._read()
        if found is None:
            raise UserError(f"{path} holds no result: there is no {SUMMARY}")
        folder.summary = found
        return folder

    def _clear(self) -> None:
        """Delete the report; other files in the folder stay."""
        try:
            for name in (SUMMARY, *FILES):
                (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"cannot delete the result in {self.path}: {reason(error)}") from None
        with contextlib.suppress(OSError):
            self.figures.rmdir()  # if nothing else is in it
