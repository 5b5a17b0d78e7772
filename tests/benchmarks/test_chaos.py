"""The campaign of `benchmarks/chaos.py`: its cases come from their seeds, and its checks find planted failures."""

import json
from pathlib import Path
from random import Random

import chaos
import hostile
import pytest
from chaos import Case, Ended
from rich.console import Console

FINE = Ended(("view", "run"), 0, "wrote page.html\n", "", 10**8, False, [("import", "json")])
REFUSED = Ended(("view", "run"), 2, "", "action-balance: run is not a run\n", 10**8, False, [])


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path, 0, "damage", 3)


def test_a_case_is_the_same_whenever_it_is_tried_and_differs_from_others() -> None:
    data = {"format": 1, "config": {"envs": 8, "names": ["a", {"b": None}]}}
    for generate in (
        hostile.word,
        hostile.map_text,
        lambda rng: hostile.json_bytes(rng, data),
        lambda rng: hostile.damaged_bytes(rng, b'{"update": 1}\n{"update": 2}\n'),
    ):
        first, again = ([generate(Random(seed)) for seed in range(40)] for _ in range(2))
        assert repr(first) == repr(again)
        assert len({repr(one) for one in first}) > 15


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"code": 1}, "exit code 1"),
        ({"code": -6}, "exit code -6"),
        ({"err": "Traceback (most recent call last):\nValueError: no\n"}, "ValueError: no"),
        ({"hung": True}, "did not end"),
        ({"peak": 5 * 10**9}, "5.0 GB"),
        ({"out": "a\x1b[2Jb"}, "control characters"),
        ({"code": 2}, "without one line"),
        ({"code": 2, "err": "action-balance: a\nb\n"}, "without one line"),
        ({"events": [("import", "canary_module")]}, "imported"),
        ({"events": [("os.system", "touch canary-x")]}, "executed"),
    ],
)
def test_a_command_that_ends_badly_is_found(case: Case, change: dict[str, object], said: str) -> None:
    case.judge(Ended(**{**vars(FINE), **change}), (0, 2, 130))
    (problem,) = case.problems
    assert said in problem


def test_a_command_that_ends_well_is_no_problem_and_code_that_a_file_executed_is(case: Case) -> None:
    case.judge(FINE, (0,))
    case.judge(REFUSED, (0, 2))
    assert case.problems == []
    (case.folder / "canary-called").touch()
    case.judge(FINE, (0,))
    assert "executed code of a file" in case.problems[0]


def test_a_file_is_lost_if_its_content_is_nowhere(tmp_path: Path) -> None:
    for name in ("stays", "moves", "goes", "grows"):
        (tmp_path / name).write_text(name)
    before = chaos.snapshot(tmp_path)
    (tmp_path / "moves").rename(tmp_path / "moved")
    (tmp_path / "goes").unlink()
    (tmp_path / "grows").write_text("more")
    assert sorted(chaos.lost(before, chaos.snapshot(tmp_path), lambda path: path == "grows")) == ["goes"]


def test_updates_are_those_of_intact_rows(tmp_path: Path) -> None:
    (tmp_path / "rows").write_bytes(b'{"update": 1}\n\xff\n{"update": [\n{"update": 2}\n')
    assert chaos.updates_of(tmp_path / "rows") == [1, 2]


def test_every_part_of_a_campaign_has_all_kinds_in_proportion() -> None:
    cases = chaos.in_turn({"many": 100, "few": 10})
    assert len(set(cases)) == 110
    assert sum(kind == "few" for kind, _ in cases[:55]) == 5


def test_a_planted_failure_and_a_kind_that_was_not_tried_fail_the_campaign(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(one: Case) -> None:
        one.complain("planted")

    monkeypatch.setitem(chaos.KINDS, "damage", (fails, 1, 1))
    found = chaos.attempt(tmp_path, 0, float("inf"), ("damage", 3))
    assert chaos.report([found], {"damage": 1}, Console()) == 1
    assert "--only damage --case 3" in capsys.readouterr().out
    assert found is not None
    assert found.folder.exists()
    assert chaos.report([None], {"damage": 1}, Console()) == 1
    assert chaos.report([case], {"damage": 1}, Console()) == 0


def test_a_run_that_was_killed_is_compared_with_an_undisturbed_one(case: Case) -> None:
    for folder in (case.fixture("sea"), case.folder / "run"):
        folder.mkdir(parents=True)
        for name, seeds in (("metrics.jsonl", 2), ("timing.jsonl", 1)):
            rows = [json.dumps({"update": update}) + "\n" for update in range(1, 9) for _ in range(seeds)]
            (folder / name).write_text("".join(rows))
    chaos.compare(case, "sea", case.folder / "run")
    assert case.problems == ["the last checkpoint is missing"]
    (case.folder / "run" / "metrics.jsonl").write_text('{"update": 1}\n')
    chaos.compare(case, "sea", case.folder / "run")
    assert any("every update once" in one for one in case.problems)
