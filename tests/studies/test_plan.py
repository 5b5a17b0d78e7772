from dataclasses import replace

from atari_records import SMALL

from action_balance.studies.plan import as_begun, method_name, run_name


def test_a_run_is_named_after_game_method_and_seed() -> None:
    assert run_name(SMALL.run("pitfall", "action-balance-rnd-channel", 3)) == "pitfall-action-balance-rnd-channel-3"


def test_another_normalisation_than_l2_is_named_where_it_has_an_effect() -> None:
    assert method_name(SMALL.agent("action-balance-rnd", "raw")) == "action-balance-rnd-raw"
    assert method_name(SMALL.agent("action-balance-rnd")) == "action-balance-rnd"


def test_what_a_plan_leaves_open_is_as_the_run_chose_it() -> None:
    planned = SMALL.run("pitfall", "rnd", 0)
    host = replace(planned.agent.host, lag=1, groups=2)
    assert as_begun(planned, host).agent.host == host
    fixed = replace(SMALL, lag=0).run("pitfall", "rnd", 0)
    assert as_begun(fixed, host).agent.host == replace(host, lag=0)
