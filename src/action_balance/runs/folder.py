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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from action_balance.config.trust import leads_to
from action_balance.errors import UserError
from action_balance.files import Data, cannot_write, check_inside, fingerprint, load_json, reason, to_json
from action_balance.reading import Damaged, Missing, is_file, is_folder, read_json, status
from action_balance.runs.aside import ASIDE, move_aside, new_aside
from action_balance.runs.checkpoints import Checkpoints, Restored
from action_balance.runs.evaluation import EVALUATION, EvaluationFolder
from action_balance.runs.manifest import changes, describe_start, now
from action_balance.runs.metrics import TENSORBOARD, MetricsLog
from action_balance.runs.owned import OwnedFolder, remove_empty
from action_balance.runs.rows import METRICS, TIMING, VISITS, kept

CONFIG = "config.json"
MANIFEST = "manifest.json"
CHECKPOINTS = "checkpoints"

#: The value that marks ``config.json`` as that of a run, and the version of the whole folder.
FORMAT, VERSION = "action-balance run", 4

#: The files of rows.
ROWS = (METRICS, TIMING, VISITS)
#: What a study measures while a run is trained, and may keep in place of metrics and checkpoints.
RECORD = "record.npz"
#: Everything that a run may hold. The config is deleted last: while it is there, the rest is known to be a run.
CONTENTS = (MANIFEST, *ROWS, f"{METRICS}.gz", TENSORBOARD, CHECKPOINTS, EVALUATION, ASIDE, RECORD, CONFIG)

#: Where the manifest has the condition that has ended the run before all its steps were made.
ENDED_EARLY = "ended_early"

RunStatus = Literal["finished", "interrupted", "failed"]


def read_config(path: Path) -> Data:
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
            f"{file} has run format {found.get('version')}, and this action-balance reads {VERSION}: use the version "
            f"that wrote it ({found.get('made_by', 'unknown')}), or train again"
        )
    config = found.get("config")
    if not isinstance(config, dict):
        raise damaged
    return config


def resume_command(path: Path, config: Data) -> str:
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
            folder._begin(content)
        except UserError:
            folder.release()
            remove_empty(made)
            raise
        return folder

    def _begin(self, config: bytes) -> None:
        """Write the first files in place of those of an earlier run; a `UserError` leaves nothing of them."""
        try:
            self.clear()
            self.write(CONFIG, config)
            self._save_manifest()
            (self.path / CHECKPOINTS).mkdir()
        except (UserError, OSError) as error:
            with contextlib.suppress(UserError):
                self.clear()
            hint = str(error) if isinstance(error, UserError) else f"cannot write to {self.path}: {reason(error)}"
            raise UserError(f"{hint}; choose another --out") from None

    @staticmethod
    def holds_run(path: Path) -> bool:
        return any((load_json(path / name) or {}).get("format") == FORMAT for name in (CONFIG, MANIFEST))

    @classmethod
    def delete(cls, path: Path) -> None:
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
        return CONTENTS

    def checkpoints(self) -> Checkpoints:
        return Checkpoints(self.path / CHECKPOINTS)

    def metrics(self) -> MetricsLog:
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
            self._read_manifest(say)
            start = describe_start(command, packages)
            restored, metrics = self._go_back(initial, [*self._changes(start), *notes], say)
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

    def _read_manifest(self, say: Callable[[str], None]) -> None:
        """Read the manifest again: another process may have written to the run until the lock was ours."""
        file = self.path / MANIFEST
        self.manifest = {}
        try:
            self.manifest = read_json(file, "the manifest of a run")
        except Missing:
            pass
        except Damaged:
            say(f"{file} is damaged and was moved to {self.path / ASIDE}; a new one is written")
            move_aside(file, new_aside(self.path, "damaged"))

    def _changes(self, start: Data) -> list[str]:
        with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):  # of a damaged manifest
            return changes(self._listed("starts")[-1], start)
        return []

    def _listed(self, name: str) -> list[Data]:
        """Entries of the manifest, which somebody else may have written: its starts, or the history of its settings."""
        found = self.manifest.get(name)
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def _record_start(self, start: Data, about: Data) -> None:
        starts = [*self._listed("starts"), start]
        fresh = {"format": FORMAT, "status": "running", "start": start["time"]}
        self.manifest = {**fresh, **self.manifest, **about, "status": "running", "end": None}
        self.manifest |= {"resumes": len(starts) - 1, "starts": starts}
        self._save_manifest()

    @property
    def is_copy(self) -> bool:
        """Whether it has metrics or a record, but no folder for checkpoints: somebody left them out of a copy."""
        return not is_folder(self.path / CHECKPOINTS) and any(map(self._has_rows, (METRICS, TIMING, RECORD)))

    @property
    def is_untrained(self) -> bool:
        """Whether it holds no update: neither a checkpoint nor a row of metrics."""
        return not self.checkpoints().updates() and not self._has_rows(METRICS)

    def _has_rows(self, name: str) -> bool:
        found = status(kept(self.path / name))
        return found is not None and found.st_size > 0

    def check_resumable(self) -> None:
        """Raise a `UserError` if the run is a copy whose metrics would be lost, or if its files are somewhere else."""
        if self.is_copy:
            raise UserError(
                f"{self.path} is a copy without {CHECKPOINTS}/ and cannot be resumed: copy the whole run, or train "
                f"again in another folder"
            )
        for folder in (CHECKPOINTS, TENSORBOARD, ASIDE):
            check_inside(self.path, self.path / folder)
        for file in (self.path / name for name in ROWS):
            if os.path.lexists(file) and (file.is_symlink() or not is_file(file)):
                raise UserError(
                    f"{file} is not a regular file, so the run cannot be resumed: replace it with the file itself"
                )
            if kept(file) != file:
                raise UserError(
                    f"{kept(file)} is compressed, so the run cannot be resumed: decompress it with gunzip, then resume"
                )

    def check_unchanged(self) -> None:
        ours = fingerprint(self.config)
        known = [self.manifest.get("config_sha256", ours)]
        known += [entry.get("config_sha256") for entry in self._listed("history")[-1:]]  # of a change that was killed
        if ours not in known:
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
        self.manifest["history"] = [*self._listed("history"), entry]
        self.manifest["config_sha256"] = fingerprint(config)
        self._save_manifest()
        self.write(CONFIG, to_json({**header, "config": config}))
        self.config = config

    def record(self, about: Data) -> None:
        self.manifest |= about
        self._save_manifest()

    def note(self, line: str) -> None:
        """Keep a line that the user should know in the manifest, among the warnings of the last start."""
        start = self.manifest["starts"][-1]
        start["warnings"] = [*start.get("warnings", []), line]
        self._save_manifest()

    def finish(self, status: RunStatus) -> None:
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
        present = [name for name in CONTENTS if os.path.lexists(self.path / name)]
        if present and not self.holds_run(self.path):
            raise UserError(f"{self.path} contains {present[0]}, which does not belong to a run: choose another --out")
        found = load_json(self.path / MANIFEST) or {}
        was_killed = found.get("status") == "running" and self.is_untrained and not os.path.lexists(self.path / ASIDE)
        if present and not overwrite and not was_killed:  # before its first update: nothing is lost
            config = (load_json(self.path / CONFIG) or {}).get("config")
            command = resume_command(self.path, config if isinstance(config, dict) else {})
            raise UserError(
                f"{self.path} already contains a run: continue it with `{command}`, choose another --out, or replace "
                f"it with --overwrite"
            )
