"""Draw the figures of docs/method.md from the values that its code blocks compute: ``python docs/figures.py``."""

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import action_balance as ab
from action_balance.plots.drawing import COLOURS, INK, MUTED, PERCENT, STYLED, save

HERE = Path(__file__).parent
BONUS, POLICY = COLOURS["action-balance-rnd"], COLOURS["random"]


def computed() -> dict[str, Any]:
    """The names that the code blocks of the page define."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python[^\n]*\n(.*?)```", (HERE / "method.md").read_text(), re.DOTALL):
        exec(block, names)
    return names


def bars(axes: Axes, title: str, values: np.ndarray, colour: str, shown: str) -> None:
    """One bar per action, with its value."""
    axes.bar(range(len(values)), values, color=colour, width=0.66)
    axes.set_title(title, loc="left", fontsize=9, color=INK, weight="bold")
    axes.set_xticks(range(len(values)), ["left", "right", "up", "down"])
    axes.tick_params(axis="x", length=0)
    axes.set_yticks([])
    axes.grid(False)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(0, 1.18 * max(values))
    for place, value in enumerate(values):
        axes.annotate(shown.format(value), (place, value), (0, 2), textcoords="offset points", ha="center", fontsize=8)


@style.context(STYLED)
def worked_example(names: dict[str, Any]) -> Figure:
    """From counts to the behaviour policy."""
    figure = Figure(figsize=(8, 2.1), layout="constrained")
    figure.suptitle("")
    panels = figure.subplots(1, 4)
    bars(panels[0], "times taken", np.array(names["counts"]), MUTED, "{:d}")
    bars(panels[1], "error, Eq. 4", np.asarray(names["bonus"]), BONUS, "{:.3f}")
    bars(panels[2], "c · Normalize", np.asarray(ab.normalize(names["bonus"])), BONUS, "{:.2f}")
    before, after = np.asarray(names["pi"]), np.asarray(names["beta"])
    places = np.arange(4)
    panels[3].bar(places - 0.2, before, color=POLICY, width=0.36)
    panels[3].bar(places + 0.2, after, color=BONUS, width=0.36)
    panels[3].set_title("π and β, Eq. 5", loc="left", fontsize=9, color=INK, weight="bold")
    panels[3].set_xticks(places, ["left", "right", "up", "down"])
    panels[3].tick_params(axis="x", length=0)
    panels[3].yaxis.set_major_formatter(PERCENT)
    panels[3].text(3.45, 0.46, "policy π", color=POLICY, ha="right", fontsize=8.5)
    panels[3].text(3.45, 0.40, "behaviour β", color=BONUS, ha="right", fontsize=8.5, weight="bold")
    return figure


@style.context(STYLED)
def strengths(names: dict[str, Any]) -> Figure:
    """The behaviour policy as a function of c, for two kinds of normalisation."""
    figure = Figure(figsize=(8, 2.7), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    coefs = jnp.linspace(0, 6, 61)
    looks = [(POLICY, "left, 40 times"), (BONUS, "right, 2 times"), (COLOURS["rnd"], "up, 6"), ("#0b5f45", "down, 6")]
    for axes, kind in zip(panels, ("l2", "standard"), strict=True):
        beta = jax.vmap(lambda c, kind=kind: jax.nn.softmax(ab.balance(names["logits"], names["bonus"], c, kind)))(
            coefs
        )
        for action, (colour, label) in enumerate(looks):
            axes.plot(coefs, beta[:, action], color=colour, linewidth=2.2 if action == 1 else 1.5, label=label)
        axes.set_title(f"Normalize: {kind}", loc="left", fontsize=9, color=INK, weight="bold")
        axes.set_xlabel("coefficient c")
        axes.set_xlim(0, 6)
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(PERCENT)
    panels[0].set_ylabel("probability under β")
    panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure


@style.context(STYLED)
def channels() -> Figure:
    """Four of the 18 actions of a game as the convolutions receive them."""
    figure = Figure(figsize=(8, 1.9), layout="constrained")
    for axes, action in zip(figure.subplots(1, 4), (0, 1, 8, 17), strict=True):
        band = np.flatnonzero(np.asarray(ab.action_channel(jnp.asarray(action), 18, 84, 84))[:, 0])
        axes.axhspan(band[0], band[-1] + 1, color=BONUS, linewidth=0)
        axes.set_xlim(0, 84)
        axes.set_ylim(84, 0)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        axes.grid(False)
        for spine in axes.spines.values():
            spine.set_visible(True)
        axes.set_title(f"action {action}: rows {band[0]} to {band[-1]}", loc="left", fontsize=9, color=INK)
    return figure


def main() -> None:
    """Write the figures, as SVG only."""
    names = computed()
    figures = {"eq5_example": worked_example(names), "eq5_strength": strengths(names), "eq3_channel": channels()}

    def write(file: str, content: bytes) -> None:
        if file.endswith(".svg"):
            (HERE / "images" / file).write_bytes(content)

    for name, figure in figures.items():
        save(figure, write, name)


if __name__ == "__main__":
    main()
