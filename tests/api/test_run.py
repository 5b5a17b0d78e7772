"""Runs in the hands of a program: callbacks, more steps, metrics, threads, and evaluations."""

import json
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_run
import untrained_run
from command import call

import action_balance as ab
from action_balance.config.agent import AgentConfig
from action_balance.engines import loop
from action_balance.engines.callbacks import Listeners, Update
from action_balance.engines.continuation import Continuation, continuation
from action_balance.errors import UserError
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.folder import ENDED_EARLY
from action_balance.tracking import TrackConfig

EACH = 32  # steps of an update
SMALL = untrained_run.VECTORS  # 10 updates
CELLS = np.eye(16, dtype=np.float32)


def train(out: Path, updates: int = 4, **options: Any) -> ab.Run:
    """A small run in a deep sea; other settings do not compile anything else."""
    agent: AgentConfig = replace(SMALL, steps=(1 + updates) * EACH, **options.pop("changes", {}))
    return ab.train("deep-sea", out, agent, size=4, seeds=2, on_message=options.pop("say", lambda _: None), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agent": {"steps": 4096}}, "pass e.g. agent_config"),
        ({"steps": 4096}, "steps is a setting of the agent"),
    ],
)
def test_arguments_in_the_wrong_place_are_named_before_anything_begins(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        ab.train("deep-sea", tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> ab.Run:
    """A run of four updates."""
    return train(tmp_path_factory.mktemp("runs") / "whole")


def test_a_run_is_the_path_of_its_folder(whole: ab.Run) -> None:
    assert Path(whole) == whole.path == whole
    assert (whole / "config.json").is_file()
    assert (str(whole), whole.status) == (str(whole.path), "finished")
    assert whole.config.agent.steps == 5 * EACH
    assert repr(whole) == f"<Run {whole.path}: action-balance-rnd in deep-sea, finished>"
    with pytest.raises(UserError, match="is not a run"):
        ab.Run(whole.path.parent)


def test_metrics_are_a_table_or_columns(whole: ab.Run) -> None:
    table, columns = whole.metrics(), whole.metrics(as_columns=True)
    assert isinstance(columns, dict)
    assert columns["update"].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert columns["action_frequency"].shape == (8, 2)
    assert list(table["seed"]) == [0, 1] * 4
    np.testing.assert_array_equal(np.stack(list(table["action_frequency"])), columns["action_frequency"])


def test_its_agents_are_loaded(whole: ab.Run) -> None:
    agent = whole.agent(seed=1)
    assert (agent.seed, agent.update) == (1, 4)
    np.testing.assert_array_equal(agent.values(CELLS), ab.load(whole, seed=1).values(CELLS))


def test_an_evaluation_returns_the_numbers_that_it_writes(whole: ab.Run) -> None:
    found = whole.evaluate(episodes=2)
    assert found["modes"].keys() == {"greedy", "sampled", "behaviour"}
    written = json.loads((whole / "evaluation/evaluation.json").read_bytes())
    assert {**found, "files": written["files"]} == written


def test_a_callback_sees_every_update_and_ends_the_training(whole: ab.Run, tmp_path: Path) -> None:
    seen: list[Update] = []

    def stop_at_two(made: Update) -> bool:
        seen.append(made)
        return made.update < 2

    run = train(tmp_path / "stopped", callbacks=[stop_at_two, lambda _: None])
    # The steps include those of the warm-up.
    assert [(one.update, one.updates, one.steps) for one in seen] == [(1, 4, 2 * EACH), (2, 4, 3 * EACH)]
    rows = read_metrics(run.path)
    assert [dict(row) for row in seen[1].rows] == rows[2:]
    assert seen[0].metrics["entropy_pi"] == pytest.approx((rows[0]["entropy_pi"] + rows[1]["entropy_pi"]) / 2)
    assert run.status == "interrupted"
    assert RunFolder.open(run.path).checkpoints().updates() == [2]
    assert run.resume().status == "finished"
    assert_same(run, whole)


def assert_same(one: ab.Run, other: ab.Run, update: int = 4) -> None:
    assert (one / "metrics.jsonl").read_bytes() == (other / "metrics.jsonl").read_bytes()
    ours, theirs = small_run.arrays(one.path, update), small_run.arrays(other.path, update)
    assert ours.keys() == theirs.keys()
    for path, array in theirs.items():
        np.testing.assert_array_equal(ours[path], array, err_msg=path)


def test_nothing_is_lost_if_a_callback_fails(tmp_path: Path) -> None:
    def fails(made: Update) -> None:
        if made.update == 3:
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        train(tmp_path / "run", callbacks=fails)
    run = ab.Run(tmp_path / "run")
    assert (run.status, RunFolder.open(run.path).checkpoints().updates()) == ("failed", [3])


def test_a_condition_ends_the_run_early_and_more_steps_extend_it(tmp_path: Path) -> None:
    lines: list[str] = []
    run = train(tmp_path / "run", stop_when="update>=2", say=lines.append)
    manifest = RunFolder.open(run.path).manifest
    assert (run.status, manifest[ENDED_EARLY]) == ("finished", {"condition": "update>=2", "update": 2})
    assert "stopped after update 2 of 4: --stop-when update>=2 is met" in lines
    assert run.config.stop_when == ("update>=2",)
    run.resume(steps=4 * EACH, on_message=lines.append)
    assert any("is now ignored" in line for line in lines)
    history = RunFolder.open(run.path).manifest["history"]
    assert [(one["steps"], one["update"], one[ENDED_EARLY]["update"]) for one in history] == [(5 * EACH, 2, 2)]
    assert (run.status, run.agent().update) == ("finished", 3)
    assert not run.config.stop_when


def test_a_run_that_is_extended_is_one_that_was_planned_longer(whole: ab.Run, tmp_path: Path) -> None:
    run = train(tmp_path / "short", updates=2)
    assert call("resume", str(run), "--steps", str(5 * EACH)) == 0
    assert_same(run, whole)
    assert run.config == whole.config
    RunFolder.open(run.path).check_unchanged()
    assert [one["steps"] for one in RunFolder.open(run.path).manifest["history"]] == [3 * EACH]
    with pytest.raises(UserError, match=r"has 160 steps already: use --steps 192 or more"):
        run.resume(steps=5 * EACH)


def test_schedules_follow_the_new_length_and_a_line_says_so(tmp_path: Path) -> None:
    """c falls from 1 to 0 within 10 updates, and 3 are made: 1 - 3 / 9; within 19 updates, 1 - 3 / 18."""
    algorithm = replace(SMALL.algorithm, learning_rate=0.1, learning_rate_end=0.0)
    exploration = replace(SMALL.exploration, action_coef=1.0, action_coef_end=0.0)
    agent = replace(SMALL, algorithm=algorithm, exploration=exploration)
    folder = RunFolder.open(untrained_run.make(tmp_path / "run", "deep-sea", agent, size=4))
    longer = continuation(folder, ab.Run(folder.path).config, 20 * EACH)
    assert longer.config.agent.updates == 19
    assert longer.extension is not None
    assert longer.extension.lines[1:] == [
        "--action-coef-end: the schedule now follows the new length: 0.833 (was 0.667)",
        "--learning-rate-end: the schedule now follows the new length: 0.0842 (was 0.07)",
    ]


def test_a_longer_plan_is_written_only_if_the_run_can_be_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = untrained_run.make(tmp_path / "run", "deep-sea", size=4)
    before = (run / "config.json").read_bytes()

    def damaged(*_: object) -> None:
        raise UserError("no checkpoint is intact")

    monkeypatch.setattr(RunFolder, "resume", damaged)
    assert call("resume", str(run), "--steps", str(1000 * EACH)) == 2
    assert (run / "config.json").read_bytes() == before


def test_resume_passes_new_trackers_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = untrained_run.make(tmp_path / "run", "deep-sea", size=4)
    given: list[TrackConfig] = []

    def resumed(_: Continuation, listeners: Listeners) -> bool:
        given.append(listeners.track)
        return True

    monkeypatch.setattr(loop, "resume", resumed)
    assert call("resume", str(run), "--track", "tensorboard", "--track-project", "mine") == 0
    assert given == [TrackConfig(("tensorboard",), "mine")]


def test_training_in_a_thread_leaves_signals_alone_and_shows_progress(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    found: list[Any] = []

    def work() -> None:
        def show(now: Any) -> None:
            found.append((now.update, signal.getsignal(signal.SIGINT) is before))

        found.append(train(tmp_path / "run", updates=2, progress=show))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[:2] == [(1, True), (2, True)]
    assert found[2].status == "finished"


def test_an_interrupt_as_in_a_notebook_leaves_a_run_that_resumes(whole: ab.Run, tmp_path: Path) -> None:
    def interrupt(made: Update) -> None:
        if made.update == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="resume with"):
        train(tmp_path / "run", callbacks=[interrupt])
    run = ab.Run(tmp_path / "run")
    assert run.status == "interrupted"
    assert_same(run.resume(), whole)


def test_a_function_of_a_script_needs_no_name_to_be_trained_loaded_and_evaluated(tmp_path: Path) -> None:
    import gymnasium

    def make() -> gymnasium.Env[Any, Any]:
        return gymnasium.make("CartPole-v1")

    run = ab.train(make, tmp_path / "run", replace(SMALL, steps=EACH, method="ppo"), on_message=lambda _: None)
    assert run.agent().act(np.zeros(4)) in (0, 1)
    assert ab.load(run, trust=True).act(np.zeros((3, 4))).shape == (3,)
    assert run.evaluate(episodes=1)["seeds"] == [0]
    lines: list[str] = []
    assert ab.resume(run, make, on_message=lines.append) == run
    assert lines[0].startswith(f"{run} is finished and has nothing left to train")


def test_the_command_plays_a_saved_agent_as_it_plays_the_run(whole: ab.Run, tmp_path: Path) -> None:
    file = whole.agent().save(tmp_path / "sea.agent", policy_only=True)
    assert call("evaluate", str(file), "--episodes", "2") == 0
    found = json.loads((tmp_path / "sea-evaluation" / "evaluation.json").read_bytes())
    modes = found["modes"]
    assert modes.keys() == {"greedy", "sampled"}
    assert (tmp_path / "sea-evaluation" / "episode.gif").is_file()
    assert found["method"] == "action-balance-rnd"
    both = whole.evaluate(episodes=2)["modes"]  # of two seeds, the first of which is in the file
    rows = (whole / "evaluation/episodes.csv").read_text().splitlines()
    mine = [row for row in rows if row.split(",")[1] in ("seed", "0") and row.split(",")[0] in ("mode", *modes)]
    assert (tmp_path / "sea-evaluation" / "episodes.csv").read_text().splitlines() == mine
    assert both.keys() >= modes.keys()


def test_mistakes_of_the_command_are_one_line(
    whole: ab.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = whole.agent().save(tmp_path / "sea.agent")
    for words, message in (
        (("evaluate", str(file), "--checkpoint", "best"), "is a single saved agent"),
        (("evaluate", str(whole), "--out", "there"), "--out is for saved agents"),
    ):
        assert call(*words) == 2
        assert message in capsys.readouterr().err
