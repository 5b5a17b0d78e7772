"""What the grid study shows, in a sentence or two: what its intervals support, and how many of them do not."""

import math

from action_balance.files import Data
from action_balance.studies.grid import first_reach
from action_balance.studies.grid.settings import STUDIES
from action_balance.web.markup import parts, told

#: Of each study's headline number: its key, its title and what it is.
HEADLINES = {
    "coverage": ("times_sooner", "Overtaking random", "sooner than RND, action balance RND stays above random"),
    "goals": ("ratio", "Reaching goals", "as many steps to a goal for RND as for action balance RND"),
    "corridor": ("ratio", "Finding the treasure", "as many steps to the treasure for RND as for action balance RND"),
}

TIMES = " times the steps of action balance RND"

#: Of each study, in words: an interval below 1, and one above.
SHOWS = {
    "coverage": ("balancing actions overtakes random later", "balancing actions overtakes random sooner"),
    "goals": ("balancing actions finds goals later", "balancing actions finds goals sooner"),
    "corridor": ("balancing actions finds the treasure later", "balancing actions finds the treasure sooner"),
}
COUNTS = ("none", "one", "two", "three")


def shows(summary: Data) -> str:
    """What the studies of a result show, and how many of them show nothing; empty where there is no interval at all."""
    there = [study for study in STUDIES if study in summary["ours"]]
    judged, found = 0, []
    for study in there:
        numbers = summary["ours"][study]
        estimate = numbers[HEADLINES[study][0]]
        _, low, high = parts(estimate)
        if first_reach.given_up(numbers) or math.isnan(low + high):
            continue
        judged += 1
        if low > 1 or high < 1:
            found.append(f"{SHOWS[study][low > 1]}, RND needs {told(estimate, 2, TIMES)}")
    if not judged:
        return ""
    total, told_apart = COUNTS[len(there)], "; ".join(found)
    if not found:
        return (
            f"None of {total} studies tells the two apart."
            if len(there) > 1
            else "The study does not tell the two apart."
        )
    if len(found) < len(there):
        verb, left = "tells" if len(found) == 1 else "tell", len(there) - len(found)
        rest = "The other does not." if left == 1 else f"The other {COUNTS[left]} do not."
        return f"Of {total} studies, {COUNTS[len(found)]} {verb} the two apart: {told_apart}. {rest}"
    if len(there) > 1:
        return f"{'Both' if len(there) == 2 else f'All {total}'} studies tell the two apart: {told_apart}."
    return f"{told_apart[0].upper()}{told_apart[1:]}."
