"""Configs: the config and the manifest of a real run, mutated or hostile, given to every command that reads them.

Nothing that such a file names may be imported or executed.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from campaign import hostile
from campaign.context import CaseContext
from campaign.fixtures import possible
from campaign.processes import ROOM
from campaign.snapshots import lost, snapshot

RUNS = ("sea-half", "pole-half", "sea", "pole")
#: The other run of a comparison, where its environment is installed.
INTACT = ("pole", "sea")
#: Proportion of real commands, which have an interpreter of their own.
REAL = 0.03


def commands(run: str = "run") -> dict[str, tuple[str, ...]]:
    """The commands that read a config, by name."""
    return {
        "resume": ("resume", run),
        "evaluate": ("evaluate", run, "--episodes", "1"),
        "train": ("train", "--config", run, "--out", "new"),
        "view": ("view", run, "--save", "page.html"),
        "compare": ("compare", run, "intact", "--out", "compared"),
    }


def run(context: CaseContext) -> None:
    """Change the config or the manifest of a run, and give it to a command."""
    rng = context.rng
    context.plant()
    folder = context.copy(rng.choice(possible(RUNS)), "run")
    config, manifest = ((json.loads((folder / name).read_bytes())) for name in ("config.json", "manifest.json"))
    about = []
    if rng.random() < 0.25:
        about.append(attack(context, config["config"]))
        (folder / "config.json").write_text(json.dumps(config))
        _sign(context, folder, config, manifest)
    elif rng.random() < 0.75:
        content, what = hostile.json_bytes(rng, config)
        (folder / "config.json").write_bytes(content)
        about.append(f"config.json: {what}")
        _sign(context, folder, config, manifest)
    else:
        content, what = hostile.json_bytes(rng, manifest)
        (folder / "manifest.json").write_bytes(content)
        about.append(f"manifest.json: {what}")
    name = rng.choice(list(commands()))
    if name == "compare":
        context.copy(possible(INTACT)[0], "intact")
    before = snapshot(context.folder)
    ended = context.command(*commands()[name], about="; ".join(about)[:300], real=rng.random() < REAL, room=ROOM)
    context.check_canaries(ended, "; ".join(about)[:300])
    if ended.code == 2:  # what was refused is as it was
        for problem in lost(before, snapshot(context.folder)):
            context.complain(problem, ended, "; ".join(about)[:300])


def attack(context: CaseContext, config: dict[str, Any]) -> str:
    """Make a config name something that would be imported or executed.

    Args:
        context: of the case.
        config: the settings, which are changed.

    Returns:
        What was changed.
    """
    rng = context.rng
    name = rng.choice(hostile.HOSTILE_NAMES)
    arguments = {"command": "touch canary-executed", "args": ["touch", "canary-executed"]}
    gym = {"env_kwargs": json.dumps(arguments), "wrapper": [], "vectorize": "sync", "stack": 1, "reward_scale": 1.0}
    where = rng.choice(("environment", "wrapper", "intrinsic", "action_bonus", "bonus_settings", "registered"))
    match where:
        case "environment":
            config["env"] = {"name": name, **(gym if name.startswith("gym:") else {})}
        case "wrapper":
            config["env"] = {**gym, "name": "gym:CartPole-v1", "env_kwargs": "", "wrapper": [name.removeprefix("gym:")]}
        case "intrinsic" | "action_bonus":
            config["agent"][where] = name.removeprefix("gym:")
        case "bonus_settings":
            config["agent"]["bonus_settings"] = {name: {"command": "touch canary-executed"}}
        case _:
            kwargs = {"render_mode": "canary_module:go", "entry_point": name}
            config["env"] = {**gym, "name": "gym:CartPole-v1", "env_kwargs": json.dumps(kwargs)}
    return f"{where} {name}"


def _sign(context: CaseContext, folder: Path, config: dict[str, Any], manifest: dict[str, Any]) -> None:
    """Let the manifest fit a changed config, as somebody who means harm would."""
    choice = context.rng.random()
    if choice < 0.5:
        manifest.pop("config_sha256", None)
    elif choice < 0.8:
        text = json.dumps(config.get("config"), sort_keys=True)
        manifest["config_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest | {"status": "interrupted"}, indent=2))
