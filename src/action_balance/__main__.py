"""``python -m action_balance``, and the command ``action-balance``."""

import sys


def main() -> None:
    """Run the command line; an interrupt while libraries are still being loaded is told in one line, too."""
    try:
        from action_balance import cli
    except KeyboardInterrupt:
        print("action-balance: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    cli.main()


if __name__ == "__main__":
    main()
