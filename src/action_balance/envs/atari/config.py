"""Settings of Atari games."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

from action_balance.config.env import HostEnvConfig
from action_balance.envs.atari.games import PAPER_GAMES, SIZE, SKIP, STACK, check_game, count_actions, title
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from action_balance.envs.host_base import HostEnvironment
    from action_balance.envs.replay import Replay

PREFIX = "atari:"


@dataclass(frozen=True)
class AtariConfig(HostEnvConfig):
    """An Atari game under the protocol of RND (Burda et al., 2019), without settings of its own."""

    label: ClassVar[str] = "Atari game"
    order: ClassVar[int] = 2
    forms: ClassVar[tuple[str, ...]] = ("atari:GAME",)
    packages: ClassVar[tuple[str, ...]] = ("ale-py", "gymnasium")
    has_images: ClassVar[bool | None] = True
    uses_threads: ClassVar[bool] = True
    common_scale: ClassVar[bool] = True
    checkpoint_seconds: ClassVar[float | None] = 300.0
    episodes_at_once: ClassVar[int | None] = 128
    episode_steps: ClassVar[int | None] = 4500
    outcome: ClassVar[Literal["return", "score"]] = "score"
    unit: ClassVar[str] = "game"
    length_name: ClassVar[str] = "steps"
    end_name: ClassVar[str] = "game over"
    frames_per_step: ClassVar[int | None] = SKIP
    replays: ClassVar[bool] = True
    has_rooms: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.name in (PREFIX, PREFIX[:-1]):
            raise UserError(f"{self.name} needs a game, e.g. {PREFIX}pitfall")
        super().__post_init__()
        check_game(self.game)

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(f"{PREFIX}{game}" for game in PAPER_GAMES)

    @classmethod
    def suggest(cls, name: str) -> str | None:
        return f"{PREFIX}{name}" if name in PAPER_GAMES else None

    @property
    def game(self) -> str:
        return self.name.removeprefix(PREFIX)

    @property
    def short_name(self) -> str:
        return self.game

    @property
    def title(self) -> str:
        return title(self.game)

    @property
    def in_process(self) -> bool:
        return False

    @cached_property
    def spec(self) -> EnvSpec:
        return EnvSpec("image-stack", (STACK, SIZE, SIZE), (count_actions(self.game),), dtype="uint8")

    def make(
        self,
        envs: int,
        groups: int,
        seed: tuple[int, ...],
        threads: int = 0,
        on_message: Callable[[str], None] = lambda _: None,
    ) -> "HostEnvironment":
        from action_balance.envs.atari.emulator import Atari

        del on_message
        return Atari(self.game, envs, groups, seed, threads)

    def replay(
        self, seed: tuple[int, ...], number: int, actions: "np.ndarray", rewards: "np.ndarray", terminated: bool
    ) -> "Replay":
        from action_balance.envs.atari.emulator import emulator_seeds
        from action_balance.envs.atari.replay import AtariReplay

        return AtariReplay(self.game, actions, rewards, terminated, int(emulator_seeds(seed, number + 1)[number]))
