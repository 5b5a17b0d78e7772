"""Training in Gymnasium environments that others wrote, and what follows from it: resume, evaluate, compare, Python."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from command import call

from action_balance.config.presets import PRESETS
from action_balance.config.train import TrainConfig
from action_balance.engines.factory import evaluate_run, make_trainer
from action_balance.engines.host import trainer as host
from action_balance.engines.host.compiled_update import CompiledUpdate
from action_balance.engines.host.trainer import HostTrainer
from action_balance.envs.gymnasium.vector import GymEnvironment
from action_balance.envs.host_base import HostStep
from action_balance.files import fingerprint
from action_balance.runs import RunFolder, read_metrics

CASES = Path(__file__).parents[2] / "helpers"
SMALL = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "1", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--steps", "96", "--checkpoint-every", "1"),
)
POLICY = ("--hidden", "8", "--layers", "1")
PPO = ("--method", "ppo", "--steps", "64")  # without a warm-up, two updates as well
VECTORS = (*POLICY, "--bonus-hidden", "8", "--bonus-outputs", "4", "--predictor-layers", "0")
IMAGES = ("--channels", "1", "--features", "4", "--trunk", "4")
#: With everything that a run usually has: two groups and minibatches, and all layers.
WHOLE = ("--groups", "2", "--minibatches", "2", "--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4")


@pytest.fixture(scope="module", autouse=True)
def programs() -> Iterator[None]:
    """Programs are kept, however many there are; the environments of `gym_cases`; both bonuses unless one is named."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "classic", replace(PRESETS["classic"], method="action-balance-rnd"))
        patch.setattr(host, "_compiled", cache(CompiledUpdate))
        patch.setattr(sys, "path", [str(CASES), *sys.path])
        yield


def newest(name: str) -> str:
    """The newest version of an environment."""
    import minigrid  # its environments are known from here on

    assert minigrid.__version__
    return max((one for one in gymnasium.registry if one.startswith(f"{name}-v")), key=lambda one: int(one[-1]))


def check_rows(out: Path, bonuses: bool = True) -> list[dict[str, Any]]:
    """Two updates that taught something."""
    rows = read_metrics(out)
    warmup = 32 if bonuses else 0  # 4 environments x 8 steps
    assert [(row["update"], row["steps"]) for row in rows] == [(1, warmup + 32), (2, warmup + 64)]
    for row in rows:
        assert row["parameters_finite"]
        assert row["first_ratio"] < 1e-5
        assert {"loss_action", "bonus_mean", "action_bonus_mean"} <= row.keys() if bonuses else "bonus_mean" not in row
        assert not bonuses or min(row["loss_action"], row["bonus_mean"], row["action_bonus_mean"]) > 0
    return rows


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("Taxi", "vectors of 500 numbers: observation 0-499; masked actions are never chosen"),
        ("MiniGrid-DoorKey-8x8", "vectors of 151 numbers: direction 0-3, image 4-150; left out: mission (text)"),
    ],
)
def test_environments_of_others_are_trained_in(
    name: str, seen: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Without bonuses, where another program would test nothing new: it compiles faster.
    bonuses = name.startswith("MiniGrid")
    given = ("train", f"gym:{newest(name)}", "--out", str(tmp_path / "run"))
    assert call(*given, *SMALL, *(VECTORS if bonuses else (*PPO, *POLICY))) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"observations: {seen}"
    check_rows(tmp_path / "run", bonuses)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    warmup = ["warm-up: the first 32 steps are those of a random agent"] if bonuses else []
    assert manifest["starts"][0]["warnings"] == [f"observations: {seen}", *warmup]


def test_images_and_vectors_are_trained_in_evaluated_and_resumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, both = tmp_path / "run", (*IMAGES, "--bonus-features", "4", "--hidden", "8", "--bonus-hidden", "8")
    assert (
        call("train", "gym:gym_cases:Camera", "--method", "rnd", "--stack", "2", "--out", str(run), *SMALL, *both) == 0
    )
    assert capsys.readouterr().out.splitlines()[0] == (
        "observations: images of 44 x 48 pixels with 3 channels (image) and vectors of 2 numbers: direction 0-1; left "
        "out: mission (text)"
    )
    rows = read_metrics(run)
    assert all(row["parameters_finite"] and row["first_ratio"] < 1e-5 and row["bonus_mean"] > 0 for row in rows)
    spec = json.loads((run / "manifest.json").read_text())["env_spec"]
    assert (spec["kind"], spec["shape"], spec["images"]) == ("mixed-stack", [2, 44 * 48 * 3 + 2 * 4], [[44, 48, 3]])
    resumed = tmp_path / "resumed"
    shutil.copytree(run, resumed)
    shutil.rmtree(resumed / "checkpoints" / "00000002")
    RunFolder.open(resumed).finish("interrupted")
    assert call("resume", str(resumed), "--trust") == 0
    assert read_metrics(resumed)[0] == rows[0]
    assert call("evaluate", str(run), "--episodes", "2", "--trust") == 0
    found = json.loads((run / "evaluation" / "evaluation.json").read_bytes())
    assert set(found["modes"]) == {"greedy", "sampled"}


@pytest.fixture(scope="module")
def dials(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with actions of two components, of a function in a module."""
    out = tmp_path_factory.mktemp("dials") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(CASES), *sys.path])
        assert call("train", "gym:gym_cases:Dials", "--env-kwargs", "size=3", "--out", str(out), *SMALL, *WHOLE) == 0
    return out


def test_frequencies_of_components_sum_to_one_each(dials: Path) -> None:
    for row in check_rows(dials):
        shares = row["action_frequency"]
        assert len(shares) == 6
        assert sum(shares[:3]) == pytest.approx(1)
        assert sum(shares[3:]) == pytest.approx(1)
        assert 0 < row["entropy_beta"] < np.log(3) + np.log(3) + 1e-5


def test_a_run_is_resumed(dials: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    shutil.copytree(dials, out)
    manifest = json.loads((out / "manifest.json").read_text())
    spec = manifest.pop("env_spec")  # as in older runs, which did not record it
    (out / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    shutil.rmtree(out / "checkpoints" / "00000002")
    assert call("resume", str(out), "--trust") == 0
    assert HostTrainer.resume_note in capsys.readouterr().out.splitlines()
    check_rows(out)
    assert json.loads((out / "manifest.json").read_text())["env_spec"] == spec


def test_an_environment_that_has_changed_since_is_one_line(
    dials: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import gym_cases

    out, larger = tmp_path / "run", partial(gym_cases.Dials, 4)
    shutil.copytree(dials, out)
    manifest = json.loads((out / "manifest.json").read_text())
    recorded = {"kind": "vector-stack", "shape": [1, 9], "nvec": [3, 3], "normalize_obs": True}
    recorded |= {"parts": [["clock.0", 1], ["clock.1", 2], ["dials", 6]]}
    assert recorded.items() <= manifest["env_spec"].items()
    (out / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    monkeypatch.setattr(gym_cases, "Dials", lambda **_: larger())
    for command in ("resume", "evaluate"):
        assert call(command, str(out), "--trust") == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "gym:gym_cases:Dials has changed" in error
        assert all(part in error for part in ("(1, 9)", "(3, 3)", "(1, 10)", "(4, 3)"))
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    # An older run, which has not kept it.
    del manifest["env_spec"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert call("evaluate", str(out), "--trust") == 2
    assert capsys.readouterr().err.endswith("; it was written with another config, environment or version\n")


def test_a_run_is_evaluated(dials: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", str(dials), "--episodes", "3", "--trust") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "mean return" in shown
    assert "the film is left out: gym:gym_cases:Dials draws no pictures" in shown
    found = json.loads((dials / "evaluation" / "evaluation.json").read_text())
    assert set(found["modes"]) == {"greedy", "sampled", "behaviour"}
    for numbers in found["modes"].values():
        assert numbers["mean_length"] == 10
        assert numbers["ended_by_task"] == 0
        assert 0 <= numbers["return"]["min"] <= numbers["return"]["max"] <= 10
    rows = (dials / "evaluation" / "episodes.csv").read_text().splitlines()
    assert len(rows) == 1 + 3 * 3
    assert rows[1].startswith("greedy,0,0,")
    assert rows[1].endswith(",10,time limit")


def test_episodes_that_are_cut_begin_anew(dials: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = TrainConfig.from_dict(RunFolder.open(dials).config, trust=True)
    states = RunFolder.open(dials).checkpoints().restore(make_trainer(config).state_shapes()).state
    received, receive, messages = [0], GymEnvironment.receive, list[str]()

    def cut_once(self: GymEnvironment, group: int) -> HostStep:
        received[0] += 1
        return self._lost(group) if received[0] == 5 else receive(self, group)

    monkeypatch.setattr(GymEnvironment, "receive", cut_once)
    # 5 episodes in 4 environments: those of the first way begin anew after 4 steps, all have 10 in the end.
    found = evaluate_run(config, states, 5, 0, on_message=messages.append)
    assert [one.lengths.tolist() for one in found.values()] == [[[10] * 5]] * 3
    assert received[0] == 3 * 20 + 5
    assert len(messages) == 1
    assert "4 environments restart" in messages[0]


def as_trained_by_a_script(run: Path) -> None:
    """Replace the name of a run's environment by that of a function that no module has."""
    config = json.loads((run / "config.json").read_text())
    config["config"]["env"]["name"] = "gym:__main__:make"
    (run / "config.json").write_text(json.dumps(config))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["config_sha256"] = fingerprint(config["config"])
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_updates_before_an_environment_fails_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, mark = tmp_path / "run", tmp_path / "fixed"
    fails = ("train", "gym:gym_cases:Counter", "--env-kwargs", "fault=raises", f"mark={mark}", "--out", str(out))
    common = (*fails, *SMALL, "--checkpoint-every", "50", "--lag", "1")
    # In the fifteenth step, of the statistics: nothing was learned, and the folder is free.
    assert call(*common, *VECTORS, "--warmup-rollouts", "2") == 2
    assert capsys.readouterr().err.endswith("); no update was completed, so nothing was saved\n")
    assert not out.exists()
    # In the second update; the threads of groups are none that it bears, and it has none.
    assert call(*common, *PPO, *POLICY) == 2
    end = f"); update 1 of 2 is saved; resume with: action-balance resume {out} --trust\n"
    assert capsys.readouterr().err.endswith(end)
    assert [row["update"] for row in read_metrics(out)] == RunFolder.open(out).checkpoints().updates() == [1]
    assert RunFolder.open(out).config["agent"]["host"]["groups"] == 1
    mark.touch()
    assert call("resume", str(out), "--trust") == 0
    check_rows(out, bonuses=False)


def test_a_run_of_a_script_is_evaluated_and_resumed_with_its_function_named_again(
    dials: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(dials, run)
    as_trained_by_a_script(run)
    assert call("evaluate", str(run), "--episodes", "1") == 2
    assert "is a function defined in a script: pass it again" in capsys.readouterr().err
    assert (
        call("evaluate", str(run), "--episodes", "1", "--env", "gym_cases:small_dials") == 0
    )  # typed: needs no --trust
    assert call("evaluate", str(run), "--episodes", "1", "--env", "gym_cases:Counter") == 2
    assert "has changed: the run was trained with" in capsys.readouterr().err
    assert call("resume", str(run), "--env", "gym_cases:small_dials") == 0
    assert "is finished and has nothing left to train" in capsys.readouterr().out
