"""Kills: a training is killed at some moment, perhaps again while it is resumed, and then finished.

A run on the device must end as an undisturbed one, byte for byte: its metrics, and the arrays of its last checkpoint. A
run on the host begins new episodes when it is resumed; its rows must be complete and in order, each update once, and
what a checkpoint covered at the kill must still be there unchanged.
"""

from pathlib import Path

import numpy as np

from campaign.context import CaseContext
from campaign.fixtures import TRAININGS, Training, possible
from campaign.kinds.moments import MOMENTS, REPLACING, wait_for
from campaign.processes import COMPILE, READ
from campaign.snapshots import updates_of

DEVICE, HOST = ("long-sea", "long-open"), ("long-pole", "long-async")
#: Proportions of real commands, and of runs that compile everything themselves.
REAL, COMPILED = 0.15, 0.1


def run(context: CaseContext) -> None:
    """Kill a run one to three times, resume it, and compare it with an undisturbed one."""
    rng = context.rng
    world = rng.choice(possible((*DEVICE * 3, *HOST * 2, "atari")))
    training, reference = TRAININGS[world], context.fixtures.path(world, context.runner)
    usual = context.fixtures.seconds(world)
    folder, kept = context.folder / "run", 0
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        cache = COMPILE if rng.random() < COMPILED else READ
        process = context.runner.start(begin(training, folder), context.folder, cache=cache, real=rng.random() < REAL)
        moment = rng.choice((*MOMENTS, REPLACING))
        alive = wait_for(rng, moment, folder, process, context.runner, usual)
        process.kill()
        ended = context.runner.wait(process)
        if ended.code == -9:
            context.notes["kills"] += 1
            context.notes[f"kills: {moment}"] += 1
        else:
            context.judge(ended, (0,), f"it ended before {moment}")
        if not alive:
            break
        saved = newest(folder)
        kept = min(kept, saved) if kept else saved
        rows = _lines(folder)[: saved * training.seeds]
        expected = _lines(reference)[: saved * training.seeds]
        if training.exact and rows != expected:
            context.complain(f"rows up to the checkpoint of update {saved} differ from the reference after a kill")
    context.finish(*begin(training, folder), about=f"{world} after a kill")
    compare(context, training, folder, reference, kept)


def begin(training: Training, folder: Path) -> tuple[str, ...]:
    """The command that begins a run, or resumes one that has begun."""
    if (folder / "config.json").exists():
        return ("resume", str(folder))
    return (*training.words, "--out", str(folder))


def newest(folder: Path) -> int:
    """The update of the newest checkpoint; 0 if there is none."""
    try:
        names = [entry.name for entry in (folder / "checkpoints").iterdir()]
    except OSError:
        return 0
    return max((int(name) for name in names if name.isdigit()), default=0)


def compare(context: CaseContext, training: Training, folder: Path, reference: Path, kept: int = 0) -> None:
    """Compare a finished run with an undisturbed one.

    Args:
        context: of the case, which gets what is wrong.
        training: what the run was.
        folder: of the run.
        reference: folder of the undisturbed one.
        kept: update up to which even a run on the host must be equal.
    """
    found, expected = _lines(folder), _lines(reference)
    if training.exact and found != expected:
        context.complain(f"metrics.jsonl differs from the reference: {len(found)} rows of {len(expected)}")
    if found[: kept * training.seeds] != expected[: kept * training.seeds]:
        context.complain(f"rows up to update {kept}, which a checkpoint covered, have changed")
    each = [update for update in range(1, training.updates + 1) for _ in range(training.seeds)]
    if updates_of(found) != each or len(found) != len(each):
        context.complain(f"metrics.jsonl does not have every update once, in order: {updates_of(found)[-5:]}")
    if updates_of(_lines(folder, "timing.jsonl")) != list(range(1, training.updates + 1)):
        context.complain("timing.jsonl does not have every update once, in order")
    last = f"checkpoints/{training.updates:08d}/arrays.npz"
    if not (folder / last).exists():
        context.complain("the last checkpoint is missing")
    elif training.exact and arrays(folder / last) != arrays(reference / last):
        context.complain("the arrays of the last checkpoint differ from the reference")


def arrays(file: Path) -> dict[str, tuple[str, bytes]]:
    """The arrays of a checkpoint, as bytes."""
    with np.load(file) as found:
        return {name: (str(found[name].dtype), found[name].tobytes()) for name in found.files}


def _lines(folder: Path, name: str = "metrics.jsonl") -> list[bytes]:
    try:
        return (folder / name).read_bytes().splitlines(keepends=True)
    except OSError:
        return []
