"""The memory of tabular runs, computed by hand."""

import pytest

from action_balance.errors import UserError
from action_balance.studies.grid import memory_needs as module
from action_balance.studies.grid.memory_needs import check_study
from action_balance.studies.grid.settings import GridSettings, RunSettings


def test_walks_and_runs_to_goals_are_as_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[list[int]] = []
    monkeypatch.setattr(module, "check_memory", lambda _, needs, __: checked.append([need.size for need in needs]))
    settings = RunSettings(runs=10, methods=("rnd", "random"), update_every=50, max_steps=30)
    module.check_runs(settings, cells=25, steps=200, records=True, goals=3)
    # 112 runs at a time: two tables of 4 actions, one of values and the goals; 50 steps of three numbers.
    walks = [112 * 25 * 37, 112 * 50 * 12, 200 * (4 * 10 + 8), 4 * 20 * 20]
    assert checked == [walks, [112 * 25 * 37, 112 * 30 * 12, 9 * 20 * 3]]


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        (GridSettings(runs=2**31 - 1, studies=("goals",)), "fewer --runs"),
        (GridSettings(episodes=10**6, episode_steps=2000, runs=1, studies=("coverage",)), "fewer --episodes"),
        (GridSettings(update_every=10**9, studies=("goals",), max_steps=10**9), "--update-every"),
        (GridSettings(size=1000, studies=("coverage",)), "a smaller world"),
        (GridSettings(episode_steps=10**7, studies=("corridor",)), "--episode-steps"),
    ],
)
def test_too_large_a_study_is_refused(settings: GridSettings, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 4 * 10**9)
    line = f"this study needs at least .* but only 4.0 GB is available: .* [GT]B for .*; use .*{change}"
    with pytest.raises(UserError, match=line):
        check_study(settings)


def test_the_papers_study_fits_into_a_small_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "available_memory", lambda: 2**28)
    check_study(GridSettings())


def test_a_world_has_a_largest_size() -> None:
    with pytest.raises(UserError, match="--size must be at most 1000, not 1001"):
        GridSettings(size=1001)
