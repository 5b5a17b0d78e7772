"""The training of a trial: it tells its scores, is stopped early, and continues where it was interrupted."""

import math
import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from sweeps import BASE as MADE
from sweeps import settings, write_run

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.runs import RunFolder, read_metrics
from action_balance.studies.run_job import RunJob
from action_balance.studies.sweep.journal import Journal
from action_balance.studies.sweep.run import read_scores
from action_balance.studies.sweep.space import Range, Space
from action_balance.studies.sweep.training import TrialJob, measure, seed_scores
from action_balance.studies.sweep.trials import FINAL, Final

RETURN = "episode_return"

#: Nine updates of 32 steps.
BASE = TrainConfig(
    env_config("deep-sea", size=3),
    AgentConfig(
        method="rnd",
        steps=320,
        envs=4,
        algorithm=PPOConfig(rollout_steps=8, epochs=1, minibatches=2),
        exploration=ExplorationConfig(warmup_rollouts=1),
        network=NetworkConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
    ),
)


def job(folder: Path, number: int, metric: str = "episodes") -> TrialJob:
    """A trial as another process receives it."""
    run = RunJob("", folder / "trials" / str(number), BASE, ("sweep",))
    made: TrialJob = pickle.loads(pickle.dumps(TrialJob(number, run, folder / "journal.jsonl", metric, True)))
    return made


def begun(folder: Path, trials: int) -> Journal:
    book = Journal(folder / "journal.jsonl", True)
    for _ in range(trials):
        book.add(Space((Range("algorithm.learning_rate", 1e-4, 1e-2),)), {"algorithm.learning_rate": 0.001})
    return book


def no(_: object) -> None:
    pass


def test_a_trial_is_interrupted_continues_and_tells_its_scores(tmp_path: Path) -> None:
    book, one = begun(tmp_path, 1), job(tmp_path, 0)

    def interrupt(now: Progress) -> None:
        if now.update == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.train(interrupt, no)
    assert book.frozen()[0].state.name == "RUNNING"
    for _ in range(2):  # a second time, nothing is left to do
        one.train(no, no)
    values = [row["episodes"] for row in read_metrics(one.folder)]
    found = book.frozen()[0]
    assert found.intermediate_values == {1: values[0], 3: values[2]}
    assert (found.state.name, found.value, len(values)) == ("COMPLETE", values[8], 9)  # a tenth is one update
    assert RunFolder.open(one.folder).manifest["resumes"] == 1


def test_a_trial_is_saved_when_it_is_stopped_early(tmp_path: Path) -> None:
    book, late = begun(tmp_path, 2), job(tmp_path, 1)
    book.stops_early(0, 1, 1e9, 1, 1.0)
    late.train(no, no)
    late.train(no, no)  # it has ended
    run = RunFolder.open(late.folder)
    assert (run.manifest["status"], late.saved(), len(read_metrics(late.folder))) == ("interrupted", 1, 1)
    assert book.frozen()[1].state.name == "PRUNED"


def test_a_trial_that_fails_says_why(tmp_path: Path) -> None:
    book, one = begun(tmp_path, 2), job(tmp_path, 1)
    book.stops_early(0, 1, 1.0, 1, 1.0)
    one.folder.mkdir(parents=True)
    (one.folder / "metrics.jsonl").write_text("not ours")
    with pytest.raises(UserError, match=r"metrics\.jsonl"):
        one.train(no, no)
    assert book.frozen()[1].state.name == "FAIL"
    assert "metrics.jsonl" in book.frozen()[1].user_attrs["about"]["reason"]


def test_scores_are_read_from_finished_runs_only(tmp_path: Path) -> None:
    plan = settings(final_seeds=2)
    final = Final("baseline", {}, scores=(9.0,))
    assert read_scores(final, plan, tmp_path).scores == ()
    write_run(tmp_path / FINAL / "baseline", plan.fresh, [[1.0] * 18, [3.0] * 18], "interrupted")
    assert read_scores(final, plan, tmp_path).scores == ()
    write_run(tmp_path / FINAL / "trial-0001", plan.fresh, [[1.0] * 18, [3.0] * 18])
    assert read_scores(replace(final, name="trial-0001"), plan, tmp_path).scores == (1.0, 3.0)


def test_the_score_of_a_seed_is_the_mean_of_the_last_tenth_of_its_updates(tmp_path: Path) -> None:
    write_run(tmp_path, MADE, [[float(update) for update in range(18)], [4.0] * 18])
    scores, updates = seed_scores(tmp_path, MADE, RETURN)
    assert (scores.tolist(), updates) == ([17.0, 4.0], 18)  # a tenth of 18 updates is one
    assert measure(tmp_path, MADE, RETURN) == pytest.approx((10.5, 18, 18 * 2 * 1000 / 500))


def test_updates_in_which_no_episode_ended_keep_the_return_before(tmp_path: Path) -> None:
    write_run(tmp_path, MADE, [[1.0, math.nan], [math.nan, math.nan]], "interrupted")
    assert seed_scores(tmp_path, MADE, RETURN)[0][0] == 1.0
    assert math.isnan(measure(tmp_path, MADE, RETURN)[0])  # the second seed has none


def test_a_run_without_rows_has_no_score(tmp_path: Path) -> None:
    score, *rest = measure(tmp_path, MADE, RETURN)
    assert (math.isnan(score), rest) == (True, [0, 0.0])


def test_a_metric_that_the_run_does_not_have_is_an_error(tmp_path: Path) -> None:
    write_run(tmp_path, MADE, [[1.0], [3.0]])
    with pytest.raises(UserError, match="unknown metric 'episode_retur'"):
        measure(tmp_path, MADE, "episode_retur")
    with pytest.raises(UserError, match="more than one value"):
        measure(tmp_path, MADE, "occupied")


def test_rows_of_other_seeds_are_ignored(tmp_path: Path) -> None:
    write_run(tmp_path, MADE, [[1.0], [3.0]])
    assert seed_scores(tmp_path, replace(MADE, seed=4, seeds=1), RETURN)[0].tolist() == [3.0]
