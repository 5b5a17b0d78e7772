"""Text that is safe to show: names and values that somebody else chose cannot break a line or control the terminal."""

#: Most characters of a line; more are left out of its middle, because advice comes last.
MAX = 2000


def printable(text: str) -> str:
    """Text as one line without control characters."""
    if len(text) > MAX:
        text = f"{text[: MAX // 2]} ... {text[-MAX // 2 :]}"
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def printable_lines(text: str) -> str:
    """Text without control characters; its lines stay lines."""
    return "\n".join(map(printable, text.split("\n")))
