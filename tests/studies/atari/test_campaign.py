"""What the reports of Atari studies say about the runs behind them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from page_text import counts_of_runs, section
from synthetic_runs import make_run

from action_balance.cli import main as cli
from action_balance.errors import UserError
from action_balance.studies import run_job
from action_balance.studies.atari.training import AtariTraining

SMALL = AtariTraining(steps=1536, envs=4, warmup_rollouts=1, channels=4)
SEVEN = [(100, 3.0), (100, 7.0)]


def reproduce(out: Path, *words: str) -> None:
    cli.main(["reproduce", "atari", "--out", str(out), *words])


def test_every_other_setting_is_named_and_no_command_is_given_that_would_be_refused(
    tmp_path: Path,
) -> None:
    config = SMALL.run("venture", "action-balance-rnd", 0)
    algorithm = replace(config.agent.algorithm, learning_rate=0.0003, minibatches=3)
    exploration = replace(config.agent.exploration, update_proportion=1.0, action_coef_end=0.5)
    # 6: for which the study has no minibatches
    agent = replace(config.agent, envs=6, algorithm=algorithm, exploration=exploration)
    make_run(tmp_path, replace(config, agent=agent), SEVEN[:1])
    reproduce(tmp_path, "--report-only", "--games", "venture")
    page = (tmp_path / "report.html").read_text()
    summary = json.loads((tmp_path / "summary.json").read_text())
    found = {one["flag"]: (one["value"], one["preset"]) for one in summary["deviations"]["settings"]}
    expected = {
        "--envs": (6, 32),
        "--minibatches": (3, 4),
        "--learning-rate": (0.0003, 0.0001),
        "--update-proportion": (1.0, 0.25),
        "--action-coef-end": (0.5, None),
    }
    assert found.items() >= expected.items()
    for name, (value, _) in expected.items():
        assert f"{name} {value}" in section(page, "made")
    assert summary["other_runs"] == ["venture-action-balance-rnd-0"]
    assert summary["command"] == "action-balance reproduce atari --out . --games venture --report-only"
    assert summary["command"] in section(page, "made")


def test_runs_that_the_flags_cannot_name_are_listed(tmp_path: Path) -> None:
    usual = SMALL.run("venture", "rnd", 0)
    make_run(tmp_path, usual, SEVEN)
    often = replace(SMALL.run("venture", "rnd", 1), checkpoint_every=1)
    make_run(tmp_path, often, SEVEN)
    reproduce(tmp_path, "--report-only")
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["other_runs"] == ["venture-rnd-1"]
    assert (
        summary["command"]
        == "action-balance reproduce atari --out . --games venture --methods rnd --seeds 2 --report-only"
    )
    with pytest.raises(UserError, match="different settings"):
        run_job.is_finished(tmp_path / "runs" / "venture-rnd-1", SMALL.run("venture", "rnd", 1))


def test_a_report_alone_covers_the_existing_or_the_planned_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method, seed in (("rnd", 3), ("action-balance-rnd", 4)):
        make_run(tmp_path, SMALL.run("venture", method, seed), SEVEN)

    def reported(*words: str) -> tuple[str, str]:
        reproduce(tmp_path, "--report-only", *words)
        found = json.loads((tmp_path / "summary.json").read_text())["command"].partition(" --steps")[0]
        return found, (tmp_path / "report.html").read_text()

    command, page = reported()
    ours = "--methods rnd action-balance-rnd --seeds 2 --seed 3"
    assert command == f"action-balance reproduce atari --out . --games venture {ours}"
    assert counts_of_runs(page) == [4, 2, 0, 2]
    wider = "--games venture pitfall --methods rnd action-balance-rnd --seeds 2 --seed 3"
    for words in (wider.split(), []):  # as planned, also where it is not said again
        command, page = reported(*words)
        assert command == f"action-balance reproduce atari --out . {wider}"
        assert counts_of_runs(page) == [8, 2, 0, 6]
    summary = json.loads((tmp_path / "summary.json").read_text())
    (tmp_path / "summary.json").write_text(json.dumps(summary | {"requested": {"games": ["venturo"]}}))
    assert counts_of_runs(reported()[1])[:2] == [4, 2]
    # in the folder of the page, the command is of this study
    monkeypatch.chdir(tmp_path)
    cli.main([*reported()[0].split()[1:], "--report-only"])
    assert counts_of_runs((tmp_path / "report.html").read_text())[:2] == [4, 2]


def test_unfinished_runs_are_reported_with_their_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    training = replace(SMALL, steps=2560)
    make_run(tmp_path, training.run("venture", "rnd", 0), [(10, 20.0)], "interrupted")
    make_run(tmp_path, training.run("venture", "rnd", 1), [(0, 0.0), (0, 0.0), (10, 40.0)], "interrupted")
    make_run(tmp_path, training.run("venture", "rnd", 2), [(0, 0.0)] * 2, "interrupted")
    reproduce(tmp_path, "--report-only")
    page = (tmp_path / "report.html").read_text()
    for text in (page, capsys.readouterr().out):
        assert "512 to 1,536" in text
        assert "finished" in text
    summary = json.loads((tmp_path / "summary.json").read_text())
    row = summary["ours"]["games"]["venture"]["methods"]["rnd"]
    assert (row["so_far"], row["so_far_steps"], row["finished"], row["fewest_episodes"]) == (30, [512, 1536], 0, 10)
    assert (summary["deviations"]["finished"], summary["deviations"]["paper_runs"]) == ([0, 0], 5)
