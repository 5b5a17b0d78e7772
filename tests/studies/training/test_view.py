"""``view``: which page is shown, and what cannot be."""

import base64
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from command import call
from watched_runs import FILM, add, begin, config_of, get, served

from action_balance.studies.training import view
from action_balance.web.files import Embedded


def test_the_server_gives_the_page_and_listed_files_and_nothing_else(runs: list[Path]) -> None:
    with served(runs) as port:
        status, content, _ = get(port, "/")
        assert (status, content[:15]) == (200, b"<!doctype html>")
        assert b'src="/files/0/episode.mp4"' in content
        assert get(port, "/files/0/episode.mp4")[:2] == (200, FILM)
        for path in (
            "/files/0/../config.json",
            "/files/0/%2e%2e/config.json",
            "/files/0/..%2fconfig.json",
            "/files/0/config.json",
            "/files/1/episode.mp4",
            "/files/9/episode.mp4",
            "//etc/passwd",
            "/etc/passwd",
            "/files/0//etc/passwd",
            "/files/0/episode.mp4%00",
            f"{runs[0]}/config.json".replace(" ", "%20").replace('"', "%22"),
            "/news?run=2",
            "/news?run=-1",
            "/news?run=%30%30x",
        ):
            assert get(port, path)[0] == 404, path


def test_the_media_that_an_evaluation_lists_are_served_and_nothing_that_could_run(tmp_path: Path) -> None:
    folder, _ = begin(tmp_path / "run", config_of())
    greedy = {"score": {"mean": 1.0, "median": 1.0, "max": 1.0}, "info": {"keys_found": 2.5}}
    summary = {"checkpoint": {"update": 1}, "modes": {"greedy": greedy}}
    with served([folder.path], live=True) as port:
        folder.save_evaluation(summary, {"my plot.png": b"picture", "own.html": b"script", "own.svg": b"script"})
        page = get(port, "/")[1]
        assert b'src="/files/0/my%20plot.png"' in page
        assert b"Mean keys found" in page
        assert b"<td>2.50</td>" in page
        assert get(port, "/files/0/my%20plot.png")[:2] == (200, b"picture")
        for name in ("own.html", "own.svg", "evaluation.json"):
            assert get(port, f"/files/0/{name}")[0] == 404
    folder.release()


@pytest.mark.parametrize("whole_folder", [False, True])
def test_a_link_that_leads_out_of_the_run_is_not_followed(tmp_path: Path, whole_folder: bool) -> None:
    folder, _ = begin(tmp_path / "run", config_of())
    summary = {"checkpoint": {"update": 1}, "modes": {"greedy": {"score": {"mean": 1.0, "median": 1.0, "max": 1.0}}}}
    folder.save_evaluation(summary, {"heatmap.png": b"inside"})
    evaluation, outside = folder.path / "evaluation", tmp_path / "outside"
    outside.mkdir()
    (outside / "episode.gif").write_text("secret")
    if whole_folder:
        evaluation.rename(tmp_path / "moved")
        (outside / "evaluation.json").write_bytes((tmp_path / "moved" / "evaluation.json").read_bytes())
        evaluation.symlink_to(outside)
    else:
        (evaluation / "episode.gif").symlink_to(outside / "episode.gif")
    with served([folder.path]) as port:
        assert get(port, "/files/0/episode.gif")[0] == 404
        assert get(port, "/files/0/heatmap.png")[0] == (404 if whole_folder else 200)
        assert b"episode.gif" not in get(port, "/")[1]
    assert call("view", str(folder.path), "--save", str(tmp_path / "page.html")) == 0
    text = (tmp_path / "page.html").read_text()
    assert base64.b64encode(b"secret").decode() not in text
    assert (base64.b64encode(b"inside").decode() in text) is not whole_folder
    folder.release()


def test_a_linked_run_of_a_result_is_shown_with_its_evaluation(runs: list[Path], tmp_path: Path) -> None:
    (tmp_path / "study" / "runs").mkdir(parents=True)
    (tmp_path / "study" / "runs" / "one").symlink_to(runs[0])
    (tmp_path / "study" / "summary.json").write_text(json.dumps({"kind": "reproduce entropy"}))
    shown_runs = view.chosen([tmp_path / "study"], live=False)
    assert shown_runs.runs == [tmp_path / "study" / "runs" / "one"]
    page = shown_runs.page(Embedded(0).link, False)
    assert '"metrics":["episode_return"]' in page
    assert base64.b64encode(FILM).decode() in page  # the film


def test_what_cannot_be_viewed_is_one_line(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (study := tmp_path / "study" / "runs").mkdir(parents=True)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for arguments, line in (
            ((str(study.parent),), "reproduce STUDY --report-only --out"),
            ((str(tmp_path),), "is not a run: it has no config.json"),
            ((str(runs[0]), "--save", "x.html", "--live"), "a saved page cannot follow a live run"),
            ((str(runs[1]), str(runs[1]), "--save", "x.html"), "are the same run: give it only once"),
            ((str(runs[1]), "--port", "99999"), "--port must be from 0 to 65535, not 99999"),
            ((str(runs[1]), "--port", str(port)), f"cannot serve at port {port}: Address already in use; choose"),
            ((str(runs[1]), "--save", str(runs[1])), "cannot write"),
        ):
            assert call("view", *arguments) == 2
            told = capsys.readouterr().err
            assert line in told
            assert told.count("\n") == 1


def _damage_visits(path: Path) -> None:
    with open(path / "visits.jsonl", "a") as file:
        file.write('{"update": 5, "steps": 5, "type": "Uint8", "data": "AAAA"}\n')


def _link_table(path: Path) -> None:
    _compared(path)
    (path / "curves.csv").rename(path.parent / "curves.csv")
    (path / "curves.csv").symlink_to(path.parent / "curves.csv")


def _compared(path: Path) -> None:
    (path / "comparison.csv").write_text("environment,curve,metric\ndeep-sea 3,rnd,states\n")
    (path / "curves.csv").write_text("environment,curve,steps,iqm,low,high,seeds\ndeep-sea 3,rnd,1024,five,,,1\n")


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (_damage_visits, "visits.jsonl is damaged"),
        (_compared, "curves.csv is damaged"),
        (_link_table, "curves.csv is a link that points outside its folder"),
        (lambda path: (path / "summary.json").write_text('{"kind": []}'), "has no interactive page"),
        (
            lambda path: (path / "summary.json").write_text('{"kind": "reproduce grid", "ours": 1}'),
            "summary.json is dam",
        ),
        (lambda path: (path / "summary.json").write_text('{"kind": "explore", "ours": 1}'), "summary.json is damaged"),
    ],
)
def test_what_is_damaged_is_one_line(
    runs: list[Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path], object],
    line: str,
) -> None:
    shutil.copytree(runs[0], tmp_path / "run")
    damage(tmp_path / "run")
    assert call("view", str(tmp_path / "run"), "--save", str(tmp_path / "page.html")) == 2
    told = capsys.readouterr().err
    assert line in told
    assert told.count("\n") == 1


def test_names_that_are_markup_or_no_text_can_be_saved(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "\udcffrun"
    shutil.copytree(runs[1], odd)
    saved = odd / "[/bold]\udcffx.html"
    assert call("view", str(odd), "--save", str(saved)) == 0
    assert r"/\xffrun/[/bold]\xffx.html" in capsys.readouterr().out
    assert r"<code>\xffrun</code>" in saved.read_text()


def test_serving_ends_with_an_interrupt(runs: list[Path]) -> None:
    command = [sys.executable, "-m", "action_balance", "view", str(runs[1])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
    assert url is not None
    assert get(int(url[1]), "/")[0] == 200
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=120)
    # On a machine that is too busy to stop at once, the process says so, or is ended.
    assert process.returncode in (0, 130)
    assert out == "stopped\n" or process.returncode == 130
    assert all(line.startswith("action-balance: ") for line in error.splitlines())


def test_a_result_of_another_kind_shows_its_runs_and_a_comparison_its_curves(runs: list[Path], tmp_path: Path) -> None:
    config = replace(config_of(), seeds=1)
    folder, log = begin(tmp_path / "study" / "runs" / "one", config)
    add(log, config, 1)
    folder.finish("finished")
    (tmp_path / "study" / "summary.json").write_text(json.dumps({"kind": "reproduce neural"}))
    found = view.chosen([tmp_path / "study"], live=False)
    assert found.runs == [folder.path]
    assert "<h1>RND on Deep Sea 3\N{MULTIPLICATION SIGN}3</h1>" in found.page(lambda *_: None, False)
    assert call("compare", *map(str, runs), "--out", str(tmp_path / "compared")) == 2  # these lack a metric of it
    (tmp_path / "compared").mkdir()
    (tmp_path / "compared" / "comparison.csv").write_text("environment,curve,metric\ndeep-sea 3,rnd,states\n")
    curves = "environment,curve,steps,iqm,low,high,seeds\ndeep-sea 3,rnd,1024,5,,,1\n"
    (tmp_path / "compared" / "curves.csv").write_text(curves)
    page = view.chosen([tmp_path / "compared"], live=False).page(lambda *_: None, False)
    assert '"steps":[1024],"metrics":{"states":{"mean":[5.0],"low":[null],"high":[null]}}' in page
