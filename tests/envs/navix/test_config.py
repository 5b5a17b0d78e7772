import pytest

from action_balance.config.registry import env_config
from action_balance.envs.library.adapter import quiet
from action_balance.envs.navix.config import NAMES, NavixConfig, NavixObservation
from action_balance.errors import UserError


def test_all_names_of_the_library_are_known_without_it() -> None:
    with quiet():
        import navix

    assert sorted(NAMES) == sorted(navix.registry())
    assert "navix:Navix-DoorKey-8x8-v0" in NavixConfig.names()


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"name": "navix:"}, "needs the name of an environment, e.g. navix:Navix-DoorKey-8x8-v0"),
        ({"name": "navix:Navix-Empty-5x5-v0", "observation": "symbols"}, r"did you mean symbolic\?"),
    ],
)
def test_settings_that_do_not_fit_are_one_line(settings: dict[str, str], hint: str) -> None:
    with pytest.raises(UserError, match=hint) as error:
        env_config(**settings)
    assert "\n" not in str(error.value)


def test_a_task_without_a_solution_is_announced() -> None:
    assert NavixConfig("navix:Navix-KeyCorridorS3R3-v0").describe().endswith("use xminigrid:KeyCorridor-S3R3")
    assert not NavixConfig("navix:Navix-DoorKey-8x8-v0").describe()


@pytest.mark.parametrize(
    ("observation", "shape", "categories"),
    [
        ("symbolic", (5, 5, 3), (11, 6, 4)),
        ("rgb", (40, 40, 3), ()),
    ],
)
def test_observations_are_symbols_or_images(
    observation: NavixObservation, shape: tuple[int, ...], categories: tuple[int, ...]
) -> None:
    spec = NavixConfig("navix:Navix-Empty-5x5-v0", observation=observation).spec
    assert (spec.shape, spec.categories, spec.dtype, spec.nvec) == (shape, categories, "uint8", (7,))
    assert spec.kind == ("symbolic" if categories else "image")
