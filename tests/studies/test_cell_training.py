"""The training of a cell with a trainer of one number: stopped, killed and continued at known moments."""

import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.config.train import TrainConfig
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.errors import UserError
from action_balance.studies import cell_training
from action_balance.studies.bonuses.settings import BonusesSettings, Cell, Setup
from action_balance.studies.cell_training import resumable
from action_balance.studies.cells import checkpoint_folder

#: Six updates, of 1024 steps each.
CELL = BonusesSettings(seeds=1, steps=6144).cell("deep-sea-10", Setup("rnd"))


class Adder:
    """A trainer whose state is the sum of the numbers of all updates."""

    dtype = jnp.int32
    seconds = 0.0  # of an update; the first of each process takes 100 more

    def __init__(self, config: TrainConfig) -> None:
        del config
        self.began = False

    def state_shapes(self) -> Any:
        return {"sum": jax.ShapeDtypeStruct((1,), self.dtype), "updates": jax.ShapeDtypeStruct((1,), jnp.int32)}

    def init_state(self, stopped: Callable[[], bool]) -> Any:
        assert not stopped()
        return {"sum": jnp.zeros(1, self.dtype), "updates": jnp.zeros(1, jnp.int32)}

    def start(self, state: Any) -> None:
        self._state = state

    def advance(self) -> HostMetrics:
        number = self._state["updates"] + 1
        self._state = {"sum": self._state["sum"] + number, "updates": number}
        Clock.now += self.seconds + (0.0 if self.began else 100.0)
        self.began = True
        return {"sum": np.asarray(self._state["sum"])}

    def state(self) -> Any:
        return self._state


class Clock:
    """The time, which passes during updates."""

    now = 0.0


@pytest.fixture(autouse=True)
def adder(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock.now = 0.0
    monkeypatch.setattr(cell_training, "DeviceTrainer", Adder)
    monkeypatch.setattr(cell_training, "perf_counter", lambda: Clock.now)


@pytest.fixture
def every_update(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cell_training, "SAVE_EVERY", 0.0)


class Killed(Exception):
    """The process would have ended."""


@dataclass(frozen=True)
class Made:
    """What a process has trained."""

    updates: list[int]
    sums: list[int]
    seconds: float


def train(out: Path | None, stop: int = 0, kill: int = 0, cell: Cell = CELL) -> Made:
    """Train a cell; a stop is requested in one update, or the process is killed in it."""
    sums, updates = np.zeros(6, np.int64), []
    with resumable(cell, {"sums": sums}, out) as training:
        try:
            for update, metrics in training.updates():
                updates.append(update)
                sums[update - 1] = metrics["sum"][0]
                if update == stop:
                    signal.raise_signal(signal.SIGINT)
                if update == kill:
                    raise Killed
        except (KeyboardInterrupt, Killed):
            assert stop or kill
            assert updates[-1] == (stop or kill)
    return Made(updates, sums.tolist(), training.seconds)


def saved(out: Path) -> list[str]:
    """The updates that have a checkpoint, of all configs."""
    return sorted(path.name for path in checkpoint_folder(out, CELL.name).glob("*/0*"))


def test_a_cell_that_is_stopped_continues_with_the_next_update(tmp_path: Path) -> None:
    assert train(tmp_path, stop=2).updates == [1, 2]
    assert saved(tmp_path) == ["00000002"]
    assert train(tmp_path, stop=4).updates == [3, 4]
    made = train(tmp_path)
    assert made.updates == [5, 6]
    assert made.sums == train(None).sums == [1, 3, 6, 10, 15, 21]


def test_a_stop_in_the_last_update_leaves_nothing_to_train(tmp_path: Path) -> None:
    assert train(tmp_path, stop=6).updates == [1, 2, 3, 4, 5, 6]
    made = train(tmp_path)
    assert made.updates == []
    assert made.sums == [1, 3, 6, 10, 15, 21]


@pytest.mark.usefixtures("every_update")
def test_a_cell_that_is_killed_continues_from_its_last_checkpoint(tmp_path: Path) -> None:
    assert train(tmp_path, kill=5).updates == [1, 2, 3, 4, 5]
    assert saved(tmp_path) == ["00000003", "00000004"]
    made = train(tmp_path)
    assert made.updates == [5, 6]
    assert made.sums == [1, 3, 6, 10, 15, 21]


def test_a_cell_is_saved_every_five_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adder, "seconds", 150.0)
    train(tmp_path, kill=6)  # after 250, 400, 550, 700, 850 and 1000 seconds
    assert saved(tmp_path) == ["00000002", "00000004"]


@pytest.mark.usefixtures("every_update")
def test_without_a_folder_nothing_is_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert train(None, stop=3).updates == [1, 2, 3]
    assert train(None).updates == [1, 2, 3, 4, 5, 6]
    assert list(tmp_path.iterdir()) == []


def test_compilation_and_saving_do_not_count_as_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates take 7 seconds; the first of each process also compiles for 100."""
    monkeypatch.setattr(Adder, "seconds", 7.0)
    assert train(None).seconds == 35
    train(tmp_path, stop=2)
    Clock.now += 1000
    assert train(tmp_path).seconds == 35


def test_if_every_update_was_compiled_their_mean_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adder, "seconds", 8.0)
    for update in range(1, 6):
        train(tmp_path, stop=update)
    assert train(tmp_path).seconds == 5 * 108


@pytest.mark.usefixtures("every_update")
@pytest.mark.parametrize(("damaged", "first"), [(("00000004",), 4), (("00000003", "00000004"), 1)])
def test_a_damaged_checkpoint_is_skipped(tmp_path: Path, damaged: tuple[str, ...], first: int) -> None:
    train(tmp_path, kill=5)
    for name in damaged:
        (file,) = checkpoint_folder(tmp_path, CELL.name).glob(f"*/{name}/arrays.npz")
        file.write_bytes(file.read_bytes()[:-20])
    made = train(tmp_path)
    assert made.updates[0] == first
    assert made.sums == [1, 3, 6, 10, 15, 21]


def test_a_checkpoint_of_another_config_is_not_used(tmp_path: Path) -> None:
    other = replace(CELL, config=replace(CELL.config, seed=3))
    train(tmp_path, stop=2)
    assert train(tmp_path, stop=1, cell=other).updates == [1]
    assert train(tmp_path).updates[0] == 3


def test_a_checkpoint_of_another_version_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(tmp_path, stop=2)
    monkeypatch.setattr(Adder, "dtype", jnp.float32)
    assert train(tmp_path, stop=2).updates == [1, 2]
    assert train(tmp_path).updates[0] == 3


def test_nothing_is_saved_through_a_link(tmp_path: Path) -> None:
    folder = checkpoint_folder(tmp_path / "out", CELL.name)
    folder.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="points outside"):
        train(tmp_path / "out")


def test_nothing_is_lost_by_ending_before_the_first_update(tmp_path: Path) -> None:
    train(tmp_path, stop=2)
    with resumable(CELL, {"sums": np.zeros(6, np.int64)}, tmp_path) as training:
        assert training.stopping() == ""
        for update, _ in training.updates():
            assert training.stopping() == ("" if update == 3 else f"stopping after this update ({update} of 6)")
