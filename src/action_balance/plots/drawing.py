"""What all figures share: colours, style, curves, axes, labels, and how they are written.

Text stays text in the SVG files, and every colour of `THEME` stands for a role: `web.inline_svg` replaces it by a CSS
variable, so that a figure inside a page follows its light or dark scheme.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

#: One colour per method, distinguishable with every kind of colour vision.
COLOURS = {
    **{"random": "#737a84", "action-balance": "#0b5f45", "rnd": "#1f77d0", "action-balance-rnd": "#c04a0a"},
    **{"ppo": "#bd8f00", "count": "#5b2a86", "action-balance-rnd-channel": "#7a0f5c"},
    **{"epsilon-greedy": "#0f8594", "entropy": "#85573d", "hash": "#3d5a00", "action-balance-hash": "#b3123f"},
    **{"elliptical": "#12306b", "action-balance-elliptical": "#d0489b"},
}

#: Names of the methods in figures and tables.
NAMES = {name: name.replace("-", " ").replace("rnd", "RND").replace("ppo", "PPO") for name in COLOURS}
NAMES["action-balance-rnd-channel"] = "action balance RND + channel"
NAMES |= {"hash": "hash counts", "action-balance-hash": "action balance RND, hash counts"}
NAMES |= {"elliptical": "elliptical counts", "action-balance-elliptical": "action balance, elliptical counts"}

#: The paper's method, which figures emphasise.
HERO = "action-balance-rnd"

INK, MUTED, RULE, PAPER = "#1c2128", "#59626d", "#e2e5e9", "#fffffe"

#: The CSS variable that replaces each colour in a themed SVG.
THEME = {INK: "ink", MUTED: "muted", RULE: "rule", PAPER: "paper"} | {c: name for name, c in COLOURS.items()}

#: Text is laid out with the font that Matplotlib ships, and displayed in a font of the reader.
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
#: The style of every figure: ``@style.context(STYLED)``.
STYLED: Sequence[str | Path | dict[str, Any]] = ("default", STYLE)
THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.10g}")
PERCENT = FuncFormatter(lambda value, _: f"{100 * value:.10g} %")
SIGNED_PERCENT = FuncFormatter(lambda value, _: f"{100 * value:+.10g} %".replace("-", "\u2212") if value else "0")
#: 2,500 as it is, 2,500,000 as 2.5 M.
MILLIONS = FuncFormatter(lambda value, _: f"{value / 1e6:.10g} M" if abs(value) >= 1e6 else f"{value:,.10g}")

#: Text as it is: a dollar sign in the name of an environment begins no formula.
PLAIN: dict[str, Any] = {"parse_math": False}

#: Points of a curve that is thinned out.
POINTS = 400


def method_name(method: str) -> str:
    """Name of a method in figures and tables; a method of a user keeps its own."""
    return NAMES.get(method, method)


def method_colour(method: str) -> str:
    return COLOURS.get(method, MUTED)


def to_png(figure: Figure) -> bytes:
    content = io.BytesIO()
    with style.context(STYLED):
        figure.savefig(content, format="png", dpi=150, facecolor="white", metadata={"Software": None})
    return content.getvalue()


def save(figure: Figure, write: Callable[[str, bytes], None], name: str) -> None:
    """Write ``name.svg`` and ``name.png``; the same figure gives the same bytes."""
    write(f"{name}.png", to_png(figure))
    figure.set_layout_engine("none")  # the layout, which takes longer than the drawing, serves both
    svg = io.StringIO()
    with style.context(STYLED):
        metadata = {"Title": figure.get_suptitle(), "Date": None, "Creator": None}
        figure.savefig(svg, format="svg", transparent=True, metadata=metadata)
    write(f"{name}.svg", svg.getvalue().replace(MEASURED_FONT, SHOWN_FONTS).encode())


def new_figure(title: str, width: float = 8) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, 4.2), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", **PLAIN)
    return figure, figure.add_subplot()


def new_panels(title: str, count: int, size: tuple[float, float], columns: int = 2) -> tuple[Figure, list[Axes]]:
    """A figure with several panels, row by row."""
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", **PLAIN)
    columns = min(count, columns)
    panels = list(figure.subplots(-(-count // columns), columns, squeeze=False).flat)
    for axes in panels[count:]:
        axes.set_visible(False)
    return figure, panels[:count]


def thinned(count: int) -> np.ndarray:
    """Indices of at most `POINTS` of ``count`` points, evenly spaced, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, POINTS).round().astype(int)) if count else np.empty(0, int)


def curve(
    axes: Axes,
    method: str,
    steps: np.ndarray,
    mean: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    look: Mapping[str, Any] | None = None,
    banded: bool = True,
) -> None:
    """Draw the curve of a method with its band; a single point is a dot."""
    looks = dict(look or line(method))
    if banded:
        axes.fill_between(steps, low, high, color=looks["color"], alpha=0.12, linewidth=0)
    axes.plot(steps, mean, **looks | (dot(method) if len(steps) == 1 else {}))


def line(method: str) -> dict[str, Any]:
    hero = method == HERO
    dashes = {"linestyle": (0, (4, 1.5))} if method == "random" else {}
    return {"color": method_colour(method), "linewidth": 2.4 if hero else 1.6, "zorder": 3 if hero else 2.5} | dashes


def dot(method: str, size: float = 8) -> dict[str, Any]:
    looks: dict[str, Any] = {"color": method_colour(method), "markeredgecolor": PAPER, "markersize": size}
    return looks | {"marker": "o", "zorder": 4, "clip_on": False}


def marker(colour: str, shape: str, label: str, edge: str = PAPER, size: float = 6) -> Line2D:
    looks: dict[str, Any] = {"marker": shape, "markersize": size, "markeredgecolor": edge, "linestyle": "none"}
    return Line2D([], [], color=colour, label=label, **looks)


def method_handles(methods: Iterable[str]) -> Iterator[Line2D]:
    return (Line2D([], [], label=method_name(method), **line(method)) for method in methods)


def count_axis(axis: Axis) -> None:
    axis.set_major_locator(MaxNLocator(7, steps=(1, 2, 5, 10), integer=True, min_n_ticks=1))
    axis.set_major_formatter(THOUSANDS)


def millions_axis(axis: Axis) -> None:
    """Few ticks, at integers, with millions as M."""
    axis.set_major_locator(MaxNLocator(5, steps=(1, 2, 2.5, 5, 10), integer=True, min_n_ticks=1))
    axis.set_major_formatter(MILLIONS)


def log_axis(axis: Axis) -> None:
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(THOUSANDS)
    axis.set_minor_locator(NullLocator())


def fit_heights(axes: Axes, heights: Sequence[float], default: float = 1.0) -> None:
    """Set the vertical limits to some values with a little room; ``default`` is the room where all are equal."""
    low, high = (min(heights), max(heights)) if heights else (0.0, 1.0)
    room = 0.06 * (high - low) or default
    axes.set_ylim(low - room, high + room)


def end_labels(axes: Axes, ends: Iterable[tuple[float, str, str]], gap: float = 0.065) -> None:
    """Label curves to the right of their ends, moved apart where labels would overlap."""
    ordered = sorted(ends)
    places = spread(axes, [value for value, _, _ in ordered], gap)
    for place, (_, method, text) in zip(places, ordered, strict=True):
        looks: dict[str, Any] = {"color": method_colour(method), "va": "center", "transform": axes.transAxes}
        axes.text(1.012, place, text, weight="bold" if method == HERO else "normal", **looks, **PLAIN)


def spread(axes: Axes, values: Sequence[float], gap: float) -> np.ndarray:
    """Heights in a panel for labels at ascending values, moved as little as keeps them apart and inside, (K,)."""
    from scipy.optimize import isotonic_regression

    low, high = axes.get_ylim()
    gaps = np.arange(len(values)) * min(gap, 1 / max(len(values) - 1, 1))
    # heights keep the gaps exactly if they do not decrease once the gaps are subtracted
    moved = isotonic_regression((np.array(values) - low) / (high - low) - gaps).x
    return np.clip(moved, 0, 1 - gaps[-1]) + gaps


def legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
