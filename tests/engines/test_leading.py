"""What the leader announces, and what it makes of what other processes say."""

import json
from typing import Any
from unittest.mock import create_autospec

import numpy as np
import pytest
from shared_store import SharedStore

from action_balance import tasks
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.distributed import Channel, ProcessLost
from action_balance.engines.base import Trainer
from action_balance.engines.leading import LeadingTrainer, lead
from action_balance.errors import UserError
from action_balance.tasks import Stop, Task, task

DEEP_SEA = TrainConfig(env_config("deep-sea"))


def trainer(error: Exception | None = None) -> Any:
    """A trainer that does nothing, or fails at its first update."""
    made = create_autospec(Trainer, instance=True)
    made.spec = DEEP_SEA.env.spec
    made.advance.side_effect = error
    made.advance.return_value = {"episode_return": np.zeros(1)}
    made.visits.return_value = None
    return made


def leading(error: Exception | None = None) -> tuple[LeadingTrainer, Channel, SharedStore]:
    store = SharedStore()
    return LeadingTrainer(trainer(error), Channel(store, 0, 2)), Channel(store, 1, 2), store


def test_everything_that_needs_the_others_is_announced_before_it_is_done() -> None:
    leader, _, store = leading()
    assert leader.advance() == {"episode_return": 0}
    leader.visits()
    assert [json.loads(text)["do"] for text in store.texts.values()] == ["advance", "visits"]


def test_a_stop_of_another_process_stops_what_is_under_way() -> None:
    leader, follower, _ = leading()
    stop = Stop()
    with task(Task(stop=stop)):
        leader.advance()
        assert not stop.is_set()
        follower.report("stop")
        leader.advance()
    assert stop.is_set()
    assert not tasks.TASKS


@pytest.mark.parametrize(("why", "line"), [("no disk", "process 1 failed: no disk"), (None, "connection .* was lost")])
def test_a_lost_process_is_one_line_with_its_reason_if_it_has_said_one(
    why: str | None, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("action_balance.engines.leading.REASON", 1)
    leader, follower, _ = leading(ValueError("UNKNOWN: Gloo all-reduce failed: Connection closed by peer"))
    if why:
        follower.say("failure", {"process": 1, "why": why})
    with pytest.raises(ProcessLost, match=line):
        leader.advance()


def test_another_error_is_not_the_loss_of_a_process() -> None:
    with pytest.raises(ZeroDivisionError):
        leading(ZeroDivisionError())[0].advance()


def test_a_process_that_cannot_make_its_trainer_is_one_line() -> None:
    store = SharedStore()
    Channel(store, 1, 2).say("failure", {"process": 1, "why": "no such package"})
    with pytest.raises(UserError, match="process 1 failed: no such package"):
        lead(DEEP_SEA, DEEP_SEA.env.spec, trainer, Channel(store, 0, 2))


def test_environments_on_the_host_are_not_for_several_processes() -> None:
    config = TrainConfig(env_config("gym:CartPole-v1"))
    with pytest.raises(UserError, match="runs on the CPUs of one host"):
        lead(config, DEEP_SEA.env.spec, trainer, Channel(SharedStore(), 0, 2))
