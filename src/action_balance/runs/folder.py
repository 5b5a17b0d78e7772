"""The folder of a training run: begun once, never overwritten silently, resumed exactly.

``config.json``      what was asked for, and the format of the folder; it marks the folder as a run
``manifest.json``    where it came from, and how it ended
``metrics.jsonl``    one line per update and seed (see `action_balance.runs.metrics`), ``timing.jsonl`` besides
``visits.jsonl``     in worlds whose states can be counted: how often each pair was taken, now and then
``tensorboard/``     the same numbers for TensorBoard
``checkpoints/``     the last three and the best (see `action_balance.runs.checkpoints`)
``evaluation/``      what the last evaluation of a checkpoint found
"""

import contextlib
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from action_balance.errors import UserError
from action_balance.files import Data, reason, to_json, write_atomically
from action_balance.runs.checkpoints import Checkpoints, Restored
from action_balance.runs.manifest import changes, describe_start, now
from action_balance.runs.metrics import METRICS, TENSORBOARD, TIMING, VISITS, MetricsLog, compressed, kept

CONFIG = "config.json"
MANIFEST = "manifest.json"
CHECKPOINTS = "checkpoints"
EVALUATION = "evaluation"
SUMMARY = "evaluation.json"
#: What an evaluation may hold besides its summary.
EVALUATED = ("episodes.csv", "heatmap.png", "episode.gif", "episode.mp4")
LOCK = ".lock"

#: What ``config.json`` is, and the version of the whole folder: raised when an older one can no longer be read.
FORMAT = "action-balance run"
VERSION = 2

NUMBERS = (METRICS, compressed(Path(METRICS)).name, TIMING, VISITS)
#: Everything that a run may hold. The config is deleted last: as long as it is there, the rest is known to be a run.
CONTENTS = (MANIFEST, *NUMBERS, TENSORBOARD, CHECKPOINTS, EVALUATION, CONFIG)

Status = Literal["finished", "interrupted", "failed"]


def _load(file: Path) -> Data | None:
    """A JSON object; None where the file is missing or damaged."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _fingerprint(config: Data) -> str:
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()


def _is_run(path: Path) -> bool:
    """Whether there is a run, maybe a damaged one."""
    return any((_load(path / name) or {}).get("format") == FORMAT for name in (CONFIG, MANIFEST))


def read_config(path: Path) -> Data:
    """The config of a run, of its folder or of its ``config.json``; a `UserError` where it is of no use."""
    file = path / CONFIG if path.is_dir() else path
    if not file.exists():
        hint = f"it has no {CONFIG}" if path.is_dir() else "there is no such file or folder"
        raise UserError(f"{path} is not a run: {hint}; give the folder that was --out of a training")
    found = _load(file)
    if found is None:
        raise UserError(f"{file} is damaged: put a copy of it back, or train anew in another --out")
    if found.get("format") != FORMAT:
        raise UserError(f"{file} is not of a run: give the folder that was --out of a training")
    if found.get("version") != VERSION:
        raise UserError(
            f"{file} is of run format {found.get('version')}, and this action-balance reads {VERSION}: "
            f"use the version that made it ({found.get('made_by', 'unknown')}), or train anew"
        )
    config = found.get("config")
    if not isinstance(config, dict):
        raise UserError(f"{file} is damaged: put a copy of it back, or train anew in another --out")
    return config


class RunFolder:
    """A training run on the disk."""

    def __init__(self, path: Path, config: Data, manifest: Data) -> None:
        self.path = path
        self.config = config
        self.manifest = manifest
        self._lock: int | None = None

    @classmethod
    def create(
        cls,
        path: Path,
        config: Data,
        command: Sequence[str],
        overwrite: bool = False,
        about: Data | None = None,
        packages: Sequence[str] = (),
    ) -> "RunFolder":
        """Begin a run.

        Args:
            path: a folder that holds no run; it is made when it is not there.
            config: nested plain data.
            command: the command line that began it.
            overwrite: delete a run that is there.
            about: what the manifest is to say besides, plain data.
            packages: that its environment needs, whose versions are recorded.
        """
        start = describe_start(command, packages)
        header = {"format": FORMAT, "version": VERSION, "made_by": start["versions"]["action-balance"]}
        try:
            content = to_json({**header, "config": config})
        except ValueError:
            raise UserError("a setting is nan or infinite: a config holds finite numbers only") from None
        manifest = {"format": FORMAT, "status": "running", "start": start["time"], "end": None, "resumes": 0}
        folder = cls(path, json.loads(content)["config"], {**(about or {}), **manifest, "starts": [start]})
        folder.manifest["config_sha256"] = _fingerprint(folder.config)
        folder.checkpoints(), folder.metrics()  # what they need is missed now, not after the first update
        made = _make(path)
        folder._refuse_others(overwrite)
        folder._acquire()
        try:
            folder._clear()
            write_atomically(path / CONFIG, content)
            folder._save_manifest()
            (path / CHECKPOINTS).mkdir()
        except (UserError, OSError) as error:
            with contextlib.suppress(OSError):
                folder._clear()
                (path / LOCK).unlink()
            folder.release()
            _unmake(made)
            hint = str(error) if isinstance(error, UserError) else f"cannot write to {path}: {reason(error)}"
            raise UserError(f"{hint}; choose another --out") from None
        return folder

    @staticmethod
    def holds_run(path: Path) -> bool:
        """Whether a folder holds a run, maybe a damaged one."""
        return _is_run(path)

    @classmethod
    def delete(cls, path: Path) -> None:
        """Delete a run; nothing happens where there is none."""
        if not _is_run(path):
            return
        folder = cls(path, {}, {})
        folder._acquire()
        try:
            folder._clear()
            (path / LOCK).unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"cannot delete the run in {path}: {reason(error)}") from None
        finally:
            folder.release()
        _unmake([path])

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """A run that is there, to read it or to `resume` it; nothing is written."""
        return cls(path, read_config(path), _load(path / MANIFEST) or {})

    def checkpoints(self) -> Checkpoints:
        """The checkpoints of the run."""
        return Checkpoints(self.path / CHECKPOINTS)

    def metrics(self) -> MetricsLog:
        """To write the metrics of a run that was just created; `resume` gives its own."""
        return MetricsLog(self.path)

    def resume(
        self,
        initial: Any,
        command: Sequence[str],
        notes: Sequence[str] = (),
        about: Data | None = None,
        packages: Sequence[str] = (),
    ) -> tuple[Restored, MetricsLog]:
        """Go back to the newest intact checkpoint, and make the folder as it was then.

        Args:
            initial: the state that the run began with; it is what a run without a checkpoint is resumed from, or None.
            command: the command line that resumes it.
            notes: what the user should know in any case, a line each.
            about: what the manifest is to say besides, from now on, plain data.
            packages: that its environment needs, whose versions are recorded.

        Returns:
            What to continue from, with a line for everything that the user should know, and where to log. The
            manifest keeps these lines, too.
        """
        self.check_unchanged()
        self.check_resumable()
        self._acquire()
        (self.path / CHECKPOINTS).mkdir(exist_ok=True)  # a kill in the first moment of the run may have left none
        checkpoints, metrics = self.checkpoints(), self.metrics()
        restored = checkpoints.restore(initial) if checkpoints.updates() else Restored(0, initial, ())
        start = describe_start(command, packages)
        warnings = list(restored.warnings)
        with contextlib.suppress(KeyError, IndexError, TypeError, AttributeError):  # of a damaged manifest
            warnings += changes(self.manifest["starts"][-1], start)
        checkpoints.discard_after(restored.update)
        warnings += [*metrics.truncate_after(restored.update), *notes]
        starts = [*self.manifest.get("starts", []), start | {"warnings": warnings}]
        fresh = {"format": FORMAT, "status": "running", "start": start["time"]}
        self.manifest = {**fresh, **self.manifest, **(about or {}), "status": "running", "end": None}
        self.manifest |= {"resumes": len(starts) - 1, "starts": starts}
        self._save_manifest()
        return Restored(restored.update, restored.state, tuple(warnings)), metrics

    @property
    def is_copy(self) -> bool:
        """Whether it has numbers of its training and no place for checkpoints: someone left them out."""
        numbers = [kept(self.path / name) for name in (METRICS, TIMING)]
        return not (self.path / CHECKPOINTS).is_dir() and any(file.exists() and file.stat().st_size for file in numbers)

    def check_resumable(self) -> None:
        """A `UserError` where a run is a copy whose metrics would be lost."""
        if self.is_copy:
            raise UserError(
                f"{self.path} is a copy without {CHECKPOINTS}/ and cannot be continued: copy the whole run, or train "
                f"anew in another folder"
            )

    def check_unchanged(self) -> None:
        """A `UserError` where the config is not the one that the run began with."""
        if self.manifest.get("config_sha256", _fingerprint(self.config)) != _fingerprint(self.config):
            raise UserError(
                f"{self.path / CONFIG} was changed since the run began, so it cannot be continued: put it back, or "
                f"begin a new run with --config {self.path / CONFIG} --out FOLDER"
            )

    def note(self, line: str) -> None:
        """Keep a line that the user should know in the manifest, with what the last start warned of."""
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
        """Replace an earlier evaluation. Where the summary is, the other files are those it was made with.

        Args:
            summary: plain data, for ``evaluation.json``.
            files: contents by name, each one of `EVALUATED`.

        Returns:
            The folder.
        """
        if not files.keys() <= set(EVALUATED):
            raise ValueError(f"the next evaluation would not know that it replaces all of {', '.join(files)}")
        folder = self.path / EVALUATION
        try:
            for name in (SUMMARY, *(name for name in EVALUATED if name not in files)):
                (folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"cannot write to {folder}: {reason(error)}") from None
        for name, content in files.items():
            write_atomically(folder / name, content)
        write_atomically(folder / SUMMARY, to_json(summary))
        return folder

    def _save_manifest(self) -> None:
        write_atomically(self.path / MANIFEST, to_json(self.manifest))

    def _refuse_others(self, overwrite: bool) -> None:
        """Raise where the folder holds something that is not to be replaced."""
        present = [name for name in CONTENTS if os.path.lexists(self.path / name)]
        if present and not _is_run(self.path):
            raise UserError(f"{self.path} holds {present[0]}, which is not of a run: choose another --out")
        if present and not overwrite:
            raise UserError(
                f"{self.path} already holds a run: continue it with `action-balance resume {self.path}`, "
                f"choose another --out, or replace it with --overwrite"
            )

    def _clear(self) -> None:
        for name in CONTENTS:
            target = self.path / name
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)
            else:
                target.unlink(missing_ok=True)

    def _acquire(self) -> None:
        """Have this process be the only one that writes to the run; the system ends that with the process."""
        if self._lock is not None:
            return
        try:
            import fcntl
        except ImportError:  # not on Windows
            return
        try:
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN) and self._lock is not None:
                self.release()
                raise UserError(f"{self.path} is being written by another process: wait for it, or stop it") from None
            if self._lock is None:
                raise UserError(f"cannot write to {self.path}: {reason(error)}") from None

    def release(self) -> None:
        """Let other processes write to the run."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _make(path: Path) -> list[Path]:
    """Make a folder; returns those that were not there before, the deepest first."""
    missing = [parent for parent in (path, *path.parents) if not parent.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UserError(f"{path} is a file, or in one: choose a folder with --out") from None
    except OSError as error:
        _unmake([parent for parent in missing if parent.exists()])
        raise UserError(f"cannot write to {path}: {reason(error)}; choose another --out") from None
    return missing


def _unmake(folders: list[Path]) -> None:
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()
