"""What a sweep and the processes that train its trials tell each other."""

from dataclasses import dataclass
from pathlib import Path

from action_balance._version import __version__
from action_balance.files import Data
from action_balance.studies.sweep.space import Space

#: Where the config of a trial of Ray Tune has its number and its values.
NUMBER, VALUES = "number", "values"

#: Where a report of a trial has the part of the training that is done, and its score.
PART, SCORE = "part", "score"


@dataclass(frozen=True)
class TrialPlan:
    """What all trials of a sweep share; it is sent to other machines."""

    base: Data
    """Settings of the run without any change, as plain data."""
    space: Space
    """What varies."""
    metric: str
    """The metric that is maximised."""
    folder: Path
    """The folder of all runs, on the machine of the command."""
    command: tuple[str, ...]
    """The command that runs record."""
    cwd: str
    """Folder of the command, from which modules of the user are imported."""
    cpus: int
    """CPU cores of a trial."""
    variables: dict[str, str]
    """Environment variables of the processes that train."""
    version: str = __version__
    """Version of the command."""
