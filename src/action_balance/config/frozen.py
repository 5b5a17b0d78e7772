"""A dictionary that never changes and can be hashed, for settings whose fields only a plug-in knows."""

from typing import Any, NoReturn


class FrozenDict(dict[str, Any]):
    """Plain data by name; nested dictionaries and lists are frozen, too."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__({name: _frozen(value) for name, value in dict(*args, **kwargs).items()})

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)  # a copy is made at once, not entry by entry

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("settings cannot be changed: create new ones")

    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return FrozenDict(value)
    return tuple(_frozen(item) for item in value) if isinstance(value, list | tuple) else value
