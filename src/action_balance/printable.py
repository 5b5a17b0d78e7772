"""Text that is safe to show: names and values that somebody else chose cannot break a line or control the terminal."""

#: Most characters of a line; more are left out of its middle, because advice comes last.
MAX = 2000

#: Bytes of a file name that are not UTF-8 are these characters in a string.
_ESCAPED_BYTES = range(0xDC80, 0xDD00)


def printable(text: str, most: int = MAX) -> str:
    r"""Text as one line without control characters."""
    if len(text) > most:  # first, because a text may be very long
        half = (most - 5) // 2
        text = f"{text[:half]} ... {text[-half:]}"
    return text if text.isprintable() else "".join(map(_shown, text))


def printable_lines(text: str) -> str:
    """Text without control characters; its lines stay lines."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if ord(character) in _ESCAPED_BYTES:
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
