from io import StringIO

import pytest
from rich.console import Console

from action_balance.studies.evaluation.run import _show


@pytest.mark.parametrize("value", [-0.012345678, -123.456, -1.23456e-5, -123456.7, -1.5e12])
def test_the_table_of_an_evaluation_is_whole_on_80_columns(value: float) -> None:
    returns = {"mean": value, "low": value * 2, "high": value / 3, "median": value, "min": value * 9, "max": value}
    one = {"return": returns, "mean_length": 12345.678, "ended_by_task": 1.0}
    unknown = {**one, "return": {**returns, "low": None, "high": None}}
    action_modes = {"greedy": one, "sampled": one, "behaviour": unknown}
    screen = StringIO()
    summary = {"seeds": [0, 1], "intervals_over": "seeds", "ways": action_modes}
    _show(summary, "action-balance-rnd in deep-sea after 1,000 updates", Console(file=screen, width=80))
    shown = screen.getvalue()
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    for word in ("greedy", "sampled", "behaviour", "mean return", "95 % from", "95 % to", "ended by the task"):
        assert word in shown
    rows = {line.split("│")[1].strip(): line.split("│")[2:5] for line in shown.splitlines() if "│" in line}
    assert [float(cell.replace(",", "")) for cell in rows["mean return"]] == pytest.approx([value] * 3, rel=1e-3)
    assert [cell.strip() for cell in rows["95 % from"]][2] == "-"
