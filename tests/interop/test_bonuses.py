import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import jax
import numpy as np
import optax
import pytest
from small_bonus import ACTIONS, OBS, RANDOM, RATE, SHAPE, TAKEN, WIDTH, make, make_rnd

from action_balance import RND, ActionBalance
from action_balance.bonuses.distillation import Distillation
from action_balance.core.balance import balance
from action_balance.errors import UserError
from action_balance.interop.inputs import Spaces, padded

IMAGES = RANDOM.integers(0, 256, (2, 3, 44, 48), dtype=np.uint8)


@contextmanager
def counted_compilations() -> Iterator[list[str]]:
    events: list[str] = []

    def listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            events.append(f"{duration_secs:.3f} s, {kwargs}")

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield events
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)


@jax.jit
def all_errors(module: Distillation, seen: jax.Array) -> jax.Array:
    return jax.vmap(module.all_errors)(seen)


@jax.jit
def adam_step(
    module: Distillation, optimizer: Any, seen: jax.Array, actions: jax.Array
) -> tuple[Distillation, Any, jax.Array]:
    def mean_error(predictor: Any) -> jax.Array:
        return jax.vmap(Distillation(module.target, predictor).error)(seen, actions).mean()

    error, gradient = jax.value_and_grad(mean_error)(module.predictor)
    changes, optimizer = optax.adam(RATE).update(gradient, optimizer)
    return Distillation(module.target, optax.apply_updates(module.predictor, changes)), optimizer, error


class ByHand:
    """The same networks with the pieces of the library, and statistics of NumPy; nothing is padded or in parts."""

    def __init__(self, ours: ActionBalance) -> None:
        self.module = Distillation(ours._learner.state, ours._learner.params)
        self.optimizer = optax.adam(RATE).init(self.module.predictor)
        self.mean, self.deviation = np.zeros(SHAPE), np.ones(SHAPE)

    def statistics_of(self, obs: np.ndarray) -> None:
        self.mean, self.deviation = obs.mean(axis=0, dtype=float), obs.std(axis=0, dtype=float)

    def view(self, obs: np.ndarray) -> np.ndarray:
        return np.clip((obs - self.mean) / self.deviation, -5, 5).astype(np.float32)

    def bonus(self, obs: np.ndarray) -> np.ndarray:
        return np.asarray(all_errors(self.module, self.view(obs)))

    def learn(self, obs: np.ndarray, actions: np.ndarray) -> float:
        """With the statistics as they are."""
        self.module, self.optimizer, error = adam_step(self.module, self.optimizer, self.view(obs), actions)
        return float(error)


# --- Action balance, against the pieces --------------------------------------


def test_bonus_and_logits_are_those_of_the_pieces() -> None:
    ours = make(seed=5)
    theirs = ByHand(ours)
    logits = RANDOM.normal(size=(8, ACTIONS)).astype(np.float32)
    np.testing.assert_allclose(ours.bonus(OBS), theirs.bonus(OBS), rtol=1e-4)
    expected = jax.jit(jax.vmap(balance))(logits, theirs.bonus(OBS))
    np.testing.assert_allclose(ours.logits(OBS, logits), expected, rtol=1e-4)
    # By hand: Normalize divides by the Euclidean norm over actions.
    bonus = ours.bonus(OBS[0])
    expected = logits[0] + 2.5 * bonus / np.sqrt((bonus.astype(float) ** 2).sum())
    np.testing.assert_allclose(ours.logits(OBS[0], logits[0], 2.5), expected, rtol=1e-5)


def test_learning_absorbs_first_and_is_one_step_of_adam_on_the_pairs_taken() -> None:
    ours = make(seed=5)
    theirs = ByHand(ours)
    theirs.statistics_of(OBS)
    np.testing.assert_allclose(ours.learn(OBS, TAKEN), theirs.learn(OBS, TAKEN), rtol=1e-4)
    np.testing.assert_allclose(ours.bonus(OBS), theirs.bonus(OBS), rtol=1e-3)
    # The second batch has five samples: padded to eight. All 13 count the same.
    theirs.statistics_of(np.concatenate([OBS, 2 * OBS[:5]]))
    np.testing.assert_allclose(ours.learn(2 * OBS[:5], TAKEN[:5]), theirs.learn(2 * OBS[:5], TAKEN[:5]), rtol=1e-4)
    np.testing.assert_allclose(ours.bonus(OBS), theirs.bonus(OBS), rtol=1e-3)


def test_a_pair_learned_often_has_a_lower_error_and_its_rivals_get_higher_logits() -> None:
    module = make(coef=2.0)
    module.observe(OBS)
    before = module.bonus(OBS)
    for _ in range(150):
        module.learn(OBS, np.full(8, 2))
    after, balanced = module.bonus(OBS), module.logits(OBS, np.zeros((8, ACTIONS)))
    others = [0, 1, 3]
    assert (after[:, 2] < 0.1 * before[:, 2]).all()
    assert (after[:, 2] < 0.3 * after[:, others].min(axis=1)).all()
    assert (balanced[:, others].min(axis=1) > balanced[:, 2] + 0.3).all()


@pytest.mark.parametrize("lead", [(), (2, 3)])
def test_any_axes_may_come_before_those_of_an_observation(lead: tuple[int, ...]) -> None:
    module = make()
    obs = OBS[: int(np.prod(lead))].reshape(*lead, *SHAPE)
    bonus = module.bonus(obs)
    assert bonus.shape == (*lead, ACTIONS)
    assert bonus.dtype == np.float32
    np.testing.assert_allclose(bonus.reshape(-1, ACTIONS), make().bonus(OBS)[: int(np.prod(lead))], rtol=1e-5)
    balanced = module.logits(obs.tolist(), np.zeros((*lead, ACTIONS)))
    assert balanced.shape == (*lead, ACTIONS)
    assert balanced.dtype == np.float32
    balanced += 1  # the caller's own, not a view of something of JAX
    assert isinstance(module.learn(obs, np.zeros(lead, int)), float)


def test_other_batch_sizes_settings_and_seeds_compile_nothing_new() -> None:
    def use(module: ActionBalance, size: int) -> None:
        obs = np.resize(OBS, (size, *SHAPE))
        module.bonus(obs)
        module.learn(obs, np.zeros(size, int))

    for size in (1, 2, 4, 8):
        use(make(), size)
    with counted_compilations() as compiled:
        use(make(), 16)
    own = [one for one in compiled if "_absorbed" not in one]  # the statistics are the same program for all bonuses
    assert len(own) == 2  # one to score, one to learn
    with counted_compilations() as compiled:
        for size in range(1, 17):
            use(make(seed=size, coef=0.1 * size, learning_rate=1e-3), size)
    assert compiled == []


def test_batches_are_padded_to_powers_of_two() -> None:
    batch = np.arange(13)
    np.testing.assert_array_equal(padded(batch), [*range(13), 12, 12, 12])
    assert [len(padded(batch[:size])) for size in (1, 2, 3, 4, 5, 8)] == [1, 2, 4, 4, 8, 8]


# --- Spaces -------------------------------------------------------------------


def test_gymnasium_spaces_are_known() -> None:
    box, discrete = gymnasium.spaces.Box(-1, 1, SHAPE), gymnasium.spaces.Discrete(ACTIONS, start=5)
    module = ActionBalance.create(box, discrete, learning_rate=RATE, width=WIDTH)
    np.testing.assert_array_equal(module.bonus(OBS), make().bonus(OBS))
    assert module.learn(OBS, TAKEN + 5) == make().learn(OBS, TAKEN)
    with pytest.raises(UserError, match=r"^actions must be from 5 to 8, not 0$"):
        module.learn(OBS, TAKEN)


def test_matrices_are_images_where_convolutions_can_see_them_and_vectors_otherwise() -> None:
    sizes = ((44, 44), (4, 84, 84), (43, 84), (2, 3))
    assert [Spaces.of(shape, 2).spec.is_image for shape in sizes] == [True, True, False, False]
    assert Spaces.of((4, 84, 80), 2, "stack").spec.shape == (84, 80)
    spaces = Spaces.of((2, 3), 2)
    assert (spaces.spec.kind, spaces.spec.shape) == ("vector", (6,))
    np.testing.assert_array_equal(spaces.observations(np.arange(6).reshape(2, 3))[0], [[0, 1, 2, 3, 4, 5]])


@pytest.mark.parametrize(
    ("obs_space", "action_space", "message"),
    [
        ((4,), gymnasium.spaces.Text(2), "its actions are Text.*convert them"),
        ((4,), 1, "the number of actions is 1, but balancing needs at least two"),
        (4, 2, r"obs_space 4 is not supported: use a Gymnasium space or a shape such as \(4,\)"),
        ((64, 64, 64), 2, r"shape \(64, 64, 64\) are ambiguous: choose a layout.* hwc .* chw .* stack .* vector"),
    ],
)
def test_an_unknown_space_is_one_line_that_says_what_to_use(obs_space: Any, action_space: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        ActionBalance.create(obs_space, action_space)
    assert "\n" not in str(raised.value)


# --- What can be wrong --------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.bonus(np.zeros((2, 5))), r"obs has shape \(2, 5\), but one observation has \(3,\): pass one"),
        (lambda m: m.bonus([1.0, np.nan, 0.0]), "obs has values that are not finite.*numpy.nan_to_num"),
        (lambda m: m.bonus([[1.0], [1.0, 2.0]]), "obs is not an array of numbers"),
        (lambda m: m.logits(OBS, np.zeros(4)), r"logits has shape \(4,\), but 4 actions .* need \(8, 4\)"),
        (lambda m: m.learn(OBS, TAKEN[:7]), r"actions has shape \(7,\), but the observations have \(8,\)"),
        (lambda m: m.learn(OBS, TAKEN / 2), r"actions must be integers, not float64: convert with .astype\(int\)"),
        (lambda _: make(coef=np.nan), "coef must be from 0 to 1000000, not nan"),
        (lambda _: make(normalize="l3"), "unknown normalize 'l3': did you mean l2?"),
        (lambda _: make(settings={"embedding": "channel"}), "an action channel needs images"),
        (lambda _: make_rnd(2).reward(OBS[:3]), r"pass \(2,\) for one step or \(T, 2\) for a rollout"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_fix(call: Callable[[ActionBalance], Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        call(make())
    assert "\n" not in str(raised.value)


def test_a_mistake_changes_nothing() -> None:
    module = make()
    for wrong in (lambda: module.learn(OBS, TAKEN + 1), lambda: module.observe([0.0, np.nan, 0.0])):
        with pytest.raises(UserError):
            wrong()
    np.testing.assert_array_equal(module.bonus(OBS), make().bonus(OBS))


# --- Images -------------------------------------------------------------------


@pytest.fixture(scope="module")
def seer() -> ActionBalance:
    """For stacks of three images, with the action channel."""
    module = ActionBalance.create(
        (3, 44, 48), 2, settings={"embedding": "channel"}, width=64, learning_rate=1e-3, layout="stack"
    )
    module.observe(IMAGES)
    return module


def test_of_a_stack_only_the_last_frame_is_seen(seer: ActionBalance) -> None:
    bonus = seer.bonus(IMAGES)
    assert bonus.shape == (2, 2)
    assert (bonus > 0).all()
    older = IMAGES.copy()
    older[:, :2] = 0
    np.testing.assert_array_equal(seer.bonus(older), bonus)
    newer = IMAGES.copy()
    newer[:, 2] //= 2
    assert (seer.bonus(newer) != bonus).all()


def test_pixels_are_normalised_by_their_own_statistics(seer: ActionBalance, tmp_path: Path) -> None:
    seer.save(tmp_path / "seer")
    with np.load(tmp_path / "seer") as entries:
        moments = {name: entries[f".obs_stats.{name}"] for name in ("count", "mean", "squares")}
    assert moments["count"] == 2
    np.testing.assert_allclose(moments["mean"], IMAGES[:, 2].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(moments["squares"] / 2, IMAGES[:, 2].astype(float).var(axis=0), rtol=1e-4, atol=1e-3)


def test_images_are_learned(seer: ActionBalance, tmp_path: Path) -> None:
    seer.save(tmp_path / "seer")
    learner = ActionBalance.load(tmp_path / "seer")
    errors = [learner.learn(IMAGES, [0, 0]) for _ in range(60)]
    assert errors[-1] < 0.2 * errors[0]
    assert (learner.bonus(IMAGES)[:, 0] < learner.bonus(IMAGES)[:, 1]).all()
    assert (seer.bonus(IMAGES)[:, 0] > errors[-1]).all()


# --- RND ----------------------------------------------------------------------


def test_rewards_are_errors_over_the_deviation_of_filtered_returns() -> None:
    module = make_rnd(2, gamma=0.9)
    rollout = RANDOM.normal(size=(5, 2, *SHAPE)).astype(np.float32)
    bonus = module.bonus(rollout)
    np.testing.assert_allclose(bonus[0], module.bonus(rollout[0]), rtol=1e-5)
    filtered, trace = np.zeros(2), []
    for step in bonus.astype(float):
        filtered = 0.9 * filtered + step
        trace.append(filtered)
    rewards = module.reward(rollout)
    assert rewards.shape == (5, 2)
    assert rewards.dtype == np.float32
    np.testing.assert_allclose(rewards, bonus / np.std(trace), rtol=1e-4)
    # Another step goes on where the rollout ended.
    filtered = 0.9 * filtered + bonus[0]
    np.testing.assert_allclose(module.reward(rollout[0]), bonus[0] / np.std([*trace, filtered]), rtol=1e-4)


def test_a_single_first_step_has_no_scale_and_is_worth_nothing() -> None:
    one = make_rnd(1)
    first, second = one.reward(OBS[0]), one.reward(OBS[1])
    assert first.shape == ()
    assert first == 0
    errors = one.bonus(OBS[:2]).astype(float)
    np.testing.assert_allclose(second, errors[1] / np.std([errors[0], 0.99 * errors[0] + errors[1]]), rtol=1e-4)


def test_a_state_reached_often_is_worth_less_than_one_never_reached() -> None:
    module = make_rnd(2)
    module.observe(OBS)
    for _ in range(150):
        error = module.learn(OBS[:4])
    often, never = module.bonus(OBS[:4]), module.bonus(OBS[4:])
    assert often.max() < 0.2 * never.min()
    np.testing.assert_allclose(error, often.mean(), rtol=0.2)


# --- Save and load ------------------------------------------------------------


def test_a_loaded_action_balance_goes_on_bit_for_bit(tmp_path: Path) -> None:
    module = make(coef=0.5, normalize="standard", seed=7)
    for _ in range(3):
        module.learn(OBS, TAKEN)
    module.save(tmp_path / "new" / "balance.npz")
    module.save(str(tmp_path / "new" / "balance.npz"))  # replaced
    loaded = ActionBalance.load(tmp_path / "new" / "balance.npz")
    for size in (8, 5):
        assert loaded.learn(OBS[:size], TAKEN[:size]) == module.learn(OBS[:size], TAKEN[:size])
    np.testing.assert_array_equal(
        loaded.logits(OBS, np.zeros((8, ACTIONS))), module.logits(OBS, np.zeros((8, ACTIONS)))
    )
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["balance.npz"]


def test_a_loaded_rnd_goes_on_bit_for_bit(tmp_path: Path) -> None:
    module = make_rnd(2)
    rollout = OBS.reshape(4, 2, *SHAPE)
    module.reward(rollout)
    module.learn(rollout)
    module.save(tmp_path / "rnd.npz")
    loaded = RND.load(tmp_path / "rnd.npz")
    np.testing.assert_array_equal(loaded.reward(rollout), module.reward(rollout))
    assert loaded.learn(rollout) == module.learn(rollout)
    np.testing.assert_array_equal(loaded.bonus(rollout), module.bonus(rollout))


def test_the_wrong_class_another_format_and_no_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rnd.npz"
    make_rnd().save(path)
    with pytest.raises(
        UserError, match=r"rnd.npz contains IntrinsicBonus, not ActionBalance: load it with the class of that name$"
    ):
        ActionBalance.load(path)
    with pytest.raises(UserError, match=r"^cannot read .*nowhere: No such file or directory$"):
        RND.load(tmp_path / "nowhere")
    changed(path, lambda header: {**header, "format": 9})
    with pytest.raises(UserError, match=r"rnd.npz has format 9, but this version reads 3: use the version that wrote"):
        RND.load(path)


def changed(path: Path, header_of: Callable[[Any], Any]) -> None:
    """Write a file anew with other settings."""
    with np.load(path) as entries:
        arrays: dict[str, Any] = {name: entries[name] for name in entries.files}
    header = json.dumps(header_of(json.loads(arrays["settings.json"].tobytes())))
    arrays["settings.json"] = np.frombuffer(header.encode(), np.uint8)
    np.savez(path, allow_pickle=False, **arrays)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"width": 17}, "does not match its settings"), ({"gamma": 2}, "is damaged or was not written by")],
)
def test_settings_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, int], message: str) -> None:
    make_rnd().save(tmp_path / "rnd.npz")
    changed(tmp_path / "rnd.npz", lambda header: {**header, "settings": {**header["settings"], **changes}})
    with pytest.raises(UserError, match=message):
        RND.load(tmp_path / "rnd.npz")


def test_a_damaged_file_is_noticed_wherever_the_damage_is(tmp_path: Path) -> None:
    path = tmp_path / "rnd.npz"
    make_rnd().save(path)
    intact = path.read_bytes()
    unharmed, messages = 0, list[str]()
    for place in np.linspace(0, len(intact) - 1, 60).astype(int):
        path.write_bytes(intact[:place] + bytes([intact[place] ^ 0x55]) + intact[place + 1 :])
        try:
            loaded = RND.load(path)
        except UserError as error:
            messages.append(str(error))
        else:  # bytes that say nothing, such as a date
            unharmed += 1
            np.testing.assert_array_equal(loaded.bonus(OBS), make_rnd().bonus(OBS))
    assert unharmed < 12
    assert not any("\n" in message for message in messages)
    for size in (0, 10, len(intact) // 2, len(intact) - 1):
        path.write_bytes(intact[:size])
        with pytest.raises(UserError, match=r"is damaged or was not written by action_balance.interop"):
            RND.load(path)


def test_a_foreign_file_is_refused_and_never_executed(tmp_path: Path) -> None:
    foreign = io.BytesIO()
    np.savez(foreign, allow_pickle=True, weights=np.array([{"a": 1}], object))
    for content in (b"no archive", foreign.getvalue()):
        (tmp_path / "file").write_bytes(content)
        with pytest.raises(UserError, match=r"was not written by action_balance.interop"):
            ActionBalance.load(tmp_path / "file")
