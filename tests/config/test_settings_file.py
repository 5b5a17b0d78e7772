"""Files of settings that people write: read as plain data, whoever wrote them."""

from pathlib import Path
from typing import Any

import pytest

from action_balance.config import settings_file
from action_balance.config.settings_file import entries, is_settings_file, read_settings
from action_balance.errors import UserError

CONTENT: dict[str, str] = {
    "a.toml": '# mine\nseed = 3\n\n[agent.ppo]\nclip = 0.2\n"learning_rate" = 1e-3\n',
    "a.json": '{\n  "seed": 3,\n  "agent": {"ppo": {\n    "clip": 0.2,\n    "learning_rate": 0.001}}}\n',
}
LINES = {"a.toml": (2, 5, 6), "a.json": (2, 4, 5)}


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


@pytest.mark.parametrize("name", CONTENT)
def test_entries_have_their_tables_their_value_and_their_line(name: str, tmp_path: Path) -> None:
    found = {one.name: (one.value, one.line) for one in entries(write(tmp_path / name, CONTENT[name]))}
    seed, clip, rate = LINES[name]
    assert found["seed"] == (3, seed)
    assert found["agent.ppo.clip"] == (0.2, clip)
    assert found["agent.ppo.learning_rate"] == (0.001, rate)


@pytest.mark.parametrize(
    ("name", "content", "is_one"),
    [
        ("a.toml", "", True),
        ("a.json", "{}", True),
        ("a.json", '{"format": "action-balance run"}', False),
        ("config.json", "{}", False),
        ("a.txt", "", False),
    ],
)
def test_a_run_and_its_config_are_no_settings_of_a_person(
    name: str, content: str, is_one: bool, tmp_path: Path
) -> None:
    assert is_settings_file(write(tmp_path / name, content)) is is_one


def test_an_empty_file_has_no_settings(tmp_path: Path) -> None:
    assert read_settings(write(tmp_path / "a.toml", "")) == {}


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("a.toml", "seed = [", "cannot be read as TOML"),
        ("a.toml", "seed = 1\nseed = 2", "cannot be read as TOML"),
        ("a.toml", "seed = " + "[" * 100_000, "too many nested tables"),
        ("a.toml", "seed = " + "9" * 5000, "cannot be read as TOML"),
        ("a.toml", "# " + "x" * 300_000, "300,002 bytes"),
        ("a.json", "[1]", "has no named settings"),
        ("a.json", '{"a": NaN}', "not a finite number"),
        ("missing.toml", None, "No such file"),
    ],
)
def test_a_file_that_holds_something_else_is_one_line(name: str, content: Any, hint: str, tmp_path: Path) -> None:
    if content is not None:
        write(tmp_path / name, content)
    with pytest.raises(UserError) as error:
        read_settings(tmp_path / name)
    assert name in str(error.value)
    assert hint in str(error.value)
    assert "\n" not in str(error.value)


def test_lines_are_looked_for_when_an_entry_is_refused_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_file, "_line", lambda lines, key: pytest.fail(f"{key} in {len(lines)} lines"))
    assert len(entries(write(tmp_path / "a.toml", "\n".join(f"k{i} = 1" for i in range(5000))))) == 5000


def test_a_setting_that_is_spelled_in_two_ways_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('{"learning-rate": 0.1, "learning_rate": 0.2}')
    with pytest.raises(UserError, match="learning-rate and learning_rate, which are the same setting"):
        entries(tmp_path / "one.json")
