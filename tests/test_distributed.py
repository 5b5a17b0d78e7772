"""How processes meet and talk; see `engines/test_following.py` for a run of two of them."""

import socket
from typing import Any

import jax
import numpy as np
import pytest
from shared_store import SharedStore

from action_balance import distributed
from action_balance.config.hosts import HostsConfig
from action_balance.distributed import Channel, broadcast, check_free, is_leader, missing, process_count, started
from action_balance.errors import UserError


def channels(count: int = 3) -> list[Channel]:
    store = SharedStore()
    return [Channel(store, process, count) for process in range(count)]


def test_followers_hear_everything_in_order() -> None:
    leader, *followers = channels()
    leader.announce("start", update=3)
    leader.announce("advance")
    for follower in followers:
        assert [follower.next(), follower.next()] == [{"do": "start", "update": 3}, {"do": "advance"}]


def test_old_announcements_are_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "TOGETHER", 2)
    leader, _ = channels(2)
    for number in range(5):
        leader.announce(str(number))
    assert sorted(leader._client.texts) == [f"action-balance/next/{place}" for place in ("1/2", "1/3", "2/4")]


def test_the_leader_hears_who_has_reported() -> None:
    leader, first, second = channels()
    first.report("stop", why="Ctrl-C")
    assert leader.reports("stop") == {1: {"why": "Ctrl-C"}}
    assert not leader.all_reported("stop", 0.01)
    second.report("stop")
    assert leader.all_reported("stop", 0.01)


def test_arrays_arrive_bit_for_bit_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[np.ndarray] = []

    def send(piece: np.ndarray) -> np.ndarray:
        sent.append(piece.copy())
        return piece

    monkeypatch.setattr(distributed, "_from_leader", send)
    arrays = {
        "weights": np.array([[-0.0, np.nan], [1.5, 2.0]], np.float32),
        "done": np.array(True),
        "none": np.zeros((0, 3)),
        "count": np.arange(5, dtype=np.int16),
    }
    found = broadcast(arrays, piece=12)
    assert {name: (array.dtype, array.shape, array.tobytes()) for name, array in found.items()} == {
        name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()
    }
    assert [piece.nbytes for piece in sent] == [12, 12, 12]  # 16 + 1 + 10 bytes, no array in the middle of a number
    monkeypatch.setattr(distributed, "_from_leader", lambda _: sent.pop(0))
    empty = {name: np.zeros_like(array) for name, array in arrays.items()}
    follower = broadcast(empty, piece=12)
    assert all(follower[name].tobytes() == array.tobytes() for name, array in arrays.items())


def test_a_port_in_use_is_one_line() -> None:
    with socket.socket(socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET) as other:
        other.bind(("", 0))
        other.listen()
        with pytest.raises(UserError, match=r"cannot listen on port \d+: Address already in use; choose another port"):
            check_free(other.getsockname()[1])


def test_a_process_without_flags_is_alone() -> None:
    with started(HostsConfig()) as channel:
        assert channel is None
        assert process_count() == 1
        assert is_leader()


def test_a_cluster_is_left_to_jax_and_its_absence_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def initialize(*place: Any, cluster_detection_method: str | None, **_: Any) -> None:
        asked.append((*place, cluster_detection_method))
        raise ValueError("coordinator_address should be defined.")

    monkeypatch.setattr(jax.distributed, "initialize", initialize)
    monkeypatch.setattr(distributed, "check_free", lambda _: None)
    with pytest.raises(UserError, match="finds no variables of SLURM"), started(HostsConfig(distributed=True)):
        pass
    with pytest.raises(UserError, match="cannot start"), started(HostsConfig(False, "node1:1234", 2, 0)):
        pass
    assert asked == [(None, None, None, None), ("node1:1234", 2, 0, "deactivate")]


def test_a_missing_process_is_one_line() -> None:
    line = missing(HostsConfig(False, "node1:1234", 2, 0, start_timeout=60))
    assert line.startswith("the 2 processes did not meet at node1:1234 within 60 seconds: ")
