"""The folder of a training run: begun once, never overwritten silently, resumed exactly.

``config.json``      the settings and the format of the folder; it marks the folder as a run
``manifest.json``    where the run came from, and how it ended
``metrics.jsonl``    one line per update and seed (see `action_balance.runs.metrics`), with ``timing.jsonl``
``visits.jsonl``     in environments with enumerable states: how often each pair was taken, at some updates
``tensorboard/``     the same numbers for TensorBoard, where it is installed
``record.npz``       in studies: what is measured while a run is trained, or kept of it in place of metrics
``checkpoints/``     the last three and the best (see `action_balance.runs.checkpoints`)
``evaluation/``      the last evaluation of a checkpoint
``aside/``           what is no longer part of the run, and is kept (see `action_balance.runs.aside`)
"""

import contextlib
import json
import os
import shlex
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from action_balance.config.trust import leads_to
from action_balance.errors import UserError
from action_balance.files import Data, cannot_write, check_inside, fingerprint, load_json, reason, to_json
from action_balance.reading import Damaged, Missing, entries, is_folder, read_json, status
from action_balance.runs.aside import ASIDE, move_aside, new_aside
from action_balance.runs.checkpoints import Checkpoints, Restored
from action_balance.runs.evaluation import EVALUATION, EvaluationFolder
from action_balance.runs.manifest import changes, describe_start, now
from action_balance.runs.metrics import TENSORBOARD, MetricsLog
from action_balance.runs.owned import OwnedFolder, remove_empty
from action_balance.runs.rows import METRICS, TIMING, VISITS, compressed, kept

CONFIG = "config.json"
MANIFEST = "manifest.json"
CHECKPOINTS = "checkpoints"

#: The value that marks ``config.json`` as that of a run, and the version of the whole folder that is written.
FORMAT = "action-balance run"
VERSION = 3

#: The files of rows.
ROWS = (METRICS, TIMING, VISITS)
NUMBERS = (*ROWS, compressed(Path(METRICS)).name)
#: What a study measures while a run is trained, and may keep in place of metrics and checkpoints.
RECORD = "record.npz"
#: Everything that a run may hold. The config is deleted last: while it is there, the rest is known to be a run.
CONTENTS = (MANIFEST, *NUMBERS, TENSORBOARD, CHECKPOINTS, EVALUATION, ASIDE, RECORD, CONFIG)

#: Where the manifest has the condition that has ended the run before all its steps were made.
ENDED_EARLY = "ended_early"

Status = Literal["finished", "interrupted", "failed"]


def read_config(path: Path) -> Data:
    """The config of a run as plain data."""
    file = path / CONFIG if is_folder(path) else path
    damaged = UserError(f"{file} is damaged: restore a copy of it, or train again with another --out")
    try:
        found = read_json(file, f"the {CONFIG} of a run")
    except Missing:
        hint = f"it has no {CONFIG}" if is_folder(path) else "there is no such file or folder"
        raise UserError(f"{path} is not a run: {hint}; give the --out folder of a training run") from None
    except Damaged:
        raise damaged from None
    if found.get("format") != FORMAT:
        raise UserError(f"{file} does not belong to a run: give the --out folder of a training run")
    if found.get("version") != VERSION:
        raise UserError(
            f"{file} has run format {found.get('version')}, and this action-balance reads "
            f"{VERSION}: use the version that wrote it ({found.get('made_by', 'unknown')}), "
            f"or train again"
        )
    config = found.get("config")
    if not isinstance(config, dict):
        raise damaged
    return config


def resume_command(path: Path, config: Data) -> str:
    """The command that resumes a run, as it is typed into a shell."""
    return f"action-balance resume {shlex.quote(str(path))}{' --trust' if leads_to(config) else ''}"


class RunFolder(OwnedFolder):
    """A training run on the disk."""

    def __init__(self, path: Path, config: Data, manifest: Data) -> None:
        super().__init__(path)
        self.config = config
        self.manifest = manifest

    @classmethod
    def create(
        cls,
        path: Path,
        config: Data,
        command: Sequence[str],
        overwrite: bool = False,
        about: Data | None = None,
        packages: Sequence[str] = (),
    ) -> Self:
        """Begin a run."""
        start = describe_start(command, packages)
        header = {"format": FORMAT, "version": VERSION, "made_by": start["versions"]["action-balance"]}
        try:
            content = to_json({**header, "config": config})
        except ValueError:
            raise UserError("a setting is NaN or infinite: use finite numbers") from None
        manifest = {"format": FORMAT, "status": "running", "start": start["time"], "end": None, "resumes": 0}
        folder = cls(path, json.loads(content)["config"], {**(about or {}), **manifest, "starts": [start]})
        folder.manifest["config_sha256"] = fingerprint(folder.config)
        made = folder.make()
        folder._refuse_others(overwrite)
        folder.acquire()
        try:
            folder._refuse_others(overwrite)  # again: another process may have begun and finished a run meanwhile
        except UserError:
            folder.release()
            raise
        try:
            folder.clear()
            folder.write(CONFIG, content)
            folder._save_manifest()
            (path / CHECKPOINTS).mkdir()
        except (UserError, OSError) as error:
            with contextlib.suppress(UserError):
                folder.clear()
            folder.release()
            remove_empty(made)
            hint = str(error) if isinstance(error, UserError) else f"cannot write to {path}: {reason(error)}"
            raise UserError(f"{hint}; choose another --out") from None
        return folder

    @staticmethod
    def holds_run(path: Path) -> bool:
        """Whether a folder holds a run, even a damaged one."""
        return any((load_json(path / name) or {}).get("format") == FORMAT for name in (CONFIG, MANIFEST))

    @classmethod
    def delete(cls, path: Path) -> None:
        """Delete a run; nothing happens where there is none."""
        if not cls.holds_run(path):
            return
        folder = cls(path, {}, {})
        folder.acquire()
        with folder:
            folder.clear()
        remove_empty([path])

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open an existing run, to read it or to `resume` it; nothing is written."""
        return cls(path, read_config(path), load_json(path / MANIFEST) or {})

    def contents(self) -> Iterable[str]:
        """Everything that a run may hold."""
        return CONTENTS

    def checkpoints(self) -> Checkpoints:
        """The checkpoints of the run."""
        return Checkpoints(self.path / CHECKPOINTS)

    def metrics(self) -> MetricsLog:
        """Writes the metrics of a run that was just created; `resume` returns its own."""
        return MetricsLog(self.path)

    def resume(
        self,
        initial: Any,
        command: Sequence[str],
        notes: Sequence[str] = (),
        about: Data | None = None,
        packages: Sequence[str] = (),
        on_message: Callable[[str], object] = lambda _: None,
    ) -> tuple[Restored, MetricsLog]:
        """Go back to the newest intact checkpoint, and restore the folder to that moment.

        Nothing is deleted: rows after the checkpoint, damaged rows and damaged checkpoints are moved aside.
        """
        self.check_unchanged()
        self.check_resumable()
        lines: list[str] = []

        def say(line: str) -> None:
            lines.append(line)
            on_message(line)

        self.acquire()
        try:
            damaged = self._read_manifest()
            start = describe_start(command, packages)
            restored, metrics = self._go_back(initial, [*self._changes(start), *notes], say)
            if damaged:
                file = self.path / MANIFEST
                say(f"{file} is damaged and was moved to {self.path / ASIDE}; a new one is written")
                move_aside(file, new_aside(self.path, "damaged"))
            self._record_start(start | {"warnings": lines}, about or {})
        except BaseException:
            self.release()
            raise
        return Restored(restored.update, restored.state, tuple(lines)), metrics

    def _go_back(self, initial: Any, notes: Iterable[str], say: Callable[[str], None]) -> tuple[Restored, MetricsLog]:
        """Read the newest intact checkpoint, and move aside what was written after it, once the user was told."""
        try:
            (self.path / CHECKPOINTS).mkdir(exist_ok=True)  # a kill at the very beginning may have left none
        except OSError as error:
            raise cannot_write(self.path / CHECKPOINTS, error) from None
        checkpoints, metrics = self.checkpoints(), self.metrics()
        restored = checkpoints.restore(initial) if checkpoints.updates() else Restored(0, initial, ())
        for line in (*restored.warnings, *notes):
            say(line)
        if later := checkpoints.after(restored.update):  # all of them damaged, or they would be used
            names = ", ".join(folder.name for folder in later)
            say(f"{checkpoints.path}: damaged files were moved to {self.path / ASIDE} ({names})")
            aside = new_aside(self.path, "damaged")
            for folder in later:
                move_aside(folder, aside)
        metrics.truncate_after(restored.update, say)
        return restored, metrics

    def _read_manifest(self) -> bool:
        """Read the manifest again: another process may have written to the run until the lock was ours."""
        self.manifest, damaged = {}, False
        try:
            self.manifest = read_json(self.path / MANIFEST, "the manifest of a run")
        except Missing:
            pass
        except Damaged:
            damaged = True
        return damaged

    def _changes(self, start: Data) -> list[str]:
        """What has changed since the last start and may change the numbers."""
        with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):  # of a damaged manifest
            return changes(self._starts[-1], start)
        return []

    @property
    def _starts(self) -> list[Data]:
        """The starts in the manifest, which somebody else may have written."""
        starts = self.manifest.get("starts")
        return [one for one in starts if isinstance(one, dict)] if isinstance(starts, list) else []

    def _record_start(self, start: Data, about: Data) -> None:
        starts = [*self._starts, start]
        fresh = {"format": FORMAT, "status": "running", "start": start["time"]}
        self.manifest = {**fresh, **self.manifest, **about, "status": "running", "end": None}
        self.manifest |= {"resumes": len(starts) - 1, "starts": starts}
        self._save_manifest()

    @property
    def is_copy(self) -> bool:
        """Whether it has metrics or a record, but no folder for checkpoints: somebody left them out of a copy."""
        numbers = [status(kept(self.path / name)) for name in (METRICS, TIMING, RECORD)]
        return not is_folder(self.path / CHECKPOINTS) and any(found is not None and found.st_size for found in numbers)

    @property
    def is_untrained(self) -> bool:
        """Whether it holds no update: neither a checkpoint nor a row of metrics."""
        rows = status(kept(self.path / METRICS))
        return not self.checkpoints().updates() and not (rows and rows.st_size)

    def check_resumable(self) -> None:
        """Raise a `UserError` if the run is a copy whose metrics would be lost, or if its files are somewhere else."""
        if self.is_copy:
            raise UserError(
                f"{self.path} is a copy without {CHECKPOINTS}/ and cannot be resumed: copy the whole run, or train "
                f"again in another folder"
            )
        for folder in (CHECKPOINTS, TENSORBOARD, ASIDE):
            check_inside(self.path, self.path / folder)
        for curves in entries(self.path / TENSORBOARD):
            check_inside(self.path, curves)
        for name in ROWS:
            file = self.path / name
            if os.path.lexists(file) and not stat.S_ISREG(file.lstat().st_mode):
                raise UserError(
                    f"{file} is not a regular file, so the run cannot be resumed: replace it with the file itself"
                )
            if kept(file) != file:
                raise UserError(
                    f"{kept(file)} is compressed, so the run cannot be resumed: decompress it with gunzip, then resume"
                )

    def check_unchanged(self) -> None:
        """Raise a `UserError` if the config is not the one that the run began with."""
        known = [self.manifest.get("config_sha256", fingerprint(self.config))]
        known += [entry.get("config_sha256") for entry in self._history[-1:]]  # a change may have been killed half-way
        if fingerprint(self.config) not in known:
            raise UserError(
                f"{self.path / CONFIG} was changed after the run started, so the run cannot be resumed: restore it, or "
                f"start a new run with --config {shlex.quote(str(self.path / CONFIG))} --out FOLDER"
            )

    def change_config(self, config: Data, before: Data) -> None:
        """Replace the settings of a run that this process has resumed; the manifest keeps what was replaced.

        A process that is killed meanwhile leaves the earlier settings, with which the run can be resumed as well.
        """
        header = read_json(self.path / CONFIG, f"the {CONFIG} of a run")
        entry = {"time": now(), **before, "config_sha256": fingerprint(self.config)}
        if ENDED_EARLY in self.manifest:
            entry[ENDED_EARLY] = self.manifest.pop(ENDED_EARLY)
        self.manifest["history"] = [*self._history, entry]
        self.manifest["config_sha256"] = fingerprint(config)
        self._save_manifest()
        self.write(CONFIG, to_json({**header, "config": config}))
        self.config = config

    @property
    def _history(self) -> list[Data]:
        """Earlier settings, of a manifest that somebody else may have written."""
        history = self.manifest.get("history")
        return [one for one in history if isinstance(one, dict)] if isinstance(history, list) else []

    def record(self, about: Data) -> None:
        """Keep more plain data in the manifest."""
        self.manifest |= about
        self._save_manifest()

    def note(self, line: str) -> None:
        """Keep a line that the user should know in the manifest, among the warnings of the last start."""
        start = self.manifest["starts"][-1]
        start["warnings"] = [*start.get("warnings", []), line]
        self._save_manifest()

    def finish(self, status: Status) -> None:
        """Record how the run ended, and let other processes write to it."""
        self.manifest |= {"status": status, "end": now()}
        try:
            self._save_manifest()
        finally:
            self.release()

    def save_evaluation(self, summary: Data, files: Mapping[str, bytes]) -> Path:
        """Replace an earlier evaluation. While its summary exists, the other files are those it was made with."""
        check_inside(self.path, self.path / EVALUATION)
        with EvaluationFolder(self.path / EVALUATION) as folder:
            folder.replace(summary, files)
        return folder.path

    def _save_manifest(self) -> None:
        self.write(MANIFEST, to_json(self.manifest))

    def _refuse_others(self, overwrite: bool) -> None:
        """Raise a `UserError` if the folder holds something that must not be replaced."""
        present = [name for name in CONTENTS if os.path.lexists(self.path / name)]
        if present and not self.holds_run(self.path):
            raise UserError(f"{self.path} contains {present[0]}, which does not belong to a run: choose another --out")
        if present and not overwrite:
            config = (load_json(self.path / CONFIG) or {}).get("config")
            command = resume_command(self.path, config if isinstance(config, dict) else {})
            raise UserError(
                f"{self.path} already contains a run: continue it with `{command}`, choose another --out, or replace "
                f"it with --overwrite"
            )
