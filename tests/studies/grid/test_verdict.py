from itertools import product
from pathlib import Path
from typing import Any

import pytest
from grid_summary import ABOVE, AROUND, BELOW, FEW_RUNS, WIDE, settings_of, summary_of

from action_balance.files import Data
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.grid.verdict import (
    Claim,
    claims,
    conclusion,
    margin,
    reproduce_command,
    settling_command,
)


def found(*ratios: Data | None, **more: Any) -> tuple[Claim, ...]:
    return claims(summary_of(*ratios, **more))


@pytest.mark.parametrize(
    ("ratios", "sides", "reasons"),
    [
        ((ABOVE, AROUND, BELOW), ["above", "around", "below"], [None, "interval", None]),
        ((None, FEW_RUNS, WIDE), ["unknown", "unknown", "around"], ["not above random", "few runs", "interval"]),
    ],
)
def test_a_claim_goes_no_further_than_its_interval(
    ratios: tuple[Data | None, ...], sides: list[str], reasons: list[str | None]
) -> None:
    ours = found(*ratios)
    assert [claim.study for claim in ours] == ["coverage", "goals", "corridor"]
    assert [claim.side for claim in ours] == sides
    assert [claim.reason for claim in ours] == reasons


def test_a_claim_with_runs_that_timed_out_is_not_settled() -> None:
    corridor = found(ABOVE, ABOVE, ABOVE, timed_out=3)[2]
    assert (corridor.side, corridor.reason, corridor.timed_out) == ("unknown", "timeouts", 3)
    assert "--max-steps 10000000 " in (corridor.command or "")


def test_only_the_coverage_needs_random() -> None:
    ours = found(None, ABOVE, ABOVE, methods=["rnd", "action-balance-rnd"])
    assert [claim.reason for claim in ours] == ["methods", None, None]
    ours = found(None, None, None, methods=["random", "rnd"])
    assert [claim.reason for claim in ours] == ["methods"] * 3
    assert "--methods" not in (ours[0].command or "")  # all of them, which is the default


def test_a_result_makes_the_claims_of_its_parts() -> None:
    ours = found(ABOVE, ABOVE, ABOVE, parts=["corridor", "coverage"])
    assert [claim.study for claim in ours] == ["coverage", "corridor"]
    assert margin(summary_of(ABOVE, ABOVE, ABOVE, parts=["goals"])) is None


def test_numbers_of_the_paper_are_those_of_its_settings_alone() -> None:
    assert [claim.published for claim in found(ABOVE, ABOVE, ABOVE)] == [2.5, 1.23, None]
    assert [claim.published for claim in found(ABOVE, ABOVE, ABOVE, as_in_paper=False)] == [None] * 3


def test_the_margin_is_the_difference_in_cells_at_the_end() -> None:
    ours = margin(summary_of(ABOVE, None, None))
    assert ours is not None
    assert (ours.estimate["value"], ours.published, ours.cells, ours.side) == (6.0, 15, 1600, "above")


def test_the_command_that_settles_claims_has_ten_times_the_runs() -> None:
    command = "action-balance reproduce grid --runs {} --seed 0 --studies goals --out results/grid-{}-runs"
    assert found(ABOVE, AROUND, ABOVE, runs=100)[1].command == command.format(1000, 1000)
    assert found(ABOVE, AROUND, ABOVE, runs=1000)[1].command == command.format(10000, 10000)
    assert f"--runs {max(GridSettings.runs, 30)} " in settling_command(settings_of(runs=3), {"goals": "few runs"})


def test_one_command_settles_all_claims() -> None:
    settings = settings_of(runs=1000, methods=["rnd"], seed=7)
    command = settling_command(settings, {"goals": "timeouts", "corridor": "interval"})
    assert command == (
        "action-balance reproduce grid --runs 10000 --seed 7 --methods rnd --max-steps 10000000"
        " --studies goals corridor --out results/grid-10000-runs-10000000-steps"
    )


def test_the_command_of_a_result_names_its_runs_and_what_is_not_the_default() -> None:
    settings = settings_of(runs=5, size=6, goals=[[3, 3]])
    command = reproduce_command(settings, ["corridor", "goals", "coverage"])
    assert command == "action-balance reproduce grid --runs 5 --seed 0 --size 6 --goals 3,3"


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
