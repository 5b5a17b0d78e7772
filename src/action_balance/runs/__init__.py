"""The run folder: config, manifest, metrics, checkpoints. The only place that writes a training run's files."""

from action_balance.runs.checkpoints import Checkpoints, Restored
from action_balance.runs.folder import RunFolder, read_config
from action_balance.runs.metrics import MetricsLog, read_metrics

__all__ = ["Checkpoints", "MetricsLog", "Restored", "RunFolder", "read_config", "read_metrics"]
