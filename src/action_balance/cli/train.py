"""The command ``train``, whose flags depend on the environment and on the bonuses."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from action_balance.cli.form import Command, Form
from action_balance.cli.parser import split
from action_balance.config.agent import METHODS
from action_balance.config.env import EnvConfig
from action_balance.config.presets import PRESETS
from action_balance.config.registry import env_class, families, known_names
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError, check_name
from action_balance.files import reason

if TYPE_CHECKING:
    from rich.console import Console

#: What the short help shows.
COMMON = (
    *("settings.agent.method", "settings.agent.intrinsic", "settings.agent.action_bonus", "preset", "config"),
    *("settings.agent.steps", "settings.agent.envs", "settings.seed", "settings.seeds", "out", "overwrite"),
    *("settings.checkpoint_every", "settings.agent.ppo.learning_rate", "settings.agent.ppo.intrinsic_coef"),
    *("settings.agent.bonus.action_coef", "settings.env"),
)
NOTE = "action-balance train ENV --help also shows the options of that environment."


@dataclass(frozen=True)
class Train(Command):
    """Train the neural agent. The run can be interrupted and resumed at any time."""

    settings: TrainConfig
    preset: str | None = None
    """Start from these settings, which flags override: study (the defaults), atari-paper or atari-rnd."""
    config: Path | None = None
    """Start from the settings of an earlier run, including its environment: its config.json or its folder."""
    out: Path | None = None
    """Folder of the run (default: runs/ENV-METHOD-SEED)."""
    overwrite: bool = False
    """Replace a run that is already in that folder."""

    @classmethod
    def form(cls, name: str, words: Sequence[str]) -> Form:
        """The flags of the environment that was typed, or of that of the earlier run."""
        variants = tuple(cls.variants(name).values())
        found, others = split({one.name: one for form in variants for one in form.flags}.values(), words)
        plain = [word for word in others if not word.startswith("-")]
        env = next((word for word in plain if _has_family(word)), plain[0] if plain else None)
        preset, config = (found[option][-1] if option in found else None for option in ("preset", "config"))
        start: dict[str, Any] = {}
        if preset and config:
            raise UserError("--preset and --config both say what to start from: choose one")
        if preset:
            start["settings.agent"] = PRESETS[check_name("preset", preset, PRESETS)]
        if config:
            start["settings"] = earlier = _earlier(Path(config))
            env = env or earlier.env.name
        return _form(name, env_class(env), start) if env else _form(name, EnvConfig, start, variants)

    @classmethod
    def variants(cls, name: str) -> dict[str, Form]:
        """The flags of every family of environments."""
        return {f"{name} {family.forms[0]}": _form(name, family, {}) for family in families()}

    def run(self, console: "Console") -> None:
        """Train."""
        from action_balance.terminal.training import train

        config = self.settings.with_defaults()
        out = self.out or Path("runs") / f"{config.env.slug}-{config.agent.method}-{config.seed}"
        train(config, out, self.overwrite, console)


def _form(name: str, family: type[EnvConfig], start: dict[str, Any], variants: tuple[Form, ...] = ()) -> Form:
    names = [form for one in families() for form in one.forms]
    return Form(
        name,
        Train,
        start,
        kinds={"settings.env": family},
        choices={"settings.env.name": known_names(), "settings.agent.method": METHODS, "preset": PRESETS},
        docs={"settings.env.name": f"{', '.join(names)}, or a family of your own: MODULE:CLASS"},
        common=COMMON,
        note=NOTE if variants else "",
        more=variants,
    )


def _has_family(name: str) -> bool:
    try:
        return bool(env_class(name))
    except UserError:
        return False


def _earlier(path: Path) -> TrainConfig:
    """The settings of an earlier run, from its folder or its config.json."""
    from action_balance.runs import read_config

    if path.is_file() and path.name != "config.json":
        try:
            json.loads(path.read_bytes())
        except OSError as error:
            raise UserError(f"cannot read {path}: {reason(error)}") from None
        except (ValueError, RecursionError):
            raise UserError(f"{path} is not the config.json of a run: give that file, or the run's folder") from None
    return TrainConfig.from_dict(read_config(path))
