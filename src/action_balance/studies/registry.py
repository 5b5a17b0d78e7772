"""Which page shows a result: found by the result's kind, without a list of the studies.

A study is a package in this folder. Its ``__init__``, which imports nothing heavy, defines

``KIND``
    the ``kind`` in the ``summary.json`` of its results, which is the command that makes them.
If `view` has a page for its results, its module ``page`` defines ``result_page(folder, summary)``, which returns the
text of the page. A result of any other kind is shown as the training runs in its folder.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
from jinja2 import UndefinedError

from action_balance import studies
from action_balance.errors import UserError
from action_balance.files import Data, own_file
from action_balance.reading import Damaged, Missing, is_file, read_json
from action_balance.runs.results import SUMMARY

#: What a page raises if numbers of a summary are missing or are not numbers.
UNFIT = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, UndefinedError)


def holds_result(folder: Path) -> bool:
    """Whether a folder holds a result of a study."""
    return is_file(folder / SUMMARY)


def page_of(folder: Path) -> Callable[[], str] | None:
    """What makes the page of a result; None for a result that has no page of its own."""
    kind = read_summary(folder).get("kind")
    study = next((one for one in _studies() if kind == one.KIND), None)
    if study is None:
        return None
    page_module = importlib.import_module(f"{study.__name__}.page")
    make: Callable[[Path, Data], str] | None = getattr(page_module, "result_page", None)
    if make is None:
        return None

    def page() -> str:
        try:
            with np.errstate(all="ignore"):  # numbers of a damaged result
                return make(folder, read_summary(folder))
        except UNFIT:
            raise damaged(folder) from None

    return page


def read_summary(folder: Path) -> Data:
    """The summary of a result; a `UserError` where it is damaged, or a link that leads out of the folder."""
    try:
        return read_json(own_file(folder, SUMMARY), f"the {SUMMARY} of a result")
    except (Damaged, Missing):
        raise damaged(folder) from None


def damaged(folder: Path) -> UserError:
    """The error for a summary that cannot be shown."""
    return UserError(f"{folder / SUMMARY} is damaged: reproduce the result with --overwrite")


def _studies() -> Iterator[ModuleType]:
    """The packages of studies that have results."""
    for found in pkgutil.iter_modules(studies.__path__, f"{studies.__name__}."):
        if found.ispkg:
            study = importlib.import_module(found.name)
            if hasattr(study, "KIND"):
                yield study
