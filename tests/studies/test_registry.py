"""Which page shows a result: by its kind, for every study package."""

import importlib
import json
import pkgutil
from pathlib import Path

import pytest

from action_balance import studies
from action_balance.errors import UserError
from action_balance.studies import registry


def test_kinds_are_unique() -> None:
    packages = [found.name for found in pkgutil.iter_modules(studies.__path__) if found.ispkg]
    modules = [importlib.import_module(f"action_balance.studies.{name}") for name in packages]
    kinds = [module.KIND for module in modules if hasattr(module, "KIND")]
    assert len(kinds) == len(set(kinds))
    assert {"reproduce grid", "explore", "compare", "reproduce neural"} <= set(kinds)


@pytest.mark.parametrize(
    ("kind", "has_page"),
    [("reproduce grid", True), ("explore", True), ("reproduce atari", False), ("another", False), ([], False)],
)
def test_a_page_is_found_by_the_kind_of_the_result(tmp_path: Path, kind: object, has_page: bool) -> None:
    assert not registry.holds_result(tmp_path)
    (tmp_path / "summary.json").write_text(json.dumps({"kind": kind}))
    assert registry.holds_result(tmp_path)
    make = registry.page_of(tmp_path)
    assert (make is not None) == has_page
    if make is not None:
        with pytest.raises(UserError, match=r"summary\.json is damaged"):
            make()


@pytest.mark.parametrize("content", ["{", "[]", '"text"'])
def test_a_damaged_summary_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "summary.json").write_text(content)
    with pytest.raises(UserError, match=r"summary\.json is damaged"):
        registry.page_of(tmp_path)
