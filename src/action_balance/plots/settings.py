"""Matplotlib without the settings of the current folder, which may be a stranger's."""

import contextlib
import importlib
import os
from pathlib import Path

#: The file that Matplotlib looks for in the current folder when it is imported.
SETTINGS = "matplotlibrc"


def ignore_settings_here() -> None:
    """Import Matplotlib from another folder, if the current one has settings for it.

    They choose fonts and programs, and a file that is damaged or a pipe would end or stop whatever imports Matplotlib.
    """
    if os.path.lexists(SETTINGS):
        with contextlib.chdir(Path(__file__).parent):
            importlib.import_module("matplotlib")
