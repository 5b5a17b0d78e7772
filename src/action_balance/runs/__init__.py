"""Run folders and result folders. Nothing here imports JAX before a state is saved or restored."""

from action_balance.runs.checkpoints import Checkpoints, Restored
from action_balance.runs.folder import RunFolder, read_config
from action_balance.runs.metrics import MetricsLog
from action_balance.runs.results import ResultFolder
from action_balance.runs.rows import Place, read_metrics, read_new, read_numbers

__all__ = [
    "Checkpoints",
    "MetricsLog",
    "Place",
    "Restored",
    "ResultFolder",
    "RunFolder",
    "read_config",
    "read_metrics",
    "read_new",
    "read_numbers",
]
