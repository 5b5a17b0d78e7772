"""The built-in environment families: where their classes are, by name."""

#: Where the class of each family is, by name or, with a colon, by the beginning of its names.
FAMILIES = {
    "open": "action_balance.envs.grid.config:GridConfig",
    "goal": "action_balance.envs.grid.config:GridConfig",
    "corridor": "action_balance.envs.grid.config:GridConfig",
    "deep-sea": "action_balance.envs.deep_sea.config:DeepSeaConfig",
    "lock": "action_balance.envs.lock.config:LockConfig",
    "atari:": "action_balance.envs.atari.config:AtariConfig",
    "gym:": "action_balance.envs.gymnasium.config:GymnasiumConfig",
    "gymnax:": "action_balance.envs.gymnax.config:GymnaxConfig",
    "craftax:": "action_balance.envs.craftax.config:CraftaxConfig",
    "navix:": "action_balance.envs.navix.config:NavixConfig",
    "xminigrid:": "action_balance.envs.xminigrid.config:XMiniGridConfig",
}


def built_in(name: str) -> str | None:
    """The built-in family of an environment."""
    for alias, path in FAMILIES.items():
        if name == alias.rstrip(":") or (alias.endswith(":") and name.startswith(alias)):
            return path
    return None


def is_own(name: str) -> bool:
    """Whether an environment has a family of a user, ``MODULE:CLASS``."""
    return built_in(name) is None and ":" in name.strip(":")
