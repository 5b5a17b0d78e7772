from pathlib import Path

import pytest
from command import call
from inline_cluster import InlineCluster
from small_run import NET, SMALL

from action_balance.config.agent import AgentConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.runs import RunFolder, read_metrics
from action_balance.studies import seeds
from action_balance.studies.seeds import seed_jobs
from action_balance.tracking import TrackConfig

WORDS = ("deep-sea", "--size", "3", "--method", "rnd", *SMALL, *NET)


def test_each_of_several_seeds_is_a_run_of_its_own() -> None:
    config = TrainConfig(env_config("deep-sea", size=3), AgentConfig(steps=4096), seed=5, seeds=3)
    jobs = seed_jobs(config, Path("runs/sea"), TrackConfig())
    assert [job.name for job in jobs] == ["sea-5", "sea-6", "sea-7"]
    assert [job.folder for job in jobs] == [Path.cwd() / "runs" / name for name in ("sea-5", "sea-6", "sea-7")]
    assert [(job.config.seed, job.config.seeds) for job in jobs] == [(5, 1), (6, 1), (7, 1)]


def test_a_single_seed_is_trained_in_the_folder_itself() -> None:
    config = TrainConfig(env_config("deep-sea", size=3), AgentConfig(steps=4096), seed=5)
    assert [job.folder for job in seed_jobs(config, Path("runs/sea"), TrackConfig())] == [Path.cwd() / "runs" / "sea"]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> InlineCluster:
    made = InlineCluster()
    monkeypatch.setattr(seeds, "train_jobs", made.train_jobs)
    return made


def test_the_same_command_trains_what_is_missing(
    tmp_path: Path, cluster: InlineCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("train", *WORDS, "--on", "ray", "--out", str(tmp_path / "sea"), "--seeds")
    assert call(*words, "2") == 0
    assert cluster.trained == ["sea-0", "sea-1"]
    assert f"action-balance compare {tmp_path}/sea-0 {tmp_path}/sea-1" in capsys.readouterr().out
    assert [row["seed"] for row in read_metrics(tmp_path / "sea-1")] == 4 * [1]
    RunFolder.open(tmp_path / "sea-1").finish("interrupted")
    cluster.trained.clear()
    assert call(*words, "3") == 0
    assert (cluster.trained, cluster.finished_before) == (["sea-1", "sea-2"], 1)
    assert "1 of 3 runs are finished already" in capsys.readouterr().out
    assert call(*words, "2", "--envs", "8") == 2
    assert "sea-0 contains a run with different settings" in capsys.readouterr().err
