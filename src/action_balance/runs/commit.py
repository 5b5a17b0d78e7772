"""The commit of the working folder, read from the files of its Git repository.

Git itself is not called: the settings of a repository, which may be a stranger's, name programs that Git runs.
"""

import re
from pathlib import Path

from action_balance.errors import UserError
from action_balance.reading import read_text, status

#: Most bytes of ``HEAD``, of a branch and of the list of packed branches.
MAX_BYTES = 4_000_000

#: A commit in SHA-1 or SHA-256.
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
#: A branch, without ``..``; nothing in it leads out of its repository.
_BRANCH = re.compile(r"refs/(?!.*\.\.)[\w./+-]+")


def commit(folder: Path | None = None) -> str | None:
    """The commit of a folder; files that differ from it are not noticed."""
    try:
        where = (folder or Path.cwd()).resolve()
        root = next((one for one in (where, *where.parents) if status(one / ".git")), None)
        return None if root is None else _head(_git_folder(root / ".git"))
    except (UserError, OSError, ValueError):
        return None


def _git_folder(path: Path) -> Path:
    """``.git`` itself, or the folder that it names as a file, as in a worktree or a submodule."""
    return path if path.is_dir() else path.parent / _text(path).removeprefix("gitdir:").strip()


def _head(git: Path) -> str | None:
    head = _text(git / "HEAD")
    if not head.startswith("ref:"):
        return _checked(head)
    branch = head.removeprefix("ref:").strip()
    if not _BRANCH.fullmatch(branch):
        return None
    common = git / _text(git / "commondir") if status(git / "commondir") else git  # of a worktree
    for place in dict.fromkeys((git, common)):
        if status(place / branch):
            return _checked(_text(place / branch))
    for line in _text(common / "packed-refs").splitlines():
        found, _, name = line.partition(" ")
        if name == branch:
            return _checked(found)
    return None


def _text(path: Path) -> str:
    return read_text(path, "a file of a Git repository", MAX_BYTES).strip()


def _checked(text: str) -> str | None:
    return text if _COMMIT.fullmatch(text) else None
