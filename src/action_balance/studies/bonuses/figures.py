"""Figures of the bonus study."""

from matplotlib.figure import Figure

from action_balance.files import Data


def draw_all(ours: Data) -> dict[str, Figure]:
    """All figures by name."""
    del ours
    return {}
