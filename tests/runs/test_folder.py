"""A run folder is begun once, refused when it is something else, and says where it came from."""

import gzip
import json
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from action_balance import __version__
from action_balance.config.registry import env_config
from action_balance.errors import UserError
from action_balance.runs import RunFolder, manifest, read_config, read_metrics
from action_balance.runs import folder as run_folder

CONFIG: dict[str, Any] = {"env": "deep-sea", "ppo": {"clip": 0.1, "epochs": 4}, "layers": [64, 64], "preset": None}


def _create(path: Path, overwrite: bool = False) -> RunFolder:
    return RunFolder.create(path, CONFIG, ["action-balance", "train", "deep-sea"], overwrite)


def _snapshot(path: Path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def test_a_new_run_has_its_config_and_manifest_at_once(tmp_path: Path) -> None:
    _create(tmp_path / "a" / "run")
    assert RunFolder.open(tmp_path / "a" / "run").config == CONFIG
    assert read_config(tmp_path / "a" / "run" / "config.json") == CONFIG
    found = json.loads((tmp_path / "a" / "run" / "manifest.json").read_text())
    (start,) = found["starts"]
    assert (found["status"], found["end"], found["resumes"]) == ("running", None, 0)
    assert start["command"] == ["action-balance", "train", "deep-sea"]
    assert start["versions"]["python"] == platform.python_version()
    assert start["versions"]["jax"] == jax.__version__
    assert start["versions"]["action-balance"] == __version__
    assert all(start["versions"][name] for name in ("jaxlib", "equinox", "optax", "numpy"))
    assert len(start["hardware"]["devices"]) == len(jax.devices())


def test_an_existing_run_is_refused_and_nothing_of_it_changes(tmp_path: Path) -> None:
    _create(tmp_path).finish("finished")
    before = _snapshot(tmp_path)
    with pytest.raises(UserError, match=r"action-balance resume .*--out.*--overwrite") as caught:
        _create(tmp_path)
    assert "\n" not in str(caught.value)
    assert _snapshot(tmp_path) == before


def test_the_command_that_resumes_a_run_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    path = tmp_path / "x [lr=0.1]"
    own = {"env": {"name": "gym:my_module:make", "wrapper": []}}
    RunFolder.create(path, own, ["action-balance", "train"]).finish("interrupted")
    command = f"action-balance resume '{path}' --trust"
    with pytest.raises(UserError, match=re.escape(f"continue it with `{command}`")):
        _create(path)
    assert run_folder.resume_command(Path("runs/a"), CONFIG) == "action-balance resume runs/a"


def test_overwrite_deletes_the_run_and_nothing_else(tmp_path: Path) -> None:
    folder = _create(tmp_path)
    folder.checkpoints().save(3, {"x": jnp.ones(2)})
    folder.metrics().append([{"update": 1, "seed": 0, "steps": 4, "loss": 1.0}])
    folder.finish("finished")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "metrics.jsonl.gz").write_bytes(b"of a copy")
    _create(tmp_path, overwrite=True)
    assert sorted(_snapshot(tmp_path)) == [".lock", "config.json", "manifest.json", "notes.txt"]


@pytest.mark.parametrize("overwrite", [False, True])
def test_files_that_are_not_of_a_run_are_never_deleted(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "mine").write_text("precious")
    with pytest.raises(UserError, match=r"contains checkpoints, which does not belong to a run: choose another --out"):
        _create(tmp_path, overwrite)
    assert _snapshot(tmp_path) == {"checkpoints/mine": b"precious"}


def test_a_run_with_a_damaged_config_can_be_overwritten(tmp_path: Path) -> None:
    _create(tmp_path).finish("failed")
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UserError, match="already contains a run"):
        _create(tmp_path)
    assert _create(tmp_path, overwrite=True).config == CONFIG


@pytest.mark.parametrize("nth", [1, 2])
def test_a_run_that_cannot_be_begun_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    calls, really_replace = 0, os.replace

    def replace(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == nth:
            raise OSError(28, "No space left on device")
        really_replace(source, target)

    monkeypatch.setattr("os.replace", replace)
    with pytest.raises(UserError, match=r"No space left on device; choose another --out"):
        _create(tmp_path / "a" / "run")
    assert list(tmp_path.iterdir()) == []


def test_settings_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="finite"):
        RunFolder.create(tmp_path / "run", {"clip": float("inf")}, [])
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_run_is_not_opened(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file or folder"):
        RunFolder.open(tmp_path / "absent")
    with pytest.raises(UserError, match=r"it has no config\.json"):
        RunFolder.open(tmp_path)
    (tmp_path / "config.json").write_text('{"name": "of another program"}')
    with pytest.raises(UserError, match="does not belong to a run"):
        RunFolder.open(tmp_path)
    with pytest.raises(UserError, match=r"or a device, but the config\.json of a run is expected"):
        read_config(Path("/dev/zero"))


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'{"format": "action-balance run", "version": 4}'])
def test_a_damaged_config_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(UserError, match=r"config\.json is damaged"):
        RunFolder.open(tmp_path)


@pytest.mark.parametrize("version", [2, None])
def test_a_run_of_another_format_version_is_refused(tmp_path: Path, version: int) -> None:
    _create(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "version": version, "made_by": "9.1"}))
    with pytest.raises(UserError, match=rf"run format {version}, .*\(9\.1\)") as caught:
        RunFolder.open(tmp_path)
    assert "\n" not in str(caught.value)


def _row(update: int) -> dict[str, Any]:
    return {"update": update, "seed": 0, "steps": 4 * update, "loss": 1.0}


def _trained(path: Path, updates: int = 3) -> RunFolder:
    """A run that was killed after a checkpoint."""
    folder = _create(path)
    log = folder.metrics()
    for update in range(1, updates + 1):
        log.append([_row(update)])
        folder.checkpoints().save(update, {"x": jnp.float32(update)})
    folder.release()  # as the system does
    return folder


def test_resuming_passes_over_a_damaged_checkpoint_and_cuts_everything_back_to_the_one_used(tmp_path: Path) -> None:
    folder = _trained(tmp_path)
    (tmp_path / "checkpoints" / "00000003" / "checkpoint.json").write_text("{")
    damaged = _snapshot(tmp_path / "checkpoints" / "00000003")
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) < 3:  # nothing is moved before the user is told
            assert _snapshot(tmp_path / "checkpoints" / "00000003") == damaged

    restored, _ = RunFolder.open(tmp_path).resume({"x": jnp.float32(0)}, ["action-balance", "resume"], on_message=say)
    assert (restored.update, float(restored.state["x"])) == (2, 2.0)
    assert restored.warnings == tuple(said)
    checkpoint, move, rows = said
    assert "00000003 is damaged" in checkpoint
    assert "damaged files were moved" in move
    assert "(1 of metrics.jsonl)" in rows
    assert folder.checkpoints().updates() == [1, 2]
    assert _snapshot(tmp_path / "aside" / "0001-damaged" / "00000003") == damaged
    assert [row["update"] for row in read_metrics(tmp_path)] == [1, 2]
    assert [row["update"] for row in read_metrics(tmp_path / "aside" / "0002-after-update-2")] == [3]
    found = RunFolder.open(tmp_path).manifest
    assert (found["status"], found["resumes"]) == ("running", 1)
    assert [start["command"][1] for start in found["starts"]] == ["train", "resume"]
    assert found["starts"][1]["warnings"] == said


def test_a_run_killed_before_its_first_checkpoint_is_resumed_from_the_beginning(tmp_path: Path) -> None:
    log = _create(tmp_path).metrics()
    log.append([_row(1)])
    restored, log = RunFolder.open(tmp_path).resume({"x": 7}, [])
    assert (restored.update, restored.state) == (0, {"x": 7})
    (line,) = restored.warnings
    assert f"restarts from the beginning; the later rows (1 of metrics.jsonl) are moved to {tmp_path / 'aside'}" in line
    assert read_metrics(tmp_path) == []
    assert read_metrics(tmp_path / "aside" / "0001-without-checkpoint") == [_row(1)]


def test_a_run_that_was_stopped_is_resumed_without_a_word_and_moves_nothing(tmp_path: Path) -> None:
    _trained(tmp_path).finish("interrupted")
    before, number = _snapshot(tmp_path), (tmp_path / "metrics.jsonl").stat().st_ino
    restored, _ = RunFolder.open(tmp_path).resume({"x": jnp.float32(0)}, [])
    assert (restored.update, restored.warnings) == (3, ())
    assert (tmp_path / "metrics.jsonl").stat().st_ino == number
    assert _snapshot(tmp_path).keys() == {*before, ".lock"}


def test_compressed_metrics_are_not_hidden_by_a_resume(tmp_path: Path) -> None:
    _trained(tmp_path).finish("interrupted")
    content = gzip.compress((tmp_path / "metrics.jsonl").read_bytes())
    (tmp_path / "metrics.jsonl.gz").write_bytes(content)
    rows = (tmp_path / "metrics.jsonl").read_bytes()
    (tmp_path / "metrics.jsonl").unlink()
    with pytest.raises(UserError, match=r"metrics\.jsonl\.gz is compressed.*gunzip"):
        RunFolder.open(tmp_path).resume({"x": jnp.float32(0)}, [])
    assert not (tmp_path / "metrics.jsonl").exists()
    (tmp_path / "metrics.jsonl").write_bytes(rows)  # with both, the archive stays as it is
    RunFolder.open(tmp_path).resume({"x": jnp.float32(0)}, [])
    assert (tmp_path / "metrics.jsonl.gz").read_bytes() == content


@pytest.mark.parametrize("name", ["metrics.jsonl", "timing.jsonl", "checkpoints", "tensorboard", "aside"])
def test_a_run_of_which_a_part_is_behind_a_link_is_not_resumed(tmp_path: Path, name: str) -> None:
    _trained(tmp_path / "run").finish("interrupted")
    (tmp_path / "elsewhere" / name).parent.mkdir(parents=True)
    for part in (tmp_path / "run" / name, tmp_path / "run" / f"{name}.away"):
        if part.exists():
            part.rename(tmp_path / "elsewhere" / name)
    before = _snapshot(tmp_path)
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere" / name)
    with pytest.raises(UserError, match=rf"{name} (is not a regular file|is a link)"):
        RunFolder.open(tmp_path / "run").resume({"x": jnp.float32(0)}, [])
    (tmp_path / "run" / name).unlink()
    assert _snapshot(tmp_path) == before


@pytest.mark.parametrize("starts", [5, [None], [{"versions": None}]])
def test_starts_that_somebody_made_up_do_not_keep_a_run_from_being_resumed(tmp_path: Path, starts: Any) -> None:
    _create(tmp_path).finish("interrupted")
    manifest_data = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest_data, "starts": starts}))
    folder = RunFolder.open(tmp_path)
    folder.resume({"x": 7}, ["resume"])
    folder.note("a line")
    assert RunFolder.open(tmp_path).manifest["starts"][-1]["warnings"] == ["a line"]


def test_a_copy_without_checkpoints_is_not_resumed_and_keeps_its_metrics(tmp_path: Path) -> None:
    _create(tmp_path).metrics().append([{"update": 1, "seed": 0, "steps": 4, "loss": 1.0}])
    (tmp_path / "checkpoints").rmdir()
    kept = (tmp_path / "metrics.jsonl").read_bytes()
    with pytest.raises(UserError, match="is a copy without checkpoints/ and cannot be resumed: copy the whole run"):
        RunFolder.open(tmp_path).resume(None, ["resume"])
    assert kept
    assert (tmp_path / "metrics.jsonl").read_bytes() == kept


def test_a_run_killed_before_it_had_a_folder_for_checkpoints_can_be_resumed_twice(tmp_path: Path) -> None:
    _create(tmp_path)
    (tmp_path / "checkpoints").rmdir()
    _, log = RunFolder.open(tmp_path).resume({"x": 7}, [])
    log.append([{"update": 1, "seed": 0, "steps": 4, "loss": 1.0}])
    assert RunFolder.open(tmp_path).resume({"x": 7}, [])[0].update == 0


def test_a_damaged_manifest_is_moved_aside_and_does_not_keep_a_run_from_being_resumed(tmp_path: Path) -> None:
    _create(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    restored, _ = RunFolder.open(tmp_path).resume({"x": 7}, ["resume"])
    assert RunFolder.open(tmp_path).manifest["status"] == "running"
    assert (tmp_path / "aside" / "0001-damaged" / "manifest.json").read_text() == "{"
    (line,) = restored.warnings
    assert "manifest.json is damaged and was moved" in line


def test_what_another_process_wrote_before_the_lock_was_ours_is_kept(tmp_path: Path) -> None:
    _create(tmp_path).finish("interrupted")
    late = RunFolder.open(tmp_path)
    other = RunFolder.open(tmp_path)
    other.resume({"x": 7}, ["another"])
    other.finish("interrupted")
    late.resume({"x": 7}, ["late"])
    assert [start["command"] for start in late.manifest["starts"][1:]] == [["another"], ["late"]]
    assert late.manifest["resumes"] == 2


def test_other_versions_and_devices_are_named_on_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _create(tmp_path)
    monkeypatch.setattr(manifest, "versions", lambda _: {"jax": "99.0", "not recorded before": "1.0"})
    hardware = {**manifest.hardware(), "devices": ["a new one"]}
    monkeypatch.setattr(manifest, "hardware", lambda: hardware)
    restored, _ = RunFolder.open(tmp_path).resume({"x": 7}, [])
    jax_line, device_line = restored.warnings
    assert jax_line.startswith(f"jax is now 99.0, was {jax.__version__}")
    assert device_line.startswith("it now runs on a new one, not on")


@pytest.mark.parametrize(
    ("environment", "packages"),
    [("atari:pitfall", {"ale-py", "gymnasium"}), ("gym:CartPole-v1", {"gymnasium"}), ("open", set())],
)
def test_versions_are_also_those_of_what_environments_run_on(
    environment: str, packages: set[str], tmp_path: Path
) -> None:
    folder = RunFolder.create(tmp_path, CONFIG, [], packages=env_config(environment).packages)
    (start,) = folder.manifest["starts"]
    assert {name: start["versions"][name] for name in packages} == {name: version(name) for name in packages}
    assert len(start["versions"]) == 7 + len(packages)


def test_an_evaluation_leaves_nothing_of_an_earlier_one_and_no_other_file_is_touched(tmp_path: Path) -> None:
    folder = _create(tmp_path)
    out = folder.save_evaluation({"games": 1}, {"episodes.csv": b"old", "episode.mp4": b"film", "heatmap.png": b"map"})
    (out / "notes.txt").write_text("mine")
    (out / ".new-1").mkdir()
    (out / ".new-1" / "episodes.csv").write_text("half")  # of a process that was killed
    folder.save_evaluation({"games": 2}, {"episodes.csv": b"new"})
    files = _snapshot(out)
    assert json.loads(files.pop("evaluation.json")) == {"games": 2, "files": ["episodes.csv"]}
    assert files == {"episodes.csv": b"new", "notes.txt": b"mine"}


def test_an_evaluation_that_is_cut_off_has_lost_no_file_and_has_no_summary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _create(tmp_path)
    out = folder.save_evaluation({"games": 1}, {"episodes.csv": b"old", "episode.mp4": b"old", "heatmap.png": b"old"})
    really_replace = os.replace

    def replace(source: Path, target: Path) -> None:
        if target.name == "heatmap.png":
            raise KeyboardInterrupt
        really_replace(source, target)

    monkeypatch.setattr("os.replace", replace)
    with pytest.raises(KeyboardInterrupt):
        folder.save_evaluation({"games": 2}, {"episodes.csv": b"new", "heatmap.png": b"new"})
    assert _snapshot(out) == {"episodes.csv": b"new", "episode.mp4": b"old", "heatmap.png": b"old"}


@pytest.mark.parametrize("name", ["../../mine", "..", "", "a/../..", "\ud800", "\0", "folder", 5])
def test_names_of_an_evaluation_never_lead_out_of_its_folder(tmp_path: Path, name: Any) -> None:
    folder = _create(tmp_path / "run")
    folder.save_evaluation({}, {})
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "run" / "evaluation" / "folder").mkdir()
    (tmp_path / "run" / "evaluation" / "folder" / "mine").write_text("precious")
    (tmp_path / "run" / "evaluation" / "evaluation.json").write_text(json.dumps({"files": [name]}))
    before = _snapshot(tmp_path)
    folder.save_evaluation({}, {})
    del before["run/evaluation/evaluation.json"]
    assert before.items() <= _snapshot(tmp_path).items()


def test_a_full_disk_leaves_the_earlier_evaluation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = _create(tmp_path)
    out = folder.save_evaluation({"games": 1}, {"episodes.csv": b"old"})
    before = _snapshot(out)

    def fill(path: Path, content: bytes) -> None:
        path.write_bytes(content[:1])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("action_balance.runs.evaluation.write_durably", fill)
    with pytest.raises(UserError, match=r"cannot write .*evaluation: No space left on device$"):
        folder.save_evaluation({"games": 2}, {"episodes.csv": b"new"})
    assert _snapshot(out) == before


def test_a_run_is_read_without_jax(tmp_path: Path) -> None:
    folder = _create(tmp_path)
    folder.metrics().append([{"update": 1, "seed": 0, "steps": 4, "loss": 1.0}])
    script = """
import sys
from pathlib import Path
from action_balance.runs import RunFolder, read_metrics
folder = RunFolder.open(Path(sys.argv[1]))
assert folder.checkpoints().updates() == []
assert read_metrics(folder.path)[0]["loss"] == 1
assert "jax" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
