"""Values, JSON and bytes that nobody should have to expect, from a seeded random generator."""

import copy
import gzip
import json
import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

#: Words for any argument. A word that is not UTF-8 has its bytes as surrogates, as `os.fsdecode` makes them.
WORDS = (
    *("", " ", "-", "--", "---", "=", "--=", "0", "-0", "-1", "1e999", "1e308", "1e400", "nan", "-nan", "inf", "-inf"),
    *("NaN", "Infinity", "0x10", "1_000", "१२३", "½", "1e5", "1e-5", "1.5", "9" * 30, "9" * 400, "-" + "9" * 400),
    *("2147483647", "2147483648", "-2147483648", "4294967296", "9223372036854775807", "9223372036854775808"),
    *(
        "none",
        "None",
        "null",
        "true",
        "false",
        "auto",
        "latest",
        "best",
        "x" * 300,
        "x" * 5000,
        "ü",
        "漢字",
        "\u202eabc",
    ),
    *("[red]x[/red]", "[/x]", "x [lr=0.1]", "[bold", "[link=http://x]y[/link]", ":smile:", "{}", "{0}", "%s", "%n%n"),
    *(
        "a\nb",
        "\n",
        "\t",
        "\r",
        "a\x1b[31mb",
        "\x07",
        "\x7f",
        "\u200b",
        "\udcff\udcfe",
        "tr\udcffx",
        "\ud800"[:0] + "é",
    ),
    *(
        "../..",
        "/",
        ".",
        "..",
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/proc/self/mem",
        "/proc/1/environ",
        "~",
        "$HOME",
    ),
    *("fifo", "dir", "dir/", "zero", "loop", "dangling", "sparse", "bomb.gz", "missing", "missing/x", "map.txt"),
    *(
        "run",
        "run/",
        "run/config.json",
        "run/metrics.jsonl",
        "result",
        "a/b/c/d/e",
        "x" * 255,
        ".",
        "./run",
        "run/../run",
    ),
    *("gym:os:system", "gym:sys:exit", "gym:canary_module:go", "os:system", "canary_module:Thing", "this:d", "gym:"),
    *("gym:CartPole-v1", "gym:Nothing-v0", "atari:pong", "atari:", "atari:nothing", ":", "::", "deep-sea", "open"),
    *(
        "1,2",
        "1,2,3",
        ",",
        "1,",
        "0,0",
        "-1,-1",
        "a,b",
        "1e9,1e9",
        "1 2",
        "'",
        '"',
        "\\",
        "`id`",
        "$(id)",
        ";",
        "|",
        "&",
    ),
)

#: Numbers for JSON files; the last ones are beyond what Python or JSON can hold.
NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 3, 7, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 10**18, 10**40, -(10**18)),
    *(0.0, -0.0, 0.5, -0.5, 1.5, 1e-300, 1e300, 1e308, -1e308, math.nan, math.inf, -math.inf),
)
#: Names that import or call something when they are believed.
HOSTILE_NAMES = (
    *("gym:os:system", "gym:sys:exit", "gym:canary_module:go", "gym:subprocess:run", "gym:this:d", "os:system"),
    *("canary_module:Thing", "canary_module:go", "antigravity:geohash", "gym:canary_module:Env-v0", "builtins:exec"),
    *("gym:turtledemo:x", "idlelib.idle:x", "gym:canary_module.sub:go", "../canary_module:go", "gym:builtins:eval"),
)
STRINGS = (
    "",
    "x",
    "\x00",
    "x" * 10_000,
    "\u202e",
    "[red]",
    "\n",
    "../../x",
    "/etc/passwd",
    "nan",
    "inf",
    "action-balance run",
)
#: Depth of nested lists that no parser should follow.
DEPTH = 100_000


def word(rng: random.Random) -> str:
    """Any word."""
    if rng.random() < 0.85:
        return rng.choice(WORDS)
    alphabet = "abcAZ019.,:;-_=/[]{}()'\"\\$&|<>*?!~ \t\nüß漢\x1b\u202e\udc80\udcff"
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 20)))


def value(rng: random.Random) -> Any:
    """Any JSON value."""
    kinds: Sequence[Callable[[], Any]] = (
        lambda: rng.choice(NUMBERS),
        lambda: rng.choice(STRINGS),
        lambda: rng.choice(HOSTILE_NAMES),
        lambda: rng.choice((None, True, False)),
        lambda: [value(rng) for _ in range(rng.randint(0, 3))],
        lambda: {rng.choice(STRINGS): value(rng) for _ in range(rng.randint(0, 3))},
    )
    return rng.choice(kinds)()


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside plain data."""
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from _places(child, (*path, key))


def mutated(rng: random.Random, data: Any) -> tuple[Any, str]:
    """Plain data with one change.

    Args:
        rng: random numbers.
        data: the plain data, which stays as it is.

    Returns:
        The changed data, and what was changed.
    """
    data = copy.deepcopy(data)
    places = list(_places(data))
    if not places:
        return value(rng), "everything"
    path = rng.choice(places)
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    name, key, old = ".".join(map(str, path)), path[-1], parent[path[-1]]
    match rng.randrange(6):
        case 0:
            parent[key], done = _other_type(rng, old), "another type"
        case 1:
            parent[key], done = value(rng), "any value"
        case 2:
            del parent[key]
            done = "removed"
        case 3:
            target = parent if isinstance(parent, dict) else data if isinstance(data, dict) else {}
            target[rng.choice(("extra", "", "__class__", "x" * 1000, "\x1b[2J"))], done = value(rng), "an extra entry"
        case 4:
            parent[key], done = rng.choice(HOSTILE_NAMES) if isinstance(old, str) else rng.choice(NUMBERS), "hostile"
        case _:
            other = rng.choice(places)
            found = data
            for step in other:
                found = found[step]
            parent[key], done = copy.deepcopy(found), f"the value of {'.'.join(map(str, other))}"
    return data, f"{name}: {done}"


def _other_type(rng: random.Random, old: Any) -> Any:
    """The same value as another type, where it has one."""
    return rng.choice(
        [str(old), [old], {"value": old}, None, not old, 0 if isinstance(old, (str, dict, list)) else "x"]
    )


def json_bytes(rng: random.Random, data: Any) -> tuple[bytes, str]:
    """Plain data as a JSON file with something wrong with it.

    Args:
        rng: random numbers.
        data: the plain data.

    Returns:
        The file, and what is wrong with it.
    """
    if rng.random() < 0.8:
        done = []
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            data, what = mutated(rng, data)
            done.append(what)
        return json.dumps(data, indent=2).encode("utf-8", "surrogatepass"), "; ".join(done)
    text = json.dumps(data, indent=2)
    nested = rng.choice(
        ('{"config": ' + "[" * DEPTH + "]" * DEPTH + "}", "[" * DEPTH, '{"a":' * DEPTH + "1" + "}" * DEPTH)
    )
    choices: Sequence[tuple[bytes, str]] = (
        (nested.encode(), "nested deeply"),
        (text.replace('"format"', f'"x": {nested}, "format"', 1).encode(), "an entry nested deeply"),
        (text.replace(": 8", ": " + "9" * 5000).encode(), "a number of 5,000 digits"),
        (text.replace(": 8", ": 1e999").encode(), "a number beyond float"),
        (b"\xef\xbb\xbf" + text.encode(), "a byte order mark"),
        (text.encode("utf-16"), "UTF-16"),
        (text.encode()[: rng.randrange(len(text))], "cut off"),
        (b"", "empty"),
        (b"\x00" * 1000, "zeros"),
        (b"null", "null"),
        (text.replace("{", '{"format": 1, "format": 2, ', 1).encode(), "an entry twice"),
        (text.encode() + b"\x00trailing", "more after its end"),
    )
    return rng.choice(choices)


def damaged_bytes(rng: random.Random, content: bytes) -> tuple[bytes, str]:
    """The content of a file with damage.

    Args:
        rng: random numbers.
        content: the content.

    Returns:
        The damaged content, and what was done to it.
    """
    if not content:
        return rng.randbytes(50), "random bytes"
    name = rng.choice(list(DAMAGE))
    return DAMAGE[name](rng, content), name


def _flip(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _replace(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.randint(2, 50)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _cut(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content))]


def _gap(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content))
    return content[:place] + content[place + rng.randint(1, max(1, len(content) // 4)) :]


def _zeros(rng: random.Random, content: bytes) -> bytes:
    place = rng.randrange(len(content))
    end = min(len(content), place + rng.randint(1, max(1, len(content) // 4)))
    return content[:place] + bytes(end - place) + content[end:]


def _more(rng: random.Random, content: bytes) -> bytes:
    return content + rng.randbytes(rng.randint(1, 1000))


def _reverse(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    return b"".join([*lines[:place], *lines[place:][::-1]])


def _repeat(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    return b"".join([*lines[:place], lines[place], *lines[place:]])


def _junk(rng: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    place = rng.randrange(len(lines))
    return b"".join([*lines[:place], b'{"update": ' + rng.choice(JUNK) + b"}\n", *lines[place:]])


#: Kinds of damage to the content of a file.
DAMAGE: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "a bit flipped": _flip,
    "bytes replaced": _replace,
    "cut off": _cut,
    "bytes missing": _gap,
    "zeros": _zeros,
    "more bytes at its end": _more,
    "lines reversed": _reverse,
    "a line twice": _repeat,
    "a line of junk": _junk,
}


#: Values for an entry of a row that is not one.
JUNK = (
    b'1, "steps": 1e999',
    b"null",
    b'99999999999999999999, "steps": 1',
    b"[" * 5000,
    b'1, "steps": 1, "seed": []',
    b'"x"',
)


def replacements() -> dict[str, Callable[[Path], None]]:
    """What can be put in the place of a file, by name."""

    def fifo(path: Path) -> None:
        os.mkfifo(path)

    def link(target: str) -> Callable[[Path], None]:
        return lambda path: path.symlink_to(target)

    def sparse(path: Path) -> None:
        path.touch()
        os.truncate(path, 3 * 2**30)

    return {
        "a FIFO": fifo,
        "a folder": lambda path: path.mkdir(),
        "nothing": lambda _: None,
        "an empty file": lambda path: path.touch(),
        "a link to /dev/zero": link("/dev/zero"),
        "a link to itself": lambda path: path.symlink_to(path.name),
        "a link to nothing": link("nowhere/at/all"),
        "a link that leads out": link("../../outside/secret"),
        "a sparse file of 3 GB": sparse,
        "a compressed file of 3 GB": bomb,
    }


def bomb(path: Path) -> None:
    """A small compressed file of 3 GB: many members of zeros."""
    path.write_bytes(_zeros_member() * 300)


@cache
def _zeros_member() -> bytes:
    """10 MB of zeros as a compressed file, of which any number can follow each other."""
    return gzip.compress(bytes(10**7))


def map_text(rng: random.Random) -> bytes:
    """A map of a grid world, right, nearly right or wild."""
    alphabet = rng.choice(
        ("#.S", "#.SG", "#..S.G", "#.SGx", ". ", "#", "S", "#.SG\t\r", "#.SG\x00", "ü.S#", "#.SG\x1b")
    )
    if rng.random() < 0.4:
        alphabet = rng.choice(("#...", "....", "#..G", "##."))
    width, height = rng.choice((1, 2, 5, 8, 8, 30)), rng.choice((0, 1, 2, 5, 8, 30))
    rows = ["".join(rng.choice(alphabet) for _ in range(width)) for _ in range(height)]
    if rng.random() < 0.7 and rows:
        inside = ["#" + row[1:-1].replace("S", ".") + "#" for row in rows]
        start = rng.randrange(len(inside))
        inside[start] = inside[start][:1] + "S" + inside[start][2:]
        rows = ["#" * width, *inside, "#" * width]
    if rng.random() < 0.2 and rows:
        rows[rng.randrange(len(rows))] += rng.choice((".", "#" * 50, " ", "\u202e", "S"))
    text = rng.choice(("\n", "\n", "\n", "\r\n", "\n\n", "\r")).join(rows)
    content = text.encode()
    match rng.randrange(12):
        case 0:
            return b"\xff\xfe" + content
        case 1:
            return b"\xef\xbb\xbf" + content
        case 2:
            return content * 2000
        case 3:
            return damaged_bytes(rng, content)[0]
        case 4:
            return b"#" * 10**6
        case _:
            return content + rng.choice((b"\n", b""))
