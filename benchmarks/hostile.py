"""Words, JSON, damaged bytes and replaced files that nobody should have to expect, from a seeded random generator."""

import copy
import gzip
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

#: Words for any argument. A word that is not UTF-8 has its bytes as surrogates, as `os.fsdecode` makes them.
WORDS = (
    *("", " ", "-", "--", "--=", "0", "-0", "-1", "1e999", "1e308", "nan", "-inf", "NaN", "0x10", "1_000", "१२३"),
    *("1e5", "1.5", "9" * 30, "9" * 400, "2147483648", "9223372036854775808", "none", "null", "true", "auto", "best"),
    *("x" * 300, "x" * 5000, "ü", "漢字", "\u202eabc", "[red]x[/red]", "[/x]", "{0}", "%s", "a\nb", "\t", "a\x1b[31mb"),
    *("\x7f", "\udcff\udcfe", "../..", "/", ".", "/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem", "~", "$HOME"),
    *("fifo", "dir", "zero", "loop", "dangling", "sparse", "bomb.gz", "missing/x", "map.txt", "run", "run/config.json"),
    *("result", "x" * 255, "run/../run", "gym:os:system", "gym:canary_module:go", "os:system", "canary_module:Thing"),
    *("gym:", "gym:CartPole-v1", "gym:Nothing-v0", "atari:", "atari:nothing", ":", "deep-sea", "1,2", ",", "0,0"),
    *("-1,-1", "a,b", "1e9,1e9", "'", '"', "\\", "`id`", "$(id)", ";", "|", "&"),
)
#: Names that import or call something when they are believed.
HOSTILE_NAMES = (
    *("gym:os:system", "gym:sys:exit", "gym:canary_module:go", "gym:subprocess:run", "gym:this:d", "os:system"),
    *("canary_module:Thing", "canary_module:go", "antigravity:geohash", "gym:canary_module:Env-v0", "builtins:exec"),
    *("idlelib.idle:x", "gym:canary_module.sub:go", "../canary_module:go"),
)
#: Values for JSON files; some numbers are beyond what Python or JSON can hold.
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 3, 2**31, 2**53 + 1, 2**63, 10**40, 0.5, -0.5, 1e308, math.nan, math.inf, None, True, False),
    *("", "x", "\x00", "x" * 10_000, "\u202e", "[red]", "\n", "../../x", "/etc/passwd", "nan", [], {}, [[1]]),
)


def word(rng: Random) -> str:
    if rng.random() < 0.85:
        return rng.choice(WORDS)
    alphabet = "abcAZ019.,:;-_=/[]{}()'\"\\$&|<>*?!~ \t\nüß漢\x1b\u202e\udc80\udcff"
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 20)))


def _places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all values inside plain data."""
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, child in children:
        yield (*path, key)
        yield from _places(child, (*path, key))


def mutated(rng: Random, data: Any) -> tuple[Any, str]:
    """Plain data with one change, and what was changed."""
    data = copy.deepcopy(data)
    path = rng.choice(list(_places(data)))
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    key, old = path[-1], parent[path[-1]]
    match rng.randrange(4):
        case 0:
            parent[key] = rng.choice([str(old), [old], {"value": old}, not old, 0])
        case 1:
            parent[key] = rng.choice(VALUES)
        case 2:
            del parent[key]
        case _:
            parent[key] = rng.choice(HOSTILE_NAMES) if isinstance(old, str) else rng.choice(VALUES)
    return data, ".".join(map(str, path))


def json_bytes(rng: Random, data: Any) -> tuple[bytes, str]:
    """Plain data as a JSON file with something wrong with it, and what that is."""
    if rng.random() < 0.8:
        done = []
        for _ in range(rng.choice((1, 1, 2, 4))):
            data, what = mutated(rng, data)
            done.append(what)
        return json.dumps(data).encode("utf-8", "surrogatepass"), ", ".join(done)
    text = json.dumps(data, indent=2)
    choices = {
        "nested deeply": b"[" * 100_000,
        "a number of 5,000 digits": text.replace(": 8", ": " + "9" * 5000).encode(),
        "a number beyond float": text.replace(": 8", ": 1e999").encode(),
        "UTF-16": text.encode("utf-16"),
        "cut off": text.encode()[: rng.randrange(len(text))],
        "empty": b"",
        "zeros": b"\x00" * 1000,
        "null": b"null",
    }
    what = rng.choice(list(choices))
    return choices[what], what


def damaged_bytes(rng: Random, content: bytes) -> tuple[bytes, str]:
    """The content of a file with damage, and what was done to it."""
    place, lines = rng.randrange(len(content) or 1), content.splitlines(keepends=True)
    line, gap = rng.randrange(len(lines) or 1), rng.randint(1, max(1, len(content) // 4))
    flipped = bytes([content[place] ^ (1 << rng.randrange(8))]) if content else b"x"
    junk = rng.choice((b'1, "steps": 1e999', b"null", b'99999999999999999999, "steps": 1', b"[" * 5000, b'"x"'))
    choices = {
        "a bit flipped": content[:place] + flipped + content[place + 1 :],
        "cut off": content[:place],
        "bytes missing": content[:place] + content[place + gap :],
        "zeros": content[:place] + bytes(min(gap, len(content) - place)) + content[place + gap :],
        "more bytes at its end": content + rng.randbytes(rng.randint(1, 1000)),
        "lines reversed": b"".join([*lines[:line], *lines[line:][::-1]]),
        "a line twice": b"".join([*lines[: line + 1], *lines[line:]]),
        "a line of junk": b"".join([*lines[:line], b'{"update": ' + junk + b"}\n", *lines[line:]]),
    }
    what = rng.choice(list(choices))
    return choices[what], what


def sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 * 2**30)


def bomb(path: Path) -> None:
    """A small compressed file of 3 GB: many members of zeros."""
    path.write_bytes(gzip.compress(bytes(10**7)) * 300)


#: What can be put in the place of a file, by name.
REPLACEMENTS: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a folder": Path.mkdir,
    "nothing": lambda _: None,
    "an empty file": Path.touch,
    "a link to /dev/zero": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("nowhere/at/all"),
    "a link that leads out": lambda path: path.symlink_to("../../outside/secret"),
    "a sparse file of 3 GB": sparse,
    "a compressed file of 3 GB": bomb,
}


def map_text(rng: Random) -> bytes:
    """A map of a grid world, right, nearly right or wild."""
    alphabet = rng.choice(("#...", "....", "#..G", "#.S", "#.SGx", "S", "#.SG\t\r", "#.SG\x00", "ü.S#", "#.SG\x1b"))
    width, height = rng.choice((1, 2, 5, 8, 30)), rng.choice((0, 1, 2, 5, 8, 30))
    rows = ["".join(rng.choice(alphabet) for _ in range(width)) for _ in range(height)]
    if rng.random() < 0.7 and rows:
        inside = [f"#{row[1:-1].replace('S', '.')}#" for row in rows]
        rows = ["#" * width, f"#S{rows[0][2:-1]}#", *inside, "#" * width]
    content = rng.choice(("\n", "\n", "\r\n", "\n\n")).join(rows).encode()
    return rng.choice((content, content, content, b"\xff\xfe" + content, content * 2000, b"#" * 10**6))
