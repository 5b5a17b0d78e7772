"""The run folder: config, manifest, metrics, checkpoints. The only place that writes a training run's files."""

from action_balance.runs.checkpoints import Checkpoints, Restored
from action_balance.runs.folder import RunFolder, read_config
from action_balance.runs.metrics import MetricsLog, read_metrics
from action_balance.runs.tail import Place, read_new, read_numbers

__all__ = [
    "Checkpoints",
    "MetricsLog",
    "Place",
    "Restored",
    "RunFolder",
    "read_config",
    "read_metrics",
    "read_new",
    "read_numbers",
]
