"""What all figures have in common: colours, style, curves, axes, labels, and how they are written.

Text stays text in the SVG files, and every colour of `THEME` stands for a role: `inline_svg` puts CSS variables in
their place, so that a figure inside a page follows its light or dark scheme.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

#: One colour per method, told apart with every kind of colour vision.
COLOURS = {
    **{"random": "#737a84", "action-balance": "#0b5f45", "rnd": "#1f77d0", "action-balance-rnd": "#c04a0a"},
    **{"ppo": "#bd8f00", "count": "#5b2a86", "action-balance-rnd-channel": "#7a0f5c"},
}

#: How the methods are called in figures and tables.
NAMES = {name: name.replace("-", " ").replace("rnd", "RND").replace("ppo", "PPO") for name in COLOURS}
NAMES["action-balance-rnd-channel"] = "action balance RND + channel"

#: The method that the study is about.
HERO = "action-balance-rnd"

INK, MUTED, RULE, PAPER = "#1c2128", "#59626d", "#e2e5e9", "#fffffe"

#: The CSS variable that takes the place of each colour in a themed SVG.
THEME = {INK: "ink", MUTED: "muted", RULE: "rule", PAPER: "paper"} | {c: name for name, c in COLOURS.items()}

#: Text is measured with the font that Matplotlib brings along, and shown in that of the reader.
MEASURED_FONT, SHOWN_FONTS = "'DejaVu Sans'", "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial"

STYLE: dict[str, Any] = {
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), MUTED),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize", "legend.title_fontsize"), 8.5),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("figure.constrained_layout.h_pad", "figure.constrained_layout.w_pad"), 0.06),
    **{"font.family": ["sans-serif"], "font.sans-serif": ["DejaVu Sans"], "font.size": 9, "text.color": INK},
    **{"figure.titlesize": 11, "figure.titleweight": "bold", "axes.linewidth": 0.7, "axes.axisbelow": True},
    **{"axes.grid": True, "grid.color": RULE, "grid.linewidth": 0.8},
    **{"svg.fonttype": "none", "svg.hashsalt": "action-balance"},
}
#: What figures are drawn within: ``@style.context(STYLED)``.
STYLED: Sequence[str | Path | dict[str, Any]] = ("default", STYLE)
THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.10g}")
PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.10g} %")
SIGNED_PERCENT = FuncFormatter(lambda value, _: f"{100 * value:+.10g} %".replace("-", "\u2212") if value else "0")


def save(figure: Figure, write: Callable[[str, bytes], None], name: str) -> None:
    """Write ``name.svg`` and ``name.png``; the same figure gives the same bytes.

    Args:
        figure: what to write.
        write: writes a file, given its name and its content.
        name: of both files, without the ending.
    """
    svg, png = io.StringIO(), io.BytesIO()
    with style.context(STYLED):
        metadata = {"Title": figure.get_suptitle(), "Date": None, "Creator": None}
        figure.savefig(svg, format="svg", transparent=True, metadata=metadata)
        figure.savefig(png, format="png", dpi=150, facecolor="white", metadata={"Software": None})
    write(f"{name}.svg", svg.getvalue().replace(MEASURED_FONT, SHOWN_FONTS).encode())
    write(f"{name}.png", png.getvalue())


def new_figure(title: str, width: float = 8) -> tuple[Figure, Axes]:
    """A figure of one panel."""
    figure = Figure(figsize=(width, 4.2), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left")
    return figure, figure.add_subplot()


def curve(axes: Axes, name: str, steps: np.ndarray, mean: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """A method's curve with its band; a dot where it is one point."""
    axes.fill_between(steps, low, high, color=COLOURS[name], alpha=0.12, linewidth=0)
    axes.plot(steps, mean, **line(name) | (dot(name) if len(steps) == 1 else {}))


def line(name: str) -> dict[str, Any]:
    """How a method's line looks."""
    hero = name == HERO
    dashes = {"linestyle": (0, (4, 1.5))} if name == "random" else {}
    return {"color": COLOURS[name], "linewidth": 2.4 if hero else 1.6, "zorder": 3 if hero else 2.5} | dashes


def dot(name: str, size: float = 8) -> dict[str, Any]:
    """How a method's dot looks."""
    looks: dict[str, Any] = {"color": COLOURS[name], "markeredgecolor": PAPER, "markersize": size}
    return looks | {"marker": "o", "zorder": 4, "clip_on": False}


def marker(colour: str, shape: str, label: str, edge: str = PAPER, size: float = 6) -> Line2D:
    """A marker in a legend."""
    looks: dict[str, Any] = {"marker": shape, "markersize": size, "markeredgecolor": edge, "linestyle": "none"}
    return Line2D([], [], color=colour, label=label, **looks)


def count_axis(axis: Axis) -> None:
    """Few ticks, at whole numbers."""
    axis.set_major_locator(MaxNLocator(7, steps=(1, 2, 5, 10), integer=True, min_n_ticks=1))
    axis.set_major_formatter(THOUSANDS)


def log_axis(axis: Axis) -> None:
    """Ticks at 1, 2 and 5 of each power of ten."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(THOUSANDS)
    axis.set_minor_locator(NullLocator())


def end_labels(axes: Axes, ends: Iterable[tuple[float, str, str]], gap: float = 0.065) -> None:
    """What curves are called, to the right of where they end, moved apart where labels would overlap.

    Args:
        axes: whose limits are set.
        ends: last value, method and text of each curve.
        gap: the least distance, in heights of the panel.
    """
    ordered = sorted(ends)
    places = spread(axes, [value for value, _, _ in ordered], gap)
    for place, (_, name, text) in zip(places, ordered, strict=True):
        looks: dict[str, Any] = {"color": COLOURS[name], "va": "center", "transform": axes.transAxes}
        axes.text(1.012, place, text, weight="bold" if name == HERO else "normal", **looks)


def spread(axes: Axes, values: Sequence[float], gap: float) -> np.ndarray:
    """Heights in the panel of values in ascending order, (K,), moved as little as keeps them apart and inside."""
    from scipy.optimize import isotonic_regression

    low, high = axes.get_ylim()
    gaps = np.arange(len(values)) * min(gap, 1 / max(len(values) - 1, 1))
    # heights that keep the gaps are those that never fall once the gaps are taken away
    moved = isotonic_regression((np.array(values) - low) / (high - low) - gaps).x
    return np.clip(moved, 0, 1 - gaps[-1]) + gaps


def legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    """One row below all panels."""
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
