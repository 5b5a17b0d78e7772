"""Arrays as text, and JSON inside a page."""

import base64
import json
import zlib

import numpy as np
import pytest

from action_balance.packing import packed, script_json, unpacked


@pytest.mark.parametrize(
    ("numbers", "kind", "content"),
    [
        ([0, 1, 255], "Uint8", b"\x00\x01\xff"),
        ([1, 256], "Uint16", b"\x01\x00\x00\x01"),
        ([65536], "Uint32", b"\x00\x00\x01\x00"),
        ([], "Uint8", b""),
    ],
)
def test_whole_numbers_take_as_few_bytes_as_hold_them(numbers: list[int], kind: str, content: bytes) -> None:
    made = packed(np.array(numbers, np.int64))
    assert made["type"] == kind
    assert zlib.decompress(base64.b64decode(made["data"])) == content
    assert unpacked(made).tolist() == numbers


def test_other_numbers_are_floats_row_by_row() -> None:
    made = packed(np.array([[1.0, -2.5], [0.0, 3.0]]).T)
    assert made["type"] == "Float32"
    assert unpacked(made).tolist() == [1.0, 0.0, -2.5, 3.0]


def test_negative_whole_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="non-negative"):
        packed(np.array([-1]))


def test_no_value_ends_the_script_it_is_in() -> None:
    hostile = {"</script><script>": "<!-- & ]]> \u2028"}
    text = script_json(hostile)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == hostile


def test_a_short_text_that_expands_to_many_numbers_is_refused() -> None:
    made = packed(np.zeros(100_000, int))
    assert len(made["data"]) < 200
    assert unpacked(made, most=100_000).sum() == 0
    with pytest.raises(ValueError, match="more than 99,999"):
        unpacked(made, most=99_999)
    with pytest.raises(ValueError, match="cut off"):
        unpacked({**made, "data": made["data"][:-20]})
    with pytest.raises(ValueError, match=r"."):
        unpacked({**made, "data": "AAAA"})
