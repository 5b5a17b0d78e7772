"""A run folder of a stranger: no command executes or imports what its files name, unless the user trusts it."""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from command import call

import action_balance
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder

#: A module that leaves a trace when it is imported, and when something in it is called.
MODULE = """
from pathlib import Path
from gymnasium import Env, Wrapper

def trace(*_, **__):
    Path(__file__).with_name("owned").touch()

trace()
make = Family = Bonus = trace
"""

GYM = {"name": "gym:CartPole-v1"}
#: What the config of a stranger may name: settings of the environment, and of the agent.
ATTACKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a command": ({"name": "gym:os:system", "env_kwargs": '{"command": "touch owned"}'}, {}),
    "a command in a call": ({"name": "gym:subprocess:call", "env_kwargs": '{"args": ["touch", "owned"]}'}, {}),
    "an evaluation": ({"name": "gym:builtins:eval"}, {}),
    "an exit": ({"name": "gym:sys:exit"}, {}),
    "a function": ({"name": "gym:stranger:make"}, {}),
    "a registration": ({"name": "gym:stranger:Stranger-v0"}, {}),
    "a family": ({"name": "stranger:Family"}, {}),
    "a family like a known one": ({"name": "gymnasium:stranger", "size": 3}, {}),
    "a wrapper": (GYM | {"wrapper": ["gymnasium.wrappers:FlattenObservation", "stranger:Wrap"]}, {}),
    "an argument": (GYM | {"env_kwargs": '{"env_id": "stranger:Stranger-v0"}'}, {}),
    "a next-state bonus": ({"name": "open"}, {"intrinsic": "stranger:Bonus"}),
    "an action bonus": ({"name": "open"}, {"action_bonus": "stranger:Bonus"}),
    "settings of a bonus": (
        {"name": "open"},
        {"intrinsic": "stranger:Bonus", "bonus_settings": {"stranger:Bonus": {"width": 3}}},
    ),
}
#: What is refused whatever the user says.
NEVER: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "settings of another bonus": ({"name": "open"}, {"bonus_settings": {"stranger:Bonus": {"width": 3}}}),
    "a counter": ({"name": "open"}, {"action_bonus": "ucb", "bonus_settings": {"ucb": {"counter": "stranger:Bonus"}}}),
    "a method": ({"name": "open"}, {"method": "stranger:Bonus"}),
}


class Asked:
    """Notes every module that something tries to import."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        del path, target
        self.names.append(name.partition(".")[0])
        return None


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """The current folder is a stranger's, with modules that must not be imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stranger.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", [*sys.path])
    found = Asked()
    monkeypatch.setattr(sys, "meta_path", [found, *sys.meta_path])
    yield found
    sys.modules.pop("stranger", None)


def hostile(path: Path, env: dict[str, Any], agent: dict[str, Any]) -> Path:
    """A run of a stranger that was interrupted after an update, without a checksum of its config."""
    config = TrainConfig(env_config("open", size=3)).to_dict()
    config |= {"env": env, "agent": config["agent"] | agent}
    folder = RunFolder.create(path, config, ["stranger"])
    row = {"update": 1, "seed": 0, "steps": 1024, "episode_return": 1.0, "first_reward": -1, "states": 0}
    folder.metrics().append([row], {"update": 1, "steps_per_second": 1.0})
    del folder.manifest["config_sha256"]
    folder.finish("interrupted")
    return path


def error_of(words: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert call(*words) == 2, words
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def assert_untouched(folder: Path, asked: Asked) -> None:
    assert not list(folder.rglob("owned"))
    assert "stranger" not in asked.names
    assert "stranger" not in sys.modules


@pytest.mark.parametrize("attack", [*ATTACKS, *NEVER])
def test_no_command_imports_or_calls_what_a_run_names(
    attack: str, tmp_path: Path, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    run = hostile(tmp_path / "run", *(ATTACKS | NEVER)[attack])
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for words in (("resume", "run"), ("evaluate", "run"), ("train", "--config", "run", "--out", "new")):
        error = error_of(words, capsys)
        if attack in ATTACKS:
            assert "would " in error
            assert "add --trust" in error
    with pytest.raises(UserError):
        action_balance.resume(run)
    assert_untouched(tmp_path, asked)
    assert not (tmp_path / "new").exists()
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("attack", ATTACKS)
def test_any_run_is_shown_and_compared_without_importing_what_it_names(
    attack: str, tmp_path: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("action_balance.plots.drawing.save", lambda *_: None)  # a figure takes a second
    hostile(tmp_path / "run", *ATTACKS[attack])
    assert call("view", "run", "--save", "page.html") == 0
    assert call("compare", "run", "--out", "compared") == 0
    env = ATTACKS[attack][0]["name"].removeprefix("gym:")
    assert env in (tmp_path / "page.html").read_text()
    assert env in (tmp_path / "compared" / "comparison.csv").read_text()
    assert_untouched(tmp_path, asked)


@pytest.mark.parametrize("command", ["resume", "evaluate", "train"])
@pytest.mark.parametrize("attack", ["a command", "a command in a call", "an evaluation", "an exit"])
def test_functions_of_python_itself_are_never_called(
    attack: str, command: str, tmp_path: Path, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    run = hostile(tmp_path / "run", *ATTACKS[attack])
    (run / "checkpoints" / "00000001").mkdir()
    words = {"train": ("train", "--config", "run", "--out", "new", "--trust")}.get(command, (command, "run", "--trust"))
    assert "part of Python" in error_of(words, capsys)
    assert "part of Python" in error_of(("train", ATTACKS[attack][0]["name"], "--out", "new"), capsys)
    assert_untouched(tmp_path, asked)


def test_what_is_trusted_is_imported_also_from_the_current_folder(
    tmp_path: Path, asked: Asked, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile(tmp_path / "run", *ATTACKS["a function"])
    assert importlib.util.find_spec("stranger") is None  # the current folder is not searched before that
    for words in (("train", "--config", "run", "--trust"), ("train", "gym:stranger:make", "--config", "run")):
        assert "is not a gymnasium.Env: it is a NoneType" in error_of(words, capsys)
        assert (tmp_path / "owned").exists()
        (tmp_path / "owned").unlink()
        sys.modules.pop("stranger", None)
    assert sys.path[-1] == str(tmp_path)
    assert asked.names.count("stranger") >= 2


def test_a_function_of_the_user_takes_the_place_of_a_gymnasium_environment_only(tmp_path: Path, asked: Asked) -> None:
    def make() -> Any:
        raise ZeroDivisionError

    for attack, match in (
        ("a function", "cannot be created: ZeroDivisionError"),
        ("a family", "import the module stranger"),
    ):
        run = hostile(tmp_path / attack, *ATTACKS[attack])
        with pytest.raises(UserError, match=match):
            action_balance.resume(run, make)
    run = hostile(tmp_path / "both", ATTACKS["a function"][0], {"intrinsic": "stranger:Bonus"})
    with pytest.raises(UserError, match="the bonus stranger:Bonus, which would import the module stranger"):
        action_balance.resume(run, make)
    assert_untouched(tmp_path, asked)


def test_a_study_does_not_continue_a_run_that_names_modules(tmp_path: Path, asked: Asked) -> None:
    from action_balance.studies.atari.records import AtariRecord
    from action_balance.studies.records import read_records
    from action_balance.studies.run_job import is_finished

    for number, (env, agent) in enumerate(ATTACKS.values()):
        run = hostile(tmp_path / "runs" / str(number), env, agent)
        with pytest.raises(UserError, match="contains a run with different settings"):
            is_finished(run, TrainConfig(env_config("open", size=3)))
    records, notes = read_records(
        tmp_path, AtariRecord, lambda _, config: config.env.name == "atari:pitfall", unfinished=True
    )
    assert (records, len(notes)) == ([], len(ATTACKS))
    assert_untouched(tmp_path, asked)
