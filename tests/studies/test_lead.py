"""Who leads: with scores written by hand."""

import numpy as np
import pytest

from action_balance.studies.lead import find_lead

LOW, HIGH = np.array([1.0, 2, 3, 4, 5]), np.array([11.0, 12, 13, 14, 15])


def test_the_highest_mean_leads_and_the_interval_of_the_difference_decides() -> None:
    lead = find_lead({"low": LOW, "high": HIGH, "middle": LOW + 9}, digits=1)
    assert lead is not None
    assert (lead.leaders, lead.second, lead.score) == (("high",), "middle", 13)
    assert lead.difference is not None
    assert lead.difference.value == 1
    # Welch: standard error sqrt(2 * 2.5 / 5) = 1, t(8; 0.975) = 2.306
    assert lead.difference.low == pytest.approx(1 - 2.306, abs=1e-3)
    assert lead.unclear == ("middle",)
    assert not lead.certain
    alone = find_lead({"low": LOW, "high": HIGH}, digits=1)
    assert alone is not None
    assert alone.certain


def test_few_seeds_are_never_certain() -> None:
    lead = find_lead({"low": LOW[:4], "high": HIGH + 1000}, digits=0)
    assert lead is not None
    assert (lead.fewest, lead.certain) == (4, False)
    assert lead.difference is not None
    assert lead.difference.spread is None


def test_means_that_print_the_same_lead_together() -> None:
    lead = find_lead({"one": LOW, "other": LOW + 0.01, "last": LOW - 1}, digits=1)
    assert lead is not None
    assert set(lead.leaders) == {"one", "other"}
    assert lead.second == "last"
    wide = np.array([-20.0, -10, 3, 16, 26])  # the same mean as `LOW`, but too wide for a verdict
    both = find_lead({"one": LOW, "wide": wide, "last": LOW - 10}, digits=1)
    assert both is not None
    assert (set(both.leaders), both.unclear) == ({"one", "wide"}, ("last",))
    nobody = find_lead({"one": LOW, "other": LOW}, digits=1)
    assert nobody is not None
    assert (nobody.second, nobody.difference, nobody.certain) == (None, None, False)
