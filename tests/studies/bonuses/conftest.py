import pytest


@pytest.fixture(autouse=True)
def all_tuned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every method was tuned in every kind of world, whatever the tuning has come to."""
    monkeypatch.setattr("action_balance.studies.bonuses.settings.is_tuned", lambda *_: True)
