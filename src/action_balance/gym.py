"""``import action_balance.gym`` registers the grid worlds and the deep sea with Gymnasium.

`gymnasium.make` and `gymnasium.make_vec` then accept ``ActionBalance/Grid-v0``, ``ActionBalance/Corridor-v0`` and
``ActionBalance/DeepSea-v0`` with the arguments of the functions in `action_balance.envs.tables`.
"""

from action_balance.files import missing

try:
    import gymnasium
except ModuleNotFoundError:
    raise ImportError(str(missing("gymnasium", "action_balance.gym", "gym"))) from None

#: Class of a single environment, and the function that makes a vector environment.
_WORLDS = {"Grid": "grid_vector", "Corridor": "corridor_vector", "DeepSea": "deep_sea_vector"}

for _name, _vector in _WORLDS.items():
    gymnasium.register(
        f"ActionBalance/{_name}-v0",
        entry_point=f"action_balance.interop.gym_worlds:{_name}",
        vector_entry_point=f"action_balance.interop.gym_worlds:{_vector}",
    )
