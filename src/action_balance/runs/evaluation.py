"""The last evaluation of a run: replaced as a whole, by one process at a time, also while the run is trained."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from action_balance.files import Data, cannot_write, load_json, to_json, write_durably
from action_balance.runs.owned import LOCK, PATIENCE, OwnedFolder, is_below

EVALUATION = "evaluation"
#: The file of an evaluation that describes the others; it is written last.
SUMMARY = "evaluation.json"
#: Beginning of the name of the folder in which an evaluation is prepared.
PREPARED = ".new-"


class EvaluationFolder(OwnedFolder):
    """The evaluation of a run. It has a lock of its own: a run may be evaluated while it is trained."""

    def contents(self) -> Iterable[str]:
        return *(file.name for file in evaluation_files(self.path.parent)), SUMMARY

    def sweep(self) -> None:
        for leftover in self.path.glob(f"{PREPARED}*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def replace(self, summary: Data, files: Mapping[str, bytes]) -> None:
        """Write an evaluation in place of an earlier one, which stays if the disk is full.

        While there is a summary, the other files are those that it was made with: it goes first, and comes last.
        """
        try:
            self.path.mkdir(exist_ok=True)
            self.acquire(PATIENCE)
            old = {file for file in evaluation_files(self.path.parent) if file.name not in files and not file.is_dir()}
            with tempfile.TemporaryDirectory(prefix=PREPARED, dir=self.path) as prepared:
                listed = to_json({**summary, "files": list(files)})
                for name, content in {**files, SUMMARY: listed}.items():
                    write_durably(Path(prepared) / name, content)
                (self.path / SUMMARY).unlink(missing_ok=True)
                for name in files:
                    os.replace(Path(prepared) / name, self.path / name)
                for file in old:
                    file.unlink(missing_ok=True)
                os.replace(Path(prepared) / SUMMARY, self.path / SUMMARY)
        except OSError as error:
            raise cannot_write(self.path, error) from None


def evaluation_files(run: Path) -> list[Path]:
    """The files of a run's last evaluation besides its summary, whether they exist or not."""
    listed = (load_json(run / EVALUATION / SUMMARY) or {}).get("files")
    names = listed if isinstance(listed, list) else []
    plain = [Path(name).name for name in names if isinstance(name, str) and is_below(name)]
    return [run / EVALUATION / name for name in dict.fromkeys(plain) if name != LOCK]
