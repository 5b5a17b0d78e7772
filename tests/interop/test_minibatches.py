import numpy as np

from action_balance.interop.minibatches import Minibatches


def test_one_step_on_all_samples_keeps_their_order() -> None:
    order, counts = Minibatches.of(2, 1, 1.0).order(size=3, room=4, seed=(0, 0))
    np.testing.assert_array_equal(order, [[0, 1, 2, 2], [0, 1, 2, 2]])  # the last one fills up, and does not count
    np.testing.assert_array_equal(counts, [3, 3])


def test_every_epoch_has_every_sample_once() -> None:
    order, counts = Minibatches.of(3, 4, 1.0).order(size=13, room=16, seed=(5, 0))
    assert order.shape == (12, 4)
    assert order.dtype == counts.dtype == np.int32
    np.testing.assert_array_equal(counts, [3, 3, 3, 4] * 3)  # 13 samples: ends at 3, 6, 9 and 13
    epochs = [
        [int(sample) for step in range(4 * epoch, 4 * epoch + 4) for sample in order[step, : counts[step]]]
        for epoch in range(3)
    ]
    assert [sorted(samples) for samples in epochs] == [list(range(13))] * 3
    assert len({tuple(samples) for samples in epochs}) == 3


def test_the_proportion_is_one_of_each_minibatch() -> None:
    order, counts = Minibatches.of(1, 2, 0.25).order(size=16, room=16, seed=(0, 0))
    assert order.shape == (2, 2)
    np.testing.assert_array_equal(counts, [2, 2])
    assert len(set(order.ravel().tolist())) == 4
    np.testing.assert_array_equal(Minibatches.of(1, 4, 0.01).order(8, 8, (0, 0))[1], [1, 1, 1, 1])  # never none


def test_the_same_seed_draws_the_same_and_the_next_call_something_else() -> None:
    draws = [Minibatches.of(1, 2, 1.0).order(8, 8, seed)[0].tolist() for seed in ((1, 0), (1, 0), (1, 2), (2, 0))]
    assert draws[0] == draws[1]
    assert draws[0] not in draws[2:]
