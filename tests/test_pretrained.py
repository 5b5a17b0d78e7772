"""The agents in the repository: small files that the documented commands have made. The examples in docs play them."""

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

import action_balance as ab
from action_balance.cli.main import parse
from action_balance.cli.train import Train
from action_balance.config.agent import HostConfig

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "pretrained").glob("*.agent"))
PAGE = (ROOT / "docs" / "pretrained.md").read_text()
COMMANDS = {
    words[1]: words
    for line in PAGE.replace("\\\n", " ").splitlines()
    if (words := shlex.split(line)[1:] if line.startswith("action-balance train ") else [])
}


def test_every_agent_is_documented() -> None:
    assert {path.name for path in FILES} == set(re.findall(r"^\| `([\w-]+\.agent)`", PAGE, re.MULTILINE))
    assert len(COMMANDS) == len(FILES) == 4


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_agent_is_small_and_has_the_settings_of_its_command(path: Path) -> None:
    assert path.stat().st_size < 8e6
    agent = ab.load(path)
    command = parse(COMMANDS[agent.config.env.name])
    assert isinstance(command, Train)
    expected, found = command.settings, agent.config
    assert (agent.policy_only, agent.seed, agent.method) == (True, expected.seed, expected.agent.label)
    assert found.env == expected.env
    # The steps of the files do not include the warm-up.
    known = replace(found.agent, host=HostConfig(), steps=expected.agent.steps)
    assert known == replace(expected.agent.policy_only(), host=HostConfig())
