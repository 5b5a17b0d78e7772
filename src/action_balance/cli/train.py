"""The command ``train``, whose flags depend on the environment and on the bonuses."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from action_balance.cli.config_file import form_with_file, is_settings_file
from action_balance.cli.form import Command, Flag, Form
from action_balance.cli.parser import sort_words
from action_balance.cli.print_config import Kind, setting, settings_text
from action_balance.config.agent import AgentConfig
from action_balance.config.algorithm import ALGORITHMS, DEFAULT
from action_balance.config.bonuses import Counter, bonus_parts, bonus_settings
from action_balance.config.cluster import ClusterConfig
from action_balance.config.env import EnvConfig
from action_balance.config.exploration import ADAPTS, ExplorationConfig
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
from action_balance.config.presets import preset_config, with_method
from action_balance.config.registry import algorithm_class, env_class, families, known_names
from action_balance.config.train import TrainConfig
from action_balance.config.trust import ALGORITHM, FAMILY, NAME, OF_GYMNASIUM
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.reading import Damaged, is_file, read_json
from action_balance.tracking.base import Name, TrackConfig

if TYPE_CHECKING:
    from rich.console import Console

#: Paths of the name of the environment, of the settings of the agent, and of those of single bonuses.
ENV, AGENT, BONUSES = "settings.env.name", "settings.agent", "settings.agent.bonus_settings"
#: What decides which flags there are, beside the environment and the settings of bonuses.
DECIDING = (
    *("config", "trust", "track"),
    *(f"{AGENT}.{name}" for name in ("preset", "method", "algorithm.name", "intrinsic", "action_bonus")),
    *(f"{AGENT}.{name}" for name in ("network.memory", "exploration.action_coef")),
)
#: What the short help shows for every environment and every bonus.
COMMON = (
    *(f"{AGENT}.{name}" for name in ("method", "intrinsic", "action_bonus", "algorithm.name", "preset")),
    *("config", "trust", "print_config"),
    *(f"{AGENT}.{name}" for name in ("steps", "envs")),
    *("settings.seed", "settings.seeds", "out", "overwrite", "track"),
    *("settings.stop_when", "settings.checkpoint_every", "settings.devices"),
    *(f"{AGENT}.{name}" for name in ("algorithm.learning_rate", "algorithm.intrinsic_coef", "exploration.action_coef")),
    "settings.env",
)
#: Flags that have no effect without another one.
ALONE = {"trust": "config", "track_project": "track"}
NOTE = (
    "Run action-balance train ENV --help to see the options of an environment, and add --method, --intrinsic or "
    "--action-bonus to see those of the bonuses."
)


@dataclass(frozen=True)
class Train(Command):
    """Train the neural agent. The run can be interrupted and resumed at any time."""

    settings: TrainConfig
    config: Path | None = field(default=None, compare=False)
    """Start from the settings in a TOML or JSON file, which needs only what differs from the defaults, or from an
    earlier run, given as its config.json or its folder. Flags override these settings."""
    trust: bool = field(default=False, compare=False)
    """With --config: import the modules named in the file or the earlier run, which runs their code."""
    print_config: Kind | None = field(default=None, metadata={"bare": "toml"})
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
    def form(
        cls,
        name: str,
        words: Sequence[str],
        also: Iterable[Flag] = (),
        as_command: Callable[[Form], Form] = lambda f: f,
    ) -> Form:
        """The flags of the environment and the bonuses that were typed, or that are in a file or an earlier run.

        A command that extends this one knows more flags ``also``, and makes its form of ours (``as_command``).
        """
        flags = _all_flags(name)
        typed = sort_words([*flags.values(), *also], words)
        chosen = {path: flags[path].value(found) for path, found in typed.words.items() if _decides(path)}
        if (env := _environment(typed.others)) is not None:
            chosen[ENV] = env

        def make(chosen: Mapping[str, Any]) -> Form:
            return as_command(_form_for(name, chosen, {*typed.words}))

        config = chosen.get("config")
        if config is None or not is_settings_file(config):
            return make(chosen)
        approved = (
            None
            if chosen.get("trust")
            else lambda data: _typed(data, env, {*typed.words}, chosen.get(f"{AGENT}.algorithm.name"))
        )
        return form_with_file(config, {*typed.words, *chosen}, chosen, flags, make, approved)

    @classmethod
    def variants(cls, name: str) -> dict[str, Form]:
        """The flags of every family of environments, and of every bonus."""
        return dict(_variants(name))

    @property
    def is_light(self) -> bool:
        return self.print_config is not None

    def load(self) -> Callable[["Console"], None]:
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


def without_effect(bonuses: Iterable[str], intrinsic: str, adapts: bool, remembers: bool) -> dict[str, str]:
    """The settings of an agent that have no effect, by path below the agent, each with what it would need."""
    unused = dict[str, str]()
    if {*bonuses} <= WITHOUT_NETWORKS:
        names = ("bonus_hidden", "bonus_outputs", "predictor_layers", "bonus_features")
        networks = ("exploration.update_proportion", *(f"network.{name}" for name in names))
        unused |= dict.fromkeys(networks, "a bonus with networks")
    if intrinsic == NONE:
        streams = [f"algorithm.{name}" for name in ("intrinsic_coef", "gamma_int", "intrinsic_ends")]
        unused |= dict.fromkeys(streams, "a next-state bonus")
    if not adapts:
        unused |= {f"exploration.{name}": "--action-coef auto" for name in ADAPTS}
    other = {"algorithm.minibatch_of": "--memory none"} if remembers else {"network.memory_units": "--memory gru"}
    return unused | other


def _form_for(name: str, chosen: Mapping[str, Any], typed: set[str]) -> Form:
    """The flags where these values, by path, decide which there are; some paths of flags were ``typed``."""
    start = _start(chosen, typed)
    agent: AgentConfig = start[AGENT]
    env = chosen.get(ENV, start["settings"].env.name if "settings" in start else None)
    picks = {one: chosen.get(f"{AGENT}.{one}") for one in ("method", "intrinsic", "action_bonus")}
    method = METHODS.get(picks["method"] or "", METHODS[agent.method])
    intrinsic = picks["intrinsic"] or agent.intrinsic or method.intrinsic
    action_bonus = picks["action_bonus"] or agent.action_bonus or method.action_bonus
    bonuses = _bonuses(agent, method, (intrinsic, action_bonus), chosen)
    start[BONUSES] = FrozenDict({one: settings for one, settings in agent.bonus_settings.items() if one in bonuses})
    shown = (intrinsic, action_bonus) if picks["method"] else (picks["intrinsic"], picks["action_bonus"])
    common = [f"{BONUSES}.{one}" for one in _bonuses(agent, method, shown, chosen)]
    coefs = (chosen.get(f"{AGENT}.exploration.action_coef"), agent.exploration.action_coef, method.action_coef)
    adapts = next((one for one in coefs if one is not None), None) == AUTO
    if adapts:
        common.append(f"{AGENT}.exploration.target_kl")
    if _family(env) is EnvConfig or _family(env).engine == "device":
        common.append(f"{AGENT}.network.memory")
    if env is None:
        return _form(name, EnvConfig, start, bonuses, common, note=NOTE, more=tuple(_variants(name).values()))
    if not adapts:  # what an earlier run adapted to has no effect
        start |= {f"{AGENT}.exploration.{one}": getattr(ExplorationConfig, one) for one in ADAPTS}
    remembers = chosen.get(f"{AGENT}.network.memory", agent.network.memory) != NONE
    if remembers:
        env_class(env).check_memory()
    needs = without_effect((intrinsic, action_bonus, *bonuses), intrinsic, adapts, remembers)
    unused = {f"{AGENT}.{path}": need for path, need in needs.items()}
    unused |= {path: f"--{other}" for path, other in ALONE.items() if other not in chosen}
    return _form(name, env_class(env), start, bonuses, common, unused=unused)


def _form(
    name: str,
    family: type[EnvConfig],
    start: Mapping[str, Any],
    bonuses: Mapping[str, Any],
    common: Iterable[str] = (),
    algorithm: str = DEFAULT,
    **more: Any,
) -> Form:
    kind = type(start[AGENT].algorithm) if AGENT in start else algorithm_class(algorithm)
    kinds = {"settings.env": family, f"{AGENT}.algorithm": kind, BONUSES: bonuses}
    return Form(name, Train, start, kinds, {ENV: known_names()}, (*COMMON, *common), **more)


@cache
def _variants(name: str) -> dict[str, Form]:
    """The flags of every family of environments, and of every bonus, by how the command is given."""
    found = {f"{name} {family.forms[0]}": _form(name, family, {}, {}) for family in families()}
    for one in ALGORITHMS:
        found[f"{name} --algorithm {one}"] = _form(name, EnvConfig, {}, {}, algorithm=one)
    options = {f"--intrinsic {one}": one for one in INTRINSIC_BONUSES}
    options |= {f"--action-bonus {one}": one for one in ACTION_BONUSES}
    options |= {f"--action-bonus ucb --counter {one}": one for one in get_args(Counter)}
    for option, bonus in options.items():
        if kind := bonus_settings(bonus):
            found[f"{name} {option}"] = _form(name, EnvConfig, {}, {bonus: kind()})
    return found


@cache  # thousands of flags
def _all_flags(name: str) -> dict[str, Flag]:
    """One flag of every name, by path."""
    names = {one.name: one for form in _variants(name).values() for one in form.flags}
    return {one.path: one for one in names.values()}


def _decides(path: str) -> bool:
    return path in DECIDING or path.startswith(f"{BONUSES}.")


def _start(chosen: Mapping[str, Any], typed: set[str]) -> dict[str, Any]:
    """What the settings start from, by path: an earlier run, a preset, or the family's preset."""
    preset, config, env = chosen.get(f"{AGENT}.preset"), chosen.get("config"), chosen.get(ENV)
    names = [chosen.get(f"{AGENT}.{name}") for name in ("method", "intrinsic", "action_bonus", "algorithm.name")]
    if config is not None and not is_settings_file(config):
        if preset is not None:
            raise UserError("--preset and --config both set what to start from: use only one of them")
        earlier = _earlier(config, env, typed, names[3], bool(chosen.get("trust")))
        return {"settings": earlier, AGENT: with_method(earlier.agent, *names)}
    return {AGENT: preset_config(preset or _family(env).preset_of(env or ""), *names)}


def _bonuses(
    agent: AgentConfig, method: Method, names: Iterable[str | None], chosen: Mapping[str, Any]
) -> dict[str, Any]:
    """Settings of bonuses, and of what they are made of, by name, as they are before flags change them; only of those
    that have any."""

    def before(name: str) -> dict[str, Any]:
        return {**method.bonus_settings.get(name, {}), **agent.bonus_settings.get(name, {})}

    def after(name: str) -> dict[str, Any]:
        prefix = f"{BONUSES}.{name}."
        return before(name) | {path.removeprefix(prefix): chosen[path] for path in chosen if path.startswith(prefix)}

    own = {name for name in names if name}
    parts = {part for name in own for part in bonus_parts(name, after(name))}
    return {name: kind(**before(name)) for name in sorted(own | parts) if (kind := bonus_settings(name))}


def _environment(others: Sequence[str]) -> str | None:
    """The environment among the words that follow no flag."""
    plain = [word for word in others if not word.startswith("-")]
    return next((word for word in plain if _family(word) is not EnvConfig), plain[0] if plain else None)


def _family(name: str | None) -> type[EnvConfig]:
    """The family of an environment; `EnvConfig` where the name is unknown or missing, which is reported elsewhere."""
    try:
        return EnvConfig if name is None else env_class(name)
    except UserError:
        return EnvConfig


def _earlier(path: Path, env: str | None, typed: set[str], algorithm: str | None, trust: bool) -> TrainConfig:
    """The settings of an earlier run, from its folder or its config.json. What was typed replaces them."""
    from action_balance.runs import read_config

    if is_file(path) and path.name != "config.json":
        try:
            read_json(path, "the config.json of a run")
        except Damaged:
            raise UserError(f"{path} is not the config.json of a run: give that file or the run's folder") from None
    data = read_config(path)
    return TrainConfig.from_dict(data, trust, _typed(data, env, typed, algorithm), typing=True)


def _typed(data: Data, env: str | None, typed: set[str], algorithm: str | None) -> set[str]:
    """The settings and names that were typed, which replace those of a file."""
    found = {path.removeprefix("settings.") for path in typed}
    if algorithm is not None and setting(data, ALGORITHM) == algorithm:
        found = {*found, algorithm} - {ALGORITHM}  # the same one, with its settings
    if env is not None:
        found.add(env)
        before = data["env"].get("name") if isinstance(data.get("env"), dict) else None
        if before != env:
            found |= {FAMILY, NAME}
        if built_in(env) != FAMILIES["gym:"]:  # no setting of a Gymnasium environment is kept
            found |= {*OF_GYMNASIUM}
    return found


def _print_config(command: Train, kind: Kind, console: "Console") -> None:
    from action_balance.terminal.console import say

    settings = _flatten(command.settings.agent.bonus_settings)
    chosen = {path: value for path in DECIDING if path != "config" and (value := setting(command, path))}
    form = _form_for("train", {**chosen, ENV: command.settings.env.name, **settings}, set())
    say(console, *settings_text(form, command, kind).splitlines())


def _flatten(settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Settings of single bonuses by path."""
    return {f"{BONUSES}.{bonus}.{name}": value for bonus, own in settings.items() for name, value in own.items()}
