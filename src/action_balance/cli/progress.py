"""Old place of `action_balance.terminal.progress`, for modules that still import it from here."""

from action_balance.terminal.progress import LINE_EVERY, progress_bar

__all__ = ["LINE_EVERY", "progress_bar"]
