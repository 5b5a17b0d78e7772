from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from ale_py import ALEInterface, LoggerMode, roms

from action_balance.envs.atari.emulator import Atari
from action_balance.envs.atari.games import PAPER_GAMES, count_actions
from action_balance.envs.host_base import HostEnvironment, HostStep
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

Make = Callable[..., Atari]


@pytest.fixture
def make() -> Iterator[Make]:
    """Environments that are closed in the end."""
    made: list[Atari] = []

    def one(
        game: str, envs: int, groups: int = 1, seed: int = 0, sticky: float = 0.25, episode_frames: int = 18_000
    ) -> Atari:
        made.append(Atari(game, envs, groups, seed, threads=1, sticky=sticky, episode_frames=episode_frames))
        return made[-1]

    yield one
    for environment in made:
        environment.close()


@cache
def cells(pixels: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The three pixels that each of the cells covers, and its shares in them, both (count, 3)."""
    edges = np.linspace(0, pixels, count + 1)
    overlap = np.minimum(edges[1:, None], np.arange(pixels) + 1) - np.maximum(edges[:-1, None], np.arange(pixels))
    covered = np.argsort(-overlap, axis=1)[:, :3]
    shares = np.maximum(np.take_along_axis(overlap, covered, axis=1), 0) * count / pixels
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    return covered, shares.astype(np.float32)


def shrink(screens: np.ndarray) -> np.ndarray:
    """Averages over 84x84 cells, not yet rounded; (..., 210, 160) to (..., 84, 84)."""
    (rows, in_rows), (columns, in_columns) = cells(210, 84), cells(160, 84)
    halfway = (screens[..., rows, :] * in_rows[:, :, None]).sum(axis=-2)
    return (halfway[..., columns] * in_columns).sum(axis=-1)


def shows(frame: np.ndarray, shrunk: np.ndarray) -> bool:
    """Whether the frame is the screen; only an average that falls on a half may be rounded up or down."""
    return bool(np.abs(shrunk - frame).max() < 0.5 + 1e-3)


class Console:
    """One emulator, played frame by frame under the protocol."""

    def __init__(self, game: str, seed: int, sticky: float = 0.25, limit: int = 18_000) -> None:
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", sticky)
        self.ale.setInt("random_seed", seed)
        path = roms.get_rom_path(game)
        assert path is not None
        self.ale.loadROM(path)
        self.buttons = self.ale.getMinimalActionSet()
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        self.ale.reset_game()
        self.screen = self.ale.getScreenGrayscale()
        self.third = np.zeros_like(self.screen)

    def step(self, action: int) -> tuple[int, bool, bool]:
        """Score, terminated, truncated. The screen is the maximum of the third and the fourth frame."""
        score, terminated, truncated = 0, False, False
        for frame in range(4):
            score += self.ale.act(self.buttons[action])
            terminated = self.ale.game_over()
            truncated = not terminated and self.ale.getEpisodeFrameNumber() >= self.limit
            if terminated or truncated:
                break  # without another look at the screen
            if frame == 2:
                self.third = self.ale.getScreenGrayscale()
            if frame == 3:
                self.screen = self.ale.getScreenGrayscale()
        self.screen = np.maximum(self.screen, self.third)
        return score, terminated, truncated


def play(environment: Atari, actions: np.ndarray) -> tuple[np.ndarray, list[HostStep]]:
    """First frames and all steps; actions (T, N), everything over all groups."""
    first = environment.reset()
    groups, size = first.shape[:2]
    steps = []
    for chosen in actions.reshape(len(actions), groups, size):
        for group in range(groups):
            environment.send(group, chosen[group])
        parts = [environment.receive(group) for group in range(groups)]
        joined: list[Any] = [np.concatenate(field) for field in zip(*map(fields, parts), strict=True)]
        steps.append(HostStep(*joined))
    return first.reshape(-1, 84, 84), steps


def fields(step: HostStep) -> tuple[np.ndarray, ...]:
    return step.frame, step.next_obs, step.reward, step.score, step.terminated, step.truncated


def draw(environment: HostEnvironment, steps: int) -> np.ndarray:
    """Random actions, (T, N)."""
    envs = environment.groups * environment.envs_per_group
    return np.random.default_rng(3).integers(environment.spec.nvec[0], size=(steps, envs))


@pytest.mark.parametrize(
    ("game", "steps", "limit", "terminations", "truncations", "scores"),
    [
        ("breakout", 170, 18_000, 2, 0, {1}),
        ("pitfall", 160, 600, 0, 2, {-100}),
        ("venture", 12, 18, 0, 4, set()),  # every fifth step ends after two emulator frames
    ],
)
def test_every_environment_is_one_emulator_played_frame_by_frame(
    game: str, steps: int, limit: int, terminations: int, truncations: int, scores: set[int], make: Make
) -> None:
    environment = make(game, 2, episode_frames=limit)
    consoles = [Console(game, int(seed), limit=limit) for seed in environment.seeds.ravel()]
    actions = draw(environment, steps)
    first, brought = play(environment, actions)
    frames, screens = list(first), [console.screen for console in consoles]
    for chosen, step in zip(actions, brought, strict=True):
        for env, console in enumerate(consoles):
            score, terminated, truncated = console.step(chosen[env])
            assert (step.score[env], step.terminated[env], step.truncated[env]) == (score, terminated, truncated)
            assert step.reward[env] == np.sign(score)
            frames.append(step.next_obs[env])
            screens.append(console.screen)
            if terminated or truncated:
                console.reset()
                frames.append(step.frame[env])
                screens.append(console.screen)
            else:
                np.testing.assert_array_equal(step.frame[env], step.next_obs[env])
    assert all(map(shows, frames, map(shrink, screens)))
    assert sum(step.terminated.sum() for step in brought) == terminations
    assert sum(step.truncated.sum() for step in brought) == truncations
    assert {score for step in brought for score in step.score} == scores | {0}


def test_groups_and_threads_do_not_change_what_an_environment_sees(make: Make) -> None:
    whole = make("pitfall", 4)
    actions = draw(whole, 30)
    _, expected = play(whole, actions)
    for other in (make("pitfall", 4, 2), Atari("pitfall", 4, 1, threads=2)):
        _, steps = play(other, actions)
        for one, same in zip(steps, expected, strict=True):
            np.testing.assert_array_equal(one.frame, same.frame)
            np.testing.assert_array_equal(one.score, same.score)


def test_a_reset_begins_from_the_seed_again_and_another_seed_is_another_game(make: Make) -> None:
    environment = make("pitfall", 2, seed=1)
    actions = np.repeat(draw(environment, 60)[:, :1], 2, axis=1)
    frames = [[step.frame for step in play(one, actions)[1]] for one in (environment, environment, make("pitfall", 2))]
    np.testing.assert_array_equal(frames[0], frames[1])
    seen = {np.stack(run)[:, env].tobytes() for run in frames for env in range(2)}
    assert len(seen) == 4


def test_a_game_has_its_own_actions_and_those_of_the_paper_have_all_18(make: Make) -> None:
    environment = make("montezuma_revenge", 6, 2)
    assert (environment.groups, environment.envs_per_group) == (2, 3)
    assert environment.spec == EnvSpec("image-stack", (4, 84, 84), (18,), dtype="uint8")
    assert environment.reset().shape == (2, 3, 84, 84)
    for wrong in ([0, 1, 18], [-1, 0, 0], [0]):
        with pytest.raises(ValueError, match="3 actions from 0 to 17 are needed"):
            environment.send(0, np.array(wrong))
    assert [count_actions(game) for game in (*PAPER_GAMES, "breakout")] == [18] * 6 + [4]


@pytest.mark.parametrize(("envs", "groups"), [(4, 3), (4, 0), (0, 1)])
def test_groups_that_do_not_fit_are_a_clear_error(envs: int, groups: int) -> None:
    with pytest.raises(UserError, match=f"{envs} environments cannot be split into {groups} equal groups"):
        Atari("pitfall", envs, groups)
