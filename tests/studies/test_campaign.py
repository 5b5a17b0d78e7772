from dataclasses import replace
from pathlib import Path

import pytest
from atari_records import SMALL

from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies import campaign, run_job


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
    assert run_job.is_finished(path, config)
    chosen = replace(SMALL, lag=1).run("gravitar", "rnd", 0)
    assert run_job.is_finished(path, chosen)
    for other in (replace(SMALL, lag=0), replace(SMALL, channels=8)):
        with pytest.raises(UserError, match="different settings"):
            run_job.is_finished(path, other.run("gravitar", "rnd", 0))


def test_runs_behind_a_link_are_not_deleted(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "elsewhere" / "run", {}, []).finish("finished")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="points outside"):
        campaign._delete_runs(tmp_path / "out")
    (tmp_path / "out" / "runs").unlink()
    (tmp_path / "out" / "runs").mkdir()
    (tmp_path / "out" / "runs" / "linked").symlink_to(tmp_path / "elsewhere" / "run")
    RunFolder.create(tmp_path / "out" / "runs" / "own", {}, []).finish("finished")
    campaign._delete_runs(tmp_path / "out")
    assert list((tmp_path / "out" / "runs").iterdir()) == []
    assert RunFolder.holds_run(tmp_path / "elsewhere" / "run")
