"""Settings of the grid experiments. Importing them loads no JAX."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from action_balance.config.fields import Settings, count, number
from action_balance.envs.grid.config import LARGEST
from action_balance.errors import MAX, UserError
from action_balance.studies import paper
from action_balance.studies.checks import check_count, check_names
from action_balance.tabular.settings import METHODS, TabularSettings

if TYPE_CHECKING:
    from action_balance.envs.grid.world import GridWorld

#: Coordinates x, y of a cell.
Cell = tuple[int, int]

#: The parts of the study, in the order in which they run: each is the module of this folder with that name.
STUDIES = ("coverage", "goals", "corridor")

#: Episodes of the corridor study's longest walk.
CORRIDOR_EPISODES = 25


@dataclass(frozen=True)
class RunSettings(Settings):
    """Settings of every experiment with the tabular agent; the defaults are the paper's."""

    runs: int = count(100)
    """Runs per method."""
    seed: int = number(0, high=MAX)
    """Random seed; the same seed gives the same files."""
    episode_steps: int = count(paper.EPISODE_STEPS)
    """Steps per episode."""
    episodes: int = count(paper.EPISODES)
    """Episodes per run in the coverage study."""
    update_every: int = count(TabularSettings.update_every)
    """Steps between updates of the agent."""
    action_coef: float = number(TabularSettings.action_coef, high=1e6)
    """Weight c_a of the action bonus."""
    state_coef: float = number(TabularSettings.state_coef, high=1e6)
    """Weight c_s of the next-state bonus."""
    methods: tuple[str, ...] = tuple(METHODS)
    """Methods to compare: random, action-balance, rnd, action-balance-rnd."""
    max_steps: int = count(1_000_000)
    """Steps after which a run that has not reached its goal times out; results report how many do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("--episodes times --episode-steps", self.coverage_steps)
        check_names("method", self.methods, METHODS)

    @property
    def agent(self) -> TabularSettings:
        return TabularSettings(self.update_every, self.action_coef, self.state_coef)

    @property
    def coverage_steps(self) -> int:
        return self.episodes * self.episode_steps


@dataclass(frozen=True)
class GridSettings(RunSettings):
    """Settings of ``reproduce grid``; the defaults are the paper's, with ten times its runs."""

    runs: int = count(1000)
    """Runs per method (and per goal). The default gives narrow intervals; 100 is the paper's scale."""
    size: int = number(paper.SIZE, high=LARGEST)
    """Cells along each side of the open world."""
    goals: tuple[Cell, ...] = paper.GOALS
    """Goal cells x,y; each goal gets its own runs."""
    studies: tuple[str, ...] = STUDIES
    """Parts of the study to run: coverage, goals, corridor."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_names("study", self.studies, STUDIES)
        if "goals" in self.studies and not self.goals:
            raise UserError("the goals study needs at least one goal, e.g. --goals 10,20")
        if "corridor" in self.studies:
            check_count(f"{CORRIDOR_EPISODES} times --episode-steps", CORRIDOR_EPISODES * self.episode_steps)
        if (self.size, self.episode_steps, self.goals) != (paper.SIZE, paper.EPISODE_STEPS, paper.GOALS):
            self._check_worlds()  # the paper's need no check, so that default settings do not load JAX

    def _check_worlds(self) -> None:
        from action_balance.envs.grid.maps import corridor_world, goal_world

        _ = self.world  # its checks
        for goal in self.goals if "goals" in self.studies else ():
            try:
                goal_world(goal, self.size, self.episode_steps)
            except UserError as error:
                raise UserError(f"{error}; the goals are set with --goals") from None
            if self.goals.count(goal) > 1:
                raise UserError(f"goal {goal[0]},{goal[1]} is given twice: give each only once")
        if "corridor" in self.studies:
            corridor_world(episode_steps=self.episode_steps)

    @property
    def world(self) -> "GridWorld":
        from action_balance.envs.grid.maps import open_world

        return open_world(self.size, self.episode_steps)

    @property
    def as_in_paper(self) -> bool:
        """Whether world and agent are the paper's, so that its numbers are comparable with ours."""
        papers = GridSettings()
        return all(
            getattr(self, name) == getattr(papers, name)
            for name in ("size", "episode_steps", "episodes", "update_every", "action_coef", "state_coef")
        )
