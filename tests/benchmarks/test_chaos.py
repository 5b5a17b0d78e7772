"""The campaign of `benchmarks/chaos.py`: its cases come from their seeds, and its checks find planted failures."""

import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import chaos
import numpy as np
import pytest
from campaign import checks, hostile
from campaign.case import Case, Outcome
from campaign.context import CaseContext
from campaign.fixtures import Fixtures, Training
from campaign.kinds import command_lines, damage, disk, kills
from campaign.pool import WorkerPool, in_turn, run_case
from campaign.processes import Ended, Process, Runner, StoppedError
from campaign.report import Report
from campaign.snapshots import intact_lines, lost, snapshot, updates_of
from rich.console import Console

FINE = Ended(("view", "run"), 0, "wrote page.html\n", "", 1.0)
REFUSED = replace(FINE, code=2, out="", err="action-balance: run is not a run\n")


class FakeRunner(Runner):
    """Does something in place of a command, and says how it ended."""

    def __init__(self, ended: Ended = FINE, act: Callable[[Path], object] = lambda _: None) -> None:
        self.ended, self.act = ended, act

    def start(self, words: Sequence[str], cwd: Path, *_: Any, **__: Any) -> Process:
        self.act(cwd)
        return Process(0, tuple(words), {})

    def wait(self, process: Process, *_: Any, **__: Any) -> Ended:
        return replace(self.ended, words=process.words)


def try_case(tmp_path: Path, runner: Runner, how: Callable[[CaseContext], object]) -> Outcome:
    outcome = run_case(
        Case(0, "kind", 3), lambda context: (how(context), None)[1], runner, Fixtures(tmp_path), patience=1.0
    )
    assert outcome is not None
    return outcome


@pytest.mark.parametrize(
    "generate",
    [
        command_lines.generate,
        hostile.map_text,
        hostile.word,
        lambda rng: hostile.json_bytes(rng, {"format": 1, "config": {"envs": 8, "names": ["a", {"b": None}]}}),
        lambda rng: hostile.damaged_bytes(rng, b'{"update": 1}\n{"update": 2}\n'),
    ],
)
def test_a_case_is_the_same_whenever_it_is_tried_and_differs_from_others(
    generate: Callable[[random.Random], object],
) -> None:
    first, again, other_seed = ([generate(Case(seed, "x", number).rng()) for number in range(40)] for seed in (1, 1, 2))
    assert repr(first) == repr(again)
    assert first != other_seed
    assert len({repr(one) for one in first}) > 15


def test_command_lines_are_those_of_all_commands_with_valid_and_hostile_values() -> None:
    lines = [command_lines.generate(Case(0, "command-lines", number).rng()) for number in range(400)]
    assert {"train", "resume", "evaluate", "compare", "view", "explore", "doctor"} <= {
        line[0] for line in lines if line
    }
    assert len({word.partition("=")[0] for line in lines for word in line if word.startswith("--")}) > 100  # flags
    assert any(word in hostile.WORDS and "\udcff" in word for line in lines for word in line)


def test_every_part_of_a_campaign_has_all_kinds_in_proportion() -> None:
    cases = in_turn(5, {"many": 100, "few": 10})
    assert len(set(cases)) == 110
    assert sum(case.kind == "few" for case in cases[:55]) == 5
    assert {case.seed for case in cases} == {5}


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (replace(FINE, code=1), "exit code 1"),
        (replace(FINE, code=-6), "exit code -6"),
        (replace(FINE, code=1, err=f"{checks.TRACEBACK}:\n  File x\nValueError: no\n"), "ValueError: no"),
        (replace(FINE, hung=True, seconds=61.0), "within 61 s"),
        (replace(FINE, peak=5 * 10**9), "5.0 GB"),
        (replace(FINE, out="a\x1b[2Jb"), "control character"),
        (replace(REFUSED, err=""), "without one line"),
        (replace(REFUSED, err="action-balance: a\nb\n"), "without one line"),
        (replace(REFUSED, err="action-balance: a\naction-balance: b\n"), "without one line"),
    ],
)
def test_a_command_that_ends_badly_is_found(ended: Ended, said: str) -> None:
    (problem,) = checks.problems(ended)
    assert said in problem


def test_a_command_that_ends_well_is_no_problem() -> None:
    interrupted = replace(FINE, code=130, err="action-balance: interrupted; update 3 is kept\n")
    assert [*map(checks.problems, (FINE, REFUSED, interrupted))] == [[], [], []]


def test_modules_and_programs_that_only_a_hostile_file_names_are_found() -> None:
    ended = replace(FINE, imports=("json", "jax.numpy", "canary_module", "this", "not_installed", "pytest"))
    assert checks.strange_imports(ended) == ["imported canary_module", "imported pytest", "imported this"]
    assert checks.strange_imports(replace(FINE, executions=("touch canary-x", "git describe"))) == [
        "executed touch canary-x"
    ]


def test_a_file_is_lost_if_its_content_is_nowhere(tmp_path: Path) -> None:
    for name in ("kept", "moved", "deleted", "changed", "replaced"):
        (tmp_path / name).write_text(name)
    before = snapshot(tmp_path)
    (tmp_path / "moved").rename(tmp_path / "moved.damaged")
    (tmp_path / "deleted").unlink()
    (tmp_path / "changed").write_text("other")
    (tmp_path / "replaced").write_text("other")
    found = lost(before, snapshot(tmp_path), lambda path: path == "replaced")
    assert [line.split(",")[0] for line in found] == ["changed was changed", "deleted was deleted"]


def test_lines_are_found_in_any_file(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(b"a\nb\n")
    (tmp_path / "metrics.jsonl.damaged").write_bytes(b"c\n")
    assert intact_lines(tmp_path, [b"a", b"c", b"d"]) == {b"a", b"c"}
    assert updates_of([b'{"update": 3}', b"{", b'{"update": "x"}', b'{"update": 4}']) == [3, 4]


@pytest.mark.parametrize(
    ("ended", "said"),
    [(replace(FINE, err=f"{checks.TRACEBACK}:\nKeyError"), "KeyError"), (replace(FINE, code=1), "exit code 1")],
)
def test_a_planted_failure_is_reported_with_its_command_and_keeps_its_folder(
    tmp_path: Path, ended: Ended, said: str
) -> None:
    outcome = try_case(tmp_path, FakeRunner(ended), lambda context: context.command("view", "a b"))
    (problem,) = outcome.problems
    assert said in problem
    assert problem.endswith("[action-balance view 'a b']")
    assert outcome.case.command().endswith("--seed 0 --only kind --case 3")
    assert (tmp_path / "cases" / "kind-3").is_dir()


def test_a_command_that_deletes_a_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy(context: CaseContext, name: str, to: str) -> Path:
        del name
        (context.folder / to).mkdir()
        for number in range(5):
            (context.folder / to / f"{number}.csv").write_text(f"{number}\n")
        return context.folder / to

    monkeypatch.setattr(CaseContext, "copy", copy)
    monkeypatch.setattr(damage, "replaceable", lambda _: lambda _: False)
    deletes = FakeRunner(act=lambda folder: next(folder.glob("r*/*")).unlink())
    monkeypatch.setattr(Fixtures, "path", lambda *_: tmp_path)
    (tmp_path / "map.txt").touch()
    assert any("was deleted" in line for line in try_case(tmp_path, deletes, damage.run).problems)
    assert try_case(tmp_path, FakeRunner(), damage.run).problems == ()


def test_code_that_a_file_has_executed_is_found(tmp_path: Path) -> None:
    runner = FakeRunner(act=lambda folder: (folder / "canary-called").touch())
    outcome = try_case(tmp_path, runner, lambda context: context.check_canaries(context.command("resume", "run")))
    assert "executed code of a file: canary-called" in outcome.problems[0]


def test_an_error_of_the_campaign_itself_is_a_failure(tmp_path: Path) -> None:
    outcome = try_case(tmp_path, FakeRunner(), lambda _: 1 / 0)
    assert "campaign itself failed: ZeroDivisionError" in outcome.problems[0]


def test_a_warm_interpreter_that_ends_is_an_error_and_a_case_after_the_end_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "true")
    stop = threading.Event()
    runner = Runner(tmp_path, "0", stop)
    with pytest.raises(RuntimeError, match=r"has ended \(exit code"):
        runner.start(("doctor",), tmp_path)
    stop.set()
    with pytest.raises(StoppedError):
        runner.start(("doctor",), tmp_path)
    case, fixtures = Case(0, "kind", 3), Fixtures(tmp_path)
    assert run_case(case, lambda context: (context.command("doctor"), None)[1], runner, fixtures, patience=1.0) is None


def test_what_a_thread_finds_is_reported_even_if_the_campaign_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool: WorkerPool

    def fails(context: CaseContext) -> None:
        pool._deadline = 0.0  # the time is over
        pool._stop.wait()
        context.complain("found late")

    def work(overtime: float = float("inf")) -> list[Outcome]:
        nonlocal pool
        pool = WorkerPool({"kind": fails}, tmp_path, patience=1.0, deadline=float("inf"), keep=False, overtime=overtime)
        cases = [Case(0, "kind", number) for number in range(9)]
        found = [outcome for outcome in pool.work(cases, jobs=1) if outcome is not None]
        pool.close()
        return found

    (outcome,) = work()  # no other case begins
    assert outcome.problems == ("found late",)
    assert pool.problems == []
    assert work(overtime=0.0) == []
    assert "still running 0 s after the time limit: kind-0" in pool.problems
    monkeypatch.setattr("campaign.pool.Runner", lambda *_: 1 / 0)
    assert work() == []
    assert "ZeroDivisionError" in pool.problems[0]


def test_signals_are_sent_to_processes_that_answer_them() -> None:
    code = "import signal; signal.signal(signal.SIGTERM, print); print(flush=True); signal.pause()"
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as answers:
        assert answers.stdout is not None
        answers.stdout.readline()
        process = Process(answers.pid, (), {})
        assert process.answers_signals()
        process.interrupt()
    assert process.interrupted
    assert answers.returncode != 0
    process = Process(answers.pid, (), {})
    process.interrupt()  # it has ended
    assert not process.interrupted


def test_file_systems_of_cases_that_were_given_up_are_unmounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []

    def run(words: list[str], **_: Any) -> subprocess.CompletedProcess[bytes]:
        called.append(words)
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr("subprocess.run", run)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda _: "mount")
    with disk.small_disk(tmp_path / "disk", 4) as mounted:
        assert mounted
        disk.unmount_all()
    disk.unmount_all()
    assert [words[0] for words in called] == ["mount", "umount", "umount"]


def write_run(folder: Path, updates: Sequence[int], weight: float = 1.0) -> Path:
    (folder / "checkpoints" / "00000003").mkdir(parents=True)
    for name in ("metrics.jsonl", "timing.jsonl"):
        (folder / name).write_text("".join(f"{json.dumps({'update': update})}\n" for update in updates))
    np.savez(folder / "checkpoints" / "00000003" / "arrays.npz", weights=np.full(2, weight))
    return folder


@pytest.mark.parametrize(
    ("updates", "weight", "found"),
    [([1, 2, 3], 1.0, 0), ([1, 3], 1.0, 3), ([1, 2, 2, 3], 1.0, 3), ([1, 2, 3], 1.5, 1), ([2, 1, 3], 1.0, 3)],
)
def test_a_run_that_was_killed_is_compared_with_an_undisturbed_one(
    tmp_path: Path, updates: list[int], weight: float, found: int
) -> None:
    reference, run = write_run(tmp_path / "a", [1, 2, 3]), write_run(tmp_path / "b", updates, weight)
    training = Training((), updates=3, seeds=1, every=1, exact=True)
    outcome = try_case(tmp_path, FakeRunner(), lambda context: kills.compare(context, training, run, reference))
    assert len(outcome.problems) == found


def test_the_report_counts_what_was_tried_failed_and_skipped(tmp_path: Path) -> None:
    console = Console(record=True, width=120)
    report = Report(console, {"kills": 3, "disk": 1}, tmp_path / "log.jsonl")
    assert report.untried == ["kills", "disk"]
    report.add(Outcome(Case(7, "kills", 0), ("a [red] problem",), {"kills": 2}), tmp_path)
    report.add(Outcome(Case(7, "kills", 1), waits={"SIGTERM": (3.0,)}), tmp_path)
    report.add(Outcome(Case(7, "disk", 0), skipped="root only"), tmp_path)
    report.table({"SIGTERM": 2.0})
    text = console.export_text()
    assert "FAILED kills-0: a [red] problem" in text
    assert "--seed 7 --only kills --case 0" in text
    assert "1 of 1 after more than 2 s" in text
    assert "tried 2, failed 1, not finished 1" in text
    assert (report.failed, report.unfinished, report.untried) == (1, 1, [])
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 3


def test_a_campaign_that_tried_too_little_proves_nothing(tmp_path: Path) -> None:
    report = Report(Console(quiet=True), {"kills": 3, "disk": 1}, tmp_path / "log.jsonl")
    assert len(chaos.shortcomings(report, quick=True)) == 2
    assert len(chaos.shortcomings(report, quick=False)) == 1
    report.add(Outcome(Case(7, "disk", 0), skipped="root only"), tmp_path)
    report.add(Outcome(Case(7, "kills", 0)), tmp_path)
    assert chaos.shortcomings(report, quick=True) == []


def test_a_single_case_needs_its_kind() -> None:
    assert chaos.arguments(["--only", "kills", "--case", "4"]).case == 4
    with pytest.raises(SystemExit):
        chaos.arguments(["--case", "4"])


def test_the_full_campaign_has_the_numbers_that_are_documented() -> None:
    counts = {name: kind.full for name, kind in chaos.KINDS.items()}
    assert (counts["kills"], counts["command-lines"], counts["configs"], counts["damage"]) == (200, 1000, 1000, 1000)
