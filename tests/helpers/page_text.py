"""The text of a page, for tests that look for numbers and words and not for whole sentences."""

import html
import re


def text_of(markup: str) -> str:
    """The text of markup, with single spaces, as a reader sees it."""
    return " ".join(
        html.unescape(
            re.sub(r"</?(p|td|th|tr|small|h\d)[^>]*>|<[^>]*>", lambda tag: " " * bool(tag[1]), markup)
        ).split()
    )


def section(page: str, name: str) -> str:
    """The text of a section of a page by its id, without markup."""
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    assert found is not None, name
    return html.unescape(re.sub(r"<[^>]*>", " ", found[0]))


def counts_of_runs(page: str) -> list[int]:
    """Numbers of all, finished, unfinished and missing runs in the first sentence on the runs; two if all finished."""
    sentence = section(page, "runs").split(".")[0]
    return [int(number) for number in re.findall(r"\d+", sentence)]
