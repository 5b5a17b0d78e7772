"""Runs in a small deep sea whose numbers are chosen, a server for them, and requests to it."""

import http.client
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.runs import MetricsLog, RunFolder
from action_balance.studies.training import view
from action_balance.web.serve import Site, listening

#: The name of a folder that would be a script if a page trusted it.
HOSTILE = "run\"'><img src=x onerror=document.title='pwned'>&amp;{{7*7}}"

#: Steps of an update.
STEPS = 8 * 128

#: The bytes of the film of `two_runs`.
FILM = bytes(range(256)) * 4


def config_of(method: str = "rnd", seed: int = 0, seeds: int = 2, updates: int = 4) -> TrainConfig:
    agent = AgentConfig(method=method, steps=updates * STEPS, exploration=ExplorationConfig(warmup_rollouts=0))
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


def two_runs(out: Path) -> list[Path]:
    """Two finished runs of four updates, the first with a hostile name, visits and an evaluation."""
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
    summary = {"checkpoint": {"update": 4}, "modes": {"greedy": {"score": score}}, "rooms": {"all": [0, 1, 5]}}
    RunFolder.open(paths[0]).save_evaluation(
        summary, {"episode.mp4": FILM, "episodes.csv": b"mode,rooms\ngreedy,2\ngreedy,3\n"}
    )
    return paths


@contextmanager
def listening_on(site: Site) -> Iterator[int]:
    """The port of a server for a site."""
    server = listening(site, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def served(paths: Sequence[Path], live: bool = False) -> Iterator[int]:
    """The port of a server for some runs."""
    with listening_on(view.site_of(view.chosen(paths, live), live)) as port:
        yield port


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
