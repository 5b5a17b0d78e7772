"""What `benchmarks/audit.py` makes of a report of pip-audit."""

import json
from typing import Any

import audit
import pytest

SAFE = {"name": "rich", "version": "15.0.0", "vulns": []}
WEAK = {"name": "jinja2", "version": "3.0", "vulns": [{"id": "X-1", "fix_versions": ["3.1"]}]}
UNKNOWN = {"name": "numpy", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "code", "said"),
    [
        ([SAFE], 0, "looked up 1 packages, 0 known"),
        ([SAFE, WEAK], 1, "jinja2 3.0: X-1, fixed in 3.1"),
        ([SAFE, UNKNOWN], 2, "numpy"),
        ([WEAK, UNKNOWN], 1, "X-1"),
        ([UNKNOWN], 2, "cannot be reached"),
    ],
)
def test_the_exit_code_is_zero_only_if_every_package_was_looked_up_and_is_safe(
    packages: list[dict[str, Any]], code: int, said: str
) -> None:
    found = audit.read(json.dumps({"dependencies": packages}))
    assert found.code == code
    assert said in "\n".join(found.lines())


@pytest.mark.parametrize("report", ["", "Traceback", "[]", "{}"])
def test_no_report_is_not_a_clean_one(report: str) -> None:
    assert audit.read(report).code == 2
