from pathlib import Path

import numpy as np
import pytest
from interrupted_cell import check_resuming

from action_balance.studies.bonuses.records import Record
from action_balance.studies.bonuses.settings import BonusesSettings, Setup
from action_balance.studies.bonuses.training import train


def test_a_cell_that_is_interrupted_has_the_record_of_one_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = BonusesSettings(seeds=2, steps=3072).cell("deep-sea-10", Setup("rnd", "hash"))
    made = check_resuming(tmp_path, cell, Record.load, train, monkeypatch)
    assert made["steps"].tolist() == [1024, 2048, 3072]
    assert made["pairs_updates"].tolist() == [1, 2, 3]
    # Every step of three updates is counted: between half of the visits and all of them, in bins of 1, 2 to 3, ...
    least = (made["pairs_number"] * 2 ** np.arange(made["pairs_number"].shape[-1])).sum(axis=-1)
    assert (least <= [1024, 2048, 3072]).all()
    assert (2 * least > [1024, 2048, 3072]).all()
    assert np.isfinite(made["kl"]).all()
    assert made["coef"].shape == (3,)
