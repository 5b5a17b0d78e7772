import json
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from action_balance.envs.registry import EnvConfig, make

from action_balance.cli import main as cli
from action_balance.config.train import TrainConfig
from action_balance.envs.grid.config import GridConfig
from action_balance.envs.grid.maps import open_world
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies import campaign
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.neural.analysis import Trained, World
from action_balance.studies.neural.counting import Counting
from action_balance.studies.neural.settings import NeuralSettings

SMALL = ("--seeds", "2", "--steps", "2048", "--methods", "random", "action-balance-rnd")


def trained(returns: list[list[float]], states: list[list[float]], found: list[int]) -> Trained:
    """A method with these numbers; a negative step is a treasure never found."""
    steps = np.array(found)
    reach = FirstReachSteps(np.where(steps < 0, 100, steps), steps >= 0)
    length = len(returns[0])
    return Trained(np.arange(1, length + 1) * 10.0, np.array(states), np.array(returns), reach, np.zeros(4))


def test_the_score_is_the_mean_return_of_the_last_tenth_of_the_updates() -> None:
    nan = np.nan
    returns = [[0.0] * 18 + [1.0, 0.5], [1.0] * 18 + [nan, 0.25], [1.0] * 18 + [nan, nan]]
    one = trained(returns, [[1.0] * 20] * 3, [5, 5, 5])
    np.testing.assert_allclose(one.scores, [0.75, 0.25, 0.0])
    assert one.solved.value == pytest.approx(1 / 3)


def test_methods_are_compared_by_states_and_by_steps_to_the_treasure() -> None:
    ours = trained([[0.0], [0.0]], [[12.0], [14.0]], [10, 30])
    other = trained([[0.0], [0.0]], [[10.0], [10.0]], [60, -1])  # 60 steps, and all 100
    world = World(
        "corridor", GridConfig("open", 2).make(jax.random.key(0)), 4, {"action-balance-rnd": ours, "rnd": other}
    )
    more, ratio = world.more_states("action-balance-rnd", "rnd"), world.ratio("action-balance-rnd", "rnd")
    assert more is not None
    assert ratio is not None
    assert more.value == 3
    assert ratio.value == 4
    assert world.ratio("action-balance-rnd", "ppo") is None


def counted(
    counts: list[list[int]], errors: list[list[float]], pi: list[list[float]], beta: list[list[float]]
) -> Counting:
    """One agent that has known a few states."""
    return Counting(open_world(2), *(np.array([part]) for part in (counts, errors, pi, beta)))


def test_the_rank_correlation_is_over_the_pairs_of_known_states() -> None:
    counts = [[4, 1, 0, 2], [8, 3, 6, 7], [0, 0, 0, 0], [0, 0, 0, 0]]
    even = [[0.25] * 4] * 4
    falling = [[1 / (1 + n) for n in row] for row in counts]
    falling[2] = [5.0, 6.0, 7.0, 8.0]  # nobody was there
    assert counted(counts, falling, even, even).rank_correlations == pytest.approx([1.0])
    rising = [[float(n) for n in row] for row in counts]
    assert counted(counts, rising, even, even).rank_correlations == pytest.approx([-1.0])
    # Ranks of the counts 4 1 0 2 8 3 6 7 are 5 2 1 3 8 4 6 7; those of errors 8 ... 1 in order are 8 ... 1. The squared
    # differences of one ranking and the reversed other sum to 36, so that Spearman's is 1 - 6 * 36 / (8 * 63) = 4 / 7.
    errors = [[8.0, 7.0, 6.0, 5.0], [4.0, 3.0, 2.0, 1.0], *[[0.0] * 4] * 2]
    assert counted(counts, errors, even, even).rank_correlations == pytest.approx([4 / 7])


def test_the_rank_correlation_within_states_is_a_mean_over_those_whose_counts_differ() -> None:
    counts = [[4, 1, 0, 2], [8, 3, 6, 7], [5, 5, 5, 5], [0, 0, 0, 0]]
    even = [[0.25] * 4] * 4
    # The first is in perfect order. In the second, minus the counts rank 1 4 3 2 and the errors 1 2 4 3: the squared
    # differences sum to 6, and Spearman's is 1 - 6 * 6 / (4 * 15) = 0.4. In the others nothing differs.
    errors = [[1.0, 3.0, 4.0, 2.0], [1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 4.0], [0.0] * 4]
    assert counted(counts, errors, even, even).within_states == pytest.approx([(1 + 0.4) / 2])


def test_the_probability_of_the_least_tried_action_is_a_mean_over_known_states() -> None:
    counts = [[4, 1, 2, 2], [3, 0, 0, 7], [0, 0, 0, 0], [0, 0, 0, 0]]
    pi = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [1.0, 0, 0, 0], [1.0, 0, 0, 0]]
    beta = [[0.1, 0.4, 0.2, 0.3], [0.3, 0.3, 0.4, 0.0], [1.0, 0, 0, 0], [1.0, 0, 0, 0]]
    result = counted(counts, pi, pi, beta)
    assert result.least_tried(result.pi) == pytest.approx([(0.2 + 0.25) / 2])
    assert result.least_tried(result.beta) == pytest.approx([(0.4 + 0.35) / 2])
    assert result.lift.value == pytest.approx(0.15)


def test_all_methods_have_the_same_hyper_parameters() -> None:
    settings = NeuralSettings()
    assert settings.seeds >= 20
    for world in settings.studies:
        agents = [config.to_dict()["agent"] for config in settings.runs(world).values()]
        methods = [agent.pop("method") for agent in agents]
        assert len(set(methods)) == len(methods)
        assert all(agent == agents[0] for agent in agents)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("neural") / "out"
    cli.main(["reproduce", "neural", "--out", str(out), *SMALL, "--studies", "deep-sea", "counting"])
    return out


def test_the_study_leaves_runs_tables_figures_and_a_page(result: Path) -> None:
    summary = json.loads((result / "summary.json").read_text())
    assert list(summary["ours"]) == ["deep-sea", "counting"]
    assert list(summary["ours"]["deep-sea"]["methods"]) == ["random", "action-balance-rnd"]
    page = (result / "report.html").read_text()
    assert "--steps 2048" in page
    assert page.count("<svg") == 4
    lines = (result / "deep-sea_agents.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * 2
    state = summary["ours"]["deep-sea"]["methods"]["random"]["states"]["value"]
    assert state == np.mean([int(line.split(",")[2]) for line in lines[1:3]])
    assert RunFolder.open(result / "runs" / "counting-action-balance-rnd").manifest["status"] == "finished"


def test_a_finished_study_is_not_run_again(result: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (result / "summary.json").read_bytes()
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "neural", "--out", str(result), *SMALL, "--studies", "counting"])
    assert stop.value.code == 2
    assert "already holds this result" in capsys.readouterr().err
    assert (result / "summary.json").read_bytes() == before


def test_a_study_that_was_interrupted_uses_the_runs_that_are_finished(result: Path) -> None:
    summary = json.loads((result / "summary.json").read_text())
    page = (result / "report.html").read_bytes()
    trained_at = (result / "runs" / "deep-sea-random" / "manifest.json").read_bytes()
    del summary["ours"]["deep-sea"]
    (result / "summary.json").write_text(json.dumps(summary))
    cli.main(["reproduce", "neural", "--out", str(result), *SMALL, "--studies", "deep-sea", "counting"])
    assert (result / "runs" / "deep-sea-random" / "manifest.json").read_bytes() == trained_at
    assert sorted(json.loads((result / "summary.json").read_text())["ours"]) == ["counting", "deep-sea"]
    assert len((result / "report.html").read_bytes()) == len(page)


def test_a_run_with_other_settings_is_not_mistaken_for_one_of_the_study(result: Path) -> None:
    path = result / "runs" / "deep-sea-random"
    config = TrainConfig.from_dict(RunFolder.open(path).config)
    assert campaign.is_finished(path, config)
    assert not campaign.is_finished(path.with_name("nowhere"), config)
    with pytest.raises(UserError, match="other settings"):
        campaign.is_finished(path, replace(config, seed=7))
