"""A checkpoint is exact, whole or not there, checked before it is used, and never executed."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from action_balance.errors import UserError
from action_balance.files import fingerprint, to_json
from action_balance.runs import Checkpoints
from action_balance.runs.array_file import write_arrays
from action_balance.runs.checkpoints import Which

needs_mount = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None, reason="only root may mount"
)


def _state(update: int, numbers: int = 50) -> dict[str, Any]:
    return {"weights": jnp.arange(float(numbers)) * update, "update": jnp.int32(update), "key": jax.random.key(update)}


def _filled(path: Path, scores: dict[int, float | None], numbers: int = 50) -> Checkpoints:
    checkpoints = Checkpoints(path)
    for update, score in scores.items():
        checkpoints.save(update, _state(update, numbers), score)
    return checkpoints


def _bits(leaf: Any) -> tuple[str, tuple[int, ...], bytes]:
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return str(leaf.dtype), leaf.shape, np.asarray(jax.random.key_data(leaf)).tobytes()
    array = np.asarray(leaf)
    return str(array.dtype), array.shape, array.tobytes()


def _assert_same(found: Any, expected: Any) -> None:
    assert str(jax.tree.structure(found)) == str(jax.tree.structure(expected))
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert type(one) is type(other)
        assert _bits(one) == _bits(other)


def _everything() -> dict[str, Any]:
    special = np.array([0.0, -0.0, 1e-45, np.inf, -np.inf, np.nan, 1 / 3], np.float32)
    return {
        "float32": jnp.asarray(special),
        "a nan with a payload": np.array([0x7FC01234], np.uint32).view(np.float32),
        "bfloat16": jnp.asarray(special, jnp.bfloat16),
        "float16": jnp.asarray([1.5, 2.5], jnp.float16),
        "int32": jnp.asarray([[-(2**31), 2**31 - 1]]),
        "uint8": jnp.arange(256, dtype=jnp.uint8).reshape(4, 8, 8),
        "bool": jnp.asarray([True, False]),
        "scalar": jnp.float32(0.1),
        "empty": jnp.zeros((0, 3), jnp.bfloat16),
        "numpy": (np.arange(3, dtype=np.int64), np.float64(0.1), np.array("2.5", np.float64)),
        "python": [3, -(2**62), 0.1, float("inf"), True, None],
        "key": jax.random.key(7),
        "keys": jax.random.split(jax.random.key(8, impl="rbg"), (2, 3)),
        "old key": jax.random.PRNGKey(1),
        "a/b.c [0]": jnp.ones(2),
    }


def test_everything_comes_back_bit_for_bit(tmp_path: Path) -> None:
    Checkpoints(tmp_path).save(5, _everything())
    restored = Checkpoints(tmp_path).restore(_everything())
    assert (restored.update, restored.warnings) == (5, ())
    _assert_same(restored.state, _everything())


def test_a_model_and_its_optimiser_come_back_and_activation_functions_stay(tmp_path: Path) -> None:
    def make(seed: int) -> tuple[eqx.nn.MLP, optax.OptState]:
        model = eqx.nn.MLP(3, 2, 16, depth=6, key=jax.random.key(seed))
        return model, optax.adam(1e-3).init(eqx.filter(model, eqx.is_array))

    Checkpoints(tmp_path).save(1, make(0))
    _assert_same(
        eqx.filter(Checkpoints(tmp_path).restore(make(1)).state, eqx.is_array), eqx.filter(make(0), eqx.is_array)
    )
    abstract = eqx.filter_eval_shape(make, 1)
    _assert_same(
        eqx.filter(Checkpoints(tmp_path).restore(abstract).state, eqx.is_array), eqx.filter(make(0), eqx.is_array)
    )


def test_a_restored_state_can_be_donated(tmp_path: Path) -> None:
    checkpoints = _filled(tmp_path, {2: None})
    state = checkpoints.restore(_state(0)).state
    doubled = jax.jit(lambda x: x * 2, donate_argnums=0)(state["weights"])
    np.testing.assert_array_equal(doubled, np.arange(50.0) * 4)


def test_the_last_three_and_the_best_are_kept(tmp_path: Path) -> None:
    checkpoints = _filled(tmp_path, {1: 0.0, 2: 9.0, 3: float("nan"), 4: 1.0, 5: None, 6: float("inf")})
    assert checkpoints.updates() == [2, 4, 5, 6]
    assert checkpoints.restore(_state(0), "best").update == 2
    assert checkpoints.restore(_state(0)).update == 6
    assert checkpoints.restore(_state(0), 4).state["weights"][1] == 4
    checkpoints.save(7, _state(7), 9.0)  # of equal scores, the latest is the best
    assert checkpoints.updates() == [5, 6, 7]
    assert checkpoints.after(5) == [tmp_path / "00000006", tmp_path / "00000007"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000005", "00000006", "00000007"]


@pytest.mark.parametrize("name", ["arrays.npz", "checkpoint.json"])
@pytest.mark.parametrize("damage", ["truncate", "flip", "delete"])
def test_damage_to_any_file_of_the_newest_is_noticed_and_the_one_before_is_used(
    tmp_path: Path, name: str, damage: str
) -> None:
    checkpoints = _filled(tmp_path, {10: 1.0, 20: 2.0})
    assert sorted(path.name for path in (tmp_path / "00000020").iterdir()) == ["arrays.npz", "checkpoint.json"]
    file = tmp_path / "00000020" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x10
    file.unlink()
    if damage != "delete":
        file.write_bytes(content if damage == "flip" else content[: len(content) // 2])
    whichs: tuple[Which, Which] = ("latest", "best")
    for which in whichs:
        restored = checkpoints.restore(_state(0), which)
        assert restored.update == 10
        _assert_same(restored.state, _state(10))
        (warning,) = restored.warnings
        assert "00000020 is damaged" in warning
        assert name in warning
    with pytest.raises(UserError, match="00000020 is damaged"):
        checkpoints.restore(_state(0), 20)


def test_without_a_usable_checkpoint_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no checkpoint in"):
        Checkpoints(tmp_path / "absent").restore(_state(0))
    checkpoints = _filled(tmp_path, {1: None, 2: None})
    with pytest.raises(UserError, match="there is no checkpoint 7 in"):
        checkpoints.restore(_state(0), 7)
    for file in tmp_path.glob("*/checkpoint.json"):
        file.unlink()
    with pytest.raises(UserError, match=r"00000002 is damaged.*00000001 is damaged"):
        checkpoints.restore(_state(0))


def test_a_half_written_checkpoint_is_ignored_and_cleaned_up_by_the_next(tmp_path: Path) -> None:
    checkpoints = _filled(tmp_path, {1: None})
    shutil.copytree(tmp_path / "00000001", tmp_path / ".partial-00000002")
    (tmp_path / ".partial-00000002" / "checkpoint.json").unlink()
    shutil.copytree(tmp_path / "00000001", tmp_path / ".old-00000000")
    restored = checkpoints.restore(_state(0))
    assert (restored.update, restored.warnings) == (1, ())
    checkpoints.save(2, _state(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["00000001", "00000002"]


@pytest.mark.parametrize("error", [UserError("cannot read it"), KeyboardInterrupt()])
def test_a_checkpoint_that_cannot_be_finished_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fail(_: Path) -> str:
        raise error

    monkeypatch.setattr("action_balance.runs.checkpoints.digest", fail)
    with pytest.raises(type(error)):
        Checkpoints(tmp_path / "checkpoints").save(1, _state(1))
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_a_damaged_checkpoint_is_moved_aside_when_its_update_is_saved_again(tmp_path: Path) -> None:
    checkpoints = _filled(tmp_path / "checkpoints", {1: None, 2: None})
    arrays = (tmp_path / "checkpoints" / "00000002" / "arrays.npz").read_bytes()
    (tmp_path / "checkpoints" / "00000002" / "checkpoint.json").write_text("{}")
    checkpoints.save(2, _state(2))
    assert checkpoints.restore(_state(0)).update == 2
    assert (tmp_path / "aside" / "0001-damaged" / "00000002" / "arrays.npz").read_bytes() == arrays


@pytest.mark.parametrize("name", ["checkpoint.json", "arrays.npz"])
def test_what_cannot_be_read_is_not_damaged_and_nothing_is_used_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    checkpoints = _filled(tmp_path, {1: 1.0, 2: 2.0})
    really_open = open

    def refuse(path: Any, *rest: Any, **more: Any) -> Any:
        if str(path) == str(tmp_path / "00000002" / name):
            raise OSError(5, "Input/output error")
        return really_open(path, *rest, **more)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(UserError, match=rf"cannot read .*00000002/{name}: Input/output error$"):
        checkpoints.restore(_state(0), "best")
    for update in (3, 4, 5, 6):
        checkpoints.save(update, _state(update), 3.0)
    assert checkpoints.updates() == [2, 4, 5, 6]  # the one that cannot be read is not deleted
    monkeypatch.undo()
    _assert_same(checkpoints.restore(_state(0), 2).state, _state(2))


@pytest.mark.parametrize("name", ["checkpoint.json", "arrays.npz"])
def test_an_old_checkpoint_that_is_damaged_is_not_deleted(tmp_path: Path, name: str) -> None:
    checkpoints = _filled(tmp_path, {1: 1.0})
    (tmp_path / "00000001" / name).write_bytes(b"damaged")
    for update in (2, 3, 4, 5):
        checkpoints.save(update, _state(update), 2.0)
    assert checkpoints.updates() == [1, 3, 4, 5]
    assert (tmp_path / "00000001" / name).read_bytes() == b"damaged"


def test_an_old_checkpoint_in_which_somebody_keeps_other_files_is_not_deleted(tmp_path: Path) -> None:
    checkpoints = _filled(tmp_path / "checkpoints", {1: None, 2: None})
    (tmp_path / "checkpoints" / "00000001" / "notes.txt").write_text("mine")
    (tmp_path / "checkpoints" / "00000002").rename(tmp_path / "elsewhere")
    (tmp_path / "checkpoints" / "00000002").symlink_to(tmp_path / "elsewhere")
    for update in (3, 4, 5, 6):
        checkpoints.save(update, _state(update))
    assert checkpoints.updates() == [1, 2, 4, 5, 6]
    assert (tmp_path / "checkpoints" / "00000001" / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in (tmp_path / "elsewhere").iterdir()) == ["arrays.npz", "checkpoint.json"]


def test_checkpoints_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="points outside"):
        Checkpoints(tmp_path / "run" / "checkpoints").save(1, _state(1))
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"files": {"../../outside": "0"}},
        {"files": {"/dev/zero": "0"}},
        {"files": ["arrays.npz"]},
        {"score": "high"},
        {"leaves": None},
        {"update": None},
    ],
)
def test_a_description_that_somebody_made_up_is_damaged(tmp_path: Path, change: dict[str, Any]) -> None:
    checkpoints = _filled(tmp_path, {1: None, 2: None})
    file = tmp_path / "00000002" / "checkpoint.json"
    contents = {**json.loads(file.read_bytes())["contents"], **change}
    file.write_bytes(to_json({"contents": contents, "sha256": fingerprint(contents)}))
    restored = checkpoints.restore(_state(0))
    assert restored.update == 1
    assert "00000002 is damaged" in restored.warnings[0]


@pytest.mark.parametrize(
    "arrays", [None, {}, {"['weights']": np.zeros(3)}, {"['weights']": np.zeros(50, "S3"), "['update']": np.zeros(())}]
)
def test_arrays_that_are_something_else_are_an_error_if_their_checksum_is_right(
    tmp_path: Path, arrays: dict[str, np.ndarray] | None
) -> None:
    checkpoints = _filled(tmp_path, {1: None})
    content = io.BytesIO()
    if arrays is not None:
        write_arrays(content, arrays)
    (tmp_path / "00000001" / "arrays.npz").write_bytes(content.getvalue())
    file = tmp_path / "00000001" / "checkpoint.json"
    contents = json.loads(file.read_bytes())["contents"]
    contents["files"] = {"arrays.npz": hashlib.sha256(content.getvalue()).hexdigest()}
    file.write_bytes(to_json({"contents": contents, "sha256": fingerprint(contents)}))
    with pytest.raises(UserError, match="is intact, but cannot be read"):
        checkpoints.restore(_state(0))


def test_a_checkpoint_that_is_deleted_while_it_is_looked_for_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = _filled(tmp_path, {1: None})
    monkeypatch.setattr(Checkpoints, "updates", lambda _: [1, 2])
    restored = checkpoints.restore(_state(0))
    assert (restored.update, restored.warnings) == (1, ())


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"weights": jnp.zeros(51)}, r"\['weights'\] is float32\[50\] in it but float32\[51\] here"),
        ({"weights": jnp.zeros(50, jnp.bfloat16)}, r"float32\[50\] in it but bfloat16\[50\] here"),
        ({"key": jax.random.key(0, impl="rbg")}, r"\['key'\] is key<fry> in it but key<rbg> here"),
        ({"more": jnp.zeros(1)}, r"\['more'\] is missing from it"),
        ({"update": None}, r"\['update'\] exists only in it"),
    ],
)
def test_a_state_of_another_form_is_refused(tmp_path: Path, other: dict[str, Any], words: str) -> None:
    checkpoints = _filled(tmp_path, {1: None, 2: None})
    with pytest.raises(UserError, match=words + r".*another config, environment or version"):
        checkpoints.restore({**_state(0), **other})


@contextlib.contextmanager
def _small_disk(path: Path) -> Iterator[None]:
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(path)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("a disk that is really full needs the right to mount one: run as root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@needs_mount
@pytest.mark.parametrize("free", [0, 8])
def test_a_disk_that_fills_up_at_any_moment_of_a_save_leaves_the_last_good_checkpoint_and_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], free: int
) -> None:
    disk = tmp_path / "disk"
    with _small_disk(disk):
        checkpoints = _filled(disk / "checkpoints", {1: 1.0, 2: 0.0}, numbers=4000)
        state = os.statvfs(disk)
        (disk / "rest").write_bytes(b"x" * (state.f_bavail * state.f_frsize - 1024 * free))
        with pytest.raises(UserError, match="No space left on device; the last good checkpoint, of update 2") as caught:
            checkpoints.save(3, _state(3, 4000))
        assert "\n" not in str(caught.value)
        assert sorted(path.name for path in checkpoints.path.iterdir()) == ["00000001", "00000002"]
        _assert_same(checkpoints.restore(_state(0, 4000)).state, _state(2, 4000))
        (disk / "rest").unlink()
        checkpoints.save(3, _state(3, 4000))
        assert checkpoints.restore(_state(0, 4000)).update == 3
    assert capfd.readouterr() == ("", "")
