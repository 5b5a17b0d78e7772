"""Names of environments of a library."""

from collections.abc import Collection

from action_balance.errors import UserError, nearest


def check_library_name(name: str, prefix: str, known: Collection[str]) -> None:
    """Raise a `UserError` with a suggestion if a library has no environment of a name."""
    wanted = name.removeprefix(prefix)
    if wanted in known:
        return
    exact = {one.lower(): one for one in known}
    begins = [one for one in known if wanted and one.lower().startswith(wanted.lower())]
    near = exact.get(wanted.lower()) or next(iter(begins), None) or nearest(wanted, known)
    hint = f"did you mean {prefix}{near}?" if near else "see action-balance list tasks"
    raise UserError(f"unknown environment '{name}': {hint}")


def suggest_name(prefix: str, name: str, known: Collection[str]) -> str | None:
    """The name of an environment that someone meant who left out the prefix."""
    return f"{prefix}{name}" if name in known else None
