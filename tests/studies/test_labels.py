from dataclasses import replace

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.studies.labels import name_runs

SEA = TrainConfig(env_config("deep-sea", size=4), AgentConfig(method="rnd"))
FAST = replace(SEA, agent=replace(SEA.agent, algorithm=PPOConfig(learning_rate=1e-3)))


def labels(*configs: TrainConfig) -> list[tuple[str, str]]:
    return [names[:2] for names in name_runs(configs)]


def test_runs_that_differ_in_seeds_only_have_the_same_names() -> None:
    assert labels(SEA, replace(SEA, seed=7, seeds=3)) == [("deep-sea 4", "rnd")] * 2


def test_settings_that_differ_are_named_in_all_environments() -> None:
    larger = replace(FAST, env=env_config("deep-sea", size=6))
    ppo = replace(SEA, agent=replace(SEA.agent, method="ppo"))
    assert labels(SEA, FAST, larger, ppo) == [
        ("deep-sea 4", "rnd, learning_rate 0.0003"),
        ("deep-sea 4", "rnd, learning_rate 0.001"),
        ("deep-sea 6", "rnd, learning_rate 0.001"),
        ("deep-sea 4", "ppo"),
    ]


def test_what_changes_only_the_speed_is_not_named() -> None:
    game = TrainConfig(env_config("atari:pitfall"), AgentConfig(method="rnd", host=HostConfig(groups=2, lag=0)))
    other = replace(game, agent=replace(game.agent, host=HostConfig(groups=4, lag=0, threads=1)))
    assert labels(game, other) == [("pitfall", "rnd")] * 2


def test_curves_are_ordered_by_method_then_by_the_value_of_a_setting() -> None:
    slow = replace(SEA, agent=replace(SEA.agent, algorithm=PPOConfig(learning_rate=9e-5)))
    ppo = replace(SEA, agent=replace(SEA.agent, method="ppo"))
    names = sorted(name_runs([FAST, slow, ppo]), key=lambda one: one.order)
    assert [one.curve for one in names] == ["ppo", "rnd, learning_rate 9e-05", "rnd, learning_rate 0.001"]
