"""Functions of one seed, distributed over devices."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from action_balance.engines.device.seeds import Seeds

#: Of a compiled function; its type does not know it.
CACHE_SIZE = "_cache_size"


@pytest.mark.parametrize(("count", "one_batch"), [(1, False), (2, False), (3, False), (5, False), (3, True)])
def test_a_function_is_applied_to_each_seed(count: int, one_batch: bool) -> None:
    seeds = Seeds(10, count, jax.devices()[:2])
    seeds._one_batch = one_batch  # as on GPUs
    double = seeds.compile(lambda key, x: (jax.random.key_data(key)[-1], 2 * x), arguments=1)
    numbers, doubled = seeds.cut(seeds.run(double, seeds.place(np.arange(count, dtype=np.float32))))
    assert numbers.tolist() == list(range(10, 10 + count))
    assert doubled.tolist() == [2.0 * i for i in range(count)]


def test_a_program_is_compiled_once_although_some_of_its_results_are_empty() -> None:
    seeds = Seeds(0, 2, jax.devices()[:2])
    step = seeds.compile(lambda _, state: {"empty": state["empty"], "sum": state["sum"] + 1}, arguments=1)
    state = seeds.place({"empty": np.zeros((2, 0)), "sum": np.zeros(2)})
    for _ in range(3):
        state = seeds.run(step, state)
    assert state["sum"].tolist() == [3, 3]
    assert getattr(step, CACHE_SIZE)() == 1


@pytest.mark.parametrize(("chosen", "expected"), [(None, len(os.sched_getaffinity(0))), ("3", 3)])
def test_every_core_is_a_device_unless_the_user_decides(chosen: str | None, expected: int) -> None:
    program = (
        "import jax; from action_balance.engines.device.devices import use_all_cores;"
        "use_all_cores(); print(jax.device_count())"
    )
    environment = {name: value for name, value in os.environ.items() if name != "JAX_NUM_CPU_DEVICES"}
    environment |= {"JAX_PLATFORMS": "cpu"} | ({} if chosen is None else {"JAX_NUM_CPU_DEVICES": chosen})
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert int(done.stdout) == expected
