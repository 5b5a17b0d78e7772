"""Checkpoints that version 0.1.0 has written with Orbax are read under the paths that their leaves have now."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import orbax.checkpoint as orbax
import pytest

from action_balance.errors import UserError
from action_balance.files import digest, fingerprint, to_json
from action_balance.runs import Checkpoints, legacy
from action_balance.runs.legacy import moved


@jax.tree_util.register_dataclass
@dataclass
class Networks:
    """With the names of 0.1.0."""

    policy: Any
    next_state: Any
    action: Any


@jax.tree_util.register_dataclass
@dataclass
class Old:
    """A state with the names of 0.1.0."""

    learned: Networks
    observations: Any
    reached: Any
    key: Any


@jax.tree_util.register_dataclass
@dataclass
class Params:
    """With the names of today."""

    policy: Any
    bonuses: dict[str, Any]


@jax.tree_util.register_dataclass
@dataclass
class New:
    """The same with the names of today, and without the bonus that is not used."""

    params: Params
    bonus_states: dict[str, Any]
    obs_stats: Any
    state_visits: Any
    key: Any


OLD = Old(
    learned=Networks(jnp.array([1.5, 2.5], jnp.bfloat16), {"w": jnp.full(3, 7.0)}, {"w": jnp.zeros(2)}),
    observations={"mean": jnp.zeros((0, 3))},
    reached=jnp.arange(4),
    key=jax.random.key(5),
)
NEW = New(
    params=Params(jnp.zeros(2, jnp.bfloat16), {"intrinsic": {"w": jnp.zeros(3)}}),
    bonus_states={"intrinsic": jnp.zeros(4, jnp.int32)},
    obs_stats={"mean": jnp.zeros((0, 3))},
    state_visits=jnp.zeros(4, jnp.int32),
    key=jax.random.key(0),
)


def write_checkpoint(path: Path, update: int, state: Any) -> Path:
    """A checkpoint as 0.1.0 wrote it."""
    from action_balance.runs.trees import describe, to_arrays

    folder = path / f"{update:08d}"
    folder.mkdir(parents=True)
    with orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as checkpointer:
        arrays = [array for array in to_arrays(state).values() if array.size]
        checkpointer.save((folder / "arrays").absolute(), args=orbax.args.PyTreeSave(arrays))
    files = {str(file.relative_to(folder)): digest(file) for file in folder.rglob("*") if file.is_file()}
    contents = {"update": update, "score": 0.5, "leaves": [leaf.to_dict() for leaf in describe(state)], "files": files}
    (folder / "checkpoint.json").write_bytes(to_json({"contents": contents, "sha256": fingerprint(contents)}))
    return folder


def test_leaves_come_back_under_their_new_paths_and_unused_ones_are_dropped(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 7, OLD)
    restored = Checkpoints(tmp_path).restore(NEW)
    assert (restored.update, restored.warnings) == (7, ())
    assert restored.state.params.policy.tolist() == [1.5, 2.5]
    assert restored.state.params.policy.dtype == jnp.bfloat16
    assert restored.state.params.bonuses["intrinsic"]["w"].tolist() == [7, 7, 7]
    assert restored.state.bonus_states["intrinsic"].tolist() == [0, 1, 2, 3]  # counts of states were the agent's
    assert restored.state.state_visits.tolist() == [0, 1, 2, 3]
    assert jax.random.key_data(restored.state.key).tolist() == [0, 5]


def test_a_damaged_one_is_skipped_for_a_newer_format_beside_it(tmp_path: Path) -> None:
    folder = write_checkpoint(tmp_path, 7, OLD)
    Checkpoints(tmp_path).save(3, NEW)
    file = next(file for file in (folder / "arrays").rglob("*") if file.is_file())
    file.write_bytes(file.read_bytes() + b"x")
    restored = Checkpoints(tmp_path).restore(NEW)
    assert restored.update == 3
    assert "00000007 is damaged" in restored.warnings[0]


def test_a_leaf_that_0_1_0_did_not_have_is_named(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 7, OLD)
    with pytest.raises(UserError, match=r"\.bonus_states\['action'\] is missing from it"):
        Checkpoints(tmp_path).restore(replace(NEW, bonus_states={"action": jnp.zeros(1)}))


def test_what_orbax_cannot_read_is_not_damaged_and_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path, 7, OLD)

    def fail(*_: object, **__: object) -> None:
        raise ValueError("no such format\nand a long story")

    monkeypatch.setattr(orbax.Checkpointer, "restore", fail)
    with pytest.raises(UserError, match=r"is intact, .*Orbax cannot read it: no such format$"):
        Checkpoints(tmp_path).restore(NEW)


def test_without_orbax_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_checkpoint(tmp_path, 7, OLD)
    monkeypatch.setitem(sys.modules, "orbax.checkpoint", None)
    with pytest.raises(UserError, match=r"written by version 0\.1\.0.*pip install orbax-checkpoint"):
        Checkpoints(tmp_path).restore(NEW)


def test_paths_are_moved_by_their_beginnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy, "MOVED", ((r"\.a", ".b"), (r"(\.b|\.c)\.x", r"\1['y']")))
    assert [moved(path) for path in (".a.x.a", ".c.x", ".z.a.x", ".a")] == [".b['y'].a", ".c['y']", ".z.a.x", ".b"]
