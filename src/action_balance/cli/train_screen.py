"""Old place of `action_balance.terminal.training`, for modules that still import it from here."""

from action_balance.terminal.training import command_line as typed
from action_balance.terminal.training import resume, train
from action_balance.terminal.training import training_progress as shown

__all__ = ["resume", "shown", "train", "typed"]
