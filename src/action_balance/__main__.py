"""``python -m action_balance``."""

from action_balance.cli import main

if __name__ == "__main__":
    main()
