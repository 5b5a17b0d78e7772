from typing import Any

import pytest
from grid_summary import ABOVE, AROUND, BELOW, FEW_RUNS, WIDE, settings_of, summary_of

from action_balance.files import Data
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.grid.verdict import Claim, claims, margin, reproduce_command, settling_command, timed_out


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
    assert [claim.settled for claim in ours] == [reason is None for reason in reasons]


def test_a_claim_that_more_runs_are_unlikely_to_settle_has_no_command() -> None:
    assert "--runs 1000 " in (found(None, ABOVE, ABOVE, runs=100)[0].command or "")
    assert found(None, ABOVE, ABOVE, runs=1000)[0].command is None


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


def test_runs_that_timed_out_are_summed_over_goals_and_treasures() -> None:
    methods = {"rnd": {"goals": [{"given_up": 2}, {"given_up": 1}]}, "random": {"treasure": {"given_up": 4}}}
    assert timed_out({"methods": methods}) == 7
    assert timed_out({"methods": {"rnd": {}}}) == 0
