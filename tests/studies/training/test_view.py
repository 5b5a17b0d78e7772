"""``view``: runs on a page, saved, served to this machine only, and followed while they train."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import LOOK, shown, until
from command import call
from playwright.sync_api import Browser

from action_balance.config.agent import Config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.packing import packed, unpacked
from action_balance.plots.heatmaps import HEAT_STOPS
from action_balance.runs import MetricsLog, RunFolder
from action_balance.studies.training import data as view_data
from action_balance.studies.training import maps as view_maps
from action_balance.studies.training import page as view_page
from action_balance.studies.training import view
from action_balance.studies.training.data import READ, Watched, columns
from action_balance.web import files as web_files
from action_balance.web import serve
from action_balance.web.files import Embedded
from action_balance.web.render import render
from action_balance.web.serve import listening

#: A folder's name that would be a script, if a page believed it.
HOSTILE = "run\"'><img src=x onerror=document.title='pwned'>&amp;{{7*7}}"
STEPS = 8 * 128  # of an update


def config_of(method: str = "rnd", seed: int = 0, seeds: int = 2, updates: int = 4) -> TrainConfig:
    agent = Config(method=method, steps=updates * STEPS)
    return TrainConfig(env_config("deep-sea", size=3), agent, seed, seeds, None)


def begin(path: Path, config: TrainConfig) -> tuple[RunFolder, MetricsLog]:
    folder = RunFolder.create(path, config.to_dict(), ["synthetic"])
    return folder, folder.metrics()


def add(log: MetricsLog, config: TrainConfig, update: int) -> None:
    """An update in which seed 0 has the return ``update`` and seed 1 two more."""
    rows = [
        {"update": update, "seed": config.seed + i, "steps": update * STEPS, "episode_return": update + 2.0 * i}
        for i in range(config.seeds)
    ]
    log.append(rows, {"steps_per_second": 2048.0})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two finished runs of four updates, the first with a hostile name, visits and an evaluation."""
    out = tmp_path_factory.mktemp("runs")
    paths = []
    for name, config in ((HOSTILE, config_of()), ("other", config_of("action-balance-rnd"))):
        folder, log = begin(out / name, config)
        for update in range(1, 5):
            add(log, config, update)
            if name == HOSTILE:
                log.append_visits(update, update * STEPS, np.arange(18).reshape(9, 2) * update)
        folder.finish("finished")
        paths.append(folder.path)
    score = {"mean": 0.5, "low": 0.25, "high": 0.75, "median": 0.5, "max": 1.0}
    summary = {"checkpoint": {"update": 4}, "ways": {"greedy": {"score": score}}, "rooms": {"all": [0, 1, 5]}}
    RunFolder.open(paths[0]).save_evaluation(
        summary, {"episode.mp4": bytes(range(256)) * 4, "episodes.csv": b"way,rooms\ngreedy,2\ngreedy,3\n"}
    )
    return paths


@contextmanager
def served(paths: list[Path], live: bool = False) -> Iterator[int]:
    """The port of a server for some runs."""
    server = listening(view.site_of(view.chosen(paths, live), live), 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def news(path: Path, place: str) -> dict[str, Any]:
    return view_data.news(Watched.open(path, live=True), place)


def get(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())
    finally:
        connection.close()


def test_columns_are_means_over_seeds_and_updates() -> None:
    table = np.full((3, 2, len(READ)), nan)
    table[..., READ.index("steps")] = [[10], [20], [30]]
    table[..., READ.index("episode_return")] = [[1, 3], [3, 7], [nan, 5]]
    table[..., READ.index("states")] = 0
    found = columns(table, bucket=2)
    assert found["steps"] == [20, 30]
    # seed 0: (1 + 3) / 2 = 2, then unknown; seed 1: (3 + 7) / 2 = 5, then 5
    assert found["metrics"] == {"episode_return": {"mean": [3.5, 5.0], "low": [2.0, 5.0], "high": [5.0, 5.0]}}
    assert columns(table[:0], 2) == {"steps": [], "metrics": {}}


def test_visits_are_drawn_where_the_diver_is_and_by_what_actions_do(runs: list[Path]) -> None:
    (found,) = view_maps.players([Watched.open(runs[0])])
    assert (found["width"], found["height"], found["start"], found["goals"]) == (3, 3, 6, [2])
    assert found["walls"] == [5, 7, 8]  # what lies above the diagonal
    assert found["mean"]["moments"] == {"p0": [STEPS, 2 * STEPS, 3 * STEPS, 4 * STEPS]}
    total = unpacked(found["mean"]["counts"]["p0"]).reshape(4, 9, 2)
    assert (total == total[0]).all()  # as much more at every moment
    # state 0 is the top left cell, 6; its actions were counted 0 and 1, whichever of them is right
    assert sorted(total[0, 6].tolist()) == [0, 1]
    assert sorted(total[0, 0].tolist()) == [12, 13]  # state 6, the lower left


def test_a_saved_page_is_one_file_that_no_name_breaks(runs: list[Path], tmp_path: Path, browser: Browser) -> None:
    saved = tmp_path / "page.html"
    assert call("view", *map(str, runs), "--save", str(saved)) == 0
    text = saved.read_text()
    assert "<img src=x" not in text
    assert "data:video/mp4;base64," in text
    assert "0, 1, 5" in text  # rooms
    assert "2 to 3" in text  # in one game
    with shown(browser, saved.as_uri(), width=360) as found:
        found.page.wait_for_selector("html[data-ready]")
        seen = found.page.evaluate(LOOK)
        assert found.page.title() == f"Action balance: {HOSTILE} and other"
        assert HOSTILE in found.page.locator("#runs").inner_text()
        legend = found.page.locator("#charts-0 .legend").first.inner_text()
        assert found.requests == [saved.as_uri(), *(url for url in found.requests if url.startswith("data:"))]
        assert [error for error in found.errors if "media" not in error.lower()] == []
    assert (seen["overflow"], seen["ids"]) == (0, 0)
    # the last update: returns 4 and 6 of two seeds
    assert re.sub(r"\s+", " ", legend).strip() == "RND 5 action balance RND 5"


def test_a_film_that_is_too_large_is_left_out_and_said_to_be(runs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    film = runs[0] / "evaluation" / "episode.mp4"
    assert str(Embedded(used=0).link(runs[0], film)).startswith("data:video/mp4;base64,AAECAw")
    monkeypatch.setattr(web_files, "MOST_BYTES", 1000)
    assert Embedded(used=0).link(runs[0], film) is None
    page = view_page.runs_page([Watched.open(runs[0])], lambda *_: None, served=False)
    assert "<code>episode.mp4</code>" in page
    assert "<video" not in page


def test_runs_that_differ_only_in_their_seeds_are_one_curve(tmp_path: Path) -> None:
    for seed in (0, 2):
        config = config_of(seed=seed)
        folder, log = begin(tmp_path / f"run{seed}", config)
        add(log, config, 1)
        folder.finish("finished")
    both = [Watched.open(tmp_path / f"run{seed}") for seed in (0, 2)]
    (curve,) = view_data.curves(both, pooled=True)
    assert (curve["label"], curve["environment"], curve["seeds"]) == ("RND", "deep-sea 3", 4)
    assert curve["metrics"]["episode_return"] == {"mean": [2.0], "low": [1.0], "high": [3.0]}
    assert [one["label"] for one in view_data.curves(both, pooled=False)] == ["RND (run0)", "RND (run2)"]


def test_a_damaged_row_shifts_no_update_of_runs_that_are_one_curve(tmp_path: Path) -> None:
    for seed in (0, 2):
        config = config_of(seed=seed)
        folder, log = begin(tmp_path / f"run{seed}", config)
        for update in (1, 2, 3):
            add(log, config, update)
        folder.finish("finished")
    file = tmp_path / "run2" / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:3], lines[3][:20], b"\n", *lines[4:]]))  # seed 3 in update 2
    (curve,) = view_data.curves([Watched.open(tmp_path / f"run{seed}") for seed in (0, 2)], pooled=True)
    assert curve["steps"] == [STEPS, 3 * STEPS]
    assert curve["metrics"]["episode_return"] == {"mean": [2.0, 4.0], "low": [1.0, 3.0], "high": [3.0, 5.0]}


def test_the_server_gives_the_page_and_listed_files_and_nothing_else(runs: list[Path]) -> None:
    film = bytes(range(256)) * 4
    with served(runs) as port:
        status, content, headers = get(port, "/")
        assert (status, content[:15]) == (200, b"<!doctype html>")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert b'src="/files/0/episode.mp4"' in content
        assert get(port, "/files/0/episode.mp4")[:2] == (200, film)
        status, content, headers = get(port, "/files/0/episode.mp4", Range="bytes=256-259")
        assert (status, content, headers["Content-Range"]) == (206, bytes(range(4)), "bytes 256-259/1024")
        assert get(port, "/files/0/episode.mp4", Range="bytes=-3")[:2] == (206, film[-3:])
        assert get(port, "/files/0/episode.mp4", Range="bytes=2000-")[0] == 416
        assert get(port, "/files/0/episode.mp4", "HEAD")[:2] == (200, b"")
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
        assert get(port, "/", "POST")[0] == 501
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", ""):
            assert get(port, "/", Host=host)[0] == 403
        assert get(port, "/", Host=f"localhost:{port}")[0] == 200
    assert serve._hosts(80) == ("127.0.0.1", "localhost")


@pytest.mark.parametrize("whole_folder", [False, True])
def test_a_link_that_leads_out_of_the_run_is_not_followed(tmp_path: Path, whole_folder: bool) -> None:
    folder, _ = begin(tmp_path / "run", config_of())
    summary = {"checkpoint": {"update": 1}, "ways": {"greedy": {"score": {"mean": 1.0, "median": 1.0, "max": 1.0}}}}
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
    assert '"metrics":{"episode_return":{"mean":[2.0,3.0,4.0,5.0]' in page
    assert base64.b64encode(bytes(range(256)) * 4).decode() in page  # the film


def test_a_live_page_follows_a_run_from_before_its_beginning_to_its_end(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_page, "ASK_EVERY", 0.1)
    path, config = tmp_path / "run", config_of(updates=4)
    with served([path], live=True) as port, shown(browser, f"http://127.0.0.1:{port}/") as found:
        said = found.page.locator("#progress output")
        until(found.page, lambda: "not started yet" in said.inner_text())
        folder, log = begin(path, config)
        add(log, config, 1)
        until(found.page, lambda: "update 1 of 4" in said.inner_text())  # it has loaded itself anew
        assert found.page.locator("#runs, .waiting, #watch").count() == 0  # nothing that would not be followed
        add(log, config, 2)
        log.append_visits(2, 2 * STEPS, np.full((9, 2), 2))
        until(found.page, lambda: "update 2 of 4 · 2,048 steps · 2,048 steps/s · 2 s left" in said.inner_text())
        legend = found.page.locator("#charts-0 .legend output").first
        until(found.page, lambda: legend.inner_text() == "3")  # seeds with returns 2 and 4
        map_says = found.page.locator("#watch .visits output")
        until(
            found.page, lambda: map_says.all_inner_texts() == ["2"]
        )  # loaded anew with the first map: 4 visits, 2 seeds
        asked = [url for url in found.requests if "/news" in url]
        add(log, config, 3)
        log.append_visits(3, 3 * STEPS, np.full((9, 2), 5))
        folder.finish("interrupted")
        until(found.page, lambda: said.inner_text().startswith("interrupted · update 3 of 4"))
        assert legend.inner_text() == "4"
        until(found.page, lambda: map_says.inner_text() == "5")
        assert found.page.locator("#watch .readout").inner_text() == "step 3,072 of 3,072"
        assert all(url.startswith(f"http://127.0.0.1:{port}/") for url in found.requests)
        size = (path / "metrics.jsonl").stat().st_size
        assert f"-{size}" not in asked[-1]
        until(found.page, lambda: any(f"-{size}&" in url for url in found.requests))  # only what is new
        assert found.errors == []


def test_news_are_what_is_new_and_begin_anew_with_another_file(tmp_path: Path) -> None:
    config = config_of(updates=4)
    folder, log = begin(tmp_path / "run", config)
    first = news(folder.path, "")
    assert (first["steps"], first["progress"]["status"], first["progress"]["left"]) == ([], "running", None)
    add(log, config, 1)
    second = news(folder.path, first["place"])
    assert second["metrics"]["episode_return"] == {"mean": [2.0], "low": [1.0], "high": [3.0]}
    with open(folder.path / "metrics.jsonl", "ab") as file:
        file.write(b'{"update": 2, "seed": 0, "steps": 2048, "episode_return": 1}\n{"upd')  # one seed and a half
    third = news(folder.path, second["place"])
    assert (third["steps"], third["place"], third["anew"]) == ([], second["place"], False)
    with open(folder.path / "metrics.jsonl", "ab") as file:
        file.write(b'\n{"update": 3, "seed": 0, "steps": 3072, "episode_return": 7}\n')  # the half line stays damaged
        file.write(b'{"update": 3, "seed": 1, "steps": 3072, "episode_return": 9}\n')
    later = news(folder.path, second["place"])
    assert (later["steps"], later["metrics"]["episode_return"]["mean"]) == ([3072], [8.0])
    assert news(folder.path, f"{later['place']}0")["anew"]  # a place beyond the end
    log.truncate_after(0)  # as a resumed run does
    add(log, config, 1)
    fourth = news(folder.path, second["place"])
    assert (fourth["steps"], fourth["anew"]) == ([STEPS], True)
    os.utime(folder.path / "timing.jsonl", (1, 1))
    assert news(folder.path, "")["progress"]["status"] == "silent"
    folder.release()


def test_what_cannot_be_viewed_is_one_line(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for arguments, line in (
            ((str(tmp_path),), "is not a run: it has no config.json"),
            ((str(runs[0]), "--save", "x.html", "--live"), "a saved page cannot follow a run"),
            ((str(runs[1]), str(runs[1]), "--save", "x.html"), "are the same run: give each once"),
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
        (_link_table, "curves.csv is a link that leads out of its folder"),
        (lambda path: (path / "summary.json").write_text('{"kind": []}'), "has nothing to watch"),
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
    assert "/?run/[/bold]?x.html" in capsys.readouterr().out
    assert "<code>?run</code>" in saved.read_text()


def test_a_map_of_many_cells_is_drawn(tmp_path: Path, browser: Browser) -> None:
    side = 400
    counts = np.zeros((1, side * side), np.int64)
    counts[0, 7] = 5
    counts[0, 8] = 2
    one = {"counts": {"p0": packed(counts)}, "moments": {"p0": [10]}, "over": {"p0": 1}, "actions": 1, "only": True}
    world = {"id": "w", "title": "w", "width": side, "height": side, "walls": [], "start": 0, "goals": [], "chosen": 7}
    panels = [{"key": "p0", "method": "rnd", "name": "RND"}]
    rest = {"steps": 10, "begin": 1, "keyStep": 1, "actions": ["left"], "meanWord": "visits", "panels": panels}
    players = [{**world, **rest, "episodeSteps": 0, "mean": one}]
    data = {"heat": HEAT_STOPS, "players": players}
    covered = {"final_cells": {"value": 2.0, "low": None, "high": None}, "final_rate": 0.0}
    saved = tmp_path / "page.html"
    saved.write_text(
        render(
            "studies/explore/page.html",
            data,
            name="w",
            settings={"runs": 1, "methods": ["rnd"]},
            coverage={"methods": {"rnd": covered}, "steps": 10, "reachable_cells": side * side},
            first_reach=None,
            figures={},
            best="rnd",
            certain=True,
        )
    )
    with shown(browser, saved.as_uri()) as found:
        found.page.wait_for_selector("html[data-ready]")
        assert found.page.locator(".visits output").inner_text() == "5"
        assert found.page.locator(".fact").inner_text() == "2 cells"
        assert found.page.locator(".strip").get_attribute("aria-label") == "visits: from 2 to 5, logarithmic"
        assert found.errors == []


def test_serving_ends_with_an_interrupt(runs: list[Path]) -> None:
    command = [sys.executable, "-m", "action_balance", "view", str(runs[1])]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
    assert url is not None
    assert get(int(url[1]), "/")[0] == 200
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=30)
    assert (process.returncode, out, error) == (0, "stopped\n", "")


def test_a_result_of_another_kind_shows_its_runs_and_a_comparison_its_curves(runs: list[Path], tmp_path: Path) -> None:
    config = replace(config_of(), seeds=1)
    folder, log = begin(tmp_path / "study" / "runs" / "one", config)
    add(log, config, 1)
    folder.finish("finished")
    (tmp_path / "study" / "summary.json").write_text(json.dumps({"kind": "reproduce neural"}))
    found = view.chosen([tmp_path / "study"], live=False)
    assert found.runs == [folder.path]
    assert "<h1>RND in deep-sea 3</h1>" in found.page(lambda *_: None, False)
    assert call("compare", *map(str, runs), "--out", str(tmp_path / "compared")) == 2  # these lack a metric of it
    (tmp_path / "compared").mkdir()
    (tmp_path / "compared" / "comparison.csv").write_text("environment,curve,metric\ndeep-sea 3,rnd,states\n")
    curves = "environment,curve,steps,iqm,low,high,seeds\ndeep-sea 3,rnd,1024,5,,,1\n"
    (tmp_path / "compared" / "curves.csv").write_text(curves)
    page = view.chosen([tmp_path / "compared"], live=False).page(lambda *_: None, False)
    assert '"steps":[1024],"metrics":{"states":{"mean":[5.0],"low":[null],"high":[null]}}' in page
