"""``python -m action_balance``, and the command ``action-balance``."""

import os
import signal
import sys


def main() -> None:
    """Run the command line; one line reports an interrupt while libraries load, or a library that does not load."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is for background commands of a script
        signal.signal(signal.SIGINT, _exit_at_once)
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


def _exit_at_once(*_: object) -> None:
    """Handle an interrupt before a command runs, without an exception: half-loaded libraries lose it, or crash."""
    print("action-balance: interrupted; nothing was written", file=sys.__stderr__, flush=True)
    os._exit(130)


if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `python -m` puts the current folder first, where a file could take the place of a library. Modules of the user
        # are found there nevertheless: see `config.registry`.
        del sys.path[0]
    main()
