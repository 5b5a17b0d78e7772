"""``import action_balance.gym`` makes our worlds known to Gymnasium.

`gymnasium.make` and `gymnasium.make_vec` then know ``ActionBalance/Grid-v0``, ``ActionBalance/Corridor-v0`` and
``ActionBalance/DeepSea-v0``; their options are the arguments of the functions in `action_balance.envs.tables`.
"""

from action_balance.files import missing

try:
    import gymnasium
except ModuleNotFoundError:
    raise ImportError(str(missing("gymnasium", "action_balance.gym", "gym"))) from None

#: The environments: the class of one, and the function that makes N.
_WORLDS = {"Grid": "grid_vector", "Corridor": "corridor_vector", "DeepSea": "deep_sea_vector"}

for _name, _vector in _WORLDS.items():
    gymnasium.register(
        f"ActionBalance/{_name}-v0",
        entry_point=f"action_balance.interop.gym_worlds:{_name}",
        vector_entry_point=f"action_balance.interop.gym_worlds:{_vector}",
    )
