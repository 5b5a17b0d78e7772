"""Trackers by name."""

import importlib.util
import sys
from pathlib import Path

import pytest

from action_balance.errors import UserError
from action_balance.tracking.base import TrackConfig
from action_balance.tracking.registry import check_installed, track_config


def test_one_name_or_several_are_taken() -> None:
    assert track_config("wandb", "mine") == TrackConfig(("wandb",), "mine")
    assert track_config(["wandb", "mlflow"]) == TrackConfig(("wandb", "mlflow"))


def test_an_unknown_tracker_gets_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"unknown tracker 'wandbb': did you mean wandb\?"):
        check_installed(["wandbb"])


def test_a_package_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r'mlflow is not installed, but --track mlflow needs it: .*"\.\[mlflow\]"'):
        check_installed(["mlflow"])


def test_the_folder_that_wandb_writes_to_is_not_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wandb").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    with pytest.raises(UserError, match="wandb is not installed"):
        check_installed(["wandb"])
