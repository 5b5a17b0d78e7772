"""What is said about runs, line by line, and what a terminal shows of those that run now."""

import io
from pathlib import Path

from counting_job import CountingJob
from rich.console import Console

from action_balance.cluster.board import Board
from action_balance.engines.metrics_rows import Progress

HERE = "node-1"


def at(update: int) -> Progress:
    return Progress(update, 100 * update, 0.25 * update, 1.0)


def test_every_change_is_a_line_and_the_summary_counts_them(tmp_path: Path) -> None:
    output = io.StringIO()
    console = Console(file=output, width=200)
    jobs = [CountingJob(name, tmp_path / name) for name in ("a", "b", "c", "d")]
    with Board(console, total=6, finished=2) as board:
        for job in jobs:
            board.add(job)
        board.started(jobs[0], HERE, 1, 0)
        board.progress(jobs[0], at(6))
        board.finished(jobs[0])
        board.started(jobs[1], HERE, 2, 3)
        board.waiting(jobs[2], "its machine was lost; it starts again")
        board.failed(jobs[3], "no space left")
        assert board.summary().startswith("3 of 6 runs finished, 1 running, 1 waiting, 1 failed, 1 restart")
    assert output.getvalue().splitlines() == [
        "a: starts on node-1",
        "a: finished, return 1.5 (3 of 6)",
        "b: continues after update 3 of 6 on node-1 (attempt 2)",
        "c: its machine was lost; it starts again",
        "d could not be trained: no space left",
    ]


def test_the_time_that_is_left_follows_from_the_updates_of_this_command(tmp_path: Path) -> None:
    jobs = [CountingJob(name, tmp_path / name, updates=4) for name in ("a", "b")]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "count").write_text("2")  # made before
    now = [0.0]
    board = Board(Console(file=io.StringIO()), 2, clock=lambda: now[0])
    for job in jobs:
        board.add(job)
    board.started(jobs[0], HERE, 1, 0)
    assert "left" not in board.summary()
    now[0] = 20.0
    board.finished(jobs[0])
    board.started(jobs[1], HERE, 1, 2)
    assert board.summary().endswith("about 10 s left")  # 4 updates took 20 s, and 2 are left
    board.progress(jobs[1], at(3))
    now[0] = 25.0
    assert board.summary().endswith("about 5 s left")


def test_a_terminal_shows_a_bar_for_each_run_as_far_as_there_is_room(tmp_path: Path) -> None:
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, width=100, height=6)
    jobs = [CountingJob(f"run-{number}", tmp_path / str(number)) for number in range(4)]
    with Board(console, 4) as board:
        for job in jobs:
            board.add(job)
        for job in jobs:
            board.started(job, HERE, 1, 0)
        board.progress(jobs[0], at(3))
        board.refresh()
    shown = output.getvalue()
    assert "300 steps, return 0.75 on node-1" in shown
    assert "starting on node-1" in shown
    assert "and 2 more" in shown
    assert "0 of 4 runs finished, 4 running" in shown
