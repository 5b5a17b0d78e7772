"""Which settings vary, and their values."""

import math

import pytest
from sweeps import BASE, RATE

from action_balance.cli.sweep import _settings
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.studies.sweep.space import Choice, Range, Setting, Space, find_setting, parse_space

KNOWN = list(_settings(BASE))


def parsed(*words: str, base: TrainConfig = BASE) -> Space:
    return parse_space(words, list(_settings(base)), base)


def test_values_have_the_type_of_their_setting() -> None:
    words = (
        "algorithm.epochs=2,4",
        "algorithm.clip=0.1,1",
        "algorithm.normalize_returns=true,false",
        "algorithm.entropy_coef=none,0.01",
    )
    assert [axis.values for axis in parsed(*words).axes] == [(2, 4), (0.1, 1.0), (True, False), (None, 0.01)]


def test_ranges_are_uniform_or_logarithmic_and_whole_where_the_setting_is() -> None:
    words = (
        "algorithm.gamma_ext=0.9:0.99",
        "algorithm.learning_rate=log:1e-4:1e-2",
        "network.hidden=16:64",
        "network.layers=log:1:8",
    )
    assert parsed(*words).axes == (
        Range("algorithm.gamma_ext", 0.9, 0.99),
        Range("algorithm.learning_rate", 1e-4, 1e-2, log=True),
        Range("network.hidden", 16, 64, whole=True),
        Range("network.layers", 1, 8, log=True, whole=True),
    )


def test_a_setting_is_found_by_its_place_or_by_its_flag() -> None:
    for name in (
        "algorithm.learning_rate",
        "agent.algorithm.learning_rate",
        "learning_rate",
        "learning-rate",
        "--learning-rate",
    ):
        assert find_setting(name, KNOWN).name == RATE


def test_settings_of_the_environment_and_of_bonuses_can_vary() -> None:
    base = TrainConfig(env_config("deep-sea", size=4), BASE.agent.__class__(method="action-balance-hash"))
    space = parsed("env.size=4,5", "bonus_settings.hash.hash_bits=8:16", base=base)
    made = space.apply(base, {"env.size": 5, "bonus_settings.hash.hash_bits": 9})
    assert made.env == env_config("deep-sea", size=5)
    assert made.agent.settings_of("hash") == {"hash_bits": 9}
    assert (made.agent.algorithm, made.seed) == (base.agent.algorithm, base.seed)


def test_a_name_that_several_settings_have_is_ambiguous() -> None:
    known = [Setting(f"{group}.size", f"--{group}-size", int, int) for group in ("a", "b")]
    with pytest.raises(UserError, match=r"ambiguous: choose from a\.size, b\.size"):
        find_setting("size", known)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("algorithm.learning_rat=1,2", "did you mean algorithm.learning_rate"),
        ("algorithm.epochs", "NAME=VALUES"),
        ("algorithm.epochs=4", "needs several values"),
        ("algorithm.epochs=4,4", "none of them twice"),
        ("algorithm.epochs=1.5,2", "--epochs takes a whole number"),
        ("algorithm.clip=a:b", "--clip takes a number"),
        ("algorithm.clip=0.3:0.1", "not a range"),
        ("algorithm.clip=log:0:0.1", "not a range"),
        ("algorithm.clip=0.1:0.2:0.3", "not a range"),
        ("algorithm.clip=0:inf", "with finite numbers"),
        ("algorithm.clip=0:1", "--clip must be above 0"),
        ("algorithm.minibatches=5,3", "3 minibatches do not divide 10 environments"),
        ("network.channels=8,16", "no images"),
        ("exploration.action_coef=1,2", "no action bonus"),
        ("env.name=open,deep-sea", "unknown setting"),
    ],
)
def test_what_makes_no_sense_is_one_line(word: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        parsed(word)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_setting_is_given_once() -> None:
    with pytest.raises(UserError, match=r"algorithm\.clip 2 times"):
        parsed("algorithm.clip=0.1,0.2", "clip=0.1:0.2")


def test_a_value_is_possible_if_another_setting_makes_it_so() -> None:
    space = parsed("algorithm.minibatches=5,3", "envs=10,9")
    assert space.apply(BASE, {"algorithm.minibatches": 3, "envs": 9}).agent.envs == 9
    with pytest.raises(UserError, match="do not divide"):
        space.apply(BASE, {"algorithm.minibatches": 3, "envs": 10})


def test_the_number_of_combinations_is_known() -> None:
    assert parsed("algorithm.epochs=2,4", "network.layers=1:3").size == 6
    assert parsed("algorithm.epochs=2,4", "algorithm.clip=0.1:0.3").size == math.inf
    space = parsed("algorithm.epochs=2,4", "network.layers=1:2")
    assert [tuple(one.values()) for one in space.combinations()] == [(2, 1), (2, 2), (4, 1), (4, 2)]


def test_trials_use_numbers_with_few_digits_within_the_range() -> None:
    space = parsed("algorithm.clip=0.12341:0.2", "network.layers=1:9")
    assert space.nearest({"algorithm.clip": 0.15151515, "network.layers": 4}) == {
        "algorithm.clip": 0.1515,
        "network.layers": 4,
    }
    assert space.nearest({"algorithm.clip": 0.123411, "network.layers": 4})["algorithm.clip"] == 0.12341


def test_equal_combinations_have_the_same_key() -> None:
    space = Space((Choice("a", (1, 1.5, True, None)),))
    keys = [space.key({"a": value}) for value in (1, 1.5, True, None, 1)]
    assert keys[0] == keys[4]
    assert len({*keys}) == 4


def test_a_space_survives_its_file() -> None:
    space = parsed("algorithm.epochs=2,4", "algorithm.learning_rate=log:1e-4:1e-2", "network.layers=1:3")
    assert Space.from_data(space.to_data()) == space
