"""``python -m action_balance``, and the command ``action-balance``."""

import contextlib
import os
import sys

from action_balance import signals


def main() -> None:
    """Run the command line; one line reports an interrupt, or a library that does not load."""
    watcher = signals.watch()
    try:
        try:
            _run()
        except SystemExit as end:
            watcher.finish(end.code if isinstance(end.code, int) else 1)
            raise
        watcher.finish(0)
    except KeyboardInterrupt:  # after the work, such as while an error is shown
        print("action-balance: interrupted; what was saved before is kept", file=sys.stderr)
        watcher.finish(signals.INTERRUPTED)


def _run() -> None:
    try:
        from action_balance.cli import main as cli
    except ImportError as error:
        if (error.name or "").startswith("action_balance"):
            raise  # a bug of ours
        reason = " ".join(str(error).split())
        print(
            f"action-balance: cannot load a package that it needs ({reason}): "
            "pip install --force-reinstall action-balance",
            file=sys.stderr,
        )
        sys.exit(2)
    cli.main()


if __name__ == "__main__":
    # `python -m` puts the current folder first, where a file could take the place of a library. Modules of the user are
    # found there nevertheless: see `config.registry`.
    with contextlib.suppress(OSError):  # of a folder that was deleted
        if not sys.flags.safe_path and sys.path[0] == os.getcwd():
            del sys.path[0]
    main()
