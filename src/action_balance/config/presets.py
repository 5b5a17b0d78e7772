"""Named sets of settings, for ``--preset``; flags override them. The method is a separate setting, and so is the
algorithm, whose own part of a preset is in its folder."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from action_balance.config.agent import AgentConfig, Preset
from action_balance.config.algorithm import DEFAULT, AlgorithmConfig
from action_balance.config.bonuses import bonus_parts
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import METHODS
from action_balance.config.network import NetworkConfig
from action_balance.config.registry import algorithm_class
from action_balance.config.tuned import tuned, with_values
from action_balance.errors import check_name

_ATARI = ExplorationConfig(update_proportion=0.25, warmup_rollouts=50)

_PRESETS: dict[Preset, AgentConfig] = {
    # Environments of users, whose rewards can have any scale.
    "classic": AgentConfig(method="rnd", steps=100_000, exploration=ExplorationConfig(update_proportion=0.25)),
    # Environments that are compiled together with the agent, of which hundreds or thousands step at once: fewer passes
    # over a large rollout than in classic. Small images have one convolution with 16 channels, as the agents of MinAtar
    # do (Young and Tian, 2019, https://arxiv.org/abs/1903.03176).
    "vectorized": AgentConfig(
        method="rnd",
        steps=2_000_000,
        envs=64,
        exploration=ExplorationConfig(update_proportion=0.25),
        network=NetworkConfig(channels=16, small_layers=1, features=128, trunk=128, bonus_features=128),
    ),
    # Small networks and a few environments, minutes on a laptop. These are the defaults of the classes, but
    # for the method: that of the paper is theirs.
    "study": AgentConfig(method="rnd"),
    # The same, tuned for each method where the order of actions decides, and where distances do (docs/protocol.md).
    "chains": AgentConfig(method="elliptical"),
    "rooms": AgentConfig(method="rnd"),
    # The paper's Atari experiments, as its authors ran them: 32 environments, 42 million steps, a quarter of the
    # samples for the predictors; all else as in RND.
    "atari-paper": AgentConfig(envs=32, steps=42_000_000, exploration=_ATARI),
    # RND as OpenAI ran it (Burda et al., 2019, Table 5): 128 environments, 30,000 updates (1.97 billion frames).
    "atari-rnd": AgentConfig(method="rnd", envs=128, steps=(50 + 30_000) * 128 * 128, exploration=_ATARI),
}


def with_algorithm(preset: Preset, algorithm: AlgorithmConfig) -> AgentConfig:
    """A preset with an algorithm, and with what that sets in it."""
    plain = replace(_PRESETS[preset], preset=preset, algorithm=type(algorithm)(algorithm.name))
    made: AgentConfig = with_values(plain, algorithm.presets.get(preset, {}))
    return made


#: The presets with the default algorithm.
PRESETS: dict[str, AgentConfig] = {name: with_algorithm(name, agent.algorithm) for name, agent in _PRESETS.items()}


def preset_config(
    preset: str,
    method: str | None = None,
    intrinsic: str | None = None,
    action_bonus: str | None = None,
    algorithm: str | AlgorithmConfig | None = None,
) -> AgentConfig:
    """The settings of a preset for a method (default: the preset's), or for other bonuses in place of the method's, and
    for an algorithm (default: the method's, or the first of all)."""
    start = PRESETS[check_name("preset", preset, PRESETS)]
    method = check_name("--method", method or start.method, METHODS)
    algorithm = algorithm or METHODS[method].algorithm or DEFAULT
    if isinstance(algorithm, str):
        algorithm = algorithm_class(algorithm)(algorithm)
    own = with_algorithm(start.preset or "study", algorithm)
    named = replace(own, method=method, intrinsic=intrinsic, action_bonus=action_bonus)
    changed: AgentConfig = with_values(named, tuned(preset, method, intrinsic, action_bonus, algorithm.name))
    return changed


def with_method(
    agent: AgentConfig,
    method: str | None = None,
    intrinsic: str | None = None,
    action_bonus: str | None = None,
    algorithm: str | None = None,
) -> AgentConfig:
    """Settings with other bonuses, or another algorithm: what they have from their preset is exchanged for what it has
    for these."""
    old = (agent.method, agent.intrinsic, agent.action_bonus, agent.algorithm)
    wanted = algorithm or METHODS[method or agent.method].algorithm
    preset, given = agent.preset or "study", (method, intrinsic, action_bonus)
    before = preset_config(preset, *old)
    method, intrinsic, action_bonus = (new or one for new, one in zip(given, old[:3], strict=True))
    after = preset_config(preset, method, intrinsic, action_bonus, wanted or agent.algorithm)
    made = _exchanged_fields(agent, before, after)
    own, names = made["bonus_settings"], (after.intrinsic_name, after.action_bonus_name)
    used = {part for name in names for part in (name, *bonus_parts(name, own.get(name, {})))}
    return replace(agent, **made | {"bonus_settings": FrozenDict({name: own[name] for name in own if name in used})})


def _exchanged_fields(ours: Any, before: Any, after: Any) -> dict[str, Any]:
    shared = [one.name for one in fields(after) if hasattr(ours, one.name)]
    return {name: _exchanged(*(getattr(it, name) for it in (ours, before, after))) for name in shared}


def _exchanged(ours: Any, before: Any, after: Any) -> Any:
    """What a part of the settings becomes: only what was as before changes."""
    if ours == before:
        return after
    if is_dataclass(ours) and not isinstance(ours, type):
        return replace(after, **_exchanged_fields(ours, before, after))
    if isinstance(ours, FrozenDict):
        return FrozenDict({**after, **{name: value for name, value in ours.items() if before.get(name) != value}})
    return ours


def agent_config(preset: str = "classic", **changes: Any) -> AgentConfig:
    """The settings of a preset, with changes.

    Args:
        preset: its name in `PRESETS`.
        changes: fields of `AgentConfig` that differ, e.g. ``method="ppo"``. ``algorithm`` may be a name: then its
            settings are those that it has in the preset.

    Returns:
        The settings; a `UserError` if there is no such preset.
    """
    for name in changes:
        check_name("setting of the agent", name, [field.name for field in fields(AgentConfig)])
    algorithm = changes.get("algorithm")
    if isinstance(algorithm, str):
        del changes["algorithm"]
    named = algorithm if isinstance(algorithm, str | AlgorithmConfig) else None
    method, intrinsic, action_bonus = (changes.get(name) for name in ("method", "intrinsic", "action_bonus"))
    start = preset_config(preset, method, intrinsic, action_bonus, named)
    return replace(start, **changes)
