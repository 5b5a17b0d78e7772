"""``python -m action_balance``, and the command ``action-balance``."""

import os
import signal
import sys


def main() -> None:
    """Run the command line; an interrupt while libraries are loaded, or a broken one, is told in one line, too."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is for commands in the background of a script
        signal.signal(signal.SIGINT, _end_at_once)
    try:
        from action_balance.cli import main as cli
    except ImportError as error:
        if (error.name or "").startswith("action_balance"):
            raise  # a mistake of ours
        told = " ".join(str(error).split())
        print(
            f"action-balance: cannot load what it needs ({told}): pip install --force-reinstall action-balance",
            file=sys.stderr,
        )
        sys.exit(2)
    cli.main()


def _end_at_once(*_: object) -> None:
    """Until a command begins. Without an exception: libraries that are half loaded print it, lose it, or crash."""
    print(
        "action-balance: interrupted; nothing was written", file=sys.__stderr__, flush=True
    )  # the parser's is another
    os._exit(130)


if __name__ == "__main__":
    main()
