"""Training runs side by side: from metrics written by hand to curves, tables and files."""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import check_page
from command import call
from page_text import section
from playwright.sync_api import Browser

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.env import EnvConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies import statistics
from action_balance.studies.compare.analysis import compare
from action_balance.studies.compare.screen import verdicts

FILES = {"summary.json", "comparison.png", "comparison.svg", "comparison.csv", "curves.csv"}
NAN = math.nan


def write_run(
    path: Path,
    returns: Sequence[Sequence[float]],
    method: str = "rnd",
    first_seed: int = 0,
    size: int = 4,
    updates: int | None = None,
    algorithm: PPOConfig | None = None,
    exploration: ExplorationConfig | None = None,
    rewarded: Mapping[int, int] | None = None,
    status: str = "finished",
    environment: EnvConfig | None = None,
    host: HostConfig | None = None,
    **more: Any,
) -> Path:
    """A run of 8 x 4 steps per update with these returns, seed by seed; as many updates as the longest.

    States of games are not counted.
    """
    algorithm = algorithm or PPOConfig(rollout_steps=4)
    longest = max(map(len, returns))
    steps = 8 * algorithm.rollout_steps * (updates or longest)
    parts: Any = {"exploration": exploration or ExplorationConfig(), "host": host or HostConfig()}
    agent = AgentConfig(method, steps=steps, algorithm=algorithm, **parts)
    config = TrainConfig(environment or env_config("deep-sea", size=size), agent, first_seed, len(returns), **more)
    folder = RunFolder.create(path, config.to_dict(), ["test"])
    log = folder.metrics()
    rest: dict[str, Any] = {"best_return": 0.0, "action_frequency": [0.5, 0.5]}
    rest |= {"states": 7} if config.env.engine == "device" else {}
    for update in range(1, longest + 1):
        rows = [
            {"update": update, "seed": first_seed + i, "steps": update * agent.steps_per_update}
            | rest
            | {"episode_return": of_seed[update - 1], "first_reward": (rewarded or {}).get(first_seed + i, -1)}
            for i, of_seed in enumerate(returns)
            if len(of_seed) >= update
        ]
        log.append(rows)
    folder.finish("interrupted" if status == "interrupted" else "finished")
    return path


def read_csv(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_runs_that_differ_in_seeds_only_are_one_curve(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [[0, 1], [0, 2]] * 2)
    other = write_run(tmp_path / "other", [[0, 3], [0, 40]] * 2, first_seed=4, checkpoint_every=7)
    result = compare([other, one], "episode_return")
    (curve,) = result.environments["deep-sea 4"]
    assert curve.label == "rnd"
    assert curve.seeds == tuple(range(8))
    assert curve.steps.tolist() == [32, 64]
    assert curve.iqm == pytest.approx([0, 2.5])
    assert curve.scores.tolist() == [1, 2, 1, 2, 3, 40, 3, 40]
    assert curve.low[1] < 2.5 < curve.high[1]
    assert (result.baseline, result.together, result.notes) == (None, {}, ())


def test_a_seed_that_is_there_twice_names_both_folders(tmp_path: Path) -> None:
    one, other = (write_run(tmp_path / name, [[0.0], [0.0]], first_seed=i) for i, name in enumerate(("one", "other")))
    with pytest.raises(UserError, match=rf"seed 1 is in {one} and in {other}"):
        compare([one, other], "episode_return")


def test_atari_runs_are_told_apart_by_game_and_stand_after_the_worlds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games = {name: env_config(f"atari:{name}") for name in ("venture", "montezuma_revenge")}
    channel = "action-balance-rnd-channel"
    one, other = HostConfig(groups=2, lag=0, threads=1), HostConfig(groups=4, lag=0)  # which changes the speed only
    runs = [
        write_run(tmp_path / "venture", [[0.0, 8.0]], environment=games["venture"], host=one),
        write_run(tmp_path / "montezuma", [[NAN, 100.0]], environment=games["montezuma_revenge"], host=one),
        write_run(tmp_path / "again", [[0.0, 400.0]], environment=games["montezuma_revenge"], host=other, first_seed=1),
        write_run(tmp_path / "ours", [[0.0, 2500.0]], channel, environment=games["montezuma_revenge"], host=one),
        write_run(tmp_path / "sea", [[0.0, 1.0]]),
    ]
    environments = compare(runs, "episode_return").environments
    assert list(environments) == ["deep-sea 4", "montezuma_revenge", "venture"]
    rnd, ours = environments["montezuma_revenge"]
    assert (rnd.label, rnd.seeds, rnd.scores.tolist()) == ("rnd", (0, 1), [100, 400])
    assert (ours.label, ours.scores.tolist()) == (channel, [2500])
    assert math.isnan(rnd.states_mean)
    assert call("compare", *map(str, runs[:4]), "--out", str(tmp_path / "out")) == 0
    assert "Montezuma's Revenge" in capsys.readouterr().out
    told = {(row["environment"], row["curve"]): row["mean"] for row in read_csv(tmp_path / "out" / "comparison.csv")}
    assert told["montezuma_revenge", "rnd"] == "250.0"
    assert told["montezuma_revenge", channel] == "2500.0"


def test_returns_are_carried_forward_and_curves_begin_where_each_seed_has_one(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [[NAN, 4, NAN, NAN], [1, NAN, math.inf, 3]])
    (curve,) = compare([run], "episode_return").environments["deep-sea 4"]
    assert curve.steps.tolist() == [64, 96, 128]
    assert curve.iqm == pytest.approx([2.5, 2.5, 3.5])


def test_the_score_is_the_mean_of_the_last_tenth(tmp_path: Path) -> None:
    returns = [[*([0.0] * 27), 4, NAN, 10], [*([NAN] * 28), 6, 7]]
    run = write_run(tmp_path / "run", returns)
    (curve,) = compare([run], "episode_return").environments["deep-sea 4"]
    assert curve.scores.tolist() == [(4 + 4 + 10) / 3, 6.5]


def test_a_seed_without_any_value_leaves_the_score_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(tmp_path / "run", [[NAN, NAN], [1, 2]])
    result = compare([run], "episode_return")
    (curve,) = result.environments["deep-sea 4"]
    assert len(curve.steps) == 0
    assert math.isnan(curve.score_iqm.value)
    assert result.notes == ("deep-sea 4, rnd: 1 of 2 seeds have no episode_return yet",)
    assert call("compare", str(run), "--out", str(tmp_path / "out")) == 0
    assert read_csv(tmp_path / "out" / "comparison.csv")[0]["iqm"] == ""
    assert "1 of 2 seeds have no episode_return yet" in capsys.readouterr().out


def test_first_reward_is_the_median_in_which_never_is_later_than_all(tmp_path: Path) -> None:
    some = write_run(tmp_path / "some", [[0.0]] * 3, rewarded={0: 10, 2: 30})
    none = write_run(tmp_path / "none", [[0.0]] * 3, method="ppo", rewarded={1: 10})
    ppo, rnd = compare([some, none], "episode_return").environments["deep-sea 4"]
    assert (rnd.first_reward_median, rnd.never, rnd.states_mean) == (30, 1, 7)
    assert (ppo.first_reward_median, ppo.never) == (math.inf, 2)


def test_an_unfinished_run_is_told(tmp_path: Path) -> None:
    stopped = write_run(tmp_path / "stopped", [[1, 2]], updates=5, status="interrupted")
    result = compare([stopped], "episode_return")
    assert result.notes == (f"{stopped}: interrupted at update 2 of 5",)
    assert result.environments["deep-sea 4"][0].steps.tolist() == [32, 64]


def test_scores_of_all_environments_are_pooled_where_each_has_all_curves(tmp_path: Path) -> None:
    scores = {("rnd", 4): [0, 1] * 3, ("rnd", 6): [2, 3] * 3, ("ppo", 4): [5] * 5, ("ppo", 6): [5] * 5}
    runs = {
        key: write_run(tmp_path / f"{key[0]}-{key[1]}", [[float(score)] for score in values], key[0], size=key[1])
        for key, values in scores.items()
    }
    result = compare(list(runs.values()), "episode_return")
    assert list(result.together) == ["ppo", "rnd"]
    assert result.together["rnd"] == statistics.pooled_iqm([np.tile([0.0, 1], 3), np.tile([2.0, 3], 3)])
    assert result.together["rnd"].value == 1.5
    assert result.together["ppo"].value == pytest.approx(5)
    incomplete = compare([path for key, path in runs.items() if key != ("ppo", 6)], "episode_return")
    assert incomplete.together == {}
    assert "not every curve" in incomplete.notes[0]


def test_of_two_curves_the_second_is_measured_against_the_first(tmp_path: Path) -> None:
    ppo = write_run(tmp_path / "ppo", [[1.0], [2.0]], "ppo")
    rnd = write_run(tmp_path / "rnd", [[2.0], [3.0], [0.0]])
    result = compare([rnd, ppo], "episode_return")
    better = result.better("deep-sea 4", "rnd")
    assert result.baseline == "ppo"
    assert better is not None
    assert better.value == 3.5 / 6
    assert result.better("deep-sea 4", "ppo") is None
    named = compare([rnd, ppo], "episode_return", baseline="rnd").better("deep-sea 4", "ppo")
    assert named is not None
    assert named.value == 2.5 / 6
    three = [rnd, ppo, write_run(tmp_path / "count", [[1.0]], "count")]
    assert compare(three, "episode_return").baseline is None


def test_the_command_writes_its_files_and_replaces_only_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ppo = write_run(tmp_path / "ppo", [[-0.25, 0.125], [0, 0.375]] * 3, "ppo", rewarded={0: 40})
    rewarded = {seed: 40 + 20 * (seed % 2) for seed in range(6)}
    rnd = write_run(tmp_path / "rnd", [[0, 1.0], [0, 0.5]] * 3, "action-balance-rnd", rewarded=rewarded)
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    (out / "curves.csv").write_text("mine")
    assert call("compare", str(ppo), str(rnd), "--out", str(out)) == 2
    assert (out / "curves.csv").read_text() == "mine"
    (out / "curves.csv").unlink()
    capsys.readouterr()
    assert call("compare", str(ppo), str(rnd), "--out", str(out)) == 0
    first = {name: (out / name).read_bytes() for name in FILES}
    screen = capsys.readouterr().out
    assert call("compare", str(rnd), str(ppo), "--out", str(out)) == 0
    assert {name: (out / name).read_bytes() for name in FILES} == first
    assert {path.name for path in out.iterdir()} == FILES | {"notes.txt"}
    assert (out / "notes.txt").read_text() == "mine"

    row = read_csv(out / "comparison.csv")[1]
    told = ("environment", "curve", "metric", "seeds")
    assert [row[name] for name in told] == ["deep-sea 4", "action-balance-rnd", "episode_return", "6"]
    told = ("iqm", "mean", "first_reward_median", "never_rewarded")
    assert [row[name] for name in told] == ["0.75", "0.75", "50.0", "0"]
    assert [row[name] for name in ("states_mean", "baseline", "better", "better_low")] == ["7.0", "ppo", "1.0", "1.0"]
    assert [row["lowest"], row["highest"]] == ["0.5", "1.0"]
    curves = read_csv(out / "curves.csv")
    assert list(curves[0].values()) == ["deep-sea 4", "ppo", "32", "-0.125", "-0.25", "0.0", "6", "interval"]
    assert len(curves) == 4
    first_line, tables = screen.replace(str(out), "").split("\n\n", 1)
    assert max(map(len, tables.splitlines())) <= 80
    assert "action-balance-rnd leads" in first_line
    assert "0.500 more than ppo" in first_line
    assert "is significant" in first_line
    assert "-0.250" not in screen  # only scores are told
    assert "0.750" in screen
    assert "5 never" in screen


def test_each_environment_has_its_own_decimals_and_few_seeds_their_range(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], browser: Browser
) -> None:
    cart = env_config("gym:CartPole-v1")
    runs = [
        write_run(tmp_path / "sea", [[0.303], [0.1]]),
        write_run(tmp_path / "sea-ppo", [[0.2], [0.1]], "ppo"),
        write_run(tmp_path / "cart", [[480.0], [400.0]], environment=cart),
    ]
    out = tmp_path / "out"
    assert call("compare", *map(str, runs), "--out", str(out)) == 0
    screen = capsys.readouterr().out
    assert "(0.100 to 0.303)" in screen
    assert "(400 to 480)" in screen
    assert "[" not in screen  # no interval from two seeds, of neither mean
    assert "due to chance" in screen.splitlines()[0]
    rows = read_csv(out / "comparison.csv")
    assert {row[name] for row in rows for name in ("iqm_low", "iqm_high", "mean_low", "mean_high")} == {""}
    assert [(row["lowest"], row["highest"]) for row in rows][-1] == ("400.0", "480.0")
    assert {row["band"] for row in read_csv(out / "curves.csv")} == {"range"}
    assert call("view", str(out), "--save", str(tmp_path / "page.html")) == 0
    check_page(browser, tmp_path / "page.html")
    text = section((tmp_path / "page.html").read_text(), "scores")
    assert "range 0.100 to 0.303" in text
    assert "range 400 to 480" in text


def test_curves_of_different_length_are_not_called_a_fair_comparison(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "long", [[0.0, 1]]), write_run(tmp_path / "short", [[0.0]], "ppo")]
    result = compare(runs, "episode_return")
    assert result.uneven_steps("deep-sea 4") == (32, 64)
    assert "32 to 64 steps per seed" in next(verdicts(result))


BAD = {
    "a folder that is no run": (("run", "empty"), "is not a run"),
    "a run without metrics": (("new",), "has no metrics yet"),
    "an unknown metric": (("run", "--metric", "episode_retrun"), "did you mean episode_return?"),
    "a damaged line": (("damaged",), "line 2 of"),
}


@pytest.mark.parametrize(("arguments", "hint"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(
    arguments: tuple[str, ...],
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_run(Path("run"), [[1.0]])
    Path("empty").mkdir()
    RunFolder.create(Path("new"), TrainConfig(env_config("deep-sea", size=4)).to_dict(), ["test"]).release()
    write_run(Path("damaged"), [[1.0, 2.0, 3.0]])
    lines = Path("damaged/metrics.jsonl").read_text().splitlines(keepends=True)
    Path("damaged/metrics.jsonl").write_text(lines[0] + "{broken\n" + lines[2])
    assert call("compare", *arguments) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1
    assert not Path("results").exists()


def test_a_run_that_lost_most_of_its_rows_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [[1.0]], updates=10_000_000)
    rows = (run / "metrics.jsonl").read_text()
    (run / "metrics.jsonl").write_text(rows + rows.replace('"update": 1,', '"update": 10000000,'))
    with pytest.raises(UserError, match="lost most of its metrics"):
        compare([run], "episode_return")
