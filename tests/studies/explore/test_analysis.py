from action_balance.envs.grid.maps import parse_map
from action_balance.studies.explore import analysis as explore
from action_balance.studies.grid.settings import RunSettings


def test_a_map_with_goals_is_walked_and_searched() -> None:
    world = parse_map("..G\nS#.\n", episode_steps=20)
    result = explore.run(world, RunSettings(runs=3, episodes=2, episode_steps=20))
    assert result.coverage.reachable == 5
    assert set(result.coverage.methods) == {"random", "action-balance", "rnd", "action-balance-rnd"}
    assert all(found.reached.all() and (found.steps >= 3).all() for found in result.first_reach.values())
