"""Settings that never change."""

import copy
import pickle

import pytest

from action_balance.config.frozen import FrozenDict

SETTINGS = FrozenDict(hash={"hash_bits": 8, "sizes": [1, 2]})


def test_settings_of_plug_ins_can_be_sent_to_other_processes() -> None:
    sent = pickle.loads(pickle.dumps(SETTINGS))
    assert sent == SETTINGS
    assert hash(sent) == hash(SETTINGS)
    assert copy.deepcopy(SETTINGS) == SETTINGS


def test_a_copy_cannot_be_changed_either() -> None:
    sent = pickle.loads(pickle.dumps(SETTINGS))
    with pytest.raises(TypeError):
        sent["hash"]["hash_bits"] = 9
