"""Checkpoints: written whole or not at all, checked before they are used, the last three and the best kept.

A checkpoint is a folder, named by its update, with the arrays as Orbax writes them and a ``checkpoint.json``: what the
arrays are, the score, and the SHA-256 of every file. It is prepared under a hidden name and renamed when it is
complete. Nothing in it is ever executed: it is JSON and arrays, and no file is read before its checksum is right.
"""

import contextlib
import ctypes
import hashlib
import json
import logging
import math
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Data, digest, make_sure_of_room, missing, reason, to_json
from action_balance.runs.leaves import Leaf, describe, difference, has_bytes, to_arrays, to_tree

#: The file of a checkpoint that says what the others hold.
CONTENTS = "checkpoint.json"

#: The folder of a checkpoint that Orbax writes.
ARRAYS = "arrays"

#: How many of the newest are kept, besides the best.
KEEP = 3

#: Bytes that a checkpoint may need besides those of its arrays.
ROOM = 256 * 1024
ROOM_PER_ARRAY = 1024


class _Damaged(Exception):
    """A checkpoint that is not what was written; the message says why."""


@dataclass(frozen=True)
class Restored:
    """A state that was read."""

    update: int
    """The update after which it was saved."""
    state: Any
    """As ``like``, with the values of the checkpoint."""
    warnings: tuple[str, ...]
    """One line for everything that the user should know, such as a damaged checkpoint that was passed over."""


def _orbax() -> ModuleType:
    try:
        import orbax.checkpoint
    except ImportError:
        raise missing("orbax-checkpoint") from None
    return orbax.checkpoint


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without the log lines of Orbax: what the user must know is in our errors."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _give_back_memory() -> None:
    """Return to the system what the allocator keeps free.

    Every thread that writes a checkpoint keeps what it needed, and others write the next: a long run would grow with
    each. Only glibc has, and needs, the call.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def _discard(folder: Path) -> None:
    """Delete what is half written, also while threads of TensorStore still write there.

    They make the folder anew where it is gone: it has to stay away for a while.
    """
    away = 0
    for _ in range(200):
        shutil.rmtree(folder, ignore_errors=True)
        away = 0 if folder.exists() else away + 1
        if away == 15:
            return
        time.sleep(0.01)


def _checksum(contents: Data) -> str:
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def _read_contents(folder: Path) -> Data:
    """What a checkpoint says of itself."""
    try:
        found = json.loads((folder / CONTENTS).read_bytes())
        contents: Data = found["contents"]
        intact = found["sha256"] == _checksum(contents)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise _Damaged(f"{CONTENTS} is missing or damaged") from None
    if not intact or contents["update"] != int(folder.name):
        raise _Damaged(f"{CONTENTS} is damaged")
    return contents


def _verify(folder: Path) -> Data:
    """What a checkpoint says of itself, when every file is as it was written."""
    contents = _read_contents(folder)
    for name, expected in contents["files"].items():
        try:
            same = digest(folder / name) == expected
        except FileNotFoundError:
            raise _Damaged(f"{name} is missing") from None
        except OSError as error:
            raise _Damaged(f"{name} cannot be read: {reason(error)}") from None
        if not same:
            raise _Damaged(f"{name} is not as it was written")
    return contents


class Checkpoints:
    """The checkpoints of a run. One process writes; any may read."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._orbax = _orbax()

    def _folder(self, update: int) -> Path:
        return self.path / f"{update:08d}"

    def updates(self) -> list[int]:
        """The updates that have a checkpoint, damaged or not, oldest first."""
        try:
            names = os.listdir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise UserError(f"cannot read {self.path}: {reason(error)}") from None
        return sorted(int(name) for name in names if re.fullmatch(r"[0-9]{8,}", name))

    def save(self, update: int, state: Any, score: float | None = None) -> None:
        """Write a checkpoint, complete on the disk when this returns, and drop those that are no longer needed.

        An intact checkpoint of the same update stays as it is.

        Args:
            update: the number of updates that made the state.
            state: a pytree; leaves that are no arrays, PRNG keys or numbers are not saved.
            score: the higher, the better; None or nan is never the best.
        """
        table, arrays = describe(state), to_arrays(state)
        folder, partial = self._folder(update), self.path / f".partial-{update:08d}"
        if folder.exists():
            with contextlib.suppress(_Damaged):
                _verify(folder)
                return
        contents: Data = {
            "update": update,
            "score": float(score) if score is not None and math.isfinite(score) else None,
            "leaves": [leaf.to_data() for leaf in table],
        }
        try:
            self._clean()
            partial.mkdir(parents=True)
            # Where TensorStore meets the full disk, its other threads still print errors when ours is long caught.
            make_sure_of_room(partial, sum(array.nbytes + ROOM_PER_ARRAY for array in arrays) + ROOM)
            self._write(partial, contents, arrays)
            self._remove(folder)
            os.replace(partial, folder)
        except Exception as error:  # Orbax has no error of its own for a disk that is full.
            _discard(partial)
            others = [other for other in self.updates() if other != update]
            rest = f"the last good one, of update {others[-1]}, is kept" if others else "there is none yet"
            raise UserError(f"cannot write the checkpoint {folder}: {reason(error)}; {rest}") from error
        self._drop_old()
        _give_back_memory()

    def _write(self, partial: Path, contents: Data, arrays: list[np.ndarray]) -> None:
        if arrays:
            with _quiet(), self._orbax.Checkpointer(self._orbax.PyTreeCheckpointHandler()) as checkpointer:
                checkpointer.save(partial / ARRAYS, args=self._orbax.args.PyTreeSave(arrays))
        files = sorted(file for file in partial.rglob("*") if file.is_file())
        contents["files"] = {file.relative_to(partial).as_posix(): digest(file, durable=True) for file in files}
        (partial / CONTENTS).write_bytes(to_json({"contents": contents, "sha256": _checksum(contents)}))
        digest(partial / CONTENTS, durable=True)

    def restore(self, like: Any, which: Literal["latest", "best"] | int = "latest") -> Restored:
        """Read a checkpoint; a damaged one is passed over for the next, and named in the warnings.

        Args:
            like: a tree of the same structure, of arrays or of ``jax.ShapeDtypeStruct``.
            which: the newest, that with the highest score, or that of an update and no other.
        """
        expected = describe(like)
        warnings = []
        for update in self._candidates(which):
            folder = self._folder(update)
            try:
                contents = _verify(folder)
                found = [Leaf.from_data(leaf) for leaf in contents["leaves"]]
                different = difference(found, expected)
                if different is not None:
                    raise UserError(
                        f"the checkpoint {folder} does not fit: {different}; it was made with another config, "
                        f"environment or version"
                    )
                state = to_tree(self._read(folder, found), found, like)
            except _Damaged as damage:
                warnings.append(f"the checkpoint {folder} is damaged ({damage}) and was not used")
                continue
            return Restored(update, state, tuple(warnings))
        if warnings:
            raise UserError(f"no checkpoint can be used: {'; '.join(warnings)}")
        raise UserError(f"there is no checkpoint {'' if isinstance(which, str) else f'{which} '}in {self.path}")

    def _candidates(self, which: Literal["latest", "best"] | int) -> list[int]:
        """The updates to try, in order."""
        updates = self.updates()[::-1]
        if which == "latest":
            return updates
        if which == "best":
            scores = self._scores()  # those that are damaged come first, to be named
            return sorted(
                updates, key=lambda update: (update not in scores, scores.get(update, 0.0), update), reverse=True
            )
        return [update for update in updates if update == which]

    def _read(self, folder: Path, found: list[Leaf]) -> list[np.ndarray]:
        count = sum(has_bytes(leaf) for leaf in found)
        if not count:
            return []
        as_numpy = [self._orbax.RestoreArgs(restore_type=np.ndarray) for _ in range(count)]
        request = self._orbax.args.PyTreeRestore(item=[0] * count, restore_args=as_numpy)
        try:
            with _quiet(), self._orbax.Checkpointer(self._orbax.PyTreeCheckpointHandler()) as checkpointer:
                return [np.asarray(array) for array in checkpointer.restore(folder / ARRAYS, args=request)]
        except Exception as error:  # Whatever it is, an older checkpoint is the answer.
            raise _Damaged(f"Orbax cannot read it: {reason(error)}") from error

    def _scores(self) -> dict[int, float]:
        """By update, -inf where there is none; without the checkpoints that do not say."""
        scores = {}
        for update in self.updates():
            with contextlib.suppress(_Damaged):
                score = _read_contents(self._folder(update))["score"]
                scores[update] = -math.inf if score is None else score
        return scores

    def discard_after(self, update: int) -> None:
        """Delete the checkpoints of later updates, damaged or not: training continues from ``update``."""
        for other in self.updates():
            if other > update:
                try:
                    self._remove(self._folder(other))
                except OSError as error:
                    raise UserError(f"cannot delete {self._folder(other)}: {reason(error)}") from None

    def _drop_old(self) -> None:
        """Keep the last `KEEP` and the best; of equals the later, for it is better trained."""
        updates, scores = self.updates(), self._scores()
        kept = {*updates[-KEEP:], max(scores, key=lambda update: (scores[update], update))}
        for update in updates:
            if update not in kept:
                with contextlib.suppress(OSError):
                    self._remove(self._folder(update))

    def _remove(self, folder: Path) -> None:
        """Delete a checkpoint such that no half of it is ever taken for one."""
        if folder.exists():
            doomed = folder.with_name(f".old-{folder.name}")
            os.replace(folder, doomed)
            shutil.rmtree(doomed, ignore_errors=True)

    def _clean(self) -> None:
        """Delete what a process that was killed has left."""
        for leftover in (*self.path.glob(".partial-*"), *self.path.glob(".old-*")):
            shutil.rmtree(leftover, ignore_errors=True)
