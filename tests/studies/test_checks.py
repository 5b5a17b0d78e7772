from dataclasses import replace

import pytest
from atari_records import SMALL

from action_balance.errors import UserError
from action_balance.studies.checks import as_begun, check_count, check_names, check_seeds


def test_counts_have_a_lower_and_an_upper_limit() -> None:
    check_count("--runs", 1)
    check_count("--runs", 2**31 - 1)
    for value in (0, 2**31):
        with pytest.raises(UserError, match="--runs must be"):
            check_count("--runs", value)


def test_the_last_of_consecutive_seeds_fits_into_32_bits() -> None:
    check_seeds(2**31 - 3, 2)
    with pytest.raises(UserError, match="--seed must be below"):
        check_seeds(2**31 - 2, 2)


@pytest.mark.parametrize(("names", "hint"), [((), "at least one"), (("b", "b"), "twice"), (("bb",), "did you mean b")])
def test_names_are_known_and_given_once(names: tuple[str, ...], hint: str) -> None:
    check_names("part", ("b", "a"), ("a", "b"))
    with pytest.raises(UserError, match=hint):
        check_names("part", names, ("a", "b"))


def test_what_a_plan_leaves_open_is_as_the_run_chose_it() -> None:
    planned = SMALL.run("pitfall", "rnd", 0)
    host = replace(planned.agent.host, lag=1, groups=2)
    assert as_begun(planned, host).agent.host == host
    fixed = replace(SMALL, lag=0).run("pitfall", "rnd", 0)
    assert as_begun(fixed, host).agent.host == replace(host, lag=0)
