"""Loading agents from runs and files: which agent, what a file holds, and whose word is trusted."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_agent
import untrained_run

import action_balance as ab
from action_balance.algorithms.base import make_algorithm
from action_balance.config.presets import PRESETS
from action_balance.engines.evaluate import ACTION_MODES
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.runs.array_file import read_arrays, write_arrays
from action_balance.trained.agent_file import ABOUT

CELLS = np.eye(16, dtype=np.float32)


@pytest.fixture(scope="module")
def sea(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents in a deep sea of size 4."""
    return untrained_run.make(tmp_path_factory.mktemp("runs") / "sea", "deep-sea", seed=3, seeds=2, size=4)


@pytest.fixture(scope="module")
def file(sea: Path) -> Path:
    return ab.load(sea).save(sea.with_name("whole.agent"))


def test_a_run_of_several_seeds_has_an_agent_for_each(sea: Path) -> None:
    first, second = ab.load(sea), ab.load(sea, seed=4)
    assert (first.seed, second.seed) == (3, 4)
    assert not np.allclose(first.values(CELLS).extrinsic, second.values(CELLS).extrinsic)
    with pytest.raises(UserError, match="seeds 3 to 4, not 5"):
        ab.load(sea, seed=5)


def test_a_checkpoint_is_chosen_by_its_number_or_as_the_best(sea: Path) -> None:
    assert ab.load(sea, checkpoint=3).update == ab.load(sea, checkpoint="best").update == 0  # of the state itself
    with pytest.raises(UserError, match="no checkpoint 7: choose from latest, best, 3"):
        ab.load(sea, checkpoint=7)


def test_a_file_holds_the_agent(sea: Path, file: Path) -> None:
    one, other = ab.load(sea), ab.load(file)
    assert other.config == one.config
    np.testing.assert_array_equal(other.act(CELLS, "behaviour", key=1), one.act(CELLS, "behaviour", key=1))
    np.testing.assert_array_equal(other.bonuses(CELLS).intrinsic, one.bonuses(CELLS).intrinsic)


def test_a_file_of_the_policy_alone_acts_and_has_no_bonuses(sea: Path, file: Path) -> None:
    small = ab.load(sea).save(sea.with_name("policy.agent"), policy_only=True)
    agent = ab.load(small)
    assert small.stat().st_size < file.stat().st_size / 2
    assert (agent.method, agent.config.agent.label) == ("action-balance-rnd", "ppo")
    np.testing.assert_array_equal(agent.act(CELLS, key=1), ab.load(sea).act(CELLS, key=1))
    for use in (lambda: agent.act(CELLS, "behaviour"), lambda: agent.bonuses(CELLS)):
        with pytest.raises(UserError, match="saved with policy_only=True"):
            use()
    assert ab.load(agent.save(sea.with_name("again.agent"))).policy_only


@pytest.mark.parametrize("name", ["gymnax:Pendulum-v1", "gym:Pendulum-v1"])
def test_files_of_an_agent_with_continuous_actions_act_like_it(name: str, tmp_path: Path) -> None:
    agent = ab.load(untrained_run.make(tmp_path / "run", name))
    obs = np.eye(3, dtype=np.float32)
    whole = ab.load(agent.save(tmp_path / "whole.agent"))
    for mode in ACTION_MODES:
        np.testing.assert_array_equal(whole.act(obs, mode, key=1), agent.act(obs, mode, key=1))
    np.testing.assert_array_equal(whole.bonuses(obs, [[1.0]] * 3).action, agent.bonuses(obs, [[1.0]] * 3).action)
    small = ab.load(agent.save(tmp_path / "policy.agent", policy_only=True))
    for mode in ACTION_MODES[:2]:  # by another program, which may round differently
        np.testing.assert_allclose(small.act(obs, mode, key=1), agent.act(obs, mode, key=1), rtol=1e-5)


def test_a_policy_of_the_papers_preset_takes_less_than_eight_megabytes() -> None:
    """4 bytes for each number of the policy, and two statistics of each of 84 x 84 pixels."""
    import jax

    from action_balance.envs.spec import EnvSpec

    spec = EnvSpec("image-stack", (4, 84, 84), (18,), dtype="uint8")
    policy = jax.eval_shape(lambda: make_algorithm(PRESETS["atari-paper"], spec).network(jax.random.key(0)))
    numbers = sum(leaf.size for leaf in jax.tree.leaves(policy) if hasattr(leaf, "size"))
    assert 4 * numbers + 8 * 84 * 84 < 7_900_000


def test_a_gymnasium_agent_acts_where_the_package_of_its_environment_is_missing(tmp_path: Path) -> None:
    run = untrained_run.make(
        tmp_path / "run", "gym:MiniGrid-DoorKey-5x5-v0", replace(untrained_run.VECTORS, method="ppo")
    )
    file = ab.load(run).save(tmp_path / "door.agent")
    obs = {"image": np.ones((7, 7, 3), np.uint8), "direction": 2, "mission": "use the key"}
    program = """
import sys
sys.modules["minigrid"] = sys.modules["gymnasium"] = None
import numpy as np
import action_balance as ab
obs = {"image": np.ones((7, 7, 3), np.uint8), "direction": 2, "mission": "use the key"}
print([ab.load(path).act(obs, "greedy") for path in sys.argv[1:]])
"""
    command = [sys.executable, "-c", program, str(file), str(run)]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found == f"{[ab.load(file).act(obs, 'greedy')] * 2}\n"


def rewritten(file: Path, to: Path, change: dict[str, Any]) -> Path:
    """A copy of a file that says something else about its agent."""
    arrays = read_arrays(file)
    about = {**json.loads(arrays[ABOUT].tobytes()), **change}
    arrays[ABOUT] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    with open(to, "wb") as out:
        write_arrays(out, arrays)
    return to


def test_a_file_that_names_a_module_is_not_loaded_without_trust(file: Path, tmp_path: Path) -> None:
    config = ab.load(file).config.to_dict()
    config["agent"] |= {"intrinsic": "own_bonus:Own"}
    with pytest.raises(UserError, match=r"names the bonus own_bonus:Own.*trust=True"):
        ab.load(rewritten(file, tmp_path / "stranger.agent", {"config": config}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something"}, "is damaged or not an agent"),
        ({"config": 3}, "is damaged or not an agent"),
        ({"leaves": [{"path": 1}]}, "is damaged or not an agent"),
        ({"version": 99}, "has format 99"),
        ({"spaces": {"leaves": [], "nvec": [2]}}, "spaces of the environment are damaged"),
        ({"env_spec": {"kind": "vector", "shape": [9], "nvec": [2]}}, "does not match its settings"),
    ],
)
def test_a_file_that_was_changed_is_refused(file: Path, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        ab.load(rewritten(file, tmp_path / "changed.agent", change))


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.agent").write_text("hello")
    with pytest.raises(UserError, match="is damaged or not an agent"):
        ab.load(tmp_path / "text.agent")
    with pytest.raises(UserError):
        ab.load(tmp_path / "nothing")


def test_a_run_without_spaces_in_its_manifest_makes_the_environment(tmp_path: Path) -> None:
    run = untrained_run.make(tmp_path / "run", "gym:CartPole-v1")
    expected = ab.load(run).act(np.ones((3, 4)), key=0)
    folder = RunFolder.open(run)
    del folder.manifest["spaces"]
    folder.finish("finished")
    np.testing.assert_array_equal(ab.load(run).act(np.ones((3, 4)), key=0), expected)


def test_an_agent_with_other_bonuses_is_saved_whole(tmp_path: Path) -> None:
    """Coin flips keep integers and a memory."""
    flips = replace(untrained_run.VECTORS, intrinsic="coin-flip", action_bonus="coin-flip")
    agent = ab.load(untrained_run.make(tmp_path / "run", "deep-sea", flips, size=4))
    again = ab.load(agent.save(tmp_path / "flips.agent"))
    assert small_agent.same(agent._saved.state, again._saved.state)
