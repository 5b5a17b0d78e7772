"""Draw the animated picture of README.md and docs/index.md: ``python docs/animation.py [--runs N]``, about a minute.

The corridor of the grid study, with its seeds: two rooms, the agent starts between them. Of the runs that entered the
left room first, the maps show how many have covered each cell, and the curves how much of the right room is covered,
over the first episodes. The bars are the steps of all runs to the treasure. Two files are written, for light and for
dark pages.

Axes: R runs, M moments, S cells, T steps.
"""

import argparse
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from PIL import Image

from action_balance.envs.grid.maps import corridor_world
from action_balance.envs.grid.world import GridWorld
from action_balance.plots.drawing import NAMES, PERCENT, STYLED, THOUSANDS
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.studies import statistics
from action_balance.studies.grid import corridor, first_reach
from action_balance.studies.grid.film import first_visits
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.statistics import Estimate
from action_balance.tabular import simulate
from action_balance.tabular.simulate import Cohort

IMAGES = Path(__file__).parent / "images"
#: Steps between two frames.
EVERY = 20
#: How long a frame and the last frame are shown, in milliseconds.
FRAME, HOLD = 110, 5000
#: The methods with a map.
MAPS = ("rnd", "action-balance-rnd")
#: The picture is drawn for a width of 830 pixels, with twice as many.
SIZE, DPI = (8.3, 4.75), 200


@dataclass(frozen=True)
class Theme:
    """The colours of one file; those of the methods have their names."""

    heat: Sequence[str]
    paper: str
    ink: str
    muted: str
    rule: str
    wall: str
    methods: dict[str, str]

    @property
    def colours(self) -> LinearSegmentedColormap:
        """The colours of shares from 0 to 1."""
        return LinearSegmentedColormap.from_list("shares", [self.paper, *self.heat])


THEMES = {
    "light": Theme(
        *(HEAT_STOPS["light"], "#ffffff", "#1c2128", "#59626d", "#e2e5e9", "#aab1ba"),
        {"random": "#737a84", "action-balance": "#0b5f45", "rnd": "#1f77d0", "action-balance-rnd": "#c04a0a"},
    ),
    "dark": Theme(
        *(HEAT_STOPS["dark"], "#0d1117", "#e9e7e2", "#a3aab4", "#32373f", "#4a515c"),
        {"random": "#b4bcc8", "action-balance": "#45cf8d", "rnd": "#62a4fb", "action-balance-rnd": "#f7803a"},
    ),
}


@dataclass(frozen=True)
class Picture:
    """What is drawn."""

    world: GridWorld
    moments: np.ndarray  # (M,) int, steps
    covered: dict[str, np.ndarray]  # (M, S) float64, share of the runs that have covered each cell
    other_room: dict[str, tuple[np.ndarray, ...]]  # mean share of the right room, and its interval, (M,) each
    treasure: dict[str, FirstReachSteps]  # all runs, whichever room they entered first

    @property
    def ratio(self) -> Estimate:
        """Mean steps to the treasure, rnd over action-balance-rnd."""
        rnd, balanced = (self.treasure[name].steps for name in MAPS)
        return statistics.ratio_of_means(rnd, balanced)


def simulated(settings: GridSettings) -> Picture:
    """The runs of the study: their first episodes without the treasure, and all of those to the treasure."""
    steps = corridor.EARLY_EPISODES * settings.episode_steps
    world = corridor_world(episode_steps=settings.episode_steps)
    empty, side = world.without_goals(), corridor.sides(world)
    streams = (settings.seed, corridor.WALK_STREAM)
    cohorts = [Cohort.create(method, settings.agent, streams, empty.goals) for method in settings.methods]
    found: dict[str, list[np.ndarray]] = {method: [] for method in settings.methods}
    for number, _, trace, _ in simulate.walk(empty, cohorts, settings.runs, settings.agent, steps):
        leftwards = corridor.left_first(corridor.dig(trace, side, settings.episode_steps)[0])
        found[settings.methods[number]].append(first_visits(trace[leftwards], world.cells))
    moments = np.arange(EVERY, steps + 1, EVERY)
    until = {name: np.concatenate(parts)[:, None] < moments[:, None] for name, parts in found.items()}  # (R, M, S)
    other = {name: share[:, :, side == corridor.RIGHT].mean(axis=-1) for name, share in until.items()}
    return Picture(
        world,
        moments,
        {name: share.mean(axis=0) for name, share in until.items()},
        {name: statistics.mean_band(share) for name, share in other.items()},
        first_reach.run(world, settings, corridor.REACH_STREAM),
    )


def draw_map(axes: Axes, picture: Picture, method: str, moment: int, theme: Theme) -> None:
    """One map, with the start, the treasure and the share of the right room."""
    colours = theme.colours(picture.covered[method][moment])
    colours[np.asarray(picture.world.walls)] = to_rgba(theme.wall)
    axes.imshow(colours.reshape(picture.world.height, picture.world.width, 4), origin="lower", interpolation="none")
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set(visible=True, color=theme.muted)
    axes.set_title(NAMES[method], loc="left", fontsize=12, weight="bold", color=theme.methods[method])
    share = picture.other_room[method][0][moment]
    axes.set_title(f"right room: {100 * share:.0f} % covered", loc="right", fontsize=10, color=theme.ink)
    halo = [withStroke(linewidth=3.4, foreground=theme.paper)]
    start = picture.world.coordinates(int(picture.world.start))
    axes.plot(*start, "o", ms=6.5, mfc="none", mec=theme.ink, mew=1.6, path_effects=halo)
    for goal in np.flatnonzero(picture.world.goals):
        axes.plot(*picture.world.coordinates(int(goal)), "*", ms=13, mfc=theme.ink, mec=theme.paper, mew=1.2)


def draw_scale(axes: Axes, theme: Theme) -> None:
    """The colours of the maps."""
    axes.imshow(theme.colours(np.linspace(0, 1, 101))[None], aspect="auto", extent=(0, 1, 0, 1))
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set(visible=True, color=theme.muted)
    for place, side, label in ((-0.05, "right", "covered by none"), (1.05, "left", "by all of these runs")):
        axes.text(place, 0.42, label, ha=side, va="center", fontsize=9, color=theme.muted)


def draw_curves(axes: Axes, picture: Picture, moment: int, theme: Theme) -> None:
    """The share of the right room over time, until a moment."""
    steps = np.concatenate([[0], picture.moments[: moment + 1]])
    for name, curve in picture.other_room.items():
        mean, low, high = (np.concatenate([[0], values[: moment + 1]]) for values in curve)
        axes.plot(steps, mean, color=theme.methods[name], lw=2.6 if name in MAPS else 1.5)
        axes.fill_between(steps, low, high, color=theme.methods[name], alpha=0.2, lw=0)
    axes.set(xlim=(0, picture.moments[-1]), ylim=(0, 0.7), xticks=range(0, picture.moments[-1] + 1, 200))
    axes.xaxis.set_major_formatter(THOUSANDS)
    axes.yaxis.set_major_formatter(PERCENT)
    axes.set_title("Share of the right room covered, by step", loc="left", fontsize=10, color=theme.ink)


def draw_bars(axes: Axes, picture: Picture, theme: Theme) -> None:
    """The mean steps to the treasure, with intervals."""
    for place, (name, found) in enumerate(sorted(picture.treasure.items(), key=lambda item: -item[1].mean.value)):
        mean, colour = found.mean, theme.methods[name]
        axes.barh(place, mean.value, color=colour, height=0.6)
        axes.plot([mean.low, mean.high], [place, place], color=theme.ink, lw=1.2)
        weight = "bold" if name in MAPS else "normal"
        axes.text(-120, place, NAMES[name], color=colour, ha="right", va="center", fontsize=9, weight=weight)
        axes.text(mean.high + 120, place, f"{mean.value:,.0f}", va="center", fontsize=9, color=theme.ink)
    axes.set(xticks=[], yticks=[], ylim=(3.6, -0.6), xlim=(0, 5250))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def frame(picture: Picture, moment: int, theme: Theme) -> Image.Image:
    """The picture at one moment."""
    colours = dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), theme.muted)
    with style.context([*STYLED, colours | {"grid.color": theme.rule, "text.color": theme.ink}]):
        figure = Figure(SIZE, dpi=DPI, facecolor=theme.paper)
        grid = {"left": 0.015, "right": 0.985, "top": 0.845, "bottom": 0.51, "wspace": 0.05}
        figure.text(0.015, 0.94, "Runs that happened to enter the left room first", fontsize=12.5, weight="bold")
        figure.text(0.985, 0.94, f"step {picture.moments[moment]:,}", fontsize=12.5, weight="bold", ha="right")
        for axes, method in zip(figure.subplots(1, 2, gridspec_kw=grid), MAPS, strict=True):
            draw_map(axes, picture, method, moment, theme)
        draw_scale(figure.add_axes((0.15, 0.462, 0.14, 0.026)), theme)
        figure.text(0.985, 0.465, "\u25cb start   \u2605 treasure", fontsize=9, color=theme.muted, ha="right")
        draw_curves(figure.add_axes((0.06, 0.07, 0.38, 0.30), facecolor=theme.paper), picture, moment, theme)
        draw_bars(figure.add_axes((0.66, 0.12, 0.325, 0.25), facecolor=theme.paper), picture, theme)
        runs = len(picture.treasure[MAPS[0]].steps)
        title = f"Mean steps to the treasure, all {runs:,} runs"
        figure.text(0.985, 0.387, title, fontsize=10, ha="right")
        low, high = picture.ratio.low, picture.ratio.high
        ratio = f"RND / action balance RND: {picture.ratio.value:.2f} [{low:.2f}, {high:.2f}]"
        figure.text(0.985, 0.055, ratio, fontsize=9.5, ha="right", weight="bold")
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=DPI, facecolor=theme.paper)
    with Image.open(content) as drawn:
        return drawn.convert("RGB")


def write(picture: Picture, name: str) -> Path:
    """Write one file. It begins with the last frame, which stays where pictures do not move."""
    *others, last = (frame(picture, moment, THEMES[name]) for moment in range(len(picture.moments)))
    frames, file = [last, *others], IMAGES / f"exploration_{name}.webp"
    durations = [HOLD, *[FRAME] * len(others)]
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=durations, loop=0, lossless=True, method=4)
    return file


def main() -> None:
    """Simulate, draw and write both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    picture = simulated(GridSettings(runs=parser.parse_args().runs))
    for name in THEMES:
        file = write(picture, name)
        print(f"wrote {file}: {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
