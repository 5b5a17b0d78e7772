"""Games played again: the same as they were, or an error."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from ale_py import ALEInterface, roms

from action_balance.envs.atari.emulator import Atari
from action_balance.envs.atari.replay import AtariReplay
from action_balance.envs.replay import Visit
from action_balance.errors import UserError

LEFT = 4


@cache
def recorded(game: str, limit: int = 18_000, action: int | None = None, envs: int = 2) -> list[AtariReplay]:
    """The first game of each emulator, with random actions or always the same."""
    environment = Atari(game, envs, seed=7, threads=1, episode_frames=limit)
    generator = np.random.default_rng(3)
    environment.reset()
    actions, steps = [], []
    ended = np.zeros(envs, bool)
    while not ended.all():
        drawn = generator.integers(environment.spec.nvec[0], size=envs)
        actions.append(drawn if action is None else np.full(envs, action))
        environment.send(0, actions[-1])
        steps.append(environment.receive(0))
        ended |= steps[-1].ended
    environment.close()
    records = []
    for env, seed in enumerate(environment.seeds.ravel()):
        end = next(time for time, step in enumerate(steps, 1) if step.ended[env])
        played = np.array([[one[env], step.score[env]] for one, step in zip(actions[:end], steps, strict=False)])
        over = bool(steps[end - 1].terminated[env])
        taken = played[:, 0].astype(int), played[:, 1]
        records.append(AtariReplay(game, *taken, over, int(seed), episode_frames=limit))
    return records


@pytest.mark.parametrize(
    ("game", "limit", "terminated"),
    # Games of Venture end after two of the four frames of their fifth step, those of Air Raid begin at frame 8.
    [("breakout", 18_000, True), ("venture", 18, False), ("air_raid", 18, False)],
)
def test_a_replay_scores_and_ends_as_the_vector_environment_did(game: str, limit: int, terminated: bool) -> None:
    for record in recorded(game, limit):
        moments = list(record.moments(pictures=False))
        assert record.terminated == terminated
        assert [moment.score for moment in moments] == [0, *np.cumsum(record.rewards)]
        assert moments[-1].score == record.rewards.sum()
        assert len(moments) == len(record.actions) + 1
    assert game != "breakout" or any(record.rewards.sum() > 0 for record in recorded(game, limit))


def test_a_picture_is_the_brighter_of_the_last_two_frames() -> None:
    record = recorded("pitfall", 400)[0]
    emulator = ALEInterface()
    emulator.setFloat("repeat_action_probability", 0.25)
    emulator.setInt("random_seed", record.seed)
    emulator.loadROM(str(roms.get_rom_path("pitfall")))
    emulator.reset_game()
    moments = list(record.moments())
    np.testing.assert_array_equal(moments[0].screen, emulator.getScreenRGB())
    assert record.action_names[:7] == ("no-op", "fire", "up", "right", "left", "down", "up right")
    for action, moment in zip(record.actions, moments[1:], strict=True):
        frames = []
        for _ in range(4):
            emulator.act(emulator.getMinimalActionSet()[action])
            frames.append(emulator.getScreenRGB())
        np.testing.assert_array_equal(moment.screen, np.maximum(frames[2], frames[3]))
        assert moment.room == emulator.getRAM()[1]
    assert moments[0].screen.shape == (210, 160, 3)


def to_the_left(room: int) -> int:
    """The rooms of Pitfall! are the states of a shift register: the new highest bit is the parity of four bits."""
    return room >> 1 | ((room >> 4 ^ room >> 5 ^ room >> 6 ^ room) & 1) << 7


def test_running_left_in_pitfall_leads_through_its_rooms() -> None:
    found = recorded("pitfall", 400, LEFT)[0].visits()
    assert found is not None
    rooms = [visit.room for visit in found]
    assert rooms == [196, to_the_left(196), to_the_left(to_the_left(196))] == [196, 226, 113]
    assert found[0].step == 0 < found[1].step < found[2].step <= 100


def test_montezuma_begins_in_room_1_and_other_games_have_no_rooms() -> None:
    assert recorded("montezuma_revenge", 40)[0].visits() == (Visit(1, 0),)
    assert recorded("venture", 18)[0].visits() is None
    assert {moment.room for moment in recorded("venture", 18)[0].moments()} == {None}


def test_a_record_that_was_not_so_is_an_error() -> None:
    record = recorded("pitfall", 400)[0]
    wrong = record.rewards.copy()
    wrong[6] += 100
    for changes, step in (
        ({"rewards": wrong}, "step 7 of 100"),
        ({"terminated": True}, "step 100 of 100"),
        ({"episode_frames": 18}, "step 5 of 100"),
    ):
        with pytest.raises(UserError, match=f"does not repeat an episode .*{step} differs"):
            list(replace(record, **changes).moments())
