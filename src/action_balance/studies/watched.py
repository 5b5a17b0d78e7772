"""One run of each method from its first step to its last, to be watched: the first of the study's own runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from action_balance.envs.grid import GridWorld
from action_balance.tabular import simulate
from action_balance.tabular.agent import TabularSettings
from action_balance.tabular.simulate import Cohort
from action_balance.tabular.trace import Trace, trace

#: Of a longer run, only so many steps are kept.
MOST_STEPS = 50_000


@dataclass(frozen=True)
class Watched:
    """Run 0 of each method in one world."""

    world: GridWorld
    traces: dict[str, Trace]


def run(
    world: GridWorld, methods: Sequence[str], steps: int, settings: TabularSettings, seed: int, stream: int
) -> Watched:
    """Walk once with each method.

    Args:
        world: whose goals are ignored.
        methods: by name.
        steps: of the study's runs.
        settings: of the agent.
        seed: of the study.
        stream: of the study's walks, so that these are the same runs.
    """
    empty = world.without_goals()
    cohorts = [Cohort.create(method, settings, (seed, stream), empty.goals) for method in methods]
    made = trace(empty, cohorts, simulate.shortened(settings, steps), min(steps, MOST_STEPS))
    return Watched(world, dict(zip(methods, made, strict=True)))
