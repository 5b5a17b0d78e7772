"""Named sets of settings, for ``--preset``; flags override them. The method is a separate setting."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

from action_balance.config.agent import AgentConfig, BonusConfig, ImageConfig, NetConfig, PPOConfig, Preset
from action_balance.config.bonuses import bonus_parts
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import METHODS
from action_balance.config.tuned import tuned, with_values
from action_balance.errors import check_name

_RND = PPOConfig(learning_rate=1e-4)  # all other settings are the defaults
_ATARI = BonusConfig(update_proportion=0.25, warmup_rollouts=50)

#: PPO as it is commonly run on tasks of any reward scale: the numbers that the field agrees on (Schulman et al., 2017;
#: Raffin et al., 2021; Huang et al., 2022), and rewards in units of the return.
_CLASSIC = PPOConfig(
    epochs=10,
    minibatches=16,
    minibatch_of="samples",
    learning_rate=6e-4,  # its mean over a run is the 3e-4 that is common without decay
    learning_rate_end=0.0,
    max_grad_norm=0.5,
    clip=0.2,
    # Standardised advantages are as large where nothing is to be gained: without this, the policy becomes deterministic
    # before it has found a reward (MiniGrid's DoorKey-8x8 is not solved with 0.001 and is with 0.01).
    entropy_base=0.01,
    normalize_advantages=True,
    normalize_returns=True,
    bootstrap_truncation=True,
    gamma_ext=0.99,
)

_PRESETS: dict[Preset, AgentConfig] = {
    # Environments of users, whose rewards can have any scale: PPO with separate trunks and normalised returns.
    "classic": AgentConfig(
        method="rnd",
        steps=100_000,
        ppo=_CLASSIC,
        bonus=BonusConfig(update_proportion=0.25),
        net=NetConfig(trunks="separate", activation="tanh"),
    ),
    # Environments that are compiled together with the agent, of which hundreds or thousands step at once: fewer passes
    # over a large rollout than in classic. Small images have one convolution with 16 channels, as the agents of MinAtar
    # do (Young and Tian, 2019, https://arxiv.org/abs/1903.03176).
    "vectorized": AgentConfig(
        method="rnd",
        steps=2_000_000,
        envs=64,
        ppo=replace(_CLASSIC, epochs=4, minibatches=8, learning_rate=1e-3),
        bonus=BonusConfig(update_proportion=0.25),
        image=ImageConfig(channels=16, small_layers=1, features=128, trunk=128, bonus_features=128),
    ),
    # Small networks and a few environments, minutes on a laptop. These are the defaults of the classes, but
    # for the method: that of the paper is theirs.
    "study": AgentConfig(method="rnd"),
    # The same, tuned for each method where the order of actions decides, and where distances do (docs/protocol.md).
    "chains": AgentConfig(method="elliptical"),
    "rooms": AgentConfig(method="rnd"),
    # The paper's Atari experiments, as its authors ran them: 32 environments, 42 million steps, a quarter of the
    # samples for the predictors; all else as in RND.
    "atari-paper": AgentConfig(envs=32, steps=42_000_000, ppo=_RND, bonus=_ATARI),
    # RND as OpenAI ran it (Burda et al., 2019, Table 5): 128 environments, 30,000 updates (1.97 billion frames).
    "atari-rnd": AgentConfig(method="rnd", envs=128, steps=(50 + 30_000) * 128 * 128, ppo=_RND, bonus=_ATARI),
}

PRESETS: dict[str, AgentConfig] = {name: replace(agent, preset=name) for name, agent in _PRESETS.items()}


def preset_config(
    preset: str, method: str | None = None, intrinsic: str | None = None, action_bonus: str | None = None
) -> AgentConfig:
    """The settings of a preset for a method (default: the preset's), or for other bonuses in place of the method's."""
    start = PRESETS[check_name("preset", preset, PRESETS)]
    method = check_name("--method", method or start.method, METHODS)
    named = replace(start, method=method, intrinsic=intrinsic, action_bonus=action_bonus)
    changed: AgentConfig = with_values(named, tuned(preset, method, intrinsic, action_bonus))
    return changed


def with_method(
    agent: AgentConfig, method: str | None = None, intrinsic: str | None = None, action_bonus: str | None = None
) -> AgentConfig:
    """Settings with other bonuses: what they have from their preset is exchanged for what it has for these."""
    preset, old = agent.preset or "study", (agent.method, agent.intrinsic, agent.action_bonus)
    given = (method, intrinsic, action_bonus)
    before = preset_config(preset, *old)
    after = preset_config(preset, *(new or one for new, one in zip(given, old, strict=True)))
    made = _exchanged_fields(agent, before, after)
    own, names = made["bonus_settings"], (after.intrinsic_name, after.action_bonus_name)
    used = {part for name in names for part in (name, *bonus_parts(name, own.get(name, {})))}
    return replace(agent, **made | {"bonus_settings": FrozenDict({name: own[name] for name in own if name in used})})


def _exchanged_fields(ours: Any, before: Any, after: Any) -> dict[str, Any]:
    parts = ((one.name, *(getattr(it, one.name) for it in (ours, before, after))) for one in fields(ours))
    return {name: _exchanged(*three) for name, *three in parts}


def _exchanged(ours: Any, before: Any, after: Any) -> Any:
    """What a part of the settings becomes: only what was as before changes."""
    if ours == before:
        return after
    if is_dataclass(ours) and not isinstance(ours, type):
        return replace(ours, **_exchanged_fields(ours, before, after))
    if isinstance(ours, FrozenDict):
        return FrozenDict({**after, **{name: value for name, value in ours.items() if before.get(name) != value}})
    return ours


def agent_config(preset: str = "classic", **changes: Any) -> AgentConfig:
    """The settings of a preset, with changes.

    Args:
        preset: its name in `PRESETS`.
        changes: fields of `AgentConfig` that differ, e.g. ``method="ppo"``.

    Returns:
        The settings; a `UserError` if there is no such preset.
    """
    for name in changes:
        check_name("setting of the agent", name, [field.name for field in fields(AgentConfig)])
    start = preset_config(preset, *(changes.get(name) for name in ("method", "intrinsic", "action_bonus")))
    return replace(start, **changes)
