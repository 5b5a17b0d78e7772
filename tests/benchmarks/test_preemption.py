"""The simulation in `benchmarks/preemption.py`, with campaigns computed by hand."""

import math
from dataclasses import replace
from itertools import chain, repeat

import numpy as np
import preemption
import pytest
from preemption import Outcome, Settings, campaigns, expected_used, kept_by_checkpoints, simulate

#: Ten seconds of training, a checkpoint every four, and one second to start.
SMALL = Settings(runs=2, run=10, workers=1, life=1, checkpoint=4, start=1, restart=0.5, replacement=3)


def scripted(settings: Settings, *lives: float) -> Outcome:
    """A campaign whose first machines live for known times, and all others for ever."""
    return simulate(settings, chain(lives, repeat(math.inf)))


@pytest.mark.parametrize(("workers", "rounds"), [(1, 90), (8, 12), (32, 3), (100, 1)])
def test_without_preemption_a_campaign_is_as_many_rounds_as_needed(workers: int, rounds: int) -> None:
    found = scripted(Settings(workers=workers))
    assert found == Outcome(duration=rounds * 3720, used=90 * 3720, repeated=0, restarting=0, interruptions=0)


def test_an_interrupted_run_continues_from_its_checkpoint_when_its_machine_is_replaced() -> None:
    # It trains from 1 to 8, with a checkpoint at 5. The next machine comes at 11, and trains the other 6 s from 12.5 to
    # 18.5. The second run takes 11 s.
    found = scripted(SMALL, 8)
    assert found == Outcome(duration=29.5, used=8 + 7.5 + 11, repeated=3, restarting=1.5, interruptions=1)
    assert found.lost == 4.5


def test_without_checkpoints_it_restarts_from_its_beginning() -> None:
    found = scripted(Settings(2, 10, 1, 1, math.inf, 1, 0.5, 3), 8)
    assert found == Outcome(duration=11 + 11.5 + 11, used=8 + 11.5 + 11, repeated=7, restarting=1.5, interruptions=1)


def test_an_interruption_of_the_first_start_loses_what_was_started() -> None:
    # 0.25 s of the first start, and 0.5 s more for the second one.
    found = scripted(SMALL, 0.25)
    assert found == Outcome(
        duration=3.25 + 11.5 + 11, used=0.25 + 11.5 + 11, repeated=0, restarting=0.75, interruptions=1
    )


def test_a_second_interruption_keeps_the_checkpoints_of_both_attempts() -> None:
    # 4 s are kept of the first attempt, until 8; 4 s of the second, from 11 to 18; the third, from 21, trains 2 s.
    found = scripted(replace(SMALL, runs=1), 8, 7)
    assert found == Outcome(duration=21 + 3.5, used=8 + 7 + 3.5, repeated=3 + 1.5, restarting=3, interruptions=2)


def test_an_interrupted_run_goes_to_the_end_of_the_queue() -> None:
    # Worker 0 is gone at 2, with a checkpoint of run 0, and trains run 2 from 3.5 to 8.5. Worker 1 finishes run 1 at 5,
    # starts run 0 again and is gone at 6. It is back at 7.5, and trains the rest of run 0 until 11.5.
    found = scripted(Settings(3, 4, 2, 1, checkpoint=1, start=1, restart=0, replacement=1.5), 2, 6)
    assert found == Outcome(duration=11.5, used=2 + 5 + 1 + 5 + 4, repeated=0, restarting=2, interruptions=2)


def test_a_machine_that_waits_takes_over_a_run_at_once() -> None:
    found = scripted(Settings(1, 4, 2, 1, checkpoint=math.inf, start=1, restart=0, replacement=100), 3)
    assert found == Outcome(duration=8, used=3 + 5, repeated=2, restarting=1, interruptions=1)


def test_a_machine_that_was_taken_away_while_it_waited_takes_no_run() -> None:
    # Worker 1 is gone at 2, worker 0 at 3; worker 1 is back first, at 12.
    found = scripted(Settings(1, 4, 2, 1, checkpoint=math.inf, start=1, restart=0, replacement=10), 3, 2)
    assert found == Outcome(duration=17, used=3 + 5, repeated=2, restarting=1, interruptions=1)


def test_a_machine_that_is_gone_at_once_is_replaced_at_once() -> None:
    # Its attempt takes no time; the next one, which begins at the same moment, ends 0.5 s later than it would have.
    found = scripted(Settings(1, 4, 1, 1, checkpoint=1, start=1, restart=0.5, replacement=0), 0)
    assert found == Outcome(duration=5.5, used=5.5, repeated=0, restarting=0.5, interruptions=1)


def test_a_run_that_is_finished_when_its_machine_goes_is_finished() -> None:
    assert scripted(Settings(1, 4, 1, 1, 1, 1), 5) == Outcome(5, 5, 0, 0, 0)


@pytest.mark.parametrize(
    ("trained", "interval", "kept"), [(0, 5, 0), (4.9, 5, 0), (5, 5, 5), (14, 5, 10), (9, math.inf, 0)]
)
def test_what_was_trained_up_to_a_checkpoint_is_kept(trained: float, interval: float, kept: float) -> None:
    assert kept_by_checkpoints(trained, interval) == kept


def test_the_expected_time_is_that_of_the_renewal_equation() -> None:
    half = math.log(2)  # a life of mean 1 ends in this time with a probability of one half
    once = Settings(1, half, 1, 1.0, math.inf, start=0, restart=0)
    assert expected_used(once) == pytest.approx(1)  # exp(half) - 1
    assert expected_used(Settings(3, 2 * half, 1, 1.0, math.inf, 0, 0)) == pytest.approx(3 * 3)  # exp(2 half) - 1
    assert expected_used(Settings(3, 2 * half, 1, 1.0, half, 0, 0)) == pytest.approx(3 * 2)  # two segments of 1
    # Each segment takes 1/2 on the first attempt, and exp(2 half) - 1 = 3 if that is interrupted.
    assert expected_used(Settings(1, 2 * half, 1, 1.0, half, start=0, restart=half)) == pytest.approx(2 * (0.5 + 1.5))
    # The first segment has a start: 3/4 (1 + 3); the other has half the length: the interruption costs sqrt(8) - 1.
    expected = 3 + (1 - 0.5**0.5) * 8**0.5
    assert expected_used(Settings(1, 1.5 * half, 1, 1.0, half, start=half, restart=0)) == pytest.approx(expected)
    assert expected_used(Settings(7, 10, life=math.inf, start=2)) == 7 * 12
    assert expected_used(Settings(life=1e-3)) == math.inf


@pytest.mark.parametrize("checkpoint", [300.0, 700.0, math.inf])
def test_simulated_campaigns_agree_with_the_renewal_equation(checkpoint: float) -> None:
    settings = Settings(runs=20, workers=3, checkpoint=checkpoint)
    used = np.array([outcome.used for outcome in campaigns(settings, 2000, seed=0)])
    error = used.std(ddof=1) / np.sqrt(len(used))
    assert abs(used.mean() - expected_used(settings)) < 3 * error
    assert error < 0.003 * used.mean()


def test_all_gpu_time_is_accounted_for() -> None:
    for outcome in campaigns(Settings(runs=20, workers=3), 20, seed=1):
        assert outcome.used == pytest.approx(20 * 3720 + outcome.lost)
        assert outcome.duration >= outcome.used / 3


def test_the_table_is_markdown_in_hours_or_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    preemption.main(["--workers", "8", "--life", "1e12", "--campaigns", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| GPUs | campaign hours without preemption |")
    hours = "12.4 [12.4, 12.4]"
    assert lines[2] == f"| 8 | 12.4 | {hours} | 93.0 | 0.0 (0.0 + 0.0) | {hours} | 0.0 (0.0 + 0.0) |"
    flags = "--runs 12 --run-seconds 20 --life 1e12 --checkpoint 2 --start 5 --workers 2 --campaigns 2"
    preemption.main(flags.split())
    assert "| 2 | 150.0 | 150.0 [150.0, 150.0] | 300.0 |" in capsys.readouterr().out


def test_a_campaign_that_would_not_end_is_not_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    flags = "--runs 1 --workers 1 --run-seconds 200 --life 10 --checkpoint 1 --start 1 --campaigns 2"
    preemption.main(flags.split())
    assert "| no end | no end |" in capsys.readouterr().out
    for flags in ("--life 10", "--runs 0", "--workers 1 0", "--checkpoint 0", "--restart -1"):
        with pytest.raises(SystemExit):
            preemption.main([*flags.split(), "--campaigns", "1"])
