"""What can be set about the grid experiments, checked before anything runs."""

from collections.abc import Collection
from dataclasses import dataclass

from action_balance.envs.grid.maps import corridor_world, goal_world, open_world
from action_balance.envs.grid.world import Cell, GridWorld
from action_balance.errors import UserError, check_name
from action_balance.studies import paper
from action_balance.tabular.settings import METHODS, TabularSettings

#: The studies, in the order in which they run.
STUDIES = ("coverage", "goals", "corridor")


def check_count(name: str, value: int, least: int = 1) -> None:
    """A `UserError` if a whole number is too small, or too large for the 32 bits in which steps are counted."""
    if value < least:
        raise UserError(f"{name} must be {least} or more, not {value}")
    if value >= 2**31:
        raise UserError(f"{name} must be below {2**31}, not {value}")


def check_seeds(seed: int, seeds: int) -> None:
    """A `UserError` unless ``--seeds`` seeds can follow from ``--seed`` on."""
    check_count("--seeds", seeds)
    check_count("--seed", seed, 0)
    if seed + seeds >= 2**31:
        raise UserError(f"--seed must be below {2**31 - seeds}")


def check_names(kind: str, names: tuple[str, ...], known: Collection[str]) -> None:
    """A `UserError` unless every name is known and none is given twice."""
    if not names:
        raise UserError(f"name at least one {kind}: choose from {', '.join(known)}")
    for name in names:
        check_name(kind, name, known)
        if names.count(name) > 1:
            raise UserError(f"{kind} {name} is given twice: name each once")


def parse_goal(text: str) -> Cell:
    """``"10,20"`` as the cell (10, 20)."""
    try:
        x, y = (int(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"goal '{text}' is not a cell: write x,y such as 10,20") from None
    return x, y


@dataclass(frozen=True)
class RunSettings:
    """What every experiment with the tabular agent has; the defaults are the paper's."""

    runs: int = 100
    """Runs of each method (and goal)."""
    seed: int = 0
    """The same seed gives the same files."""
    episode_steps: int = paper.EPISODE_STEPS
    """Steps of an episode."""
    episodes: int = paper.EPISODES
    """Episodes of a run that measures coverage."""
    update_every: int = TabularSettings.update_every
    """Steps between two updates of the agent."""
    action_coef: float = TabularSettings.action_coef
    """Weight c_a of the action bonus."""
    state_coef: float = TabularSettings.state_coef
    """Weight c_s of the next-state bonus."""
    methods: tuple[str, ...] = tuple(METHODS)
    """Which methods to compare: random, action-balance, rnd, action-balance-rnd."""
    max_steps: int = 1_000_000
    """A run that has not found its goal by then is given up, and said to be."""

    def __post_init__(self) -> None:
        check_count("--runs", self.runs)
        check_count("--seed", self.seed, 0)
        check_count("--episode-steps", self.episode_steps)
        check_count("--episodes", self.episodes)
        check_count("--update-every", self.update_every)
        check_count("--max-steps", self.max_steps)
        check_count("--episodes times --episode-steps", self.coverage_steps)
        check_names("method", self.methods, METHODS)
        TabularSettings(self.update_every, self.action_coef, self.state_coef)

    @property
    def agent(self) -> TabularSettings:
        """The settings of the tabular agent."""
        return TabularSettings(self.update_every, self.action_coef, self.state_coef)

    @property
    def coverage_steps(self) -> int:
        """Steps of a run that measures coverage."""
        return self.episodes * self.episode_steps


@dataclass(frozen=True)
class GridSettings(RunSettings):
    """Settings of ``reproduce grid``; the defaults are the paper's."""

    size: int = paper.SIZE
    """Cells along each side of the open world."""
    goals: tuple[Cell, ...] = paper.GOALS
    """Cells x,y to be reached, each in runs of its own."""
    studies: tuple[str, ...] = STUDIES
    """Which studies to run: coverage, goals, corridor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("study", self.studies, STUDIES)
        open_world(self.size, self.episode_steps)
        if "goals" in self.studies:
            if not self.goals:
                raise UserError("the study goals needs a goal: --goals 10,20")
            for goal in self.goals:
                try:
                    goal_world(goal, self.size, self.episode_steps)
                except UserError as error:
                    raise UserError(f"{error}; the goals are set with --goals") from None
                if self.goals.count(goal) > 1:
                    raise UserError(f"goal {goal[0]},{goal[1]} is given twice: name each once")
        if "corridor" in self.studies:
            corridor_world(episode_steps=self.episode_steps)
            check_count("25 times --episode-steps", 25 * self.episode_steps)

    @property
    def world(self) -> GridWorld:
        """The open world."""
        return open_world(self.size, self.episode_steps)

    @property
    def as_in_paper(self) -> bool:
        """Whether world and agent are the paper's, so that its numbers can be set beside ours."""
        papers = GridSettings()
        return all(
            getattr(self, name) == getattr(papers, name)
            for name in ("size", "episode_steps", "episodes", "update_every", "action_coef", "state_coef")
        )
