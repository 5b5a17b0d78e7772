"""Signals: a training gets Ctrl-C once or twice, or SIGTERM, at some moment, and is resumed.

How long the answer takes is reported, not asserted: it depends on what else the machine is doing.
"""

import signal
import time

from campaign.checks import PROGRAM
from campaign.context import CaseContext
from campaign.fixtures import TRAININGS, possible
from campaign.kinds.kills import DEVICE, HOST, begin, compare, newest
from campaign.kinds.moments import MOMENTS, wait_for
from campaign.processes import COMPILE, HANG, READ

#: Seconds within which a signal is to be answered, by what was sent.
PROMISED = {"Ctrl-C once": 1.0, "Ctrl-C twice": 2.0, "SIGTERM": 10.0}
#: Seconds between the two signals of an impatient user; within a tenth of a second they count as one.
BETWEEN = (0.2, 1.5)


def run(context: CaseContext) -> None:
    """Interrupt a run, then resume it, and compare it with an undisturbed one."""
    rng = context.rng
    world = rng.choice(possible((*DEVICE * 2, *HOST)))
    training, reference = TRAININGS[world], context.fixtures.path(world, context.runner)
    folder, sent = context.folder / "run", rng.choice(list(PROMISED))
    cache = COMPILE if rng.random() < 0.4 else READ
    process = context.runner.start(begin(training, folder), context.folder, cache=cache)
    moment, usual = rng.choice(MOMENTS), context.fixtures.seconds(world)
    alive = wait_for(rng, moment, folder, process, context.runner, usual)
    about = f"{world}, {sent}, moment: {moment}"
    while alive and not process.answers_signals():  # a signal that comes earlier is not for us to answer
        time.sleep(0.01)
        alive = not context.runner.has_ended(process)
    if alive:
        context.notes["signals"] += 1
        process.kill(signal.SIGTERM if sent == "SIGTERM" else signal.SIGINT)
        began = time.monotonic()
        if sent == "Ctrl-C twice":
            second = began + rng.uniform(*BETWEEN)
            while time.monotonic() < second and not context.runner.has_ended(process):
                time.sleep(0.01)
            began = time.monotonic()
            process.kill(signal.SIGINT)
        ended = context.runner.wait(process, hang=began - process.began + HANG)
        context.waits.setdefault(sent, []).append(time.monotonic() - began)
        context.judge(ended, (0, 130), about)
        if ended.code == 130 and PROGRAM not in ended.err:
            context.complain("was interrupted without a line that says so", ended, about)
        if ended.code < 0 and newest(folder) < training.updates:
            context.complain("was ended by a signal before it had finished", ended, about)
    else:
        context.judge(context.runner.wait(process), (0,), about)
    context.finish(*begin(training, folder), about=about)
    compare(context, training, folder, reference)
