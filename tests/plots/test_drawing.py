import numpy as np
import pytest
from matplotlib.figure import Figure

from action_balance.plots import drawing


def test_a_long_curve_is_thinned_out_but_keeps_its_ends() -> None:
    assert drawing.thinned(0).tolist() == []
    assert drawing.thinned(3).tolist() == [0, 1, 2]
    chosen = drawing.thinned(100_000)
    assert (len(chosen), chosen[0], chosen[-1]) == (drawing.POINTS, 0, 99_999)


def test_labels_are_moved_apart_and_stay_inside() -> None:
    axes = Figure().add_subplot()
    axes.set_ylim(0, 10)
    assert drawing.spread(axes, [2, 8], gap=0.1) == pytest.approx([0.2, 0.8])  # far enough apart
    assert drawing.spread(axes, [5, 5], gap=0.1) == pytest.approx([0.45, 0.55])
    assert drawing.spread(axes, [10, 10, 10], gap=0.1) == pytest.approx([0.8, 0.9, 1.0])


def test_the_same_figure_gives_the_same_files() -> None:
    def files() -> dict[str, bytes]:
        written: dict[str, bytes] = {}
        figure, axes = drawing.new_figure("title")
        drawing.curve(axes, "rnd", np.arange(3), np.ones(3), np.zeros(3), np.full(3, 2.0))
        drawing.save(figure, written.__setitem__, "figure")
        return written

    assert files().keys() == {"figure.svg", "figure.png"}
    assert files() == files()


def test_a_dollar_sign_in_a_name_begins_no_formula() -> None:
    name = r"gym:$\frac{$"
    figure, axes = drawing.new_figure(name)
    drawing.end_labels(axes, [(0.5, "rnd", name)])
    files: dict[str, bytes] = {}
    drawing.save(figure, files.__setitem__, "figure")
    assert files["figure.svg"].decode().count(name) >= 2
