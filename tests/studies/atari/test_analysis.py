from dataclasses import replace
from math import inf, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from action_balance.config.presets import PRESETS
from action_balance.config.train import TrainConfig
from action_balance.envs.atari.games import title
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies import campaign
from action_balance.studies.atari import analysis as atari
from action_balance.studies.atari.analysis import Cell, cells
from action_balance.studies.atari.settings import AtariSettings, AtariTraining, title
from action_balance.studies.paper import TABLE_2
from action_balance.studies.plan import run_name
from action_balance.studies.records import Record, common_settings, recent_mean

SMALL = AtariTraining(steps=4 * 512, envs=4, warmup_rollouts=1, channels=4)


def record(
    method: str,
    seed: int,
    returns: list[float],
    status: str = "finished",
    game: str = "gravitar",
    training: AtariTraining = SMALL,
) -> Record:
    """A run that ended 100 episodes in each update, so that the returns are their own moving means."""
    empty = np.full(len(returns), nan)
    steps = 512.0 * np.arange(1, len(returns) + 1)
    episodes, values = np.full(len(returns), 100.0), np.array(returns)
    config = training.run(game, method, seed)
    return Record(Path(run_name(config)), config, status, {}, steps, episodes, values, values, empty, empty, 2.0)


def test_the_moving_mean_weighs_updates_with_their_episodes() -> None:
    episodes, returns = np.array([1, 3, 0, 4]), np.array([10.0, 2.0, nan, 0.5])
    found = recent_mean(episodes, returns, count=100)
    # 10; (10 + 3 x 2) / 4; the same; (10 + 6 + 2) / 8
    np.testing.assert_allclose(found, [10, 4, 4, 2.25])


def test_the_oldest_update_of_the_moving_mean_weighs_with_what_is_missing() -> None:
    episodes, returns = np.array([4, 2, 3]), np.array([1.0, 7.0, 3.0])
    # the last 4 episodes: 4 x 1; 2 of the first and 2 x 7; 1 x 7 and 3 x 3
    np.testing.assert_allclose(recent_mean(episodes, returns, count=4), [1, 4, 4])


def test_the_moving_mean_is_unknown_before_an_episode_has_ended() -> None:
    found = recent_mean(np.array([0, 0, 2]), np.array([nan, nan, 3.0]))
    assert np.isnan(found[:2]).all()
    assert found[2] == 3


def test_the_moving_mean_of_one_large_update_is_its_own() -> None:
    np.testing.assert_allclose(recent_mean(np.array([500, 500]), np.array([1.0, 2.0])), [1, 2])


def test_a_method_in_a_game_is_the_mean_of_its_finished_runs_with_students_interval() -> None:
    runs = [record("rnd", 0, [1, 100]), record("rnd", 1, [3, 300]), record("rnd", 2, [70], "interrupted")]
    (cell,) = cells(runs)
    # of 100 and 300: standard deviation 100 sqrt 2, divided by sqrt 2, times 12.706
    assert cell.final is not None
    assert cell.final.value == 200
    assert cell.final.low == pytest.approx(200 - 1270.62, abs=0.01)
    assert cell.final.high == pytest.approx(200 + 1270.62, abs=0.01)
    assert cell.so_far == 70
    assert cell.so_far_steps == (512, 512)
    np.testing.assert_allclose(cell.curve.mean, [2, 200])
    np.testing.assert_allclose(cell.curve.steps, [512, 1024])
    np.testing.assert_allclose(cell.curve.high - cell.curve.mean, [12.7062, 1270.62], rtol=1e-5)


def test_one_run_has_no_interval_and_an_unfinished_one_no_final_return() -> None:
    (cell,) = cells([record("rnd", 0, [1, 5])])
    assert cell.final is not None
    assert cell.final.value == 5
    assert np.isnan([cell.final.low, cell.final.high]).all()
    (cell,) = cells([record("rnd", 0, [1, 5], "interrupted"), record("rnd", 1, [3], "running")])
    assert cell.final is None
    assert cell.so_far == 4
    assert cell.so_far_steps == (512, 1024)
    np.testing.assert_allclose(cell.curve.mean, [2])  # as far as both go


def test_a_curve_begins_when_all_runs_have_ended_an_episode() -> None:
    late = record("rnd", 1, [0, 6])
    late = replace(late, episodes=np.array([0.0, 100.0]), returns=np.array([nan, 6.0]))
    (cell,) = cells([record("rnd", 0, [1, 2]), late])
    np.testing.assert_allclose(cell.curve.steps, [1024])
    np.testing.assert_allclose(cell.curve.mean, [4])


def test_cells_are_in_the_order_of_the_papers_table() -> None:
    runs = [record("action-balance-rnd", 0, [1.0]), record("rnd", 0, [1.0]), record("rnd", 0, [1.0], game="pong")]
    runs.append(record("rnd", 0, [1.0], game="montezuma_revenge"))
    found = [(cell.game, cell.method) for cell in cells(runs)]
    expected = [("montezuma_revenge", "rnd"), ("gravitar", "rnd"), ("gravitar", "action-balance-rnd"), ("pong", "rnd")]
    assert found == expected


def test_a_difference_of_methods_needs_a_finished_run_of_both() -> None:
    ours, other = cells([record("rnd", 0, [1, 10]), record("action-balance-rnd", 0, [1, 30])])[::-1]
    more = atari.difference(ours, other)
    assert more is not None
    assert more.value == 20
    assert np.isnan(more.low)
    assert atari.difference(ours, Cell("gravitar", "rnd", (record("rnd", 0, [1], "interrupted"),))) is None


def test_only_runs_as_long_as_the_papers_are_compared_with_it() -> None:
    papers = TABLE_2["gravitar"]["rnd"]
    whole = [record("rnd", seed, [papers + 10.0 * (seed - 1)], training=AtariTraining()) for seed in range(3)]
    (cell,) = cells(whole)
    verdict = cell.agreement()
    assert verdict is not None
    assert verdict.agrees
    assert verdict.z == pytest.approx(0)
    far = [replace(run, returns=run.returns + 1000) for run in whole]
    (cell,) = cells(far)
    verdict = cell.agreement()
    assert verdict is not None
    assert verdict.z == pytest.approx(1000 / (10 * sqrt(1 / 3 + 1 / 5)))
    assert not verdict.agrees
    (cell,) = cells([record("rnd", seed, [1.0 * seed]) for seed in range(3)])
    assert cell.agreement() is None
    (cell,) = cells([record("rnd", seed, [0.0], training=AtariTraining()) for seed in range(3)])
    assert cell.agreement() is None  # without any noise every difference would be too large


def test_precision_and_lag_do_not_make_a_run_incomparable() -> None:
    assert atari.as_in_paper(AtariTraining(precision="bfloat16", lag=1).agent("rnd"))
    assert atari.as_in_paper(AtariTraining().agent("action-balance-rnd", "raw"))
    for other in (AtariTraining(steps=41_000_000), AtariTraining(channels=16), AtariTraining(envs=64)):
        assert not atari.as_in_paper(other.agent("rnd"))


def test_games_have_readable_names() -> None:
    names = {"montezuma_revenge": "Montezuma's Revenge", "pitfall": "Pitfall!", "private_eye": "Private Eye"}
    assert {game: title(game) for game in names} == names


def test_the_study_is_the_papers_by_default() -> None:
    plan = AtariSettings().plan()
    assert len(plan) == 6 * 3 * 5
    first = next(iter(plan.values()))
    assert first.agent == replace(PRESETS["atari-paper"], method="rnd")
    assert (first.env.name, first.seed, first.seeds) == ("atari:montezuma_revenge", 0, 1)


def test_all_games_and_methods_come_before_the_next_seed() -> None:
    plan = AtariSettings(games=("venture", "pitfall"), methods=("rnd",), seeds=2, seed=7, training=SMALL).plan()
    assert list(plan) == ["venture-rnd-7", "pitfall-rnd-7", "venture-rnd-8", "pitfall-rnd-8"]
    more = AtariSettings(games=("venture", "pitfall"), methods=("rnd",), seeds=3, seed=7, training=SMALL).plan()
    assert {name: more[name] for name in plan} == plan


def test_runs_differ_in_nothing_but_game_method_and_seed() -> None:
    agents = {replace(config.agent, method="rnd") for config in AtariSettings(training=SMALL).plan().values()}
    assert len(agents) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"games": ("montezuma",)}, "did you mean montezuma_revenge"),
        ({"games": ("venture", "venture")}, "given twice"),
        ({"methods": ("ppo",)}, "unknown method"),
        ({"seeds": 0}, "--seeds must be 1 or more"),
        ({"seed": -1}, "--seed must be 0 or more"),
        ({"seed": 2**31 - 1}, "--seed must be below"),
    ],
)
def test_settings_that_cannot_be_are_one_line(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        AtariSettings(**wrong)


def test_numbers_of_the_training_are_checked_before_it() -> None:
    with pytest.raises(UserError, match="--envs must be a multiple of 4, not 6"):
        AtariTraining(envs=6)
    with pytest.raises(UserError, match="less than one rollout"):
        AtariTraining(steps=100)


def test_a_study_knows_the_runs_that_its_flags_train() -> None:
    run = SMALL.run("gravitar", "action-balance-rnd", 3, "raw")
    host = replace(run.agent.host, lag=1, groups=2)  # chosen by the run
    begun = replace(run, agent=replace(run.agent, host=host))
    assert AtariTraining().as_made(begun.agent) == SMALL
    assert SMALL.makes(begun)
    assert replace(SMALL, lag=0).makes(begun)
    assert [replace(SMALL, lag=lag).as_made(begun.agent).lag for lag in (None, 0, 1)] == [None, None, 1]
    faster = replace(begun.agent, ppo=replace(begun.agent.ppo, learning_rate=1e-3))
    assert not SMALL.makes(replace(begun, agent=faster))
    odd = replace(begun.agent, envs=6, ppo=replace(begun.agent.ppo, minibatches=3))
    assert AtariTraining().as_made(odd) == AtariTraining()


def test_a_rate_and_a_best_episode_are_of_the_whole_run() -> None:
    run = record("rnd", 0, [1, 9, 4])
    assert run.steps_per_second == 3 * 512 / 2
    assert run.best_return == 9
    assert run.final_return == 4


def test_runs_of_one_study_have_the_same_settings() -> None:
    ours = record("rnd", 0, [1.0])
    balanced = record("action-balance-rnd", 0, [1.0])
    assert common_settings([ours, balanced])["steps"] == SMALL.steps
    longer = record("rnd", 1, [1.0], training=replace(SMALL, steps=8 * 512, channels=8))
    with pytest.raises(UserError, match=r"gravitar-rnd-0 and gravitar-rnd-1 differ in channels, steps"):
        common_settings([ours, longer])


def stored(path: Path, config: TrainConfig) -> Path:
    """The folder of a run that has chosen lag 1 and 2 groups."""
    host = replace(config.agent.host, lag=1, groups=2)
    config = replace(config, agent=replace(config.agent, host=host))
    RunFolder.create(path, config.to_dict(), ["test"]).finish("finished")
    return path


def test_what_a_run_chooses_when_it_begins_is_not_another_setting(tmp_path: Path) -> None:
    config = SMALL.run("gravitar", "rnd", 0)
    path = stored(tmp_path / "run", config)
    assert config.agent.host.lag is None
    assert campaign.is_finished(path, config)
    chosen = replace(SMALL, lag=1).run("gravitar", "rnd", 0)
    assert campaign.is_finished(path, chosen)
    for other in (replace(SMALL, lag=0), replace(SMALL, channels=8)):
        with pytest.raises(UserError, match="other settings"):
            campaign.is_finished(path, other.run("gravitar", "rnd", 0))


def test_a_run_that_never_ended_an_episode_has_no_best() -> None:
    run = replace(record("rnd", 0, [1.0]), episodes=np.zeros(1), returns=np.array([nan]), best=np.array([nan]))
    assert np.isnan([run.best_return, run.final_return]).all()
    assert inf > run.steps_per_second > 0
