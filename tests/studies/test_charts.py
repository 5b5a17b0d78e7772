"""Titles of charts."""

from action_balance.studies.charts import chart_title


def test_a_metric_has_a_title_in_words_even_if_nobody_knows_it() -> None:
    assert chart_title("clip_fraction") == "Proportion of clipped samples"
    assert chart_title("my_KL_loss") == "My KL loss"
    assert chart_title("_") == "_"
