"""Plain data of version 0.1.0 (run format 2) in the form of this version (run format 3)."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from action_balance.config.families import built_in
from action_balance.config.registry import load_object
from action_balance.files import Data

#: Numbers that were the same for all methods, and that the method or the bonus decides now.
_DEFAULTS = (("ppo", "entropy_coef", 0.001), ("bonus", "action_coef", 1.0))

#: The normalisation that was the default of all action bonuses.
_L2 = ("bonus", "normalize", "l2")

#: Settings of two families: only 0.1.0 wrote them together.
_BOTH = {"view", "vectorize"}

#: Settings of a Gymnasium environment from before there were action masks, all of which were written.
_UNMASKED = {"name", "env_kwargs", "wrapper", "vectorize", "stack", "reward_scale"}


def upgrade_config(data: Data) -> Data:
    """The settings of a run.

    In 0.1.0, ``env`` had the settings of all families, ``bonus.update_proportion`` was ``bonus.share``, and what the
    distillation of pairs learns from was a setting of all bonuses. Before there was ``ppo.epsilon``, defaults that the
    method decides now were stored as numbers; and so was the normalisation that the bonus decides now. Before there was
    ``env.action_masks``, all actions were allowed. Before Gymnasium environments had ``layout``, theirs was what is
    called flat now, and images kept their size.
    """
    env, agent = data.get("env"), data.get("agent")
    if isinstance(env, dict) and isinstance(env.get("name"), str) and env.keys() >= _BOTH:
        data = {**data, "env": _upgrade_env(env)}
    env = data.get("env")
    if isinstance(env, dict) and env.keys() == _UNMASKED:
        data = {**data, "env": {**env, "action_masks": "ignore"}}
    if isinstance(env, dict) and str(env.get("name")).startswith("gym:") and "layout" not in env:
        data = {**data, "env": {**data["env"], "layout": "flat", "max_image_side": 0}}
    if not isinstance(agent, dict) or not all(isinstance(agent.get(group), dict) for group in ("ppo", "bonus")):
        return data
    defaults: list[tuple[str, str, Any]] = [] if "epsilon" in agent["ppo"] else [*_DEFAULTS]
    if agent["bonus"].get("normalize") == _L2[-1] and agent.get("action_bonus") != "ucb":
        defaults.append(_L2)
    if "share" in agent["bonus"]:
        agent = _upgrade_agent(agent)
    return {**data, "agent": _without(agent, defaults)} if defaults else data


def _upgrade_env(env: Data) -> Data:
    family = built_in(env["name"])
    if family is None:  # of a user: 0.1.0 had none
        return env
    own = {field.name: field.default for field in fields(load_object(family))}
    # A size that was not chosen was null, also where the default is a number now.
    return {name: value for name, value in env.items() if name in own and not (value is None and own[name] is not None)}


def _upgrade_agent(agent: Data) -> Data:
    bonus = {"update_proportion" if name == "share" else name: value for name, value in agent["bonus"].items()}
    learns_from = bonus.pop("learns_from", "taken")
    settings = {} if learns_from == "taken" else {"distillation": {"learns_from": learns_from}}
    return {**agent, "bonus": bonus, "bonus_settings": settings}


def _without(agent: Data, defaults: Iterable[tuple[str, str, Any]]) -> Data:
    """The settings of an agent, of which the default ones are not given."""
    agent = dict(agent)
    for group, name, default in defaults:
        if isinstance(agent.get(group), dict) and agent[group].get(name) == default:
            agent[group] = {**agent[group], name: None}
    return agent


def upgrade_env_spec(seen: Any, config: Data) -> Data | None:
    """The specification of a run's environment.

    0.1.0 recorded it as ``seen``, for Gymnasium environments only, and without the stack.
    """
    try:
        actions = seen["actions"]
        image = seen["dtype"] == "uint8"
        return {
            "kind": "image-stack" if image else "vector-stack",
            "shape": [config["env"].get("stack", 1), *seen["shape"]],
            "nvec": actions if isinstance(actions, list) else [actions],
            "dtype": seen["dtype"],
            "states": 0,
            "parts": seen["parts"],
            "normalize_obs": not image,
        }
    except (AttributeError, KeyError, TypeError):
        return None
