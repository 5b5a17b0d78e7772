from dataclasses import replace
from pathlib import Path

import pytest

from action_balance.config.agent import AgentConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.runs.owned import FolderBusy
from action_balance.studies.run_job import RunJob, is_finished

CONFIG = TrainConfig(env_config("deep-sea", size=3), AgentConfig(steps=4096), seed=3, seeds=2)


def stored(path: Path, status: str = "interrupted", **changes: object) -> RunJob:
    """The job of a run that exists."""
    folder = RunFolder.create(path, replace(CONFIG, **changes).to_dict(), ["test"])  # type: ignore[arg-type]
    folder.finish(status)  # type: ignore[arg-type]
    return RunJob(path.name, path, CONFIG, ("test",))


def test_a_run_is_finished_only_if_its_manifest_says_so(tmp_path: Path) -> None:
    assert not is_finished(tmp_path / "nowhere", CONFIG)
    assert not is_finished(stored(tmp_path / "a").folder, CONFIG)
    assert is_finished(stored(tmp_path / "b", "finished").folder, CONFIG)
    with pytest.raises(UserError, match="contains a run with different settings"):
        is_finished(stored(tmp_path / "c", "finished", seed=4).folder, CONFIG)


def test_a_run_in_an_environment_of_the_user_is_recognised(tmp_path: Path) -> None:
    config = replace(CONFIG, env=env_config("dice_family:Dice"))
    stored(tmp_path / "run", "finished", env=config.env)
    assert is_finished(tmp_path / "run", config)
    with pytest.raises(UserError, match="contains a run with different settings"):
        is_finished(tmp_path / "run", replace(config, seed=4))


def test_a_job_continues_after_the_newest_checkpoint_of_its_run(tmp_path: Path) -> None:
    job = stored(tmp_path / "run")
    (job.folder / "checkpoints/00000002").mkdir(parents=True)
    assert (job.saved(), job.updates, job.seeds) == (2, 4, 2)


def test_a_claimed_run_cannot_be_trained_and_leaves_no_folder_behind(tmp_path: Path) -> None:
    job = RunJob("run", tmp_path / "new" / "run", CONFIG, ("test",))
    with job.claim(), pytest.raises(FolderBusy):
        job.train(lambda _: None, lambda _: None)
    assert not (tmp_path / "new").exists()
