"""Arguments of a wrong type from Python are errors of one line that name the argument."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import action_balance as ab
from action_balance.arguments import as_path, as_texts, as_whole

anything: Any = ab  # a caller whose types nobody checks

WRONG: dict[str, Callable[[], object]] = {
    "out must be a path": lambda: anything.train("deep-sea", None),
    "neither a name nor a function": lambda: anything.train(5, "run"),
    "--seeds must be a whole number, not '3'": lambda: anything.train("deep-sea", "run", seeds="3"),
    "--seeds must be a whole number, not 2.5": lambda: anything.train("deep-sea", "run", seeds=2.5),
    "--seed must be a whole number": lambda: anything.train("deep-sea", "run", seed=None),
    "--size must be a whole number": lambda: anything.train("deep-sea", "run", size="ten"),
    "stop_when must be a string": lambda: anything.train("deep-sea", "run", stop_when=[5]),
    "track must be a string": lambda: anything.train("deep-sea", "run", track=5),
    "did you mean steps": lambda: anything.agent_config(step=3),
    "--steps must be a whole number": lambda: anything.agent_config(steps=1e4),
    "--learning-rate must be a number": lambda: anything.agent_config(algorithm=_ppo(learning_rate="fast")),
    "algorithm must be a AlgorithmConfig": lambda: anything.agent_config(algorithm={"epochs": 3}),
    "unknown preset '5'": lambda: anything.agent_config(5),
    "the agent must be a path": lambda: anything.load(None),
    "the run must be a path": lambda: anything.resume(5),
}


def _ppo(**settings: Any) -> object:
    from action_balance.algorithms.ppo.config import PPOConfig

    return PPOConfig(**settings)


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_type_is_named_in_one_line(message: str) -> None:
    with pytest.raises(ab.UserError) as error:
        WRONG[message]()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_numbers_of_numpy_and_paths_of_runs_are_taken() -> None:
    assert as_whole("steps", np.int64(3)) == 3
    assert str(as_path("out", "runs/one")) == "runs/one"
    assert as_texts("track", "wandb") == ("wandb",)
    assert as_texts("track", ["wandb", "mlflow"]) == ("wandb", "mlflow")
