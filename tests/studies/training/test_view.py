"""``view``: which page is shown, and what cannot be."""

import base64
import json
import socket
from dataclasses import replace
from http.server import ThreadingHTTPServer
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
            ((str(runs[0]), "--save", "x.html", "--live"), "a saved page cannot follow a live run"),
            ((str(runs[1]), "--port", str(port)), f"cannot serve at port {port}: Address already in use; choose"),
        ):
            assert call("view", *arguments) == 2
            told = capsys.readouterr().err
            assert line in told
            assert told.count("\n") == 1


def test_a_table_that_is_damaged_or_leads_elsewhere_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compared, table = tmp_path / "compared", tmp_path / "compared" / "curves.csv"
    compared.mkdir()
    (compared / "summary.json").write_text('{"kind": "compare"}')
    (compared / "comparison.csv").write_text("environment,curve,metric\ndeep-sea 3,rnd,states\n")
    table.write_text("environment,curve,steps,iqm,low,high,seeds\ndeep-sea 3,rnd,1024,five,,,1\n")
    for line in ("curves.csv is damaged", "curves.csv is a link that points outside its folder"):
        assert call("view", str(compared), "--save", str(tmp_path / "page.html")) == 2
        told = capsys.readouterr().err
        assert line in told
        assert told.count("\n") == 1
        if not table.is_symlink():
            table.rename(tmp_path / "curves.csv")
            table.symlink_to(tmp_path / "curves.csv")


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
    (tmp_path / "compared" / "summary.json").write_text('{"kind": "compare"}')
    (tmp_path / "compared" / "comparison.csv").write_text("environment,curve,metric\ndeep-sea 3,rnd,states\n")
    curves = "environment,curve,steps,iqm,low,high,seeds\ndeep-sea 3,rnd,1024,5,,,1\n"
    (tmp_path / "compared" / "curves.csv").write_text(curves)
    page = view.chosen([tmp_path / "compared"], live=False).page(lambda *_: None, False)
    assert '"steps":[1024],"metrics":{"states":{"mean":[5.0],"low":[null],"high":[null]}}' in page


def test_serving_ends_with_an_interrupt(
    runs: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    assert call("view", str(runs[1])) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("serving http://127.0.0.1:")
    assert last == "stopped"
