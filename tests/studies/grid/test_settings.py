import subprocess
import sys
from typing import Any

import pytest

from action_balance.errors import UserError
from action_balance.studies.grid.settings import GridSettings


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ({"runs": 0}, "--runs"),
        ({"episodes": 2**30, "episode_steps": 2}, "--episodes times --episode-steps"),
        ({"methods": ("rdn",)}, "did you mean rnd"),
        ({"studies": ("coverage", "coverage")}, "twice"),
        ({"goals": ()}, "--goals"),
        ({"goals": ((50, 1),)}, "--goals"),
        ({"size": 1}, "size"),
        ({"episode_steps": 3, "goals": ((1, 1),)}, "treasure|goal"),
    ],
)
def test_settings_that_cannot_work_are_one_line_errors(wrong: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint) as error:
        GridSettings(**wrong)
    assert "\n" not in str(error.value)


def test_goals_outside_the_world_matter_only_to_the_part_that_runs_to_them() -> None:
    assert GridSettings(goals=((50, 1),), studies=("coverage",)).goals == ((50, 1),)


def test_only_settings_of_the_papers_world_and_agent_are_comparable() -> None:
    assert GridSettings(runs=3, seed=9, goals=((1, 1),)).as_in_paper
    assert not GridSettings(size=20, goals=((1, 1),)).as_in_paper
    assert not GridSettings(action_coef=0.5).as_in_paper


def test_default_settings_load_no_jax() -> None:
    made = "from action_balance.studies.grid.settings import GridSettings; GridSettings()"
    code = f"import sys; {made}; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
