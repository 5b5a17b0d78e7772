"""``python -m action_balance``, and the command ``action-balance``."""

import sys


def main() -> None:
    """Run the command line; an interrupt while libraries are loaded, or a broken one, is told in one line, too."""
    try:
        from action_balance import cli
    except KeyboardInterrupt:
        print("action-balance: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
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


if __name__ == "__main__":
    main()
