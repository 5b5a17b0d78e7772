"""Settings as pages and commands show them."""

from collections.abc import Collection, Mapping

from action_balance.errors import flag
from action_balance.files import Data


def flat(settings: Mapping[str, object], without: Collection[str] = ()) -> Data:
    """Nested settings by their own names."""
    found: Data = {}
    for name, value in settings.items():
        if name not in without and value is not None:
            found |= flat(value, without) if isinstance(value, Mapping) else {name: value}
    return found


def command_line(
    command: str, settings: Mapping[str, object], defaults: Mapping[str, object], always: Collection[str] = ()
) -> str:
    """The command that has these settings, with a flag for each that is not the default."""
    words = [command]
    for name, value in settings.items():
        if name in always or defaults.get(name) != value:
            values = value if isinstance(value, list) else [value]
            words += [flag(name), *(",".join(map(str, one)) if isinstance(one, list) else str(one) for one in values)]
    return " ".join(words)
