"""Experiment trackers: the settings and metrics of a run, sent to Weights & Biases or MLflow while it trains.

A tracker is one file with the three methods of `Tracker`. Its library is imported when a run is tracked, and only then.
`Tracking` calls trackers in threads of their own, so that a slow or failing tracker neither delays an update nor ends
a training.
"""

from action_balance.tracking.base import RunInfo, TrackConfig, Tracker
from action_balance.tracking.registry import NAMES, check_installed, track_config
from action_balance.tracking.session import TRACKING, Tracking, planned

__all__ = [
    "NAMES",
    "TRACKING",
    "RunInfo",
    "TrackConfig",
    "Tracker",
    "Tracking",
    "check_installed",
    "planned",
    "track_config",
]
