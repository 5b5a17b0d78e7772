"""Checkpoints: written whole or not at all, verified before they are used; the last few and the best are kept.

A checkpoint is a folder, named by its update, with ``arrays.npz`` (one array for each leaf of the state, by its path)
and ``checkpoint.json`` (what the leaves are, the score, and the SHA-256 of every file). It is prepared under a hidden
name and renamed when it is complete. No file is read before its checksum is right, and nothing in it is executed.
"""

import contextlib
import math
import os
import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from action_balance.errors import UserError, WriteError
from action_balance.files import (
    Data,
    check_inside,
    digest,
    fingerprint,
    reason,
    sync_folder,
    to_json,
    write_durably,
)
from action_balance.reading import Damaged, Missing, Unreadable, entries, is_folder, read_json
from action_balance.runs.array_file import DamagedArrays, read_arrays, write_arrays
from action_balance.runs.aside import move_aside, new_aside
from action_balance.runs.owned import is_below

#: The file of a checkpoint that describes the others, and the file that holds the arrays.
CONTENTS, ARRAYS = "checkpoint.json", "arrays.npz"

#: Number of the newest checkpoints of a run that are kept, besides the best.
KEEP = 3

#: Which checkpoint: the newest, the one with the highest score, or that of an update.
Which = Literal["latest", "best"] | int


class NoCheckpoint(UserError):
    """There is no checkpoint to continue from: none at all, none that is intact, or none of such a state."""


class _Damaged(Exception):
    """A checkpoint that is not as it was written; the message has the reason."""


@dataclass(frozen=True)
class Restored:
    """A state that was read."""

    update: int  # the update after which it was saved
    state: Any  # the requested tree, with the values of the checkpoint
    warnings: tuple[str, ...]  # a line for everything that the user should know, such as a damaged checkpoint


def _read_contents(folder: Path) -> Data:
    """The description of a checkpoint; an `Unreadable` where the system does not let us read it."""
    try:
        found = read_json(folder / CONTENTS, "the description of a checkpoint")
        contents: Data = found["contents"]
        fine = found["sha256"] == fingerprint(contents) and contents["update"] == int(folder.name)
        fine = fine and isinstance(contents["files"], dict) and isinstance(contents["leaves"], list)
        fine = fine and isinstance(contents["score"], (int, float, NoneType))
    except (Missing, Damaged, KeyError, TypeError):
        fine = False
    if not fine:
        raise _Damaged(f"{CONTENTS} is missing or damaged")
    return contents


def _verify(folder: Path) -> Data:
    """The description of a checkpoint, if every file is as it was written; an `Unreadable` if one cannot be read."""
    contents = _read_contents(folder)
    for name, expected in contents["files"].items():
        if not is_below(name):
            raise _Damaged(f"{CONTENTS} names a file outside the checkpoint")
        try:
            if digest(folder / name) != expected:
                raise _Damaged(f"{name} was changed")
        except Missing:
            raise _Damaged(f"{name} is missing") from None
    return contents


class Checkpoints:
    """The checkpoints of a run. One process writes them; any process may read them."""

    def __init__(self, path: Path, keep: int = KEEP) -> None:
        self.path, self._keep = path.absolute(), keep

    def _folder(self, update: int) -> Path:
        return self.path / f"{update:08d}"

    def updates(self) -> list[int]:
        """The updates that have a checkpoint, damaged or not, oldest first."""
        folders = [path for path in entries(self.path) if re.fullmatch(r"[0-9]{8}|[1-9][0-9]{8,11}", path.name)]
        return sorted(int(folder.name) for folder in folders if is_folder(folder))

    def save(self, update: int, state: Any, score: float | None = None) -> None:
        """Write a checkpoint, which is on the disk when this returns, and delete those that are no longer needed.

        An intact checkpoint of the same update stays as it is; a damaged one is moved aside.
        """
        from action_balance.runs import tree_file

        folder, prepared = self._folder(update), self.path / f".partial-{update:08d}"
        check_inside(self.path.parent, self.path)
        if is_folder(folder):
            with contextlib.suppress(_Damaged):
                _verify(folder)
                return
        contents: Data = {
            "update": update,
            "score": float(score) if score is not None and math.isfinite(score) else None,
            "leaves": tree_file.as_data(tree_file.describe(state)),
        }
        try:
            self._clean()
            prepared.mkdir(parents=True)
            write_durably(prepared / ARRAYS, partial(write_arrays, arrays=tree_file.to_arrays(state)))
            contents["files"] = {ARRAYS: digest(prepared / ARRAYS)}
            write_durably(prepared / CONTENTS, to_json({"contents": contents, "sha256": fingerprint(contents)}))
            sync_folder(prepared)
            if os.path.lexists(folder):
                move_aside(folder, new_aside(self.path.parent, "damaged"))
            os.replace(prepared, folder)
            sync_folder(self.path)
        except BaseException as error:
            shutil.rmtree(prepared, ignore_errors=True)
            if not isinstance(error, OSError):
                raise
            others = [other for other in self.updates() if other != update]
            rest = f"the last good checkpoint, of update {others[-1]}, is kept" if others else "there is none yet"
            raise WriteError(f"cannot write the checkpoint {folder}: {reason(error)}; {rest}", error) from error
        self._drop_old()

    def restore(self, like: Any, which: Which = "latest") -> Restored:
        """Read a checkpoint; a damaged one is skipped for the next, with a warning.

        Only a wrong checksum, or a description that is missing or wrong, is damage. A checkpoint that this user may not
        read is not: that is an error, and no other is used in its place.
        """
        from action_balance.runs.tree_file import OtherTree, from_data, to_tree

        warnings = []
        for update in self._candidates(which):
            folder = self._folder(update)
            try:
                contents = _verify(folder)
            except _Damaged as damage:
                # The process that trains may have deleted it meanwhile, because there are newer ones.
                if folder.exists():
                    warnings.append(f"the checkpoint {folder} is damaged ({damage}) and was not used")
                continue
            try:
                state = to_tree(read_arrays(folder / ARRAYS), from_data(contents["leaves"]), like)
                return Restored(update, state, tuple(warnings))
            except OtherTree as other:
                raise NoCheckpoint(
                    f"the checkpoint {folder} does not match: {other}; it was written with another config, environment "
                    f"or version"
                ) from None
            except (DamagedArrays, OSError, TypeError, ValueError) as error:
                raise UserError(f"the checkpoint {folder} is intact, but cannot be read: {reason(error)}") from None
        if warnings:
            raise NoCheckpoint(f"no checkpoint is usable: {'; '.join(warnings)}; restore a copy of one of them")
        raise NoCheckpoint(f"there is no checkpoint {'' if isinstance(which, str) else f'{which} '}in {self.path}")

    def _candidates(self, which: Which) -> list[int]:
        updates = self.updates()[::-1]
        if which == "best":
            scores = self._scores()  # damaged ones come first, to be named in the warnings
            updates.sort(key=lambda update: (update not in scores, scores.get(update, 0.0), update), reverse=True)
        return [update for update in updates if which in ("latest", "best", update)]

    def _scores(self, *skipped: type[Exception]) -> dict[int, float]:
        """Scores by update, -inf for a checkpoint without one; damaged checkpoints are left out."""
        scores = {}
        for update in self.updates():
            with contextlib.suppress(_Damaged, *skipped):
                score = _read_contents(self._folder(update))["score"]
                scores[update] = -math.inf if score is None else score
        return scores

    def after(self, update: int) -> list[Path]:
        return [self._folder(other) for other in self.updates() if other > update]

    def _drop_old(self) -> None:
        """Keep the newest and the best; of equal scores the latest, which is trained longest.

        Only what is known to be intact, and nothing else than a checkpoint, is deleted.
        """
        scores = self._scores(Unreadable)
        kept = {*sorted(scores)[-self._keep :], max(scores, key=lambda update: (scores[update], update))}
        for update in scores.keys() - kept:
            with contextlib.suppress(OSError, Unreadable, _Damaged):
                self._remove(self._folder(update))

    def _remove(self, folder: Path) -> None:
        """Delete an intact checkpoint in a way that never leaves a part of it under its name."""
        names = {CONTENTS, *_verify(folder)["files"]}
        if folder.is_symlink() or {path.name for path in folder.iterdir()} - names:
            return  # somebody keeps other files there
        doomed = folder.with_name(f".old-{folder.name}")
        shutil.rmtree(doomed, ignore_errors=True)
        os.replace(folder, doomed)
        shutil.rmtree(doomed, ignore_errors=True)

    def _clean(self) -> None:
        for leftover in entries(self.path):
            if re.fullmatch(r"\.(partial|old)-[0-9]{8,}", leftover.name):
                shutil.rmtree(leftover, ignore_errors=True)
