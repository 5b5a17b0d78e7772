"""``evaluate`` on a run of Montezuma's Revenge whose agent jumps to its death."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import av
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from command import call

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import TrainState
from action_balance.config.agent import AgentConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.factory import make_trainer
from action_balance.runs import RunFolder

LEFT_FIRE = 12
CONFIG = TrainConfig(
    env_config("atari:montezuma_revenge"),
    AgentConfig(
        method="action-balance-rnd",
        steps=64,
        envs=2,
        algorithm=PPOConfig(rollout_steps=4, minibatches=1),
        network=NetworkConfig(channels=2, features=8, trunk=8, bonus_features=8),
    ),
    seed=5,
)


def jumping() -> TrainState:
    """An agent that always jumps to the left; all its other numbers are arbitrary."""
    generator = np.random.default_rng(0)

    def fill(leaf: jax.ShapeDtypeStruct) -> Any:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jnp.broadcast_to(jax.random.key(0), leaf.shape)
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            return np.ones(leaf.shape, leaf.dtype)
        return generator.uniform(-0.3, 0.3, leaf.shape).astype(leaf.dtype)

    state: TrainState = jax.tree.map(fill, make_trainer(CONFIG).state_shapes())
    state = eqx.tree_at(lambda state: state.obs_stats, state, jax.tree.map(np.abs, state.obs_stats))
    head: Any = state.params.policy.policy_head
    logits = 50 * np.eye(18, dtype=np.float32)[[LEFT_FIRE]]
    return eqx.tree_at(
        lambda state: (state.params.policy.policy_head.weight, state.params.policy.policy_head.bias),
        state,
        (np.zeros_like(head.weight), logits),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    folder = RunFolder.create(path, CONFIG.to_dict(), ["train"])
    folder.checkpoints().save(3, jumping(), 0.0)
    folder.release()
    return path


def test_games_are_played_tabulated_and_filmed(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", str(run), "--episodes", "2") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("mean score", "ended by game over", "rooms visited: 1", "episode.mp4"))
    rows = list(csv.DictReader(io.StringIO((run / "evaluation" / "episodes.csv").read_text())))
    # Two emulators whose games do not last equally long: what follows the first game in an emulator is left out.
    assert [(row["mode"], row["seed"], row["episode"]) for row in rows[:3]] == [
        ("greedy", "5", "0"),
        ("greedy", "5", "1"),
        ("sampled", "5", "0"),
    ]
    assert {row["steps"] for row in rows} == {"139", "140"}
    for row in rows:
        assert int(row["frames"]) == 4 * int(row["steps"])
        assert (row["score"], row["ended"], row["rooms"], row["visits"]) == ("0", "game over", "1", "1@0")
    summary = json.loads((run / "evaluation" / "evaluation.json").read_text())
    assert list(summary["modes"]) == ["greedy", "sampled", "behaviour"]
    assert summary["rooms"] == {"memory_byte": 3, "all": [1]}
    assert summary["checkpoint"] == {"update": 3, "steps": 24}
    for mode, found in summary["modes"].items():
        steps = [int(row["steps"]) for row in rows if row["mode"] == mode]
        zeros = dict.fromkeys(("mean", "median", "min", "max"), 0)
        assert found["score"] == {**zeros, "low": None, "high": None}  # two games have no interval
        assert found["mean_steps"] == np.mean(steps)
        assert found["ended_by_game_over"] == 1
        assert found["rooms"] == {"all": [1], "mean_per_game": 1, "most_in_a_game": 1}
    with av.open(str(run / "evaluation" / "episode.mp4")) as film:
        assert sum(1 for _ in film.decode(video=0)) == int(rows[2]["steps"]) + 30
