"""The command ``train``, whose flags depend on the environment and on the bonuses."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from action_balance.cli.form import Command, Flag, Form, Locate
from action_balance.cli.parser import split, without
from action_balance.cli.print_config import Kind, setting, settings_text, with_kind
from action_balance.config.agent import ADAPTS, AgentConfig, BonusConfig
from action_balance.config.bonuses import Counter, bonus_parts, bonus_settings
from action_balance.config.cluster import ClusterConfig
from action_balance.config.env import EnvConfig
from action_balance.config.families import FAMILIES, built_in
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import (
    ACTION_BONUSES,
    AUTO,
    INTRINSIC_BONUSES,
    METHODS,
    NONE,
    WITHOUT_NETWORKS,
    Method,
)
from action_balance.config.presets import PRESETS
from action_balance.config.registry import env_class, families, known_names
from action_balance.config.train import TrainConfig
from action_balance.config.trust import FAMILY, NAME, OF_GYMNASIUM
from action_balance.errors import UserError, check_name, flag
from action_balance.files import Data
from action_balance.reading import Damaged, is_file, read_json
from action_balance.tracking.base import Name, TrackConfig

if TYPE_CHECKING:
    from rich.console import Console

#: Path of the settings of single bonuses.
BONUSES = "settings.agent.bonus_settings"
#: What the short help shows for every environment and every bonus.
COMMON = (
    *("settings.agent.method", "settings.agent.intrinsic", "settings.agent.action_bonus", "settings.agent.preset"),
    *("config", "trust", "print_config"),
    *("settings.agent.steps", "settings.agent.envs", "settings.seed", "settings.seeds", "out", "overwrite", "track"),
    *(
        "settings.stop_when",
        "settings.checkpoint_every",
        "settings.devices",
        "settings.agent.ppo.learning_rate",
        "settings.agent.ppo.intrinsic_coef",
    ),
    *("settings.agent.bonus.action_coef", "settings.env"),
)
#: Settings of an agent that not every method uses, by what they need.
NETWORKS = ("bonus.update_proportion", "net.bonus_hidden", "net.bonus_outputs", "net.predictor_layers")
NEEDS = {
    "a bonus with networks": (*NETWORKS, "image.bonus_features"),
    "a next-state bonus": ("ppo.intrinsic_coef", "ppo.gamma_int", "ppo.intrinsic_ends"),
    "--action-coef auto": tuple(f"bonus.{name}" for name in ADAPTS),
    "--memory gru": ("memory_units",),
    "--memory none": ("ppo.minibatch_of",),
}
#: Flags that have no effect without another one.
ALONE = {"trust": "config", "track_project": "track"}
#: Help texts that list names.
DOCS = {
    "settings.env.name": "{}, or your own environment family as MODULE:CLASS",
    "settings.agent.method": "Exploration method, which selects the bonuses: {}",
    "settings.agent.intrinsic": "Next-state bonus, overriding the method's: {}, or your own as MODULE:CLASS",
    "settings.agent.action_bonus": ("Action bonus, overriding the method's: {}, or your own as MODULE:CLASS"),
    "settings.agent.preset": "Named settings to start from, which flags override: {}",
}
NOTE = (
    "Run action-balance train ENV --help to see the options of an environment, and add --method, --intrinsic or "
    "--action-bonus to see those of the bonuses."
)


@dataclass(frozen=True)
class Train(Command):
    """Train the neural agent. The run can be interrupted and resumed at any time."""

    settings: TrainConfig
    config: Path | None = None
    """Start from the settings in a TOML or JSON file, which needs only what differs from the defaults, or from an
    earlier run, given as its config.json or its folder. Flags override these settings."""
    trust: bool = False
    """With --config: import the modules named in the file or the earlier run, which runs their code."""
    print_config: Kind | None = None
    """Print all settings and exit, as TOML unless json follows. --config reads them back."""
    out: Path | None = None
    """Folder of the run (default: runs/ENV-METHOD-SEED). With --on ray, each of several seeds is a run of its own, in
    OUT-SEED."""
    overwrite: bool = False
    """Replace the run that is already in that folder."""
    track: tuple[Name, ...] = field(default=(), metadata={"action": "append"})
    """Also send settings and metrics to this tracker; can be repeated. TensorBoard event files are written whenever
    TensorBoard is installed."""
    track_project: str | None = None
    """With --track: project to log the run to (default: action-balance)."""
    cluster: ClusterConfig = field(default_factory=ClusterConfig)

    @classmethod
    def expand(cls, name: str, words: Sequence[str]) -> tuple[list[str], Locate]:
        """Replace ``--config my.toml`` by what is in the file."""
        words = with_kind(list(words), "--print-config")
        flags = {one.name: one for form in cls.variants(name).values() for one in form.flags}
        found, others = split(flags.values(), words)
        path = Path(found["config"][-1]) if found.get("config") else None
        if path is None:
            return words, lambda error: error
        from action_balance.config.settings_file import is_settings_file

        if not is_settings_file(path):
            return words, lambda error: error
        from action_balance.cli.config_file import file_words

        env = _environment(others)
        approved = None if found.get("trust") else lambda config: _typed(config, env, found)
        typed = without(words, {"--config": 1, "--trust": 0, "--no-trust": 0})
        made = file_words(path, typed, env is not None, partial(cls.form, name), flags.values(), approved)
        return [*made.words, *typed], made.located

    @classmethod
    def form(cls, name: str, words: Sequence[str]) -> Form:
        """The flags of the environment that was typed, or of that of the earlier run."""
        variants = tuple(cls.variants(name).values())
        flags = {one.name: one for form in variants for one in form.flags}
        found, others = split(flags.values(), words)
        env = _environment(others)
        typed = {path: raw[-1] for path, raw in found.items() if isinstance(raw, list) and raw}
        start = _start(typed.get("settings.agent.preset"), typed.get("config"), env, found)
        if env is None and "settings" in start:
            env = start["settings"].env.name
        agent = start["settings.agent"]
        chosen = {one: typed.get(f"settings.agent.{one}") for one in ("method", "intrinsic", "action_bonus")}
        preset = METHODS.get(chosen["method"] or agent.method, METHODS[agent.method])
        names = (
            chosen["intrinsic"] or agent.intrinsic or preset.intrinsic,
            chosen["action_bonus"] or agent.action_bonus or preset.action_bonus,
        )
        given = {one.path: one.value(found[one.path]) for one in flags.values() if one.path in found and _is_bonus(one)}
        bonuses = _bonuses(agent, preset, names, given)
        used = {one: settings for one, settings in agent.bonus_settings.items() if one in bonuses}
        start[BONUSES] = FrozenDict(used)
        picked = names if chosen["method"] else tuple(filter(None, (chosen["intrinsic"], chosen["action_bonus"])))
        common = [f"{BONUSES}.{one}" for one in _bonuses(agent, preset, picked, given)]
        coefs = (typed.get("settings.agent.bonus.action_coef"), agent.bonus.action_coef, preset.action_coef)
        adapts = next(one for one in coefs if one is not None) == AUTO
        if adapts:
            common.append("settings.agent.bonus.target_kl")
        if _family(env) is EnvConfig or _family(env).engine == "device":
            common.append("settings.agent.memory")
        if env is None:
            return _form(name, EnvConfig, start, bonuses, common, variants)
        if not adapts:  # what an earlier run adapted to has no effect
            start |= {f"settings.agent.bonus.{one}": getattr(BonusConfig, one) for one in ADAPTS}
        remembers = (typed.get("settings.agent.memory") or agent.memory) != NONE
        if remembers:
            env_class(env).check_memory()
        unused = _unused(*names, bonuses, adapts, remembers)
        unused |= {path: f"--{other}" for path, other in ALONE.items() if other not in typed}
        return replace(_form(name, env_class(env), start, bonuses, common), unused=unused)

    @classmethod
    def variants(cls, name: str) -> dict[str, Form]:
        """The flags of every family of environments, and of every bonus."""
        return dict(_variants(name))

    @property
    def is_light(self) -> bool:
        """Whether the settings are printed only."""
        return self.print_config is not None

    def load(self) -> Callable[["Console"], None]:
        """Import the training."""
        if self.print_config is not None:
            return partial(_print_config, self, self.print_config)
        label = re.sub(r"[^\w.+-]", "-", self.settings.agent.label)
        out, track = Path("runs") / f"{self.settings.env.slug}-{label}", TrackConfig(self.track, self.track_project)
        if self.cluster.is_wanted:
            from action_balance.studies.seeds import train_seeds

            single = out.with_name(f"{out.name}-{self.settings.seed}") if self.settings.seeds == 1 else out
            return partial(train_seeds, self.settings, self.out or single, self.overwrite, track, self.cluster)
        from action_balance.terminal.training import train

        out = self.out or out.with_name(f"{out.name}-{self.settings.seed}")
        return partial(train, self.settings.with_defaults(), out, self.overwrite, track)


@cache  # thousands of flags, which every word that is typed is compared with
def _variants(name: str) -> dict[str, Form]:
    found = {f"{name} {family.forms[0]}": _form(name, family, {}, {}) for family in families()}
    for option, bonuses in (("--intrinsic", INTRINSIC_BONUSES), ("--action-bonus", ACTION_BONUSES)):
        found |= {f"{name} {option} {bonus}": form for bonus in bonuses if (form := _bonus_form(name, bonus))}
    for counter in get_args(Counter):
        if form := _bonus_form(name, counter):
            found[f"{name} --action-bonus ucb --counter {counter}"] = form
    return found


def _print_config(command: Train, kind: Kind, console: "Console") -> None:
    from action_balance.terminal.console import say

    agent = command.settings.agent
    chosen = {one: getattr(agent, one) for one in ("preset", "method", "intrinsic", "action_bonus", "memory")}
    words = [command.settings.env.name, *(f"--track={name}" for name in command.track)]
    for name, value in {**chosen, "action_coef": agent.bonus.action_coef}.items():
        words += [f"{flag(name)}={value}"] if value is not None else []
    form = Train.form("train", words)
    words += [f"{one.name}={value}" for one in form.flags if _is_bonus(one) and (value := setting(command, one.path))]
    say(console, *settings_text(Train.form("train", words), command, kind).splitlines())


def _environment(others: Sequence[str]) -> str | None:
    """The environment among the words that follow no flag."""
    plain = [word for word in others if not word.startswith("-")]
    return next((word for word in plain if _has_family(word)), plain[0] if plain else None)


def _start(preset: str | None, config: str | None, env: str | None, found: Mapping[str, Any]) -> dict[str, Any]:
    """What the settings start from, by path, given the environment and all flags that were typed."""
    if preset and config:
        raise UserError("--preset and --config both set what to start from: use only one of them")
    if preset:
        return {"settings.agent": PRESETS[check_name("preset", preset, PRESETS)]}
    if config:
        earlier = _earlier(Path(config), env, found)
        return {"settings": earlier, "settings.agent": earlier.agent}
    return {"settings.agent": PRESETS[_family(env).preset]}


def _unused(intrinsic: str, action_bonus: str, bonuses: Iterable[str], adapts: bool, remembers: bool) -> dict[str, str]:
    """The flags that have no effect with two bonuses, and c and the memory as they are, by path, each with what it
    would need."""
    missing = {
        "a bonus with networks": {intrinsic, action_bonus, *bonuses} <= WITHOUT_NETWORKS,
        "a next-state bonus": intrinsic == NONE,
        "--action-coef auto": not adapts,
        "--memory gru": not remembers,
        "--memory none": remembers,
    }
    return {f"settings.agent.{path}": need for need, paths in NEEDS.items() if missing[need] for path in paths}


def _is_bonus(one: Flag) -> bool:
    return one.path.startswith(f"{BONUSES}.")


def _bonuses(agent: AgentConfig, preset: Method, names: tuple[str, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of the bonuses in use, and of what they are made of, by name, as they are before flags change them; only
    of those that have any. ``given`` has the settings of built-in bonuses that flags change, by path."""

    def before(name: str) -> dict[str, Any]:
        return {**preset.bonus_settings.get(name, {}), **agent.bonus_settings.get(name, {})}

    def after(name: str) -> dict[str, Any]:
        prefix = f"{BONUSES}.{name}."
        return before(name) | {path.removeprefix(prefix): given[path] for path in given if path.startswith(prefix)}

    parts = [part for name in names for part in bonus_parts(name, after(name))]
    return {name: kind(**before(name)) for name in sorted({*names, *parts}) if (kind := bonus_settings(name))}


def _form(
    name: str,
    family: type[EnvConfig],
    start: dict[str, Any],
    bonuses: dict[str, Any],
    common: Iterable[str] = (),
    variants: tuple[Form, ...] = (),
) -> Form:
    choices: dict[str, Iterable[str]] = {
        "settings.env.name": known_names(),
        "settings.agent.method": METHODS,
        "settings.agent.intrinsic": (NONE, *INTRINSIC_BONUSES),
        "settings.agent.action_bonus": (NONE, *ACTION_BONUSES),
        "settings.agent.preset": PRESETS,
    }
    listed = {path: ", ".join(names) for path, names in choices.items()}
    listed["settings.env.name"] = ", ".join(form for one in families() for form in one.forms)
    return Form(
        name,
        Train,
        start,
        kinds={"settings.env": family, BONUSES: bonuses},
        choices=choices,
        docs={path: DOCS[path].format(names) for path, names in listed.items()},
        common=(*COMMON, *common),
        note=NOTE if variants else "",
        more=variants,
    )


def _bonus_form(name: str, bonus: str) -> Form | None:
    """The flags of one bonus, in any environment; None if it has none."""
    kind = bonus_settings(bonus)
    return _form(name, EnvConfig, {}, {bonus: kind()}) if kind else None


def _family(name: str | None) -> type[EnvConfig]:
    """The family of an environment; `EnvConfig` where the name is unknown or missing, which is reported elsewhere."""
    try:
        return EnvConfig if name is None else env_class(name)
    except UserError:
        return EnvConfig


def _has_family(name: str) -> bool:
    return _family(name) is not EnvConfig


def _earlier(path: Path, env: str | None, found: Mapping[str, Any]) -> TrainConfig:
    """The settings of an earlier run, from its folder or its config.json. What was typed replaces them."""
    from action_balance.runs import read_config

    if is_file(path) and path.name != "config.json":
        try:
            read_json(path, "the config.json of a run")
        except Damaged:
            raise UserError(f"{path} is not the config.json of a run: give that file or the run's folder") from None
    data = read_config(path)
    return TrainConfig.from_dict(data, bool(found.get("trust")), _typed(data, env, found), typing=True)


def _typed(data: Data, env: str | None, found: Mapping[str, Any]) -> set[str]:
    """The settings and names that were typed, which replace those of a file."""
    typed = {one.removeprefix("settings.") for one in found}
    if env is not None:
        typed.add(env)
        before = data["env"].get("name") if isinstance(data.get("env"), dict) else None
        if before != env:
            typed |= {FAMILY, NAME}
        if built_in(env) != FAMILIES["gym:"]:  # no setting of a Gymnasium environment is kept
            typed |= {*OF_GYMNASIUM}
    return typed
