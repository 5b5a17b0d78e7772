"""The settings of a run: what fits together, when checkpoints are due, and that reading them needs no JAX."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import pytest

from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.network import NetworkConfig
from action_balance.config.presets import PRESETS
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.envs.deep_sea.environment import DeepSea
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

RESULTS = Path(__file__).parents[2] / "results"

NO_JAX = """
import json, sys
from pathlib import Path
from action_balance.config.registry import env_config, families, known_names
from action_balance.config.serialization import field_docs
from action_balance.config.presets import PRESETS
from action_balance.config.train import TrainConfig

for name in (*known_names(), "gym:CartPole-v1"):
    config = TrainConfig(env_config(name))
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    config.env.title, config.env.slug, config.env.sort_key, config.env.comparable(), config.first_checkpoint
    field_docs(type(config.env))
for file in sys.argv[1:]:
    TrainConfig.from_dict(json.loads(Path(file).read_bytes())["config"])
print(sorted({"jax", "equinox", "optax", "gymnasium", "ale_py", "action_balance.engines"} & {*sys.modules}))
"""


def test_reading_the_config_of_any_family_loads_no_jax() -> None:
    files = map(str, RESULTS.glob("**/config.json"))
    done = subprocess.run([sys.executable, "-c", NO_JAX, *files], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", ["open", "deep-sea", "lock", "atari:pitfall", "gym:CartPole-v1"])
@pytest.mark.parametrize("preset", PRESETS)
def test_settings_survive_json_with_those_of_the_family_only(name: str, preset: str) -> None:
    config = TrainConfig(env_config(name), PRESETS[preset], 3, 2, 7)
    data = json.loads(json.dumps(config.to_dict()))
    assert TrainConfig.from_dict(data) == config
    own = {
        "open": {"size", "episode_steps", "view"},
        "deep-sea": {"size", "distractors"},
        "lock": {"size", "actions"},
        "atari:pitfall": set(),
        "gym:CartPole-v1": {
            *("env_kwargs", "wrapper", "vectorize", "stack", "layout", "max_image_side", "reward_scale", "action_masks")
        },
    }
    assert data["env"].keys() == {"name", *own[name]}


@pytest.mark.parametrize(
    ("name", "agent", "hint"),
    [
        ("open", {"network": NetworkConfig(channels=8)}, "open has no images: leave out --channels"),
        ("deep-sea", {"network": NetworkConfig(precision="bfloat16")}, "has no images: leave out --precision"),
        ("open", {"host": HostConfig(groups=1)}, "open does not run on the host: leave out --groups"),
        ("goal", {"host": HostConfig(lag=0)}, "goal does not run on the host: leave out --lag"),
        ("atari:pitfall", {"network": NetworkConfig(hidden=8)}, "has images: leave out --hidden"),
        ("gym:CartPole-v1", {"host": HostConfig(threads=2)}, "leave out --threads"),
    ],
)
def test_settings_that_the_environment_cannot_use_are_refused(name: str, agent: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        TrainConfig(env_config(name), AgentConfig(**agent))


def test_networks_of_a_gymnasium_environment_are_checked_when_it_is_known() -> None:
    vector = EnvSpec("vector-stack", (1, 4), (2,), normalize_obs=True)
    image = EnvSpec("image-stack", (1, 84, 84), (2,), dtype="uint8")
    with_images = TrainConfig(env_config("gym:A-v0"), AgentConfig(network=NetworkConfig(channels=3)))
    with_images.check_spec(image)
    with pytest.raises(UserError, match="has no images: leave out --channels"):
        with_images.check_spec(vector)
    with_vectors = TrainConfig(env_config("gym:A-v0"), AgentConfig(network=NetworkConfig(hidden=3)))
    with_vectors.check_spec(vector)
    with pytest.raises(UserError, match="has images: leave out --hidden"):
        with_vectors.check_spec(image)


def test_beside_images_the_widths_of_a_vector_are_the_only_settings_of_networks_for_vectors() -> None:
    mixed = EnvSpec("mixed-stack", (1, 48 * 48 + 8), (2,), "uint8", images=((48, 48, 1),))
    classic = PRESETS["classic"]
    TrainConfig(env_config("gym:A-v0"), classic).check_spec(mixed)
    wide = replace(classic, network=replace(classic.network, hidden=3, bonus_hidden=3))
    TrainConfig(env_config("gym:A-v0"), wide).check_spec(mixed)
    others: dict[str, Any] = {"layers": 7, "predictor_layers": 3, "bonus_outputs": 3}
    for name, value in others.items():
        typed = TrainConfig(env_config("gym:A-v0"), replace(classic, network=replace(classic.network, **{name: value})))
        with pytest.raises(UserError, match=f"has images: leave out --{name.replace('_', '-')}"):
            typed.check_spec(mixed)


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"seeds": 0}, "--seeds must be 1 or more"),
        ({"checkpoint_every": 0}, "--checkpoint-every must be 1 or more"),
        ({"seed": -1}, "--seed must be 0 or more"),
        ({"seed": 2**31 - 3, "seeds": 3}, "--seed must be 0 or more and below"),
    ],
)
def test_numbers_of_a_run_have_bounds(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint):
        TrainConfig(env_config("open"), **settings)


def test_environments_of_this_process_are_one_group_and_the_lag_is_0_without_a_gpu() -> None:
    agent = AgentConfig(envs=32)

    def chosen(name: str, **settings: Any) -> tuple[int, int | None]:
        made = TrainConfig(env_config(name, **settings), agent).with_defaults().agent
        return made.groups, made.host.lag

    lag = int(jax.default_backend() != "cpu")
    assert chosen("gym:A-v0") == (1, lag)
    assert chosen("gym:A-v0", vectorize="async") == (2, lag)
    assert chosen("atari:pitfall") == (2, lag)
    assert chosen("dice_family:Dice") == (1, lag)
    asked = TrainConfig(env_config("gym:A-v0"), replace(agent, host=HostConfig(groups=4, lag=1)))
    assert asked.with_defaults() == asked
    device = TrainConfig(env_config("open"), agent)
    assert device.with_defaults() == device


def test_a_seed_has_an_environment_drawn_from_its_key() -> None:
    config = TrainConfig(env_config("deep-sea", size=12), seed=6)
    sea = config.environment(jax.random.key(6))
    assert isinstance(sea, DeepSea)
    assert sea.right_is.tolist() == DeepSea(12, jax.random.fold_in(jax.random.key(6), 1)).right_is.tolist()
    scene = config.scene()
    assert scene is not None
    assert scene.order[:12, 1].tolist() == sea.right_is.tolist()
    atari = TrainConfig(env_config("atari:pitfall"))
    assert atari.scene() is None
    with pytest.raises(TypeError, match="runs on the host"):
        atari.environment(jax.random.key(0))


@pytest.mark.parametrize(
    ("name", "every", "due", "first"),
    [
        ("open", None, [50, 100, 138], "update 50"),
        ("open", 60, [60, 120, 138], "update 60"),
        ("open", 999, [138], "update 138"),
        ("gym:A-v0", None, [50, 100, 138], "update 50"),
        ("atari:pitfall", None, [138], "5 minutes"),
        ("atari:pitfall", 60, [60, 120, 138], "update 60"),
    ],
)
def test_checkpoints_are_due_every_50_updates_or_every_5_minutes_and_at_the_end(
    name: str, every: int | None, due: list[int], first: str
) -> None:
    config = TrainConfig(env_config(name), checkpoint_every=every)
    assert config.agent.updates == 138
    assert [update for update in range(1, 139) if config.is_checkpoint_due(update, 299.0)] == due
    late = [update for update in range(1, 139) if config.is_checkpoint_due(update, 301.0)]
    assert late == (list(range(1, 139)) if first == "5 minutes" else due)
    assert config.first_checkpoint == first
