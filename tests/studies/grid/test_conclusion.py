from itertools import product
from pathlib import Path
from typing import Any

import pytest
from grid_summary import ABOVE, BELOW, FEW_RUNS, summary_of

from action_balance.files import Data
from action_balance.studies.grid.conclusion import conclusion


def lines_of(*ratios: Data | None, **more: Any) -> list[str]:
    return conclusion(summary_of(*ratios, **more), Path("somewhere"))


def test_settled_claims_have_ratio_interval_significance_and_the_number_of_the_paper() -> None:
    coverage, goals, corridor, cells, *last = lines_of(ABOVE, BELOW, ABOVE)[3:]
    assert "1.50 times as fast [1.25, 2.00], significant; paper: ~2.5" in coverage
    assert "0.50 times as fast [0.25, 0.75], significant; paper: 1.23" in goals
    assert corridor.endswith("1.50 times as fast [1.25, 2.00], significant")
    assert "+6.0 of 1,600 [+1.5, +10.5], significant; paper: ~15" in cells
    assert "somewhere/report.html" in last[-1]
    assert not any("action-balance reproduce" in line for line in last)


@pytest.mark.parametrize(
    ("more", "hint"),
    [
        ({"timed_out": 3}, "3 runs timed out after 1,000,000 steps"),
        ({"methods": ["random", "rnd"]}, "methods random, RND and action balance RND"),
        ({"runs": 4}, "too few runs"),
        ({"runs": 100}, "not end above random"),
    ],
)
def test_a_claim_without_a_verdict_gives_its_reason_and_the_command_to_settle_it(
    more: dict[str, Any], hint: str
) -> None:
    ratio = FEW_RUNS if more.get("runs") == 4 else None
    lines = lines_of(ratio, ratio, ABOVE if "timed_out" in more else ratio, **more)
    assert hint in " ".join(" ".join(lines).split())
    assert lines[-2].startswith("  action-balance reproduce grid ")


def test_parts_that_were_not_run_are_not_mentioned() -> None:
    lines = lines_of(ABOVE, ABOVE, ABOVE, parts=["goals"], as_in_paper=False)
    assert not any(word in line for line in lines for word in ("random", "corridor", "treasure", "paper", "ells"))
    assert "both studies" in lines_of(ABOVE, ABOVE, None, parts=["coverage", "goals"])[0]


def test_lines_fit_into_80_columns() -> None:
    wide = {"value": 123.456, "low": 0, "high": "inf"}
    for ratios in product((ABOVE, wide, None), repeat=3):
        assert all(len(line) <= 80 for line in lines_of(*ratios) if "action-balance reproduce" not in line)
